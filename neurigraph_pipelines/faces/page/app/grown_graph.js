/**
 * A graph that grows with each node that is read: what `browse_graph` says of a node and of those around it.
 */

/** Return a graph without nodes; `total` is how many the caller sees, null if nobody knows. */
export function newGraph() {
  return { nodes: new Map(), relations: [], total: null };
}

/** Add a node that was read, with those around it; return it. */
export function grow(graph, place) {
  const { edges, children, parent_node_id: parentId, ...rest } = place;
  const node = nodeOf(graph, place.node_id, rest);
  node.place = place;
  const names = place.path.split("/");
  const above = { name: names.at(-2), path: names.slice(0, -1).join("/"), depth: place.depth - 1 };
  if (parentId) put(nodeOf(graph, parentId, above), node);
  for (const child of children) {
    put(node, nodeOf(graph, child.node_id, { ...child, path: `${place.path}/${child.name}`, depth: place.depth + 1 }));
  }
  for (const edge of edges) relate(graph, node, edge);
  return node;
}

/** Return the nodes that must be read before all within some steps of one are known, nearest first. */
export function unread(found, hops) {
  return [...found].filter(([node, { hops: steps }]) => steps < hops && !node.place).map(([node]) => node);
}

function nodeOf(graph, id, known) {
  const node = graph.nodes.get(id) ?? { node_id: id, parent: null, children: [], place: null, node_type: "", depth: 5 };
  graph.nodes.set(id, node);
  for (const name of ["name", "path", "depth", "state", "node_type"]) node[name] = known[name] ?? node[name];
  return node;
}

function put(parent, node) {
  node.parent = parent;
  if (!parent.children.includes(node)) parent.children.push(node);
}

function relate(graph, node, { node_id: id, node_name: name, relation, direction, strength }) {
  const other = nodeOf(graph, id, { name });
  const [from, to] = direction === "out" ? [node, other] : [other, node];
  const known = (one) => one.from === from && one.to === to && one.relation === relation;
  if (!graph.relations.some(known)) graph.relations.push({ from, to, relation, strength });
}
