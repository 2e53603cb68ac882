/**
 * What could not be stored, and trying it again.
 */

import { at, call } from "./api.js";
import { button, el, fill, heading, meta } from "./dom.js";
import { pages } from "./pages.js";
import { change, empty } from "./states.js";
import { count, moment, phrase } from "./words.js";

const OUTCOMES = {
  replayed: "It waits for its next attempt.",
  already_replayed: "It waits for its next attempt already.",
  stored_meanwhile: "It was stored meanwhile.",
};

/** Show the failures of the caller, newest first. */
export function show(main, _, signal) {
  fill(main, heading("Failures", "Conversations and files that could not be stored after their last attempt. Nothing of them is lost."),
    pages("v1/failures", "failures", failureRow,
      { signal, label: "Failures", none: empty("Nothing has failed.", "What fails is tried again several times before it is listed here.") }));
}

function failureRow(failure) {
  const notice = el("div", { class: "notice", "aria-live": "polite" });
  const replay = button("Try again", async () => {
    const done = await change(replay, () => call("POST", at("failures", failure.failure_id, "replay")), notice);
    if (done === undefined) return;
    replay.remove();
    fill(notice, el("p", { class: "done" }, OUTCOMES[done.outcome] ?? phrase(done.outcome)));
  });
  const name = failure.file_name ?? failure.source_external_id ?? phrase(failure.source_kind);
  return el("div", {},
    el("div", { class: "line" }, el("strong", {}, name), el("span", { class: "tag" }, phrase(failure.source_kind)), replay),
    el("p", { class: "error-text" }, failure.error),
    meta(`step ${failure.step}`, count(failure.attempts, "attempt"), moment(failure.occurred_at),
      failure.first_message && `messages ${failure.first_message} to ${failure.last_message}`),
    notice);
}
