/**
 * Searching and asking: hits with their sources and reasons, and answers with citations.
 */

import { call } from "./api.js";
import { answerView } from "./answer.js";
import { choice, el, field, fill, heading, link, meta } from "./dom.js";
import { factRow } from "./facts.js";
import { nodeLink } from "./frame.js";
import { readMessage } from "./messages.js";
import { hitReasons, searchReasons } from "./reasons.js";
import { empty, load } from "./states.js";
import { count, day, highlighted, phrase, unusual } from "./words.js";

const KINDS = [["", "Everything"], ["conversation", "Conversations"], ["event", "Events"], ["upload", "Files"], ["note", "Notes"]];
const last = { question: "", kind: "", after: "", before: "", tag: "", asks: false };

/** Show the form, with the last question and what was found. The question stays out of the address. */
export function show(main, _, signal) {
  const results = el("div", { class: "results", "aria-live": "polite" });
  const form = searchForm((asked) => {
    ask(asked);
    find(results, signal);
  });
  fill(main, heading("Search"), form, results);
  if (last.question) find(results, signal);
  else fill(results, empty("Ask in your own words.", "Names, dates and places help: “What did Ana say about the boat in May?”"));
  form.querySelector("input[type=search]").focus();
}

/** Ask this when the view is shown next. */
export function ask(asked) {
  Object.assign(last, asked);
}

/** Return the form of a search; `submit` is called with what is asked. */
export function searchForm(submit) {
  const question = el("input", { type: "search", name: "question", required: true, maxlength: "4000", value: last.question, "aria-label": "Question", placeholder: "What do you want to know?", autocomplete: "off" });
  const kind = choice(KINDS, {});
  kind.value = last.kind;
  const after = el("input", { type: "date", value: last.after });
  const before = el("input", { type: "date", value: last.before });
  const tag = el("input", { type: "text", maxlength: "100", pattern: "[A-Za-z0-9_:\\-]+", value: last.tag });
  const asked = (asks) => ({ question: question.value, kind: kind.value, after: after.value, before: before.value, tag: tag.value, asks });
  const onsubmit = (event) => {
    event.preventDefault();
    submit(asked(event.submitter?.value === "ask"));
  };
  return el("form", { class: "search", role: "search", onsubmit },
    el("div", { class: "line" }, question,
      el("button", { type: "submit", class: "primary", value: "search" }, "Search"),
      el("button", { type: "submit", value: "ask" }, "Answer")),
    el("details", { class: "filters", open: Boolean(last.kind || last.after || last.before || last.tag) },
      el("summary", {}, "Filters"),
      el("div", { class: "fields" }, field("Kind", kind), field("From", after), field("Before", before), field("Space", tag))));
}

function find(results, signal) {
  const body = { query: last.question };
  if (last.kind) body.source_kinds = [last.kind];
  if (last.after) body.occurred_after = `${last.after}T00:00:00Z`;
  if (last.before) body.occurred_before = `${last.before}T00:00:00Z`;
  if (last.tag) body.container_tags = [last.tag];
  if (last.asks) {
    load(results, () => call("POST", "v1/ask", { body, signal }), (reply) => answerView(reply, last.question), signal);
  } else {
    const wanted = { ...body, explain: true, include: ["facts"], message_limit: 10 };
    load(results, () => call("POST", "v1/search", { body: wanted, signal }), (found) => foundView(found, signal), signal);
  }
}

function foundView(found, signal) {
  if (found.hits.length === 0 && found.messages.length === 0) {
    return [notes(found.notes), empty("Nothing was found.", "Use other words, or take a filter away.")];
  }
  const best = Math.max(...found.hits.map((hit) => hit.score), 1e-9);
  const files = new Map(found.hits.map((hit) => [hit.record_id, hit]));
  return [
    notes(found.notes),
    el("p", { class: "quiet" }, `${count(found.hits.length, "memory", "memories")}, ${count(found.messages.length, "message")}`),
    el("section", {}, el("h2", {}, "Memories"), el("ol", { class: "hits" }, found.hits.map((hit) => el("li", {}, hitView(hit, best))))),
    found.facts?.length > 0 && el("section", {}, el("h2", {}, "Facts"),
      el("ul", { class: "rows" }, found.facts.slice(0, 10).map((fact) => el("li", {}, factRow(fact, last.question))))),
    found.messages.length > 0 && el("section", {}, el("h2", {}, "Messages"),
      el("ul", { class: "rows" }, found.messages.map((message) => el("li", {}, messageHit(message, files.get(message.record_id), signal))))),
    searchReasons(found),
  ];
}

/** Return the notes of an answer: what was missing, and what is perhaps outdated. */
export function notes(list) {
  return list?.length ? el("ul", { class: "notes" }, list.map((note) => el("li", {}, note))) : null;
}

function hitView(hit, best) {
  const title = highlighted(hit.title || "Untitled", last.question);
  return el("article", { class: "hit" },
    el("div", { class: "line" },
      hit.record_id ? link(`#/records/${hit.record_id}`, title) : el("strong", {}, title),
      hit.superseded && el("span", { class: "tag warn" }, "replaced"),
      !hit.stored && el("span", { class: "tag warn" }, "not stored yet"),
      unusual(hit.file_state)),
    el("p", { class: "clamp" }, highlighted(hit.summary, last.question)),
    source(hit),
    hitReasons(hit, best));
}

/** Return where a hit or a citation comes from, as the server knows it. */
export function source(hit) {
  const { origin } = hit;
  const voices = Object.keys(origin?.voices ?? {}).map((voice) => phrase(voice).toLowerCase());
  return meta(
    hit.node_path && (hit.node_id ? nodeLink(hit.node_id, hit.node_path) : hit.node_path),
    day(hit.occurred_at),
    hit.source_kind && phrase(hit.source_kind),
    voices.length > 0 && `voices: ${voices.join(", ")}`,
    origin?.persona_path && `handed in by ${origin.persona_path}`,
    origin?.received_through && `through ${origin.received_through}`,
    origin?.restated > 1 && `said ${origin.restated} times`);
}

function messageHit(message, hit, signal) {
  const text = el("div", {});
  const name = message.author ?? phrase(message.voice ?? "unknown");
  if (message.content) fill(text, el("p", { class: "text" }, highlighted(message.content, last.question)));
  else if (hit?.file_id) readInto(text, hit, message, signal);
  return el("div", {},
    meta(el("strong", {}, name), message.section,
      message.record_id && link(`#/records/${message.record_id}/${message.seq}`, `message ${message.seq}${hit ? ` of “${hit.title}”` : ""}`)),
    text);
}

function readInto(place, hit, message, signal) {
  load(place, () => readMessage(hit.file_id, message.seq, signal),
    (read) => el("p", { class: "text clamp" }, highlighted(read.content, last.question)), signal);
}
