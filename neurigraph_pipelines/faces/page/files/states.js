/**
 * What is shown while something loads, when nothing is there, and when something fails.
 */

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
