/**
 * Uploading files: progress while they are sent, then their state until they are stored.
 */

import { at, get, upload } from "./api.js";
import { button, choice, el, field, fill, heading, link, meta } from "./dom.js";
import { forgetGraph } from "./graph_data.js";
import { pages } from "./pages.js";
import { empty, failed } from "./states.js";
import { count, moment, phrase, size } from "./words.js";

const WAIT_SECONDS = 20;

/** Show the field for files, and what was uploaded before. */
export function show(main, _, signal) {
  const title = el("input", { type: "text", maxlength: "500" });
  const tags = el("input", { type: "text", placeholder: "garden, boat" });
  const privacy = choice([["", "As set"], ["shared", "Shared"], ["private", "Private"]]);
  const sent = el("ul", { class: "rows", "aria-label": "Files that are sent", "aria-live": "polite" });
  const fields = () => ({ title: title.value, container_tags: tags.value.replaceAll(" ", ""), privacy: privacy.value });
  const take = (files) => [...files].forEach((file) => sent.prepend(sending(file, fields(), signal)));
  fill(main,
    heading("Upload", "Files of any kind: their text is read, and the file is kept byte for byte. Exports of chats become conversations."),
    dropField(take),
    el("div", { class: "fields" }, field("Title", title), field("Spaces", tags, "Tags with commas between them"), field("Privacy", privacy)),
    sent,
    el("section", {}, el("h2", {}, "Uploaded before"),
      pages("v1/uploads", "uploads", uploadRow, { signal, label: "Uploads", limit: 20, none: empty("Nothing was uploaded yet.") })));
}

function dropField(take) {
  const input = el("input", { type: "file", multiple: true, id: "files", onchange: () => { take(input.files); input.value = ""; } });
  const over = (isOver) => (event) => {
    event.preventDefault();
    place.classList.toggle("over", isOver);
  };
  const place = el("div", { class: "drop", ondragover: over(true), ondragleave: over(false), ondrop: (event) => { over(false)(event); take(event.dataTransfer.files); } },
    el("label", { for: "files" }, "Choose files, or drop them here"), input);
  return place;
}

function sending(file, fields, signal) {
  const bar = el("progress", { max: 1, value: 0, "aria-label": `Sending ${file.name}` });
  const said = meta("Sending…");
  const row = el("li", {}, el("div", { class: "line" }, el("strong", {}, file.name), el("span", { class: "quiet" }, size(file.size))), bar, said);
  const start = async () => {
    try {
      const answer = await upload(file, fields, (share) => { bar.value = share; });
      bar.value = 1;
      fill(said, answer.known ? "These bytes were uploaded before. " : "Sent. ", (answer.notes || []).map((note) => `${note}. `), "It waits to be read.");
      await untilStored(answer.upload_id, bar, said, signal);
    } catch (error) {
      if (error.name !== "AbortError") fill(said, failed(error, start));
    }
  };
  start();
  return row;
}

/** Show the state of an upload until it is stored or has failed. */
async function untilStored(uploadId, bar, said, signal) {
  while (!signal.aborted) {
    const found = await get(at("uploads", uploadId), { wait: WAIT_SECONDS }, signal);
    if (found.state === "stored") {
      forgetGraph();
      bar.hidden = true;
      fill(said, noted(found), "Stored: ", found.imported ? imported(found.imported) : found.record_ids.map((id, place) => [place ? ", " : "", link(`#/records/${id}`, found.title || found.file_name)]));
      return;
    }
    if (found.state === "failed") throw new Error(`It could not be stored: ${found.error}`);
    fill(said, `${phrase(found.state)}…`);
    await new Promise((resume) => setTimeout(resume, 500));
  }
}

/** Say what was read of an export of conversations. */
function imported({ conversation_count: conversations, conversations_added: added, messages_added: messages, rejected_count: rejected }) {
  const parts = [`${count(conversations, "conversation")}, ${added} of them new`, count(messages, "new message")];
  return parts.concat(rejected ? `${count(rejected, "part")} could not be read` : []).join("; ");
}

/** Return the title of an upload; of one that became a memory, it leads there. */
function shown(found) {
  const title = found.title || found.file_name;
  if (found.file_id === null) return el("strong", {}, title);
  const place = el("span", {});
  const open = async () => {
    try {
      location.hash = `#/records/${(await get(at("files", found.file_id))).record_id}`;
    } catch (error) {
      fill(place, failed(error));
    }
  };
  place.append(button(title, open, { class: "plain" }));
  return place;
}

/** Say what of an upload was assumed, left out or not read. */
function noted({ notes }) {
  return (notes || []).map((note) => `${phrase(note)}. `).join("");
}

function uploadRow(found) {
  return el("div", {},
    el("div", { class: "line" }, shown(found), el("span", { class: `tag ${found.state === "failed" ? "warn" : ""}` }, phrase(found.state))),
    meta(found.file_name, size(found.size_bytes), found.media_type, moment(found.received_at), found.imported && imported(found.imported), noted(found), found.error));
}
