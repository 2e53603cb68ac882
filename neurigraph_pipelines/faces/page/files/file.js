/**
 * The file of a memory: its state, and opening it, which may have to wait until it is awake.
 */

import { at, get, send } from "./api.js";
import { button, el, fill, meta } from "./dom.js";
import { figure } from "./node_parts.js";
import { failed, load } from "./states.js";
import { moment, phrase, size, state } from "./words.js";

const WAIT_SECONDS = 20;

/** Return the panel of a memory's file. */
export function filePanel(record, signal) {
  const facts = el("div", {});
  const result = el("div", { class: "opening", "aria-live": "polite" });
  const refresh = () => load(facts, () => get(at("files", record.file_id), {}, signal), fileFacts, signal);
  const open = button("Open the file", () => openFile(record, open, result, refresh, signal));
  refresh();
  return el("section", { class: "file" },
    el("div", { class: "heading" }, el("h2", {}, "File"), open), result, facts);
}

function fileFacts(file) {
  return [
    el("dl", { class: "figures" },
      figure("State", state(file.state)),
      figure("Size", size(file.size_bytes)),
      figure("Stored", size(file.stored_bytes)),
      figure("Last opened", moment(file.last_accessed_at)),
      file.recompress_at && figure("Sleeps again", moment(file.recompress_at))),
    file.last_failure && failed(new Error(`It could not be read the last time: ${file.last_failure}`)),
    el("details", { class: "panel" }, el("summary", {}, "History of its state"),
      el("ol", { class: "rows" }, file.history.map((entry) => el("li", {},
        meta(moment(entry.occurred_at), phrase(entry.event), `by ${phrase(entry.triggered_by).toLowerCase()}`, entry.error))))),
  ];
}

/** Open the whole file and offer it for saving. The time that it takes is shown while it passes. */
async function openFile(record, control, result, refresh, signal) {
  const began = performance.now();
  const seconds = () => ((performance.now() - began) / 1000).toFixed(1);
  const clock = el("span", {}, "0.0 s");
  fill(result, el("p", { class: "waiting" }, el("progress", { "aria-label": "Opening" }),
    record.file_state === "dormant" ? "Waking the file… " : "Opening the file… ", clock));
  const ticking = setInterval(() => fill(clock, `${seconds()} s`), 100);
  control.disabled = true;
  try {
    const content = await opened(record.file_id, signal);
    fill(result, el("p", { class: "done" }, `Opened in ${seconds()} s. `, saveLink(content, record)));
  } catch (error) {
    if (error.name !== "AbortError") fill(result, failed(error));
  } finally {
    clearInterval(ticking);
    control.disabled = false;
  }
  if (!signal.aborted) refresh();
}

async function opened(fileId, signal) {
  for (;;) {
    const response = await send("POST", at("files", fileId, "open"), { query: { wait: WAIT_SECONDS }, signal });
    if (response.status !== 202) return response.arrayBuffer();
    await new Promise((resume) => setTimeout(resume, 1000 * Number(response.headers.get("Retry-After") ?? 1)));
  }
}

/** The bytes have no type of their own here, so that nothing but saving can become of them. */
function saveLink(content, record) {
  const address = URL.createObjectURL(new Blob([content], { type: "application/octet-stream" }));
  return el("a", { href: address, download: record.file_name || "file" }, `Save ${record.file_name || "it"}`, ` (${size(content.byteLength)})`);
}
