/**
 * The frame around every view: the header, and the list of views.
 */

import { button, el, link } from "./dom.js";
import { personaSwitch } from "./persona.js";
import * as session from "./session.js";

const PLACES = [
  ["", "Home"],
  ["nodes", "Memories"],
  ["search", "Search"],
  ["graph", "Graph"],
  ["upload", "Upload"],
  ["decide", "Decide"],
  ["failures", "Failures"],
  ["access", "Access"],
  ["spaces", "Spaces"],
];
const ONLY_OWN = new Set(["upload", "decide", "failures", "access"]);

/** Return the frame. `leave` signs out, and `again` draws everything for another caller. */
export function frame({ leave, again }) {
  const persona = session.persona();
  const places = PLACES.filter(([name]) => persona === null || !ONLY_OWN.has(name));
  return el("div", { class: persona ? "frame as-persona" : "frame" },
    el("button", { type: "button", class: "skip", onclick: () => document.querySelector("main").focus() }, "Skip to the content"),
    el("header", {},
      el("a", { href: "#/", class: "brand" }, "Neurigraph"),
      personaSwitch(again),
      button("Sign out", leave, { class: "plain" })),
    el("nav", { "aria-label": "Views" },
      el("ul", {}, places.map(([name, label]) => el("li", {}, el("a", { href: `#/${name}`, "data-place": name }, label))))),
    el("main", { tabindex: "-1" }));
}

/** Mark the link of the view that is shown. */
export function markCurrent(page, place) {
  for (const one of page.querySelectorAll("nav a")) {
    if (one.dataset.place === place) {
      one.setAttribute("aria-current", "page");
      one.parentElement.scrollIntoView({ block: "nearest", inline: "nearest" });
    } else one.removeAttribute("aria-current");
  }
}

/** Return a link to a node. */
export function nodeLink(nodeId, text) {
  return link(`#/nodes/${nodeId}`, text);
}
