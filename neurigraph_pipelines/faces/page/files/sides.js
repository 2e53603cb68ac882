/**
 * What an action is about, as one or two panels: statements, memories, nodes, or the note that is held.
 */

import { at, get } from "./api.js";
import { el, link, meta } from "./dom.js";
import { factRow } from "./facts.js";
import { nodeLink } from "./frame.js";
import { recordRow } from "./node.js";
import { count } from "./words.js";

const NAMES = ["First", "Second"];

/** Return the panels of an action. What the caller does not see is left out. */
export async function sidesOf(action, signal) {
  const kinds = [
    ["facts", [action.fact_id, action.other_fact_id], (fact) => factRow(fact)],
    ["records", [action.record_id, action.other_record_id], recordRow],
    ["nodes", action.kind === "merge_nodes" ? [action.node_id, action.other_node_id] : [], nodeSide],
  ];
  for (const [path, ids, draw] of kinds) {
    const found = await Promise.all(ids.filter(Boolean).map((id) => find(path, id, signal)));
    const seen = found.filter(Boolean);
    if (seen.length) return seen.map((one, place) => side(seen.length > 1 ? NAMES[place] : "About", draw(one)));
  }
  if (action.text) return [side(action.title || "The note that is held", el("p", { class: "text" }, action.text))];
  return [side("About", el("p", {}, link(`#/nodes/${action.node_id}`, "The node whose standard applies")))];
}

async function find(path, id, signal) {
  try {
    return await get(at(path, id), {}, signal);
  } catch (error) {
    if (error.status === 404) return null;
    throw error;
  }
}

function nodeSide(node) {
  return el("div", {}, el("p", {}, nodeLink(node.node_id, node.path)), el("p", { class: "clamp" }, node.summary),
    meta(node.kind, count(node.record_count, "memory", "memories")));
}

function side(title, content) {
  return el("section", { class: "side" }, el("h3", {}, title), content);
}
