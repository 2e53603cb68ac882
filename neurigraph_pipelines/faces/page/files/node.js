/**
 * The shell of one node: who it is, how its files are, what is around it, and its memories.
 */

import { at, get } from "./api.js";
import { el, link, meta } from "./dom.js";
import { nodeLink } from "./frame.js";
import { loadGraph } from "./graph_data.js";
import { badges, edges, figure, nodesBelow, path, words } from "./node_parts.js";
import { pages } from "./pages.js";
import { empty, load } from "./states.js";
import { day, moment, size, unusual } from "./words.js";

/** Show a node in a place. */
export function showNode(place, nodeId, signal, toGraph = "Show in the graph") {
  const work = () => Promise.all([get(at("nodes", nodeId), {}, signal), get(at("nodes", nodeId, "state"), {}, signal), loadGraph()]);
  load(place, work, ([node, files, graph]) => nodeView(node, files, graph, signal, toGraph), signal);
}

function nodeView(node, files, graph, signal, toGraph) {
  const total = (child) => graph.nodes.get(child.node_id)?.total ?? child.record_count;
  return el("article", { class: "node" },
    el("a", { href: "#/nodes", class: "back" }, "All nodes"),
    path(node, nodeLink),
    el("div", { class: "heading" },
      el("h1", {}, node.name),
      node.kind === "person" && el("a", { href: `#/profile/${node.node_id}`, class: "button" }, "Profile"),
      el("a", { href: `#/graph/${node.node_id}`, class: "button" }, toGraph)),
    badges(node),
    node.summary ? el("p", { class: "summary" }, node.summary) : el("p", { class: "quiet" }, "No summary yet."),
    words("Keywords", node.keywords),
    words("Also called", node.aliases),
    fileStates(files),
    nodesBelow(node.children, nodeLink, total),
    edges(node.edges, nodeLink),
    el("section", {},
      el("h2", {}, "Memories ", el("span", { class: "number" }, node.record_count)),
      pages("v1/records", "records", recordRow,
        { query: { node_id: node.node_id, below: false, order: "occurred_at" }, signal, label: "Memories", limit: 20, none: empty("No memory is filed at this node itself.") })));
}

function fileStates(files) {
  const total = files.active_files + files.dormant_files + files.rehydrating_files;
  if (total === 0) return null;
  return el("dl", { class: "figures" },
    figure("Files", total),
    files.dormant_files > 0 && figure("Sleeping", files.dormant_files),
    figure("Content", size(files.content_bytes)),
    files.saved_bytes > 0 && figure("Saved", size(files.saved_bytes)),
    figure("Last opened", moment(files.last_accessed_at)));
}

/** Return a memory of a list. */
export function recordRow(record) {
  return el("div", { class: "record-row" },
    el("div", { class: "line" }, link(`#/records/${record.record_id}`, record.title || "Untitled"), unusual(record.file_state)),
    el("p", { class: "clamp" }, record.summary),
    meta(day(record.occurred_at), record.node_path, record.superseded_by && el("span", { class: "tag" }, "replaced"),
      record.tier && record.tier !== "long" && el("span", { class: "tag" }, `kept ${record.tier}`)));
}
