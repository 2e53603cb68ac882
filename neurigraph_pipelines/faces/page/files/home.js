/**
 * The first view: a search, what waits for a decision, what came in lately, who the user is, and people and subjects.
 */

import { get } from "./api.js";
import { el, fill, link } from "./dom.js";
import { nodeLink } from "./frame.js";
import { loadGraph } from "./graph_data.js";
import { recordRow } from "./node.js";
import { profileSections } from "./profile.js";
import { ask, searchForm } from "./search.js";
import * as session from "./session.js";
import { empty, load } from "./states.js";
import { count, dayName } from "./words.js";

const LATELY = 15;
const MOST_ACTIONS = 200;
const MOST_NODES = 12;
const MOST_STATEMENTS = 4;

/** Show the first view. */
export function show(main, _, signal) {
  const form = searchForm((asked) => {
    ask(asked);
    location.hash = "#/search";
  });
  const part = (name, work, draw) => {
    const place = el("section", { class: name });
    load(place, () => allowed(work), draw, signal);
    return place;
  };
  const waiting = () => (session.persona() === null ? get("v1/actions", { limit: MOST_ACTIONS }, signal) : null);
  fill(main, el("div", { class: "home" },
    el("h1", { class: "unseen" }, "Memory"),
    form,
    part("waiting-line", waiting, waits),
    el("div", { class: "home-pair" },
      part("lately", () => get("v1/records", { limit: LATELY }, signal), lately),
      el("div", {},
        part("who", () => get("v1/profile", {}, signal), who),
        part("known", loadGraph, known)))));
}

/** Return what a call brings; null where this key may not make it. */
async function allowed(work) {
  try {
    return await work();
  } catch (error) {
    if (error.status === 403 || error.status === 404) return null;
    throw error;
  }
}

function waits(page) {
  if (!page?.actions.length) return null;
  const more = page.next_cursor ? " and more" : "";
  return link("#/decide", `${count(page.actions.length, "decision")}${more} waiting for you`);
}

function lately({ records }) {
  if (records.length === 0) {
    return empty("Nothing is remembered yet.", ["Write a note with ", el("code", {}, "neurigraph note"), ", or ", link("#/upload", "upload a file"), "."]);
  }
  const days = Map.groupBy(records, (record) => dayName(record.created_at));
  return [el("h2", {}, "Lately"), [...days].map(([name, ones]) => [
    el("h3", {}, name),
    el("ul", { class: "rows", "aria-label": name }, ones.map((record) => el("li", {}, recordRow(record)))),
  ])];
}

function who(profile) {
  if (!profile?.sections.length) return null;
  return [
    el("div", { class: "heading" }, el("h2", {}, profile.name), link("#/profile", "All that is known")),
    profileSections(profile, { most: MOST_STATEMENTS }),
  ];
}

function known(graph) {
  const nodes = [...graph.nodes.values()].filter((node) => node.parent && node.total > 0 && node.node_type !== "persona");
  nodes.sort((one, other) => other.total - one.total);
  const people = nodes.filter((node) => node.kind === "person");
  const subjects = nodes.filter((node) => node.kind !== "person");
  return [named("People", people), named("Subjects", subjects)];
}

function named(title, nodes) {
  if (nodes.length === 0) return null;
  return [el("h2", {}, title), el("ul", { class: "chips", "aria-label": title }, nodes.slice(0, MOST_NODES).map((node) =>
    el("li", {}, nodeLink(node.node_id, node.name), " ", el("span", { class: "number", title: count(node.total, "memory", "memories") }, node.total))))];
}
