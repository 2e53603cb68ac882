/**
 * What waits for a decision, one after the other: two statements side by side, and a key for each decision.
 */

import { at, get } from "./api.js";
import { button, el, fill, heading, meta } from "./dom.js";
import { forgetGraph } from "./graph_data.js";
import { decisionsOf } from "./decisions.js";
import { sidesOf } from "./sides.js";
import { change, empty, load } from "./states.js";
import { count, moment, phrase } from "./words.js";

const MOST = 200;
const TITLES = {
  store: "Store a note?",
  delete: "Forget this?",
  promote: "Keep this longer?",
  archive: "Archive this?",
  restore: "Restore this?",
  supersede: "Does the second replace the first?",
  link: "Is this link right?",
  merge_nodes: "Are these the same?",
  resolve: "Which one holds?",
  digest: "Make a digest?",
  move: "Where does this belong?",
};

/** Show the first action that waits. */
export function show(main, _, signal) {
  const place = el("div", { class: "decide" });
  const status = el("p", { class: "quiet", role: "status" });
  const queue = { actions: [], at: 0, place, status, signal };
  fill(main, heading("Decide", "What is in doubt, and what personas may do only after an approval."), status, place);
  load(place, () => get("v1/actions", { limit: MOST }, signal), (page) => {
    queue.actions = page.actions;
    queue.hasMore = page.next_cursor !== null;
    queueMicrotask(() => showCurrent(queue));
    return null;
  }, signal);
  document.addEventListener("keydown", (event) => pressed(place, event), { signal });
}

function showCurrent(queue) {
  const { actions, place, signal } = queue;
  fill(queue.status, count(actions.length, "decision"), queue.hasMore ? " and more" : "", " waiting");
  if (actions.length === 0) return fill(place, empty("Nothing waits for you.", "New doubts appear here within a minute of the memory that raises them."));
  queue.at %= actions.length;
  const listed = actions[queue.at];
  return load(place, async () => {
    const action = await get(at("actions", listed.action_id), {}, signal);
    return { action, sides: await sidesOf(action, signal) };
  }, (found) => actionView(queue, found), signal);
}

function actionView(queue, { action, sides }) {
  const notice = el("div", { class: "notice", "aria-live": "polite" });
  const buttons = decisionsOf(action).map((decision) => decisionButton(queue, action, decision, notice));
  return el("article", { class: "action card" },
    el("div", { class: "line" },
      el("h2", {}, TITLES[action.kind] ?? phrase(action.kind)), el("span", { class: "tag" }, action.origin === "doubt" ? "in doubt" : "asked for"),
      el("span", { class: "quiet" }, `${queue.at + 1} of ${queue.actions.length}`)),
    el("div", { class: sides.length > 1 ? "sides two" : "sides" }, sides),
    details(action),
    el("div", { class: "decisions" }, buttons),
    notice,
    meta(`reason: ${phrase(action.reason).toLowerCase()}`, `asked by ${action.requested_by.split(":")[0]}`, moment(action.requested_at), el("span", {}, "open until ", moment(action.expires_at))));
}

function details(action) {
  const entries = action.places.length ? [] : Object.entries(action.details ?? {});
  if (entries.length === 0) return null;
  return el("dl", { class: "pairs" }, entries.map(([name, value]) => [el("dt", {}, phrase(name)), el("dd", {}, String(value))]));
}

function decisionButton(queue, action, decision, notice) {
  const made = button([el("kbd", {}, decision.key), " ", decision.label], async () => {
    if (decision.work === null) {
      queue.at += 1;
      showCurrent(queue);
      return;
    }
    const done = await change(made, async () => { await decision.work(); return true; }, notice);
    if (done === undefined) return;
    forgetGraph();
    queue.actions.splice(queue.at, 1);
    showCurrent(queue);
  }, { class: decision.key === "a" ? "primary" : "", "data-key": decision.key, "aria-keyshortcuts": decision.key });
  return made;
}

function pressed(place, event) {
  if (event.target.closest("input, textarea, select") || event.ctrlKey || event.metaKey || event.altKey) return;
  const control = place.querySelector(`[data-key="${CSS.escape(event.key.toLowerCase())}"]`);
  if (control === null || control.disabled) return;
  event.preventDefault();
  control.click();
}
