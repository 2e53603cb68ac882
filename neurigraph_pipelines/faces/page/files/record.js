/**
 * One memory: its summary now and at earlier versions, its facts, its messages and its file.
 */

import { at, get } from "./api.js";
import { el, fill, link } from "./dom.js";
import { factRow } from "./facts.js";
import { filePanel } from "./file.js";
import { nodeLink } from "./frame.js";
import { messageList } from "./messages.js";
import { words } from "./node_parts.js";
import { pages } from "./pages.js";
import { empty, load } from "./states.js";
import { moment, phrase, state } from "./words.js";
import { versionSlider } from "./versions.js";

/** Show the memory that the address names; a number after it is a message to begin with. */
export function show(main, { parts }, signal) {
  const [recordId, message] = parts;
  if (recordId === undefined) return fill(main, empty("No memory is named.", "Search for one, or choose it at its node."));
  load(main, () => get(at("records", recordId), {}, signal), (record) => view(record, Number(message) || null, signal), signal);
}

function view(record, message, signal) {
  const title = el("h1", {}, record.title || "Untitled");
  const content = el("div", { class: "versioned" }, description(record));
  const draw = (version, changed) => {
    fill(title, version.title || "Untitled");
    title.classList.toggle("changed", changed.has("title"));
    fill(content, description(version, changed));
  };
  return el("article", { class: "record" },
    el("div", { class: "heading" }, el("div", {},
      record.node_path && el("p", { class: "path-line" }, record.node_id ? nodeLink(record.node_id, record.node_path) : record.node_path),
      title)),
    versionSlider(record, draw, signal),
    content,
    origin(record),
    record.file_id && filePanel(record, signal),
    factsOf(record, signal),
    record.file_id && messageList(record, message, signal));
}

function description(record, changed = new Set()) {
  const mark = (name) => (changed.has(name) ? " changed" : "");
  return [
    el("p", { class: `summary${mark("summary")}` }, record.summary),
    ...["entities", "topics", "dates", "relationships"].map((name) => {
      const list = words(phrase(name), record[name]);
      if (list && changed.has(name)) list.classList.add("changed");
      return list;
    }),
  ];
}

function origin(record) {
  const stated = Object.entries(record.source ?? {}).filter(([, value]) => typeof value === "string" || typeof value === "number");
  const rows = [
    ["Happened", moment(record.occurred_at)],
    ["Stored", moment(record.created_at)],
    ["From", phrase(record.source_kind)],
    record.received_through && ["Through", phrase(record.received_through)],
    record.persona_id && ["Handed in by", nodeLink(record.persona_id, "a persona")],
    ["Kept", record.expires_at ? [phrase(record.tier), ", until ", moment(record.expires_at)] : phrase(record.tier)],
    record.superseded_by && ["Replaced by", link(`#/records/${record.superseded_by}`, "a newer memory")],
    ...stated.map(([name, value]) => [phrase(name), String(value)]),
  ].filter(Boolean);
  return el("details", { class: "panel" }, el("summary", {}, "Where it comes from"),
    el("dl", { class: "pairs" }, rows.map(([name, value]) => [el("dt", {}, name), el("dd", {}, value)])));
}

function factsOf(record, signal) {
  return el("section", {}, el("h2", {}, "Facts"),
    pages(at("records", record.record_id, "facts"), "facts", factRow,
      { signal, label: "Facts", none: empty("No facts were read from this memory.") }));
}
