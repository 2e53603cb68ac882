import { errorOf, Unavailable, Unreachable } from "./errors.js";
import type { Options } from "./types.js";

/** How the client reaches a server. */
export interface Settings {
  /** Address of the API; `NEURIGRAPH_URL` or http://127.0.0.1:8400 by default. */
  url?: string;
  /** Key or token; `NEURIGRAPH_API_KEY` by default. */
  apiKey?: string;
  /** Milliseconds to wait for one answer: 60,000 by default. */
  timeout?: number;
  /** Attempts after the first: 4 by default. */
  retries?: number;
}

/** What the document says about an operation. */
export interface Call {
  method: string;
  path: string;
  /** Names of query parameters, where there is a body too. */
  query?: string[];
  body?: "json" | "form";
  /** It takes an Idempotency-Key, so that it may be repeated. */
  isChange?: boolean;
  /** It has its effect again if it is repeated after an unknown outcome. */
  isOnce?: boolean;
}

const LONGEST_PAUSE = 30_000;
const FIRST_PAUSE = 200;

/** Sends calls, again after temporary faults, and reads lists page after page. */
export class Transport {
  readonly #url: string;
  readonly #key: string;
  readonly #timeout: number;
  readonly #retries: number;

  constructor(settings: Settings) {
    const environment = (globalThis as { process?: { env: Record<string, string | undefined> } }).process?.env ?? {};
    const key = settings.apiKey ?? environment["NEURIGRAPH_API_KEY"];
    if (!key) throw new TypeError("no key: pass apiKey, or set NEURIGRAPH_API_KEY");
    this.#key = key;
    this.#url = (settings.url ?? environment["NEURIGRAPH_URL"] ?? "http://127.0.0.1:8400").replace(/\/+$/, "");
    this.#timeout = settings.timeout ?? 60_000;
    this.#retries = settings.retries ?? 4;
  }

  /** Return the JSON of an answer, with its ETag; undefined if it has no body. */
  async json<T>(call: Call, input: object, options: Options): Promise<T> {
    return this.#repeated(call, input, options, async (response) => {
      const text = await response.text();
      const answer: unknown = text ? JSON.parse(text) : undefined;
      const etag = response.headers.get("ETag");
      return (etag && typeof answer === "object" && answer !== null ? { ...answer, etag } : answer) as T;
    });
  }

  /** Return an answer whose body is to be read as it comes. */
  async raw(call: Call, input: object, options: Options): Promise<Response> {
    return this.#repeated(call, input, options, async (response) => response);
  }

  /** Yield the things of a list; pages are fetched as they are needed. */
  async *list<T>(call: Call, input: object, options: Options, name: string): AsyncGenerator<T> {
    let cursor: string | null | undefined;
    do {
      const given = cursor === undefined ? input : { ...input, cursor };
      const page = await this.json<Record<string, unknown>>(call, given, options);
      yield* page[name] as T[];
      cursor = page["next_cursor"] as string | null;
    } while (cursor !== null);
  }

  async #repeated<T>(call: Call, input: object, options: Options, read: (response: Response) => Promise<T>): Promise<T> {
    const { url, init } = this.#request(call, input, options);
    for (let attempt = 0; ; attempt += 1) {
      let error: unknown;
      try {
        const signals = [AbortSignal.timeout(options.timeout ?? this.#timeout), ...(options.signal ? [options.signal] : [])];
        const response = await fetch(url, { ...init, signal: AbortSignal.any(signals) });
        if (response.ok) return await read(response);
        error = await errorOf(response);
      } catch (fault) {
        options.signal?.throwIfAborted();
        error = new Unreachable(`${call.method} ${call.path}: ${String(fault)}`, { cause: fault });
      }
      if (attempt >= this.#retries || !isTemporary(error, call)) throw error;
      await pause(attempt, error instanceof Unavailable ? error.retryAfter : undefined, options.signal);
    }
  }

  #request(call: Call, input: object, options: Options): { url: string; init: RequestInit } {
    const headers: Record<string, string> = { Authorization: `Bearer ${this.#key}` };
    if (call.isChange) headers["Idempotency-Key"] = options.idempotencyKey ?? newKey();
    if (options.etag && call.method !== "GET") headers["If-Match"] = options.etag;
    const given = Object.entries(input).filter(([, value]) => value !== undefined);
    const isInQuery = ([name]: [string, unknown]) => !call.body || (call.query ?? []).includes(name);
    const query = new URLSearchParams();
    for (const [name, value] of given.filter(isInQuery)) {
      for (const one of Array.isArray(value) ? value : [value]) query.append(name, String(one));
    }
    const init: RequestInit = { method: call.method, headers };
    const fields = given.filter((one) => !isInQuery(one));
    if (call.body === "json") {
      headers["Content-Type"] = "application/json";
      init.body = JSON.stringify(Object.fromEntries(fields));
    } else if (call.body === "form") {
      init.body = form(fields);
    }
    return { url: `${this.#url}${call.path}${query.size ? `?${query}` : ""}`, init };
  }
}

/** A random key; browsers have `randomUUID` only on pages from HTTPS. */
function newKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

function form(fields: [string, unknown][]): FormData {
  const made = new FormData();
  for (const [name, value] of fields) {
    if (value instanceof Blob) made.append(name, value);
    else made.append(name, typeof value === "object" ? JSON.stringify(value) : String(value));
  }
  return made;
}

/** Whether the same request may succeed later, and cannot have its effect twice. */
function isTemporary(error: unknown, call: Call): boolean {
  if (error instanceof Unavailable) return !call.isOnce || error.status === 429 || error.status === 503;
  return error instanceof Unreachable && !call.isOnce;
}

/** Wait what the server asked for, or a random time that doubles; a signal ends it. */
async function pause(attempt: number, asked: number | undefined, signal: AbortSignal | undefined): Promise<void> {
  const random = Math.random() * FIRST_PAUSE * 2 ** attempt;
  const milliseconds = Math.min(Math.max(random, (asked ?? 0) * 1000), LONGEST_PAUSE);
  await new Promise<void>((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer);
      reject(signal?.reason as Error);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", stop);
      resolve();
    }, milliseconds);
    signal?.addEventListener("abort", stop, { once: true });
  });
}
