/**
 * Calls of the HTTP API of this server. The key goes into a header, never into an address.
 */

import * as session from "./session.js";

const READING = new Set(["v1/search", "v1/ask", "v1/facts/query"]);
const OPENING = /^v1\/files\/[^/]+\/open$/;

/** The answer of a call that did not succeed; the message can be shown. */
export class Refusal extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

/** Return the address of an operation; each part is escaped. */
export function at(...parts) {
  return ["v1", ...parts.map(encodeURIComponent)].join("/");
}

/** Call an operation that returns JSON. */
export async function call(method, path, { body, query, signal, key } = {}) {
  const response = await send(method, path, { body, query, signal, key });
  if (response.status === 204) return null;
  return response.json();
}

/** Call GET on an operation. */
export function get(path, query = {}, signal = undefined) {
  return call("GET", path, { query, signal });
}

/** Call an operation and return the whole response. */
export async function send(method, path, { body, query, signal, key } = {}) {
  refuseChanges(method, path, key);
  const headers = { Authorization: `Bearer ${key ?? session.key()}` };
  if (body !== undefined) headers["Content-Type"] = "application/json";
  const content = body === undefined ? undefined : JSON.stringify(body);
  let response;
  try {
    response = await fetch(withQuery(path, query), { method, headers, body: content, signal, cache: "no-store" });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Refusal(0, "The server does not answer. Check that it runs, then try again.");
  }
  if (!response.ok) throw refusal(response.status, await response.text(), key);
  return response;
}

/** Send a file with the fields of its form. `progress` is called with the share that is sent, from 0 to 1. */
export function upload(file, fields, progress) {
  refuseChanges("POST", "v1/files");
  const form = new FormData();
  for (const [name, value] of Object.entries(fields)) if (value) form.append(name, value);
  form.append("file", file);
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open("POST", "v1/files");
    request.setRequestHeader("Authorization", `Bearer ${session.key()}`);
    request.upload.onprogress = (event) => event.lengthComputable && progress(event.loaded / event.total);
    request.onerror = () => reject(new Refusal(0, "The connection was lost. Send the file again."));
    request.onload = () => {
      const answer = parsed(request.responseText);
      if (request.status < 300) resolve({ ...answer, known: request.status === 200 });
      else reject(refusal(request.status, request.responseText));
    };
    request.send(form);
  });
}

/** A persona's view is for reading: nothing is written in the persona's name. */
function refuseChanges(method, path, key = undefined) {
  if (session.persona() === null || key !== undefined || method === "GET") return;
  if (READING.has(path) || OPENING.test(path)) return;
  throw new Refusal(403, "You see the graph as a persona. Return to your own view to change something.");
}

function withQuery(path, query = {}) {
  const given = Object.entries(query).filter(([, value]) => value !== null && value !== undefined && value !== "");
  return given.length ? `${path}?${new URLSearchParams(given)}` : path;
}

/** Return the refusal of a call. A key of the session that is no longer valid ends what it was for. */
function refusal(status, text, key = undefined) {
  if (status === 401 && key === undefined) window.dispatchEvent(new Event("key-ended"));
  return new Refusal(status, sentence(parsed(text), status));
}

function sentence(problem, status) {
  if (status === 404) return "There is nothing here, or this key may not see it.";
  const parts = (problem.errors ?? []).map((one) => one.detail);
  const said = [problem.detail ?? problem.title ?? `The server answered ${status}`, ...parts].join(": ");
  return said.charAt(0).toUpperCase() + said.slice(1);
}

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return {};
  }
}
