/**
 * The shell of one node: who it is, how its files are, what is around it, and its memories.
 */

import { at, get } from "./api.js";
import { el, link, meta } from "./dom.js";
import { nodeLink } from "./frame.js";
import { empty, load, pages } from "./states.js";
import { count, day, moment, phrase, size, state } from "./words.js";

/** Show a node in a place. */
export function showNode(place, nodeId, signal, toGraph = "Show in the graph") {
  const work = () => Promise.all([get(at("nodes", nodeId), {}, signal), get(at("nodes", nodeId, "state"), {}, signal)]);
  load(place, work, ([node, files]) => nodeView(node, files, signal, toGraph), signal);
}

function nodeView(node, files, signal, toGraph) {
  return el("article", { class: "node" },
    el("a", { href: "#/", class: "back" }, "All nodes"),
    path(node),
    el("div", { class: "heading" },
      el("h1", {}, node.name),
      el("a", { href: `#/graph/${node.node_id}`, class: "button" }, toGraph)),
    badges(node),
    node.summary ? el("p", { class: "summary" }, node.summary) : el("p", { class: "quiet" }, "No summary yet."),
    words("Keywords", node.keywords),
    words("Also called", node.aliases),
    fileStates(files),
    nodesBelow(node.children),
    edges(node.edges),
    el("section", {},
      el("h2", {}, "Memories ", el("span", { class: "number" }, node.record_count)),
      pages(at("nodes", node.node_id, "records"), "records", recordRow,
        { signal, label: "Memories", limit: 20, none: empty("No memory is filed at this node itself.") })));
}

/** Return the names above a node, each a link where the id is known. */
function path(node) {
  const names = node.path.split("/");
  const parts = names.map((name, place) =>
    el("li", {}, place === names.length - 2 && node.parent_node_id ? nodeLink(node.parent_node_id, name) : name));
  return el("ol", { class: "path", "aria-label": "Path" }, parts);
}

/** Return the badges of a node: its state, kind and layer. */
export function badges(node) {
  return el("p", { class: "badges" },
    state(node.state),
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

function fileStates(files) {
  const total = files.active_files + files.dormant_files + files.rehydrating_files;
  if (total === 0) return null;
  return el("dl", { class: "figures" },
    figure("Files", total),
    figure("Awake", files.active_files),
    figure("Sleeping", files.dormant_files),
    figure("Content", size(files.content_bytes)),
    figure("Saved", size(Math.max(files.saved_bytes, 0))),
    figure("Last opened", moment(files.last_accessed_at)));
}

/** Return a figure with its name. */
export function figure(name, value) {
  return el("div", {}, el("dt", {}, name), el("dd", {}, value));
}

function nodesBelow(children) {
  if (children.length === 0) return null;
  return el("section", {}, el("h2", {}, "Below"),
    el("ul", { class: "cards" }, children.map((child) => el("li", {},
      nodeLink(child.node_id, child.name),
      meta(state(child.state),
        child.node_type === "persona" ? "persona" : child.kind, count(child.record_count, "memory", "memories"))))));
}

function edges(found) {
  if (found.length === 0) return null;
  return el("section", {}, el("h2", {}, "Related"),
    el("ul", { class: "rows" }, found.map((edge) => el("li", {},
      el("div", { class: "edge" },
        el("span", { class: "relation" }, edge.direction === "out" ? `${phrase(edge.relation)} →` : `← ${phrase(edge.relation)}`),
        nodeLink(edge.node_id, edge.node_name),
        el("meter", { min: 0, max: 1, value: edge.strength, title: `Strength ${edge.strength.toFixed(2)}`, "aria-label": "Strength" }),
        el("span", { class: "quiet" }, count(edge.evidence_count, "piece of evidence", "pieces of evidence")))))));
}

/** Return a memory of a list. */
export function recordRow(record) {
  return el("div", { class: "record-row" },
    el("div", { class: "line" }, link(`#/records/${record.record_id}`, record.title || "Untitled"), record.file_state && state(record.file_state)),
    el("p", { class: "clamp" }, record.summary),
    meta(day(record.occurred_at), record.node_path, record.superseded_by && el("span", { class: "tag" }, "replaced"),
      record.tier && record.tier !== "long" && el("span", { class: "tag" }, `kept ${record.tier}`)));
}
