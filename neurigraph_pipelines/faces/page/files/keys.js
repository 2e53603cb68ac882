/**
 * Personas and keys: who may call with which key. A key is shown once, when it is made.
 */

import { at, call } from "./api.js";
import { choice, el, field, fill, meta } from "./dom.js";
import { forgetGraph } from "./graph_data.js";
import { pages } from "./pages.js";
import { change, empty } from "./states.js";
import { sureButton } from "./sure.js";
import { moment } from "./words.js";

const PROGRAM = "program";

/** Return the forms for a persona and a key, with the keys there are. `again` draws the view once more. */
export function personasAndKeys(graph, again, signal) {
  const list = el("div", {});
  const refresh = () => fill(list, pages("v1/keys", "keys", (key) => keyRow(graph, key), { signal, label: "Keys", none: empty("There is no key.") }));
  refresh();
  return [newPersona(graph, again), el("section", {}, el("h2", {}, "Keys"), list), newKey(graph, refresh)];
}

function newPersona(graph, again) {
  const nodes = [...graph.nodes.values()].filter((node) => node.node_type !== "persona");
  const name = el("input", { type: "text", required: true, maxlength: "100", autocomplete: "off" });
  const under = choice(nodes.map((node) => [node.node_id, node.path]), {});
  const may = choice([["", "Read"], ["writes", "Read and write at its own node"]], {});
  const make = el("button", { type: "submit", class: "primary" }, "Make the persona");
  return form("Make a persona", "A persona is a helper of yours, such as a coach or a lawyer: it sees its own node and what is granted.",
    [field("Name", name), field("Below", under), field("May", may)], make, async () => {
      const body = { parent_node_id: under.value, name: name.value, node_type: "persona", writes: may.value !== "" };
      await call("POST", "v1/nodes", { body });
      forgetGraph();
      again();
      return null;
    });
}

function newKey(graph, refresh) {
  const personas = [...graph.nodes.values()].filter((node) => node.node_type === "persona");
  const named = el("input", { type: "text", maxlength: "100", autocomplete: "off" });
  const program = field("Name of the program", named);
  const subject = choice([["", "Yourself"], ...personas.map((node) => [node.node_id, node.path]), [PROGRAM, "A program, by name"]],
    { onchange: () => showName() });
  const showName = () => {
    program.hidden = subject.value !== PROGRAM;
    named.required = !program.hidden;
  };
  const label = el("input", { type: "text", maxlength: "100", autocomplete: "off" });
  const until = el("input", { type: "date" });
  const make = el("button", { type: "submit", class: "primary" }, "Make the key");
  showName();
  return form("Make a key", null,
    [field("For", subject), program, field("Label", label), field("Until", until, "Empty: until it is revoked")], make, async () => {
      const whose = subject.value === PROGRAM ? { third_party: named.value } : subject.value ? { persona_id: subject.value } : {};
      const body = { ...whose, label: label.value, expires_at: until.value ? `${until.value}T00:00:00Z` : null };
      const made = await call("POST", "v1/keys", { body });
      refresh();
      return el("p", { class: "made" }, "Keep this key, it is not shown again: ", el("code", {}, made.api_key));
    });
}

/** Return a form whose button runs `work`, and shows what that returns. */
function form(title, hint, fields, make, work) {
  const notice = el("div", { class: "notice", "aria-live": "polite" });
  const onsubmit = async (event) => {
    event.preventDefault();
    const said = await change(make, work, notice);
    if (said) fill(notice, said);
  };
  return el("form", { class: "card", onsubmit }, el("h2", {}, title), hint && el("p", { class: "quiet" }, hint), el("div", { class: "fields" }, fields), make, notice);
}

function keyRow(graph, key) {
  const notice = el("div", { class: "notice", "aria-live": "polite" });
  const whose = key.third_party ?? graph.nodes.get(key.persona_id)?.path ?? "yourself";
  const name = key.label || "without a label";
  const revoke = sureButton("Revoke", `Revoke the key ${name}`, async (control) => {
    if ((await change(control, () => call("DELETE", at("keys", key.key_id)), notice)) !== undefined) fill(row, el("p", { class: "quiet" }, `The key ${name} is revoked.`));
  });
  const row = el("div", {},
    el("div", { class: "line" }, el("strong", {}, name), el("span", { class: "tag" }, whose), revoke),
    meta(el("span", {}, "since ", moment(key.created_at)), key.expires_at && el("span", {}, "until ", moment(key.expires_at))), notice);
  return row;
}
