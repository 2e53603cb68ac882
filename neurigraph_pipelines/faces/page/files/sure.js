/**
 * Buttons that ask once more before they do something.
 */

import { button, el, fill } from "./dom.js";

/**
 * Return a button that turns into the question whether one is sure.
 * @param {Function} work Called with the control that was pressed.
 */
export function sureButton(text, sure, work) {
  const place = el("span", { class: "sure" });
  const ask = () => {
    const yes = button(sure, () => work(yes), { class: "danger" });
    fill(place, yes, button("Cancel", reset, { class: "plain" }));
    yes.focus();
  };
  const reset = () => fill(place, button(text, ask));
  place.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || place.children.length < 2) return;
    reset();
    place.firstChild.focus();
  });
  reset();
  return place;
}
