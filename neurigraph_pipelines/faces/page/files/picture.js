/**
 * The picture of a graph, drawn by cytoscape on a canvas in the colours of the page.
 */

import { button, fill } from "./dom.js";
import { BOX, positions } from "./layout.js";
import { failed, loading } from "./states.js";

const SMOOTH = 150;
const READABLE = 0.7;
const LARGEST = 1.3;
const MARGIN = 40;
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
    layout: { name: "preset", padding: MARGIN },
    style: style(getComputedStyle(place)),
    minZoom: 0.05, maxZoom: 3, wheelSensitivity: 0.3, boxSelectionEnabled: false, autoungrabify: true,
    textureOnViewport: found.size > SMOOTH, hideEdgesOnViewport: found.size > SMOOTH * 4,
  });
  show(cy);
  cy.on("tap", "node", (event) => select(graph.nodes.get(event.target.id())));
  cy.one("render", () => performance.measure("graph", { start: began, detail: found.size }));
  const theme = matchMedia("(prefers-color-scheme: dark)");
  const recolour = () => cy.style(style(getComputedStyle(place)));
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

/** Show all of the picture, or as much around its centre as can be read. */
function show(cy) {
  cy.fit(undefined, MARGIN);
  if (cy.zoom() > LARGEST) cy.zoom(LARGEST);
  if (cy.zoom() >= READABLE) {
    cy.center();
    return;
  }
  cy.zoom(READABLE).center(".centre");
  const { x1, x2, y1, y2 } = cy.elements().renderedBoundingBox();
  cy.panBy({ x: filling(x1, x2, cy.width()), y: filling(y1, y2, cy.height()) });
}

/** Return how far to move a picture from one place to another along a side, so that no room of it stays empty. */
function filling(from, to, side) {
  if (to - from < side - 2 * MARGIN) return (side - from - to) / 2;
  return Math.min(0, MARGIN - from) + Math.max(0, side - MARGIN - to);
}

function controls(cy) {
  const zoom = (factor) => () => cy.zoom({ level: cy.zoom() * factor, renderedPosition: { x: cy.width() / 2, y: cy.height() / 2 } });
  return [
    button("+", zoom(1.3), { "aria-label": "Zoom in" }),
    button("−", zoom(1 / 1.3), { "aria-label": "Zoom out" }),
    button("Fit", () => cy.fit(undefined, MARGIN)),
  ];
}

function elements(graph, found) {
  const { at, edges } = positions(graph, found);
  const nodes = [...found].map(([node, { hops }]) => ({
    data: { id: node.node_id, name: node.name },
    position: at.get(node),
    classes: [
      `layer-${Math.min(node.depth, 5)}`, node.state, node.node_type, hops === 0 && "centre", node.children.some((one) => !found.has(one)) && "stack",
    ].filter(Boolean).join(" "),
  }));
  return [...nodes, ...edges.map((edge) => drawnEdge(edge, at))];
}

/** Return an edge for cytoscape, which takes a bend by its place along the line between the ends and its distance from it. */
function drawnEdge({ from, to, relation, strength, bends }, at) {
  const [start, end] = [at.get(from), at.get(to)];
  const [across, down] = [end.x - start.x, end.y - start.y];
  const length = Math.hypot(across, down);
  const parts = bends.map(({ x, y }) => [x - start.x, y - start.y]);
  return {
    data: {
      source: from.node_id, target: to.node_id, relation, strength,
      weights: parts.map(([x, y]) => (x * across + y * down) / length ** 2),
      distances: parts.map(([x, y]) => (across * y - down * x) / length),
      out: across > 0 ? "50% 0%" : "-50% 0%", in: across > 0 ? "-50% 0%" : "50% 0%",
    },
    classes: `${relation ? "relation" : "below"} ${bends.length ? "bent" : ""}`,
  };
}

/** Return the style of the picture; the colours are those of the page. */
function style(page) {
  const colour = (name) => page.getPropertyValue(`--${name}`).trim();
  return [
    { selector: "node", style: {
      ...BOX, shape: "round-rectangle", "border-width": 2, "background-color": colour("paper"), label: "data(name)", color: colour("ink"),
      "font-family": "system-ui, sans-serif", "font-size": 13, "text-valign": "center", "text-wrap": "ellipsis", "text-max-width": BOX.width - 14,
      "min-zoomed-font-size": 5 } },
    ...[0, 1, 2, 3, 4, 5].map((layer) => ({ selector: `.layer-${layer}`, style: { "border-color": colour(`layer-${layer}`) } })),
    { selector: ".dormant", style: { "border-style": "dashed", color: colour("ink-quiet") } },
    { selector: ".persona", style: { shape: "cut-rectangle", "background-color": colour("sunk") } },
    { selector: ".stack", style: { ghost: "yes", "ghost-offset-x": 4, "ghost-offset-y": 4, "ghost-opacity": 0.6 } },
    { selector: ".centre", style: { "border-width": 4, "border-color": colour("accent"), "border-style": "solid", color: colour("ink") } },
    { selector: "edge", style: {
      width: 1.5, "line-color": colour("line-strong"), "curve-style": "straight", "source-endpoint": "data(out)", "target-endpoint": "data(in)" } },
    { selector: ".bent", style: {
      "curve-style": "round-segments", "edge-distances": "node-position", "segment-radii": 8,
      "segment-weights": "data(weights)", "segment-distances": "data(distances)" } },
    { selector: ".relation", style: {
      width: `mapData(strength, 0, 1, ${THINNEST}, ${THICKEST})`, "line-color": colour("relation"), "target-arrow-color": colour("relation"), "target-arrow-shape": "triangle",
      label: "data(relation)", "font-size": 11, color: colour("relation"), "text-wrap": "ellipsis", "text-max-width": 86, "min-zoomed-font-size": 5,
      "text-background-color": colour("paper"), "text-background-opacity": 0.8, "text-background-padding": 1 } },
    { selector: "node:selected", style: { "overlay-color": colour("accent"), "overlay-opacity": 0.2, "overlay-padding": 6 } },
  ];
}
