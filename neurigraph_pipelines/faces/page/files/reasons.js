/**
 * Why something was found: the parts of a score, the nodes that were searched, and what moved the ranking.
 */

import { el } from "./dom.js";
import { nodeLink } from "./frame.js";
import { day, phrase } from "./words.js";

/** Return the score of a hit beside that of the best one, and its parts. */
export function hitReasons(hit, best) {
  const parts = Object.entries(hit.explain ?? {}).filter(([, value]) => value !== null);
  return el("details", { class: "reasons" },
    el("summary", {}, el("meter", { min: 0, max: best, value: hit.score, "aria-label": "Score" }), " Why this?"),
    el("dl", { class: "pairs" },
      el("dt", {}, "Score"), el("dd", {}, hit.score.toFixed(4)),
      parts.map(([name, value]) => [el("dt", {}, phrase(name)), el("dd", {}, number(value))])));
}

/** Return the reasons of a whole search. */
export function searchReasons(found) {
  const rationale = found.rationale ?? { names: [], edges: [], facts: [] };
  return el("details", { class: "panel" }, el("summary", {}, "How this was found"),
    list("Nodes that were searched", found.anchors, (anchor) => [nodeLink(anchor.node_id, anchor.node_path), ` by ${anchor.reason}, ${number(anchor.score)}`]),
    list("Names in the question", rationale.names, (name) => [nodeLink(name.node_id, name.node_path), ` ${name.match}, added ${number(name.added)}`]),
    list("Relations that were followed", rationale.edges, (edge) => [
      nodeLink(edge.from_node_id, edge.from_node_path), ` ${phrase(edge.relation).toLowerCase()} `, nodeLink(edge.to_node_id, edge.to_node_path),
      `, strength ${number(edge.strength)}`]),
    list("Times in the question", found.periods, (period) => [`“${period.words}”: `, day(period.starts_at), " to ", day(period.ends_at)]),
    rationale.facts.length > 0 && el("p", { class: "quiet" }, `${rationale.facts.length} facts lent their messages a part of their score.`));
}

function list(title, items, draw) {
  if (!items?.length) return null;
  return el("div", {}, el("h3", {}, title), el("ul", { class: "plain-list" }, items.map((one) => el("li", {}, draw(one)))));
}

function number(value) {
  return typeof value === "number" ? value.toLocaleString(undefined, { maximumFractionDigits: 3 }) : String(value);
}
