/**
 * The graph as a view in a chat (MCP Apps): what the assistant looked up, and what is around it. All data come from
 * tools that the host calls.
 */

import { button, el, fill } from "./dom.js";
import { graphPane } from "./graph_pane.js";
import { grow, newGraph, unread } from "./grown_graph.js";
import { connect, contentOf } from "./host.js";
import { around } from "./layout.js";
import { showPlace } from "./shell.js";
import { failed, load, loading } from "./states.js";
import { setTheme } from "./theme.js";

const MOST_CALLS = 12;
const RECORDS = 5;

const app = document.getElementById("app");
const graph = newGraph();
let leaving = new AbortController();
let given = {};
let host = null;
let pane = null;
let modes = [];

fill(app, loading("Waiting for the assistant…"));
const connected = connect({
  input: (values) => { given = values; },
  result: (result) => { show(result); },
  cancelled: () => fill(app, failed(new Error("The call was cancelled."))),
  context: useContext,
  teardown: () => leaving.abort(),
});

/** Take the look that the host has. */
function useContext({ theme, displayMode, availableDisplayModes }) {
  if (availableDisplayModes) modes = availableDisplayModes;
  if (displayMode) document.documentElement.classList.toggle("full", displayMode === "fullscreen");
  if (theme && setTheme(theme)) pane?.draw();
}

/** Show what the assistant's call returned. A host that passes no structured content is asked to call again. */
async function show(result) {
  host = await connected;
  await load(app, async () => {
    if (result.isError || result.structuredContent || !host.call) return contentOf(result);
    return host.call("browse_graph", { ...(given.node && { node: given.node }), limit: RECORDS });
  }, (place) => {
    const node = grow(graph, place);
    countAll();
    return viewAround(node);
  });
}

/** Return the view around a node. */
function viewAround(centre) {
  leaving.abort();
  leaving = new AbortController();
  const { signal } = leaving;
  const shell = el("section", { class: "shell", "aria-label": "Node" });
  const select = (node) => open(shell, node, centre, signal);
  const entry = (node) => button(node.path ?? node.name, () => select(node), { class: "plain" });
  const asked = new Set();
  pane = graphPane(graph, centre, { shell, select, entry, wanted: (hops) => readAround(centre, hops, asked, signal), signal });
  select(centre);
  return el("div", {}, fullScreen(), pane.element);
}

/** Show the shell of a node, and ask the host for it if it was not read yet. */
function open(shell, node, centre, signal) {
  const draw = () => {
    const again = (id) => open(shell, graph.nodes.get(id), centre, signal);
    const toCentre = node === centre ? null : () => fill(app, viewAround(node));
    const place = el("div");
    showPlace(place, node, again, toCentre);
    return place;
  };
  if (node.place) fill(shell, draw());
  else load(shell, () => read(node), () => { pane.draw(); return draw(); }, signal);
}

async function read(node) {
  if (!host.call) throw new Error("This program shows only what the assistant asked for.");
  grow(graph, await host.call("browse_graph", { node: node.node_id, limit: RECORDS }));
}

/** Read the nodes nearest to the centre, so that all within some steps are known: a few of them, and once. */
async function readAround(centre, hops, asked, signal) {
  if (!host.call) return;
  const missing = unread(around(graph, centre, hops, MOST_CALLS * 4), hops).filter((node) => !asked.has(node));
  const now = missing.slice(0, MOST_CALLS - asked.size);
  if (now.length === 0) return;
  for (const node of now) asked.add(node);
  await Promise.allSettled(now.map(read));
  if (!signal.aborted) pane.draw();
}

/** Ask how many nodes there are, once; without an answer the view does not say how many are left out. */
async function countAll() {
  if (!host.call || graph.total !== null) return;
  try {
    graph.total = (await host.call("who_am_i", {})).node_count;
    pane?.draw();
  } catch {
    graph.total = null;
  }
}

function fullScreen() {
  if (!modes.includes("fullscreen")) return null;
  const other = () => (document.documentElement.classList.contains("full") ? "inline" : "fullscreen");
  return button("Full screen", async () => useContext({ displayMode: (await host.setMode(other())).mode }), { class: "plain" });
}
