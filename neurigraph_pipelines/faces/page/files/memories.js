/**
 * The view of the graph as a tree, with one node beside it.
 */

import { el, fill } from "./dom.js";
import { loadGraph } from "./graph_data.js";
import { showNode } from "./node.js";
import { empty, load } from "./states.js";
import { openTo, treeOf } from "./tree.js";

/** Show the tree, and the node that the address names, or the topmost one. */
export function show(main, { parts }, signal) {
  let pair = main.querySelector(".memories");
  if (pair === null) {
    pair = el("div", { class: "memories" },
      el("section", { class: "tree-pane", "aria-label": "Nodes" }),
      el("section", { class: "node-pane", "aria-label": "Node" }));
    fill(main, pair);
  }
  const [chosen] = parts;
  pair.classList.toggle("has-node", chosen !== undefined);
  showTree(pair.querySelector(".tree-pane"), chosen, pair.querySelector(".node-pane"), signal);
}

async function showTree(pane, chosen, nodePane, signal) {
  if (pane.querySelector("[role=tree]") === null) {
    await load(pane, loadGraph, (graph) => (graph.tops.length ? treeOf(graph) : empty("Nothing is remembered yet.")), signal);
  }
  if (signal.aborted || pane.querySelector("[role=tree]") === null) return;
  const graph = await loadGraph();
  const nodeId = chosen ?? graph.tops[0].node_id;
  openTo(pane, graph, nodeId);
  showNode(nodePane, nodeId, signal);
}
