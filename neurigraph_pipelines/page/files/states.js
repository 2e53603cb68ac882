/**
 * What is shown while something loads, when nothing is there, and when something fails; and lists in pages.
 */

import { get } from "./api.js";
import { button, el, fill } from "./dom.js";

/** Return the notice that something loads. It appears only if that takes a moment. */
export function loading(text = "Loading…") {
  return el("p", { class: "loading", role: "status" }, el("span", { class: "spinner", "aria-hidden": "true" }), text);
}

/** Return the notice that nothing is there, and what to do about it. */
export function empty(text, hint = null) {
  return el("div", { class: "empty" }, el("p", {}, text), hint && el("p", { class: "quiet" }, hint));
}

/** Return the notice of a failure, with a way to try again. */
export function failed(error, again = null) {
  const text = error.message || "Something went wrong on this page.";
  return el("div", { class: "failed", role: "alert" }, el("p", {}, text), again && button("Try again", again));
}

/** Fill a place with what a promise brings: loading, then the drawing of it, or the failure. */
export async function load(place, work, draw, signal) {
  fill(place, loading());
  place.setAttribute("aria-busy", "true");
  try {
    const found = await work();
    if (signal?.aborted) return;
    fill(place, draw(found));
  } catch (error) {
    if (signal?.aborted || error.name === "AbortError") return;
    fill(place, failed(error, () => load(place, work, draw, signal)));
  } finally {
    place.removeAttribute("aria-busy");
  }
}

/**
 * Return a list that loads its pages one by one.
 * @param {string} path Of an operation with `cursor`.
 * @param {string} name Of the list in the answer.
 * @param {Function} draw Makes a list item's content.
 */
export function pages(path, name, draw, { query = {}, none, signal, label, limit = 50 }) {
  const list = el("ul", { class: "rows", "aria-label": label });
  const end = el("div", { class: "end" });
  let cursor = null;
  const more = () =>
    load(end, () => get(path, { ...query, limit, cursor }, signal), (page) => {
      list.append(...page[name].map((one) => el("li", {}, draw(one))));
      cursor = page.next_cursor;
      list.hidden = list.children.length === 0;
      if (cursor) return button("Show more", more, { class: "plain" });
      return list.hidden ? none : null;
    }, signal);
  list.hidden = true;
  more();
  return el("div", { class: "pages" }, list, end);
}

/** Run a change that a control started: the control waits, and a failure is shown beside it. */
export async function change(control, work, notice) {
  control.disabled = true;
  fill(notice);
  try {
    return await work();
  } catch (error) {
    fill(notice, failed(error));
    return undefined;
  } finally {
    control.disabled = false;
  }
}
