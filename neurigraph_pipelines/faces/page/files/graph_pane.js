/**
 * The pane of a graph: how far it reaches, its picture with a legend, the shell of a node, and the same as a list.
 */

import { choice, el, fill, heading } from "./dom.js";
import { around } from "./layout.js";
import { drawPicture } from "./picture.js";
import { count, dot } from "./words.js";

const HOPS = [["1", "One step"], ["2", "Two steps"], ["3", "Three steps"], ["9", "Everything"]];
const MOST = 150;
const MOST_OF_ALL = 600;
let hops = "2";

/**
 * Return the pane of the nodes around one, as `{element, draw}`; `draw` shows a graph that grew meanwhile.
 * @param {Object} graph Its `nodes`, its `relations`, and in `total` how many nodes there are, null if nobody knows.
 * @param {Element} shell Shows the node that is selected.
 * @param {Function} select Called with a node that is clicked.
 * @param {Function} entry Makes what leads to a node in the list.
 * @param {Function} wanted Called with the number of steps before each drawing, to get what is missing.
 */
export function graphPane(graph, centre, { shell, select, entry, wanted = () => {}, signal }) {
  const far = choice(HOPS, { "aria-label": "How far", onchange: () => { hops = far.value; draw(); } });
  far.value = hops;
  const said = el("p", { class: "quiet", role: "status" });
  const canvas = el("div", { class: "canvas", role: "img" });
  const zoom = el("div", { class: "zoom" });
  const list = el("details", { class: "panel" });
  let drawing = new AbortController();

  async function draw() {
    drawing.abort();
    drawing = new AbortController();
    const all = hops === "9";
    wanted(all ? Infinity : Number(hops));
    const found = around(graph, centre, all ? Infinity : Number(hops), all ? MOST_OF_ALL : MOST);
    const left = graph.total === null ? "more may be around them" : `${(graph.total - found.size).toLocaleString()} left out`;
    fill(said, `${count(found.size, "node")} shown, ${left}`);
    canvas.setAttribute("aria-label", `Graph of ${count(found.size, "node")} around ${centre.name}; the list below has the same nodes`);
    fill(list, el("summary", {}, "The same as a list"), el("ul", { class: "plain-list" },
      [...found].map(([node, { hops: steps }]) => el("li", {}, node.state && dot(node.state), " ", entry(node), ` · ${count(steps, "step")}`))));
    const picture = await drawPicture(canvas, graph, found, select, AbortSignal.any([signal, drawing.signal]));
    if (picture) fill(zoom, picture.controls);
  }

  draw();
  const element = el("div", { class: "graph" },
    heading(`Around ${centre.name}`, null, el("label", { class: "inline" }, "Show ", far)),
    said,
    el("div", { class: "graph-pair" },
      el("div", { class: "picture" }, canvas, zoom, legend()), shell),
    list);
  return { element, draw };
}

function legend() {
  const entry = (kind, text) => el("li", {}, el("span", { class: `key ${kind}`, "aria-hidden": "true" }), text);
  return el("ul", { class: "legend", "aria-label": "Legend" },
    [0, 1, 2, 3, 4, 5].map((layer) => entry(`layer-${layer}`, layer === 0 ? "Root" : `Layer ${layer}`)),
    entry("sleeping", "Sleeping"), entry("persona", "Persona"), entry("stack", "More below it"), entry("relation", "Relation: the thicker, the stronger"));
}
