/**
 * Who is signed in. The key lives in this tab's session storage and nowhere else, and ends with the tab.
 */

const KEY = "neurigraph.key";
const KEY_ID = "neurigraph.key_id";
const PERSONA = "neurigraph.persona";

/** Return the key that calls are made with, or null. */
export function key() {
  return persona()?.key ?? ownKey();
}

/** Return the key that was entered, or null. */
export function ownKey() {
  return sessionStorage.getItem(KEY);
}

/** Remember a key for this tab. One that was issued for a password has an id, and is revoked when its user signs out. */
export function signIn(entered, keyId = null) {
  sessionStorage.setItem(KEY, entered);
  if (keyId !== null) sessionStorage.setItem(KEY_ID, keyId);
}

/** Return the id of the key that was issued for a password, or null. */
export function issuedKeyId() {
  return sessionStorage.getItem(KEY_ID);
}

/** Forget everything about the caller. */
export function signOut() {
  sessionStorage.removeItem(KEY);
  sessionStorage.removeItem(KEY_ID);
  sessionStorage.removeItem(PERSONA);
}

/** Return the persona as which the graph is seen, `{key, keyId, nodeId, name}`, or null. */
export function persona() {
  const stored = sessionStorage.getItem(PERSONA);
  return stored === null ? null : JSON.parse(stored);
}

/** See the graph as a persona from now on; null ends it. */
export function seeAs(seen) {
  if (seen === null) sessionStorage.removeItem(PERSONA);
  else sessionStorage.setItem(PERSONA, JSON.stringify(seen));
}
