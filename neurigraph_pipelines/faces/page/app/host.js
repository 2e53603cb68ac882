/**
 * The program that shows this document in a frame: JSON-RPC messages to it and from it (MCP Apps, SEP-1865).
 */

const PROTOCOL = "2026-01-26";
const UNKNOWN_METHOD = { code: -32601, message: "There is no such method." };

/**
 * Greet the host, and return `{call, setMode}` once it answered.
 * @param {Object} handlers Functions named `input`, `result`, `cancelled`, `context` and `teardown`.
 */
export async function connect(handlers) {
  const waiting = new Map();
  let last = 0;

  const send = (message) => window.parent.postMessage({ jsonrpc: "2.0", ...message }, "*");
  const ask = (method, params) => new Promise((resolve, reject) => {
    last += 1;
    waiting.set(last, { resolve, reject });
    send({ id: last, method, params });
  });
  const heard = {
    "ui/notifications/tool-input": ({ arguments: given }) => handlers.input(given ?? {}),
    "ui/notifications/tool-result": (result) => handlers.result(result),
    "ui/notifications/tool-cancelled": () => handlers.cancelled(),
    "ui/notifications/host-context-changed": (context) => handlers.context(context),
  };
  const answered = { ping: () => ({}), "ui/resource-teardown": () => handlers.teardown() ?? {} };

  window.addEventListener("message", ({ source, data }) => {
    if (source !== window.parent || data?.jsonrpc !== "2.0") return;
    if (typeof data.method !== "string") settle(waiting, data);
    else if (data.id === undefined) hear(heard, data);
    else if (Object.hasOwn(answered, data.method)) send({ id: data.id, result: answered[data.method]() });
    else send({ id: data.id, error: UNKNOWN_METHOD });
  });
  const greeted = await ask("ui/initialize", {
    protocolVersion: PROTOCOL,
    appInfo: { name: "neurigraph-graph", version: "1.0.0" },
    appCapabilities: { availableDisplayModes: ["inline", "fullscreen"] },
  });
  handlers.context(greeted.hostContext ?? {});
  send({ method: "ui/notifications/initialized", params: {} });
  tellSizes(send);
  const call = greeted.hostCapabilities?.serverTools
    ? (name, given) => ask("tools/call", { name, arguments: given }).then(contentOf)
    : null;
  return { call, setMode: (mode) => ask("ui/request-display-mode", { mode }) };
}

/** Return the structured content of a tool's result. A refusal is an error with its text. */
export function contentOf(result) {
  if (result.isError || !result.structuredContent) {
    throw new Error(result.content?.find((block) => block.type === "text")?.text ?? "The tool gave no answer.");
  }
  return result.structuredContent;
}

function settle(waiting, { id, result, error }) {
  const one = waiting.get(id);
  waiting.delete(id);
  if (error) one?.reject(new Error(error.message ?? "The call was refused."));
  else one?.resolve(result);
}

function hear(heard, { method, params }) {
  if (Object.hasOwn(heard, method)) heard[method](params ?? {});
}

/** Tell the host how large the content is, each time that it changes. */
function tellSizes(send) {
  const page = document.documentElement;
  let told = "";
  new ResizeObserver(() => {
    const params = { width: page.clientWidth, height: Math.ceil(document.body.getBoundingClientRect().height) };
    if (JSON.stringify(params) === told) return;
    told = JSON.stringify(params);
    send({ method: "ui/notifications/size-changed", params });
  }).observe(document.body);
}
