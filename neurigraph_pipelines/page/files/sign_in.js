/**
 * The form to sign in with an API key.
 */

import { call } from "./api.js";
import { el, field } from "./dom.js";
import { signIn } from "./session.js";
import { change } from "./states.js";

/** Return the form; `done` is called once the server has taken the key. */
export function signInView(done) {
  const key = el("input", {
    type: "password", name: "key", required: true, autocomplete: "off", spellcheck: "false", maxlength: "8000",
  });
  const enter = el("button", { type: "submit", class: "primary" }, "Sign in");
  const notice = el("div", { class: "notice", "aria-live": "polite" });
  const submit = async (event) => {
    event.preventDefault();
    const entered = key.value.trim();
    const answer = await change(enter, () => check(entered), notice);
    if (answer === undefined) return key.focus();
    signIn(entered);
    done();
  };
  return el("main", { class: "sign-in" },
    el("form", { onsubmit: submit, class: "card" },
      el("h1", {}, "Neurigraph"),
      el("p", { class: "quiet" }, "See what is remembered, and decide about it."),
      field("API key", key, "It stays in this tab, and is forgotten when the tab is closed."),
      enter, notice,
      el("p", { class: "quiet" }, "A new key: ", el("code", {}, "neurigraph keys add --user NAME"))));
}

async function check(entered) {
  if (!/^[\x21-\x7e]+$/.test(entered)) throw new Error("This is no API key: a key has letters, digits and signs without spaces.");
  try {
    return await call("GET", "v1/nodes", { query: { limit: 1 }, key: entered });
  } catch (error) {
    if (error.status === 401) throw new Error("The server does not know this key. It may be revoked, or mistyped.");
    throw error;
  }
}
