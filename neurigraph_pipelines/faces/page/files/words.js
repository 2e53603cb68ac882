/**
 * Times, sizes and states in words, and texts with the words of a question marked.
 */

import { el } from "./dom.js";

const MOMENT = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });
const DAY = new Intl.DateTimeFormat(undefined, { dateStyle: "medium" });
const WORD = /[\p{L}\p{N}]+/gu;
const UNITS = ["bytes", "kB", "MB", "GB", "TB"];
const STATES = { active: "Awake", dormant: "Sleeping", rehydrating: "Waking" };

/** Return a time element. */
export function moment(iso) {
  return iso ? el("time", { datetime: iso }, MOMENT.format(new Date(iso))) : "–";
}

/** Return the name of a day: "Today", "Yesterday", or its date. */
export function dayName(iso) {
  const then = new Date(iso);
  const days = Math.round((new Date().setHours(0, 0, 0, 0) - new Date(then).setHours(0, 0, 0, 0)) / 86_400_000);
  return ["Today", "Yesterday"][days] ?? DAY.format(then);
}

/** Return a day element. */
export function day(iso) {
  return iso ? el("time", { datetime: iso }, DAY.format(new Date(iso))) : "–";
}

/** Return a number of bytes in words. */
export function size(bytes) {
  if (bytes === null || bytes === undefined) return "–";
  const unit = Math.min(Math.floor(Math.log10(Math.max(bytes, 1)) / 3), UNITS.length - 1);
  const value = bytes / 1000 ** unit;
  return `${value.toLocaleString(undefined, { maximumFractionDigits: unit ? 1 : 0 })} ${UNITS[unit]}`;
}

/** Return a count with its noun: `1 memory`, `3 memories`. */
export function count(number, one, many = `${one}s`) {
  return `${number.toLocaleString()} ${number === 1 ? one : many}`;
}

/** Return a name of the API in words: `read_write` becomes `Read write`. */
export function phrase(name) {
  const words = String(name).replaceAll("_", " ");
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** Return a badge of a state that is not the usual one; null of what is awake. */
export function unusual(name) {
  return name && name !== "active" ? state(name) : null;
}

/** Return a badge of a file's or node's state. */
export function state(name) {
  return el("span", { class: `state ${name}` }, STATES[name] ?? phrase(name));
}

/** Return the dot of a state, with its name for those who do not see it. */
export function dot(name) {
  return el("span", { class: `dot ${name}`, title: STATES[name] ?? name }, el("span", { class: "unseen" }, STATES[name] ?? name));
}

/** Return a text as a list of strings and marks: the words that the question has are marked. */
export function highlighted(text, question) {
  const wanted = stems(question);
  const parts = [];
  let end = 0;
  for (const found of text.matchAll(WORD)) {
    if (!wanted.some((stem) => matches(found[0].toLowerCase(), stem))) continue;
    parts.push(text.slice(end, found.index), el("mark", {}, found[0]));
    end = found.index + found[0].length;
  }
  return [...parts, text.slice(end)];
}

function stems(question) {
  const words = (question.toLowerCase().match(WORD) ?? []).filter((word) => word.length > 2 && !COMMON.has(word));
  return words.map((word) => (word.length > 5 ? word.slice(0, -2) : word));
}

function matches(word, stem) {
  return word.startsWith(stem) && word.length - stem.length < 5;
}

const COMMON = new Set(
  ("the and for was were are what who when where why how did does has have had that this with from about which you " +
    "your she his her him they them their our not but can could would should will").split(" "),
);
