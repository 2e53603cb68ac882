/**
 * Spaces: named sets of sources, what is in them, and making and removing them.
 */

import { at, call, get } from "./api.js";
import { button, el, field, fill, heading, link, meta } from "./dom.js";
import * as session from "./session.js";
import { pages } from "./pages.js";
import { change, empty, load } from "./states.js";
import { count, day, moment, phrase } from "./words.js";
import { sureButton } from "./sure.js";

/** Show all spaces, or the one that the address names. */
export function show(main, { parts }, signal) {
  if (parts[0]) return load(main, () => get(at("spaces", parts[0]), {}, signal), (space) => spaceView(space, signal), signal);
  const list = el("div", {});
  const refresh = () => fill(list, pages("v1/spaces", "spaces", spaceRow,
    { signal, label: "Spaces", none: empty("There are no spaces.", "A space is a named set of conversations, files and notes in which you can search.") }));
  refresh();
  return fill(main, heading("Spaces", "Named sets of sources. Searches and keys can be limited to them."),
    list, session.persona() === null && newSpace(refresh));
}

function spaceRow(space) {
  return el("div", {},
    el("div", { class: "line" }, link(`#/spaces/${space.space_id}`, space.name), el("span", { class: "tag" }, space.container_tag)),
    space.entity_context && el("p", { class: "clamp" }, space.entity_context),
    meta(count(space.source_count, "source"), el("span", {}, "made ", day(space.created_at))));
}

function newSpace(refresh) {
  const tag = el("input", { type: "text", required: true, maxlength: "100", pattern: "[A-Za-z0-9_:\\-]+", autocomplete: "off" });
  const name = el("input", { type: "text", maxlength: "300" });
  const context = el("textarea", { maxlength: "1500", rows: "2" });
  const make = el("button", { type: "submit", class: "primary" }, "Make the space");
  const notice = el("div", { class: "notice", "aria-live": "polite" });
  const onsubmit = async (event) => {
    event.preventDefault();
    const body = { container_tag: tag.value, name: name.value || null, entity_context: context.value || null };
    const made = await change(make, () => call("POST", "v1/spaces", { body }), notice);
    if (made === undefined) return;
    event.target.reset();
    refresh();
  };
  return el("form", { class: "card", onsubmit }, el("h2", {}, "A new space"),
    el("div", { class: "fields" },
      field("Tag", tag, "Letters, digits, _ : and -. It never changes."), field("Name", name)),
    field("Context", context, "What language models are told about its sources."), make, notice);
}

function spaceView(space, signal) {
  const isOwn = session.persona() === null;
  const notice = el("div", { class: "notice", "aria-live": "polite" });
  const remove = sureButton("Remove the space", "Remove it; its sources stay", async (control) => {
    if ((await change(control, () => call("DELETE", at("spaces", space.space_id)), notice)) !== undefined) location.hash = "#/spaces";
  });
  return el("div", {},
    el("a", { href: "#/spaces", class: "back always" }, "All spaces"),
    heading(space.name, `${space.container_tag} · ${count(space.source_count, "source")}`, isOwn && remove), notice,
    space.entity_context && el("p", { class: "summary" }, space.entity_context),
    el("section", {}, el("h2", {}, "Sources"),
      pages(at("spaces", space.space_id, "sources"), "sources", (source) => sourceRow(space, source, isOwn),
        { signal, label: "Sources", none: empty("This space is empty.", "Name its tag when you upload a file or write a note.") })));
}

function sourceRow(space, source, isOwn) {
  const notice = el("div", { class: "notice", "aria-live": "polite" });
  const take = button("Take out", async () => {
    const path = at("spaces", space.space_id, "sources", source.source_id);
    if ((await change(take, () => call("DELETE", path), notice)) === undefined) return;
    fill(row, el("p", { class: "quiet" }, `${source.title ?? source.external_id} was taken out.`));
  });
  const row = el("div", {},
    el("div", { class: "line" }, el("strong", {}, source.title ?? source.external_id), el("span", { class: "tag" }, phrase(source.kind)), isOwn && take),
    meta(el("span", {}, "added ", moment(source.added_at))), notice);
  return row;
}
