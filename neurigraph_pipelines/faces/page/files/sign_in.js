/**
 * The form to sign in, with an API key or with a name and a password.
 */

import { call } from "./api.js";
import { button, el, field, fill } from "./dom.js";
import { signIn } from "./session.js";
import { change } from "./states.js";

/** Return the form; `done` is called once the server has taken the key or the password. */
export function signInView(done) {
  const place = el("main", { class: "sign-in" });
  const show = (way, other) => {
    fill(place, card(way, done, () => show(other, way)));
    place.querySelector("input").focus();
  };
  fill(place, card(withKey(), done, () => show(withPassword(), withKey())));
  return place;
}

/** Return one of the two forms, with a button that leads to the other. */
function card(way, done, toOther) {
  const enter = el("button", { type: "submit", class: "primary" }, "Sign in");
  const notice = el("div", { class: "notice", "aria-live": "polite" });
  const submit = async (event) => {
    event.preventDefault();
    const found = await change(enter, way.enter, notice);
    if (found === undefined) return way.fields.at(-1).querySelector("input").focus();
    signIn(found.key, found.keyId);
    done();
  };
  return el("form", { onsubmit: submit, class: "card" },
    el("h1", {}, "Neurigraph"),
    el("p", { class: "quiet" }, "See what is remembered, and decide about it."),
    way.fields, enter, notice,
    button(way.other, toOther, { class: "plain" }),
    el("p", { class: "quiet" }, way.hint, el("code", {}, way.command)));
}

function withKey() {
  const key = el("input", {
    type: "password", name: "key", required: true, autocomplete: "off", spellcheck: "false", maxlength: "8000",
  });
  return {
    fields: [field("API key", key, "It stays in this tab, and is forgotten when the tab is closed.")],
    enter: () => checked(key.value.trim()),
    other: "Use a password instead",
    hint: "A new key: ",
    command: "neurigraph access key add --user NAME",
  };
}

function withPassword() {
  const user = el("input", {
    type: "text", name: "user", required: true, autocomplete: "username", autocapitalize: "off", spellcheck: "false",
    maxlength: "300",
  });
  const password = el("input", {
    type: "password", name: "password", required: true, autocomplete: "current-password", maxlength: "1000",
  });
  return {
    fields: [field("User", user), field("Password", password)],
    enter: () => exchanged(user.value.trim(), password.value),
    other: "Use an API key instead",
    hint: "A new password: ",
    command: "neurigraph user password --user NAME",
  };
}

async function checked(key) {
  if (!/^[\x21-\x7e]+$/.test(key)) throw new Error("This is no API key: a key has letters, digits and signs without spaces.");
  await opening(() => call("GET", "v1/nodes", { query: { limit: 1 }, key }),
    "The server does not know this key. It may be revoked, or mistyped.");
  return { key, keyId: null };
}

async function exchanged(user, password) {
  const made = await opening(() => call("POST", "v1/sign-in", { body: { user, password }, key: "none" }),
    "The name or the password is wrong. Users have no password until they set one.");
  return { key: made.api_key, keyId: made.key_id };
}

/** Call the server, and say what a refusal means here. */
async function opening(work, refused) {
  try {
    return await work();
  } catch (error) {
    if (error.status === 401) throw new Error(refused);
    throw error;
  }
}
