/**
 * A slider through the versions of a memory.
 */

import { at, get } from "./api.js";
import { el, fill } from "./dom.js";
import { failed } from "./states.js";
import { moment, phrase } from "./words.js";

const MOST = 200;
const PAUSE = 120;

/**
 * Return the slider, empty for a memory of one version.
 * @param {Function} draw Called with the memory at a version, and the names of what that version changed.
 */
export function versionSlider(record, draw, signal) {
  const place = el("div", { class: "versions" });
  fillSlider(place, record, draw, signal);
  return place;
}

async function fillSlider(place, record, draw, signal) {
  let deltas;
  try {
    deltas = (await get(at("records", record.record_id, "history"), { limit: MOST }, signal)).deltas.reverse();
  } catch (error) {
    if (error.name !== "AbortError" && error.status !== 404 && error.status !== 403) fill(place, failed(error));
    return;
  }
  if (signal.aborted || deltas.length < 2) return;
  const said = el("output", { for: "version" });
  const slider = el("input", { type: "range", id: "version", min: 0, max: deltas.length - 1, step: 1, value: deltas.length - 1 });
  let waiting;
  slider.addEventListener("input", () => {
    say(said, slider, deltas);
    clearTimeout(waiting);
    waiting = setTimeout(() => showVersion(place, record, deltas[Number(slider.value)], draw, signal), PAUSE);
  });
  fill(place, el("label", { for: "version" }, "Version"), slider, said);
  say(said, slider, deltas);
}

function say(said, slider, deltas) {
  const delta = deltas[Number(slider.value)];
  const place = `${Number(slider.value) + 1} of ${deltas.length}`;
  slider.setAttribute("aria-valuetext", `${place}, ${phrase(delta.operation)}`);
  fill(said, el("strong", {}, place), ` · ${phrase(delta.operation)} · `, moment(delta.changed_at), ` · by ${delta.authored_by.split(":")[0]}`);
}

async function showVersion(place, record, delta, draw, signal) {
  place.querySelector(".failed")?.remove();
  try {
    const version = await get(at("records", record.record_id), { at: delta.changed_at }, signal);
    const changed = delta.operation === "create" ? [] : Object.keys(delta.after);
    if (!signal.aborted) draw(version, new Set(changed));
  } catch (error) {
    if (error.name !== "AbortError") place.append(failed(error));
  }
}
