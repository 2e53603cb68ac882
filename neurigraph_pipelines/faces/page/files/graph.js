/**
 * The graph around a node: layers, relations, states and personas. A click opens the shell of a node.
 */

import { el } from "./dom.js";
import { loadGraph } from "./graph_data.js";
import { graphPane } from "./graph_pane.js";
import { showNode } from "./node.js";
import { empty, load } from "./states.js";

/** Show the graph around the node that the address names, or around the topmost one. */
export function show(main, { parts }, signal) {
  load(main, loadGraph, (graph) => {
    const centre = graph.nodes.get(parts[0]) ?? (parts[0] ? null : graph.tops[0]);
    if (!centre) return empty("This node is not in the graph that you see.");
    const shell = el("section", { class: "shell", "aria-label": "Node" });
    const select = (node) => showNode(shell, node.node_id, signal, "Put in the centre");
    select(centre);
    const entry = (node) => el("a", { href: `#/graph/${node.node_id}` }, node.path);
    return graphPane({ ...graph, total: graph.nodes.size }, centre, { shell, select, entry, signal }).element;
  }, signal);
}
