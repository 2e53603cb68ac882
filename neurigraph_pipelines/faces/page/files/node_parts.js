/**
 * The parts of a node's shell: its path, its badges and words, the nodes below it and its edges.
 */

import { el, meta } from "./dom.js";
import { count, phrase, unusual } from "./words.js";

/** Return the names above a node, each a link where the id is known. */
export function path(node, open) {
  const names = node.path.split("/");
  const parts = names.map((name, place) =>
    el("li", {}, place === names.length - 2 && node.parent_node_id ? open(node.parent_node_id, name) : name));
  return el("ol", { class: "path", "aria-label": "Path" }, parts);
}

/** Return the badges of a node: its state, kind and layer. */
export function badges(node) {
  return el("p", { class: "badges" },
    unusual(node.state),
    node.node_type === "persona" && el("span", { class: "tag" }, "persona"),
    el("span", { class: "tag" }, node.kind),
    el("span", { class: "tag" }, node.depth === 0 ? "root" : `layer ${node.depth}`),
    node.language && el("span", { class: "tag" }, `language ${node.language}`));
}

/** Return a row of words below a heading; null without words. */
export function words(title, list) {
  if (!list?.length) return null;
  return el("div", { class: "words" }, el("h3", {}, title), el("ul", {}, list.map((word) => el("li", { class: "tag" }, word))));
}

/** Return a figure with its name. */
export function figure(name, value) {
  return el("div", {}, el("dt", {}, name), el("dd", {}, value));
}

/** Return the nodes below one as cards; `open(id, name)` makes what leads to each, `total` counts its memories. Null without any. */
export function nodesBelow(children, open, total = (child) => child.record_count) {
  if (children.length === 0) return null;
  return el("section", {}, el("h2", {}, "Below"),
    el("ul", { class: "cards" }, children.map((child) => el("li", {},
      open(child.node_id, child.name),
      meta(unusual(child.state),
        child.node_type === "persona" ? "persona" : child.kind, count(total(child), "memory", "memories"))))));
}

/** Return the edges of a node with their strength; null without any. */
export function edges(found, open) {
  if (found.length === 0) return null;
  return el("section", {}, el("h2", {}, "Related"),
    el("ul", { class: "rows" }, found.map((edge) => el("li", {},
      el("div", { class: "edge" },
        el("span", { class: "relation" }, edge.direction === "out" ? `${phrase(edge.relation)} →` : `← ${phrase(edge.relation)}`),
        open(edge.node_id, edge.node_name),
        el("meter", { min: 0, max: 1, value: edge.strength, title: `Strength ${edge.strength.toFixed(2)}`, "aria-label": "Strength" }),
        edge.evidence_count !== undefined && el("span", { class: "quiet" }, count(edge.evidence_count, "piece of evidence", "pieces of evidence")))))));
}
