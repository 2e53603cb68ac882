/**
 * Which nodes are near one, and where they stand in the picture: layers from left to right, laid out by dagre. Boxes of
 * one size never cover each other, and an edge bends around the boxes between its ends.
 */

import { Graph, layout } from "./dagre-3.1.3.min.js";

/** The size of a node's box; its name stands in it. */
export const BOX = { width: 150, height: 26 };

const RELATION = { width: 90, height: 16, labelpos: "c", weight: 0 };
const TREE = { weight: 4 };
const DIRECTION = { rankdir: "LR", ranker: "tight-tree", nodesep: 10, edgesep: 10, ranksep: 50 };
const PASSAGE = BOX.width / 2 + 4;

/** Return the nodes within some steps of a node, nearest first: `Map` of nodes to `{hops, before}`. */
export function around(graph, centre, hops, most) {
  const beside = neighbours(graph);
  const found = new Map([[centre, { hops: 0, before: null }]]);
  const queue = [centre];
  for (let place = 0; place < queue.length; place += 1) {
    const node = queue[place];
    const far = found.get(node).hops + 1;
    if (far > hops) break;
    for (const other of beside(node)) {
      if (found.has(other) || found.size >= most) continue;
      found.set(other, { hops: far, before: node });
      queue.push(other);
    }
  }
  return found;
}

/** Return where each node stands, and the edges with their bends: `{at: Map, edges: [{from, to, relation, strength, bends}]}`. */
export function positions(graph, found) {
  const nodes = [...found.keys()];
  const edges = [
    ...nodes.filter((node) => node.parent && found.has(node.parent)).map((node) => ({ from: node.parent, to: node, relation: null })),
    ...graph.relations.filter(({ from, to }) => found.has(from) && found.has(to)),
  ];
  const drawn = new Graph({ multigraph: true });
  drawn.setGraph({ ...DIRECTION });
  for (const node of nodes) drawn.setNode(node.node_id, { ...BOX });
  edges.forEach(({ from, to, relation }, name) => drawn.setEdge(from.node_id, to.node_id, { ...(relation ? RELATION : TREE) }, String(name)));
  layout(drawn);
  const bends = ({ from, to, relation }, name) => {
    const points = drawn.edge(from.node_id, to.node_id, String(name)).points.slice(1, -1);
    return points.flatMap((_, place) => bendsAt(points, place, relation));
  };
  return {
    at: new Map(nodes.map((node) => [node, drawn.node(node.node_id)])),
    edges: edges.map((edge, name) => ({ ...edge, bends: bends(edge, name) })),
  };
}

/**
 * Return the bends at one point of an edge. Every second point is in a layer, where the edge passes between two boxes. The
 * others are between layers, where nothing is in the way: only the name of a relation has its place there.
 */
function bendsAt(points, place, relation) {
  const { x, y } = points[place];
  if (place % 2 === 0) return relation && place === (points.length - 1) / 2 ? [{ x, y }] : [];
  const step = Math.sign(points[place + 1].x - x) * PASSAGE;
  return [{ x: x - step, y }, { x: x + step, y }];
}

function neighbours(graph) {
  const related = new Map();
  for (const { from, to } of graph.relations) {
    for (const [one, other] of [[from, to], [to, from]]) {
      if (!related.has(one)) related.set(one, []);
      related.get(one).push(other);
    }
  }
  return (node) => [...node.children, ...(node.parent ? [node.parent] : []), ...(related.get(node) ?? [])];
}
