/**
 * The picture of a graph, drawn by cytoscape on a canvas in the colours of the page.
 */

import { button, fill } from "./dom.js";
import { positions } from "./layout.js";
import { failed, loading } from "./states.js";

const LABELS = 150;
const THINNEST = 1;
const THICKEST = 6;

/**
 * Draw nodes into a place; return `{controls}`, or null if the place is gone meanwhile.
 * @param {Map} found Nodes with their `hops`.
 * @param {Function} select Called with a node that is clicked.
 */
export async function drawPicture(place, graph, found, select, signal) {
  if (place.children.length === 0) fill(place, loading("Drawing…"));
  let cytoscape;
  try {
    cytoscape = (await import("./cytoscape-3.34.4.min.js")).default;
  } catch {
    fill(place, failed(new Error("The graph library could not be loaded.")));
    return null;
  }
  if (signal.aborted) return null;
  fill(place);
  const began = performance.now();
  const cy = cytoscape({
    container: place,
    elements: elements(graph, found),
    layout: { name: "preset", padding: 40 },
    style: style(getComputedStyle(place), found.size),
    minZoom: 0.05, maxZoom: 3, wheelSensitivity: 0.3, boxSelectionEnabled: false, autoungrabify: true,
    textureOnViewport: found.size > LABELS, hideEdgesOnViewport: found.size > LABELS * 4,
  });
  cy.on("tap", "node", (event) => select(graph.nodes.get(event.target.id())));
  cy.one("render", () => performance.measure("graph", { start: began, detail: found.size }));
  const theme = matchMedia("(prefers-color-scheme: dark)");
  const recolour = () => cy.style(style(getComputedStyle(place), found.size));
  const grown = new ResizeObserver(() => cy.resize());
  theme.addEventListener("change", recolour);
  grown.observe(place);
  signal.addEventListener("abort", () => {
    theme.removeEventListener("change", recolour);
    grown.disconnect();
    cy.destroy();
  });
  return { controls: controls(cy) };
}

function controls(cy) {
  const zoom = (factor) => () => cy.zoom({ level: cy.zoom() * factor, renderedPosition: { x: cy.width() / 2, y: cy.height() / 2 } });
  return [
    button("+", zoom(1.3), { "aria-label": "Zoom in" }),
    button("−", zoom(1 / 1.3), { "aria-label": "Zoom out" }),
    button("Fit", () => cy.fit(undefined, 40)),
  ];
}

function elements(graph, found) {
  const placed = positions(found);
  const nodes = [...found].map(([node, { hops }]) => ({
    data: { id: node.node_id, name: node.name },
    position: placed.get(node),
    classes: [`layer-${Math.min(node.depth, 5)}`, node.state, node.node_type, hops === 0 ? "centre" : ""].filter(Boolean).join(" "),
  }));
  const tree = [...found.keys()].filter((node) => node.parent && found.has(node.parent))
    .map((node) => ({ data: { source: node.parent.node_id, target: node.node_id }, classes: "below" }));
  const relations = graph.relations.filter(({ from, to }) => found.has(from) && found.has(to))
    .map(({ from, to, relation, strength }) => ({ data: { source: from.node_id, target: to.node_id, relation, strength }, classes: "relation" }));
  return [...nodes, ...tree, ...relations];
}

/** Return the style of the picture; the colours are those of the page. */
function style(page, size) {
  const colour = (name) => page.getPropertyValue(`--${name}`).trim();
  const isLabelled = size <= LABELS;
  return [
    { selector: "node", style: {
      width: 22, height: 22, "border-width": 2, "border-color": colour("paper"), label: "data(name)", color: colour("ink"),
      "font-family": "system-ui, sans-serif", "font-size": 13, "text-valign": "bottom", "text-margin-y": 4, "text-wrap": "ellipsis", "text-max-width": 120,
      "text-background-color": colour("paper"), "text-background-opacity": isLabelled ? 0.8 : 0, "text-background-padding": 2,
      "min-zoomed-font-size": isLabelled ? 6 : 9 } },
    ...[0, 1, 2, 3, 4, 5].map((layer) => ({ selector: `.layer-${layer}`, style: { "background-color": colour(`layer-${layer}`), width: 34 - 3 * layer, height: 34 - 3 * layer } })),
    { selector: ".dormant", style: { "border-style": "dashed", "border-color": colour("ink-quiet"), "background-opacity": 0.45 } },
    { selector: ".persona", style: { shape: "diamond", width: 32, height: 32 } },
    { selector: ".centre", style: { "border-width": 4, "border-color": colour("accent"), "border-style": "solid", "background-opacity": 1 } },
    { selector: "edge", style: { width: 1.5, "curve-style": "straight", "line-color": colour("line-strong") } },
    { selector: ".relation", style: {
      width: `mapData(strength, 0, 1, ${THINNEST}, ${THICKEST})`, "line-color": colour("relation"), "target-arrow-color": colour("relation"), "target-arrow-shape": "triangle", "curve-style": "bezier",
      label: "data(relation)", "font-size": 11, color: colour("relation"), "text-rotation": "autorotate", "min-zoomed-font-size": 8,
      "text-background-color": colour("paper"), "text-background-opacity": 0.8, "text-background-padding": 1 } },
    { selector: "node:selected", style: { "overlay-color": colour("accent"), "overlay-opacity": 0.2, "overlay-padding": 6 } },
  ];
}
