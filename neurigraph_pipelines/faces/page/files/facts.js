/**
 * A fact as lists show it.
 */

import { el, link, meta } from "./dom.js";
import { day, highlighted, phrase } from "./words.js";

/** Return a fact: what it states, how certain it is, and what became of it. */
export function factRow(fact, question = "") {
  return el("div", { class: `fact ${fact.status}` },
    el("p", {}, highlighted(fact.statement, typeof question === "string" ? question : "")),
    meta(
      fact.status !== "active" && el("span", { class: "tag warn" }, phrase(fact.status)),
      el("span", { class: "tag" }, fact.kind),
      fact.author && `said by ${fact.author}`,
      day(fact.said_at),
      `${Math.round(fact.confidence * 100)} % certain`,
      fact.source_count > 1 && `${fact.source_count} sources`,
      link(`#/records/${fact.record_id}/${fact.first_message}`, "Where it was said")));
}
