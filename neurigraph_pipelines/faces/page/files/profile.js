/**
 * What is known of the user or of a person: statements in sections, which the owner confirms, corrects, pins and forgets.
 */

import { at, call, get } from "./api.js";
import { button, el, fill, heading, link, meta } from "./dom.js";
import { nodeLink } from "./frame.js";
import { loadGraph } from "./graph_data.js";
import * as session from "./session.js";
import { change, empty, load } from "./states.js";
import { sureButton } from "./sure.js";
import { day, phrase } from "./words.js";

/** Show the profile of the owner, or of the person whose node the address names. */
export function show(main, { parts: [nodeId] }, signal) {
  const read = async () => {
    if (nodeId === undefined) return get("v1/profile", {}, signal);
    const node = (await loadGraph()).nodes.get(nodeId);
    return get("v1/profile", { name: node?.name ?? nodeId }, signal);
  };
  load(main, read, (profile) => [
    heading(profile.name, profile.is_user ? "What is remembered about the owner of this memory." : "What is remembered about this person."),
    profile.sections.length ? profileSections(profile, { edits: session.persona() === null })
      : empty("No statement is remembered.", "Facts are read from memories soon after these are stored."),
  ], signal);
}

/**
 * Return the sections of a profile.
 * @param {number} most Statements in a section.
 * @param {boolean} edits Whether each statement has its buttons.
 */
export function profileSections(profile, { most = Infinity, edits = false } = {}) {
  return profile.sections.map(({ section, items }) => el("section", { class: "profile-section" },
    el("h3", {}, phrase(section)),
    el("ul", { class: "rows" }, items.slice(0, most).map((item) => el("li", {}, statement(item, edits))))));
}

function statement(item, edits) {
  const words = el("p", {}, item.node_id ? nodeLink(item.node_id, item.text) : item.text);
  const row = el("div", { class: `fact ${item.status ?? ""}` }, words, meta(
    (item.occurred_from ?? item.said_at) && day(item.occurred_from ?? item.said_at),
    item.pinned && el("span", { class: "tag" }, "pinned"),
    item.confirmed_at && el("span", { class: "tag" }, "confirmed"),
    item.source_count > 1 && `${item.source_count} sources`,
    item.record_id && link(`#/records/${item.record_id}${item.first_message ? `/${item.first_message}` : ""}`, "Where it was said")));
  if (edits && item.fact_id) row.append(controls(item, row, words));
  return row;
}

function controls(item, row, words) {
  const notice = el("div", { class: "notice", "aria-live": "polite" });
  const fact = at("facts", item.fact_id);
  const does = (text, work, said) => {
    const control = button(text, async () => {
      if ((await change(control, work, notice)) !== undefined) fill(notice, el("p", { class: "quiet" }, said));
    }, { class: "plain" });
    return control;
  };
  const forget = sureButton("Forget", "Forget it for good", async (control) => {
    if ((await change(control, () => call("DELETE", fact), notice)) !== undefined) fill(row, el("p", { class: "quiet" }, "It is forgotten."));
  });
  return el("div", {}, el("div", { class: "decisions" },
    does("Confirm", () => call("POST", `${fact}/confirm`), "It is confirmed."),
    button("Correct", () => fill(notice, correction(item, fact, words, notice)), { class: "plain" }),
    does(item.pinned ? "Unpin" : "Pin", () => call("PATCH", fact, { body: { pinned: !item.pinned } }), item.pinned ? "It may fade again." : "It stays."),
    forget), notice);
}

/** Return the form for other words. They are the statement's next version, which is stored in the background. */
function correction(item, fact, words, notice) {
  const text = el("input", { type: "text", maxlength: "1000", required: true, value: item.text, "aria-label": "What is right" });
  const save = el("button", { type: "submit", class: "primary" }, "Save");
  const failure = el("div", { class: "notice", "aria-live": "polite" });
  return el("form", { class: "line", onsubmit: async (event) => {
    event.preventDefault();
    if ((await change(save, () => call("PATCH", fact, { body: { statement: text.value } }), failure)) === undefined) return;
    fill(words, text.value);
    fill(notice, el("p", { class: "quiet" }, "The new words hold as soon as they are stored."));
  } }, text, save, failure);
}
