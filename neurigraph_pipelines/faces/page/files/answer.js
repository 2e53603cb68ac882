/**
 * An answer in words: each statement with links to the messages that it rests on.
 */

import { button, el, link } from "./dom.js";
import { notes, source } from "./search.js";
import { empty } from "./states.js";
import { highlighted, phrase } from "./words.js";

/** Return an answer with its citations. */
export function answerView(reply, question) {
  if (!reply.found) return [notes(reply.notes), empty("No memory answers this.", "Try Search: it also shows what is only near.")];
  const lines = reply.answer.split("\n").filter((line) => line.trim());
  return [
    el("section", { class: "answer" }, lines.map((line) => el("p", {}, cited(line))),
      el("p", { class: "quiet" }, `Answered by ${reply.model}`)),
    notes(reply.notes),
    el("section", {}, el("h2", {}, "Sources"),
      el("ol", { class: "citations" }, reply.citations.map((one) => citationView(one, question)))),
  ];
}

/** Return a line with its `[1]` as buttons that lead to the citation. */
function cited(line) {
  return line.split(/(\[\d+\])/).map((part) => {
    const found = /^\[(\d+)\]$/.exec(part);
    return found ? button(found[1], () => goTo(found[1]), { class: "cite", "aria-label": `Source ${found[1]}` }) : part;
  });
}

function goTo(number) {
  const citation = document.querySelector(`[data-citation="${number}"]`);
  citation?.scrollIntoView({ block: "nearest" });
  citation?.focus();
}

function citationView(citation, question) {
  const author = citation.author ?? phrase(citation.voice ?? "summary");
  const where = citation.seq === null ? "" : `/${citation.seq}`;
  return el("li", { "data-citation": citation.number, tabindex: "-1" },
    el("div", { class: "line" },
      el("span", { class: "cite" }, citation.number),
      el("strong", {}, author),
      citation.record_id ? link(`#/records/${citation.record_id}${where}`, citation.title || "Untitled") : citation.title,
      !citation.stored && el("span", { class: "tag warn" }, "not stored yet")),
    el("blockquote", {}, highlighted(citation.text, question)),
    source(citation));
}
