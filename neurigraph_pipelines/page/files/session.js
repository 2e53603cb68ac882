/**
 * Who is signed in. The key lives in this tab's session storage and nowhere else, and ends with the tab.
 */

const KEY = "neurigraph.key";
const PERSONA = "neurigraph.persona";

/** Return the key that calls are made with, or null. */
export function key() {
  return persona()?.key ?? ownKey();
}

/** Return the key that was entered, or null. */
export function ownKey() {
  return sessionStorage.getItem(KEY);
}

/** Remember a key for this tab. */
export function signIn(entered) {
  sessionStorage.setItem(KEY, entered);
}

/** Forget everything about the caller. */
export function signOut() {
  sessionStorage.removeItem(KEY);
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
