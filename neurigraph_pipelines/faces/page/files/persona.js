/**
 * Seeing the graph as one of its personas, by a key of the persona that is valid for a quarter of an hour.
 */

import { at, call } from "./api.js";
import { button, choice, el, fill } from "./dom.js";
import { loadGraph } from "./graph_data.js";
import * as session from "./session.js";
import { failed } from "./states.js";

const MINUTES = 15;

/** Return the control of the header: whom to see the graph as, or the way back. */
export function personaSwitch(again) {
  const place = el("div", { class: "seen-as" });
  const persona = session.persona();
  if (persona !== null) {
    fill(place, el("span", {}, "Seen as ", el("strong", {}, persona.name)),
      button("Back to my view", () => endPersona().finally(again)));
  } else {
    offerPersonas(place, again);
  }
  return place;
}

/** End the persona's view and revoke its key. */
export async function endPersona() {
  const persona = session.persona();
  if (persona === null) return;
  session.seeAs(null);
  await call("DELETE", at("keys", persona.keyId), { key: session.ownKey() });
}

async function offerPersonas(place, again) {
  let nodes;
  try {
    await call("GET", "v1/keys", { query: { limit: 1 } }); // only the owner may see as others
    nodes = (await loadGraph()).nodes;
  } catch (error) {
    place.closest(".frame")?.classList.toggle("guest", error.status === 403);
    return; // the views say what else is wrong
  }
  const personas = [...nodes.values()].filter((node) => node.node_type === "persona");
  if (personas.length === 0) return;
  const options = [["", "Yourself"], ...personas.map((node) => [node.node_id, node.path])];
  const select = choice(options, {
    onchange: () => begin(personas.find((node) => node.node_id === select.value), select, place, again),
  });
  fill(place, el("label", {}, el("span", {}, "Seen as"), select));
}

async function begin(node, select, place, again) {
  if (node === undefined) return;
  select.disabled = true;
  try {
    const expires = new Date(Date.now() + MINUTES * 60_000).toISOString();
    const body = { persona_id: node.node_id, label: "the page, seen as this persona", expires_at: expires };
    const made = await call("POST", "v1/keys", { body });
    session.seeAs({ key: made.api_key, keyId: made.key_id, nodeId: node.node_id, name: node.name });
    location.hash = "#/";
    again();
  } catch (error) {
    select.disabled = false;
    fill(place, failed(error, again));
  }
}
