import type { Views } from "./types.js";

/** A problem document (RFC 9457). */
export type Problem = Views["Problem"];

/** The server refused a call. */
export class ApiError extends Error {
  readonly requestId: string | undefined;

  constructor(
    readonly status: number,
    /** The problem document, empty if the answer is none. */
    readonly problem: Partial<Problem>,
    /** Seconds to wait that the server asked for. */
    readonly retryAfter?: number,
  ) {
    const parts = (problem.errors ?? []).map((part) => `; ${part.pointer ?? ""}: ${part.detail ?? ""}`);
    super(`${status}: ${problem.detail ?? problem.title ?? "no reason given"}${parts.join("")}`);
    this.name = new.target.name;
    this.requestId = problem.request_id ?? undefined;
  }
}

/** The request is not acceptable (400, 413, 415, 422); repeating it does not help. */
export class Invalid extends ApiError {}
/** The key is missing, wrong or has no right to this (401, 403). */
export class Denied extends ApiError {}
/** Absent, or not visible with this key (404). */
export class NotFound extends ApiError {}
/** The request contradicts the stored state (409). */
export class Conflict extends ApiError {}
/** The user of the key was forgotten, or all copies of a file are lost (410). */
export class Gone extends ApiError {}
/** The object was changed since it was read (412): read it again, then decide. */
export class Changed extends ApiError {}
/** The server was busy or away until the last retry (429, 502, 503, 504). */
export class Unavailable extends ApiError {}

/** The server could not be reached, or gave no answer in time; `cause` has the reason. */
export class Unreachable extends Error {
  override readonly name = "Unreachable";
}

const BY_STATUS: Record<number, typeof ApiError> = {
  400: Invalid, 401: Denied, 403: Denied, 404: NotFound, 409: Conflict, 410: Gone, 412: Changed, 413: Invalid,
  415: Invalid, 422: Invalid, 429: Unavailable, 502: Unavailable, 503: Unavailable, 504: Unavailable,
};

/** Return the error that a response stands for. */
export async function errorOf(response: Response): Promise<ApiError> {
  const problem: unknown = await response.json().catch(() => ({}));
  const seconds = Number(response.headers.get("Retry-After") ?? Number.NaN);
  const kind = BY_STATUS[response.status] ?? ApiError;
  const known = typeof problem === "object" && problem !== null ? (problem as Partial<Problem>) : {};
  return new kind(response.status, known, Number.isNaN(seconds) ? undefined : seconds);
}
