/**
 * The graph around a node: layers, relations, states and personas. A click opens the shell of a node.
 */

import { choice, el, fill } from "./dom.js";
import { heading } from "./frame.js";
import { loadGraph } from "./graph_data.js";
import { around } from "./layout.js";
import { showNode } from "./node.js";
import { drawPicture } from "./picture.js";
import { empty, load } from "./states.js";
import { count, dot } from "./words.js";

const HOPS = [["1", "One step"], ["2", "Two steps"], ["3", "Three steps"], ["9", "Everything"]];
const MOST = 300;
const MOST_OF_ALL = 2000;
let hops = "2";

/** Show the graph around the node that the address names, or around the topmost one. */
export function show(main, { parts }, signal) {
  load(main, loadGraph, (graph) => {
    const centre = graph.nodes.get(parts[0]) ?? (parts[0] ? null : graph.tops[0]);
    if (!centre) return empty("This node is not in the graph that you see.");
    return graphView(graph, centre, signal);
  }, signal);
}

function graphView(graph, centre, signal) {
  const far = choice(HOPS, { "aria-label": "How far", onchange: () => { hops = far.value; draw(); } });
  far.value = hops;
  const said = el("p", { class: "quiet", role: "status" });
  const canvas = el("div", { class: "canvas", role: "img" });
  const zoom = el("div", { class: "zoom" });
  const shell = el("section", { class: "shell", "aria-label": "Node" });
  const list = el("details", { class: "panel" });
  const select = (node) => showNode(shell, node.node_id, signal, "Put in the centre");

  async function draw() {
    const all = far.value === "9";
    const { found, left } = around(graph, centre, all ? Infinity : Number(far.value), all ? MOST_OF_ALL : MOST);
    fill(said, `${count(found.size, "node")} shown, ${left.toLocaleString()} left out`);
    canvas.setAttribute("aria-label", `Graph of ${count(found.size, "node")} around ${centre.name}; the list below has the same nodes`);
    fill(list, el("summary", {}, "The same as a list"), el("ul", { class: "plain-list" },
      [...found].map(([node, { hops: steps }]) => el("li", {}, dot(node.state), " ", el("a", { href: `#/graph/${node.node_id}` }, node.path), ` · ${count(steps, "step")}`))));
    const picture = await drawPicture(canvas, graph, found, select, signal);
    if (picture) fill(zoom, picture.controls);
  }

  draw();
  select(centre);
  return el("div", { class: "graph" },
    heading(`Around ${centre.name}`, null, el("label", { class: "inline" }, "Show ", far)),
    said,
    el("div", { class: "graph-pair" },
      el("div", { class: "picture" }, canvas, zoom, legend()), shell),
    list);
}

function legend() {
  const entry = (kind, text) => el("li", {}, el("span", { class: `key ${kind}`, "aria-hidden": "true" }), text);
  return el("ul", { class: "legend", "aria-label": "Legend" },
    [0, 1, 2, 3, 4, 5].map((layer) => entry(`layer-${layer}`, layer === 0 ? "Root" : `Layer ${layer}`)),
    entry("sleeping", "Sleeping"), entry("persona", "Persona"), entry("relation", "Relation"));
}
