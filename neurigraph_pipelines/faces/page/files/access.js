/**
 * Grants: who else sees which node, what a grant would open, giving and revoking them.
 */

import { at, call, get } from "./api.js";
import { choice, el, field, fill, heading, link, meta } from "./dom.js";
import { nodeLink } from "./frame.js";
import { loadGraph } from "./graph_data.js";
import { personasAndKeys } from "./keys.js";
import { pages } from "./pages.js";
import { change, empty, load } from "./states.js";
import { sureButton } from "./sure.js";
import { count, day, moment } from "./words.js";

const THIRD_PARTY = "third party";

/** Show the grants of the graph, and the form to give one. */
export function show(main, _, signal) {
  const draw = () => load(main, loadGraph, (graph) => accessView(graph, draw, signal), signal);
  draw();
}

function accessView(graph, again, signal) {
  const list = el("div", {});
  const refresh = () => fill(list, pages("v1/grants", "grants", (grant) => grantRow(graph, grant),
    { signal, label: "Grants", none: empty("Nobody else sees anything.", "A persona sees its own node and what is below it, without a grant.") }));
  refresh();
  return [heading("Access", "A grant opens exactly one node: nothing above, beside or below it."), list, newGrant(graph, refresh, signal), personasAndKeys(graph, again, signal)];
}

function grantRow(graph, grant) {
  const notice = el("div", { class: "notice", "aria-live": "polite" });
  const who = grant.third_party ?? graph.nodes.get(grant.persona_id)?.path ?? "a persona";
  const revoke = sureButton("Revoke", `Revoke it from ${who}`, async (control) => {
    if ((await change(control, () => call("DELETE", at("grants", grant.grant_id)), notice)) === undefined) return;
    fill(row, el("p", { class: "quiet" }, `${who} no longer sees ${grant.node_path}.`));
  });
  const row = el("div", {},
    el("div", { class: "line" },
      el("strong", {}, who), el("span", { class: "tag" }, grant.third_party === null ? "persona" : "third party"),
      el("span", {}, grant.grant_type === "read" ? "reads" : "reads and writes"), nodeLink(grant.node_id, grant.node_path), revoke),
    meta(el("span", {}, "since ", moment(grant.granted_at)), grant.expires_at && el("span", {}, "until ", moment(grant.expires_at))), notice);
  return row;
}

function newGrant(graph, refresh, signal) {
  const nodes = [...graph.nodes.values()];
  const personas = nodes.filter((node) => node.node_type === "persona");
  const who = choice([...personas.map((node) => [node.node_id, node.path]), [THIRD_PARTY, "A program, by name"]], { onchange: () => showName() });
  const name = el("input", { type: "text", maxlength: "100", autocomplete: "off" });
  const nameField = field("Name of the program", name);
  const node = choice(nodes.map((one) => [one.node_id, one.path]), { onchange: () => showOpened() });
  const opened = el("div", { "aria-live": "polite" });
  const kind = choice([["read", "Read"], ["read_write", "Read and write"]]);
  const until = el("input", { type: "date" });
  const give = el("button", { type: "submit", class: "primary" }, "Give access");
  const notice = el("div", { class: "notice", "aria-live": "polite" });
  const showName = () => {
    const isNamed = who.value === THIRD_PARTY;
    nameField.hidden = !isNamed;
    name.required = isNamed;
    kind.disabled = isNamed;
    if (isNamed) kind.value = "read";
  };
  const showOpened = () => {
    const wanted = node.value;
    const box = el("div", {});
    fill(opened, box);  // an answer for a node that was chosen before fills a box that is gone
    load(box, () => get("v1/grants/preview", { node_id: wanted }, signal), preview, signal);
  };
  const onsubmit = async (event) => {
    event.preventDefault();
    const subject = who.value === THIRD_PARTY ? { third_party: name.value } : { persona_id: who.value };
    const body = { ...subject, node_id: node.value, grant_type: kind.value, expires_at: until.value ? `${until.value}T00:00:00Z` : null };
    if ((await change(give, () => call("POST", "v1/grants", { body }), notice)) === undefined) return;
    name.value = "";
    refresh();
  };
  showName();
  showOpened();
  return el("form", { class: "card", onsubmit }, el("h2", {}, "Give access"),
    el("div", { class: "fields" }, field("To", who), nameField, field("Node", node), field("May", kind), field("Until", until, "Empty: until it is revoked")),
    opened, give, notice);
}

function preview(opens) {
  const rest = opens.record_count - opens.newest.length;
  const [first, last] = [day(opens.first_at), day(opens.last_at)];
  const days = first.textContent === last.textContent ? [" of ", first] : [", ", first, " to ", last];
  return [
    el("p", {}, `This opens ${count(opens.record_count, "memory", "memories")}`, opens.record_count > 0 && days, "."),
    opens.foreign_looking.length > 0 && [el("p", { class: "notes" }, `These look foreign to the node${opens.compared < opens.record_count ? ` (of the ${opens.compared} newest)` : ""}:`), memoryList(opens.foreign_looking, "Foreign-looking memories")],
    opens.record_count > 0 && el("details", {}, el("summary", {}, "What it opens"), memoryList(opens.newest, "Newest memories"), rest > 0 && el("p", { class: "quiet" }, `and ${count(rest, "older one")}`)),
  ];
}

function memoryList(memories, label) {
  return el("ul", { "aria-label": label }, memories.map((one) => el("li", {}, link(`#/records/${one.record_id}`, one.title), " ", day(one.occurred_at))));
}
