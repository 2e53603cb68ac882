/**
 * The tree of nodes that the caller sees, read once and shared by the views.
 */

import { get } from "./api.js";

let reading = null;

/** Return the graph: `{tops, nodes}`, where `nodes` maps ids to nodes with `parent`, `path` and `children`. */
export function loadGraph() {
  reading ??= read().catch((error) => {
    reading = null;
    throw error;
  });
  return reading;
}

/** Forget the graph, because it changed or the caller did. */
export function forgetGraph() {
  reading = null;
}

async function read() {
  const nodes = new Map();
  const tops = [];
  let cursor = null;
  do {
    const page = await get("v1/tree", { cursor });
    for (const top of [page, ...page.others]) take(top, null, nodes, tops);
    cursor = page.next_cursor;
  } while (cursor);
  for (const top of tops) countBelow(top);
  return { tops, nodes, relations: relationsOf(nodes) };
}

/** Count the memories of a node with all below it as its `total`; return that. */
function countBelow(node) {
  node.total = node.children.reduce((sum, child) => sum + countBelow(child), node.record_count);
  return node.total;
}

/** Add a node with all below it. A later page has the nodes above its own once more. */
function take(found, parent, nodes, tops) {
  let node = nodes.get(found.node_id);
  if (node === undefined) {
    const path = parent ? `${parent.path}/${found.name}` : found.name;
    node = { ...found, path, parent, children: [] };
    nodes.set(node.node_id, node);
    (parent ? parent.children : tops).push(node);
  }
  for (const child of found.children) take(child, node, nodes, tops);
}

/** Return the relations between nodes that are shown, as `{from, to, relation, strength}`. */
function relationsOf(nodes) {
  return [...nodes.values()].flatMap((from) => from.edges
    .filter((edge) => nodes.has(edge.node_id))
    .map(({ node_id: id, relation, strength }) => ({ from, to: nodes.get(id), relation, strength })));
}
