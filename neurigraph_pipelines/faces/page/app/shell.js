/**
 * The shell of a node as `browse_graph` tells it.
 */

import { button, el, fill, meta } from "./dom.js";
import { badges, edges, nodesBelow, path } from "./node_parts.js";
import { day } from "./words.js";

/** Show a node in a place; `select` is called with the id of a node that is named in it. */
export function showPlace(place, node, select, centre) {
  const open = (id, name) => button(name, () => select(id), { class: "plain" });
  const found = node.place;
  fill(place, el("article", { class: "node" },
    path(found, open),
    el("div", { class: "heading" }, el("h1", {}, found.name), centre && button("Put in the centre", centre)),
    badges(found),
    el("p", { class: found.summary ? "summary" : "quiet" }, found.summary || "No summary yet."),
    nodesBelow(found.children, open),
    edges(found.edges, open),
    memories(found),
    found.notes.map((note) => el("p", { class: "notes" }, note))));
}

function memories({ records, record_count: total }) {
  return el("section", {},
    el("h2", {}, "Memories ", el("span", { class: "number" }, total)),
    el("ul", { class: "rows" }, records.map((record) => el("li", {},
      el("p", {}, record.title || "Untitled"), el("p", { class: "clamp" }, record.summary), meta(day(record.occurred_at))))),
    records.length < total && el("p", { class: "quiet" }, "The assistant can list all of them."));
}
