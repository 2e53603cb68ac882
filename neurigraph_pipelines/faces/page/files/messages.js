/**
 * The messages of a memory, read one by one: a sleeping file stays asleep.
 */

import { at, call } from "./api.js";
import { button, el, fill } from "./dom.js";
import { empty, load } from "./states.js";
import { highlighted, moment, phrase } from "./words.js";

const AT_ONCE = 10;
const BEFORE = 2;

/** Return the section of a memory's messages, beginning a little before the one that is wanted. */
export function messageList(record, wanted, signal) {
  const list = el("ol", { class: "messages" });
  const end = el("div", { class: "end" });
  const start = Math.max(record.first_message, wanted ? wanted - BEFORE : 0);
  let next = start;
  const more = () => load(end, () => readSome(record, next, signal), (found) => {
    next += AT_ONCE;
    list.append(...found.map((message) => el("li", { class: message.seq === wanted ? "wanted" : null }, messageView(message))));
    if (next <= record.last_message) return button("Show more messages", more, { class: "plain" });
    return list.children.length ? null : empty("This memory has no messages that can be shown.");
  }, signal).then(() => wanted && list.querySelector(".wanted")?.scrollIntoView({ block: "center" }));
  more();
  const earlier = start > record.first_message && button("Show from the beginning", () => {
    const whole = messageList(record, null, signal);
    section.replaceWith(whole);
  }, { class: "plain" });
  const section = el("section", {}, el("h2", {}, "Messages"), earlier, list, end);
  return section;
}

/** Read one message of a file. */
export function readMessage(fileId, seq, signal) {
  return call("POST", at("files", fileId, "open"), { query: { message: seq }, signal });
}

async function readSome(record, first, signal) {
  const last = Math.min(first + AT_ONCE - 1, record.last_message);
  const seqs = Array.from({ length: Math.max(last - first + 1, 0) }, (_, place) => first + place);
  const read = await Promise.all(seqs.map((seq) => readMessage(record.file_id, seq, signal).catch((error) => {
    if (error.status === 404) return null; // another memory has this message
    throw error;
  })));
  return read.filter(Boolean);
}

/** Return a message with its speaker and time; words of the question are marked. */
export function messageView(message, question = "") {
  const name = message.author ?? phrase(message.voice ?? message.role ?? "unknown");
  return el("article", { class: `message ${message.voice ?? ""}` },
    el("header", {},
      el("strong", {}, name),
      message.type && message.type.startsWith("tool") && el("span", { class: "tag" }, phrase(message.type)),
      el("span", { class: "quiet" }, moment(message.occurred_at)),
      el("span", { class: "quiet" }, `message ${message.seq}`)),
    el("p", { class: "text" }, highlighted(message.content ?? "", question)));
}
