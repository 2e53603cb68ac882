/**
 * Which nodes are near one, and where they stand in the picture: rings around it, each branch in its own sector.
 */

const RING = 120;
const SPACE = 46;

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

/** Return the position of each node: `Map` of nodes to `{x, y}`. */
export function positions(found) {
  const below = new Map([...found.keys()].map((node) => [node, []]));
  for (const [node, { before }] of found) if (before) below.get(before).push(node);
  const widths = new Map();
  for (const node of [...found.keys()].reverse()) {
    widths.set(node, Math.max(1, below.get(node).reduce((sum, one) => sum + widths.get(one), 0)));
  }
  const radius = ringRadii(found);
  const placed = new Map();
  const centre = found.keys().next().value;
  placeSector(centre, 0, 2 * Math.PI);
  return placed;

  function placeSector(node, from, to) {
    const angle = (from + to) / 2;
    const far = radius[found.get(node).hops];
    placed.set(node, { x: far * Math.cos(angle), y: far * Math.sin(angle) });
    let start = from;
    for (const one of below.get(node)) {
      const end = start + ((to - from) * widths.get(one)) / widths.get(node);
      placeSector(one, start, end);
      start = end;
    }
  }
}

/** Rings are far enough from each other, and long enough for their nodes. */
function ringRadii(found) {
  const sizes = [];
  for (const { hops } of found.values()) sizes[hops] = (sizes[hops] ?? 0) + 1;
  const radii = [0];
  for (let hop = 1; hop < sizes.length; hop += 1) {
    radii[hop] = Math.max(radii[hop - 1] + RING, (sizes[hop] * SPACE) / (2 * Math.PI));
  }
  return radii;
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
