/**
 * A tree of nodes for the keyboard and the mouse. Branches are drawn when they are opened.
 */

import { el } from "./dom.js";
import { count, dot } from "./words.js";

const OPEN_DEPTH = 1;

/** Return the tree of a graph, open to its first layer. */
export function treeOf(graph) {
  const tree = el("ul", { role: "tree", "aria-label": "Nodes of the graph", class: "tree" }, graph.tops.map((top) => item(top, 0)));
  tree.addEventListener("keydown", (event) => move(tree, event));
  tree.addEventListener("click", (event) => toggleClicked(event));
  tree.querySelector("[role=treeitem]").tabIndex = 0;
  return tree;
}

/** Open the branches down to a node and mark it. */
export function openTo(pane, graph, nodeId) {
  const above = [];
  for (let node = graph.nodes.get(nodeId)?.parent; node; node = node.parent) above.unshift(node.node_id);
  for (const one of above) expand(itemOf(pane, one), true);
  pane.querySelector("[aria-selected=true]")?.removeAttribute("aria-selected");
  const chosen = itemOf(pane, nodeId);
  chosen?.setAttribute("aria-selected", "true");
  chosen?.querySelector(".row").scrollIntoView({ block: "nearest" });
  if (chosen) makeCurrent(chosen.closest("[role=tree]"), chosen, false);
}

function itemOf(pane, nodeId) {
  return pane.querySelector(`[data-node="${nodeId}"]`);
}

const drawn = new WeakMap();

function item(node, depth) {
  const has = node.children.length > 0;
  const made = el("li", {
    role: "treeitem", tabindex: "-1", "data-node": node.node_id, "aria-level": String(depth + 1),
    "aria-expanded": has ? "false" : null, "aria-label": label(node),
  },
  el("div", { class: "row" },
    el("span", { class: has ? "twist" : "twist none", "aria-hidden": "true" }),
    node.state !== "active" && dot(node.state),
    el("a", { href: `#/nodes/${node.node_id}`, tabindex: "-1", class: "name" }, node.name),
    node.node_type === "persona" && el("span", { class: "tag" }, "persona"),
    el("span", { class: "number", title: count(node.total, "memory", "memories") }, node.total || "")));
  drawn.set(made, { node, depth });
  if (has && depth < OPEN_DEPTH) expand(made, true);
  return made;
}

function label(node) {
  const kind = node.node_type === "persona" ? "persona, " : "";
  const state = { active: "", dormant: "sleeping, ", rehydrating: "waking, " }[node.state];
  return `${node.name}, ${kind}${state}${count(node.total, "memory", "memories")}`;
}

function expand(made, isOpen) {
  if (!made || !made.hasAttribute("aria-expanded")) return;
  made.setAttribute("aria-expanded", String(isOpen));
  if (isOpen && made.querySelector(":scope > ul") === null) {
    const { node, depth } = drawn.get(made);
    made.append(el("ul", { role: "group" }, node.children.map((child) => item(child, depth + 1))));
  }
}

function toggleClicked(event) {
  if (!event.target.classList.contains("twist")) return;
  const made = event.target.closest("[role=treeitem]");
  expand(made, made.getAttribute("aria-expanded") !== "true");
}

function move(tree, event) {
  const here = event.target.closest("[role=treeitem]");
  if (here === null || event.altKey || event.ctrlKey || event.metaKey) return;
  const goal = GOALS[event.key]?.(tree, here);
  if (goal === undefined) return;
  event.preventDefault();
  if (goal) makeCurrent(tree, goal, true);
}

const GOALS = {
  ArrowDown: (tree, here) => beside(tree, here, 1),
  ArrowUp: (tree, here) => beside(tree, here, -1),
  Home: (tree) => visible(tree)[0],
  End: (tree) => visible(tree).at(-1),
  ArrowRight: (tree, here) => {
    if (here.getAttribute("aria-expanded") === "true") return here.querySelector("[role=treeitem]");
    expand(here, true);
    return null;
  },
  ArrowLeft: (tree, here) => {
    if (here.getAttribute("aria-expanded") !== "true") return here.parentElement.closest("[role=treeitem]");
    expand(here, false);
    return null;
  },
  Enter: (tree, here) => {
    here.querySelector("a").click();
    return null;
  },
};

function visible(tree) {
  return [...tree.querySelectorAll("[role=treeitem]")].filter((one) => one.parentElement.closest("[aria-expanded=false]") === null);
}

function beside(tree, here, step) {
  const all = visible(tree);
  return all[all.indexOf(here) + step] ?? null;
}

function makeCurrent(tree, chosen, isFocused) {
  tree.querySelector("[role=treeitem][tabindex='0']")?.setAttribute("tabindex", "-1");
  chosen.tabIndex = 0;
  if (isFocused) chosen.focus();
}
