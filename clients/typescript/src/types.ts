import type { components, operations } from "./generated/schema.js";

/** What the API shows and takes, by name: `Views["Link"]`. */
export type Views = components["schemas"];

/** What a caller may say about one call. */
export interface Options {
  /** Ends the call early; it then throws the signal's reason. */
  signal?: AbortSignal;
  /** Milliseconds to wait for one answer, in place of the client's. */
  timeout?: number;
  /** Make the change only if the object is as it was read; otherwise `Changed` is thrown. */
  etag?: string;
  /** The key under which a change happens once; a new one by default. */
  idempotencyKey?: string;
}

type Query<K extends keyof operations> = operations[K]["parameters"] extends { query?: infer Q } ? Given<Q> : object;
type Body<K extends keyof operations> = operations[K] extends { requestBody?: infer B } ? Given<Fields<Given<B>>> : object;
type Given<T> = [T] extends [undefined] ? object : NonNullable<T>;
type Fields<B> = B extends { content: { "application/json": infer J } }
  ? J
  : B extends { content: { "multipart/form-data": infer F } }
    ? Omit<F, "file"> & { file?: Blob }
    : object;

/** The query parameters and fields of the body of an operation, as the API names them. */
export type Input<K extends keyof operations> = Query<K> & Body<K>;

type Json<R> = R extends { content: { "application/json": infer B } } ? B : undefined;
type Good<R> = { [S in keyof R]: S extends 200 | 201 | 202 | 204 ? Json<R[S]> : never }[keyof R];

/** The answer of an operation; `etag` where the server sends one. */
export type Result<K extends keyof operations> = Tagged<Good<operations[K]["responses"]>>;
type Tagged<T> = T extends object ? T & { readonly etag?: string } : T;

/** One thing of a list. */
export type Item<K extends keyof operations, L extends string> =
  Good<operations[K]["responses"]> extends infer Page ? (L extends keyof Page ? (Page[L] extends (infer I)[] ? I : never) : never) : never;
