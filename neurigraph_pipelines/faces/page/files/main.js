/**
 * Start of the page: signing in, the frame around the views, and which view an address shows.
 */

import { at, call } from "./api.js";
import { fill } from "./dom.js";
import { frame, markCurrent } from "./frame.js";
import { forgetGraph } from "./graph_data.js";
import { signInView } from "./sign_in.js";
import * as session from "./session.js";
import { failed } from "./states.js";
import { endPersona } from "./persona.js";

const VIEWS = {
  "": ["Memory", () => import("./home.js")],
  profile: ["Profile", () => import("./profile.js")],
  nodes: ["Memories", () => import("./memories.js")],
  records: ["Memory", () => import("./record.js")],
  search: ["Search", () => import("./search.js")],
  graph: ["Graph", () => import("./graph.js")],
  upload: ["Upload", () => import("./upload.js")],
  decide: ["Decide", () => import("./decide.js")],
  failures: ["Failures", () => import("./failures.js")],
  access: ["Access", () => import("./access.js")],
  spaces: ["Spaces", () => import("./spaces.js")],
};
const ID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

const page = document.getElementById("page");
let leaving = new AbortController();
let isFirst = true;

/** Show what the address names, or the form to sign in. */
async function show() {
  leaving.abort();
  leaving = new AbortController();
  const { signal } = leaving;
  if (session.ownKey() === null) {
    document.title = "Sign in – Neurigraph";
    fill(page, signInView(show));
    page.querySelector("input").focus();
    return;
  }
  const [name, ...parts] = location.hash.replace(/^#\/?/, "").split("/").filter(Boolean);
  const [title, module] = VIEWS[Object.hasOwn(VIEWS, name ?? "") ? (name ?? "") : ""];
  const main = mainOf(name ?? "");
  document.title = `${title} – Neurigraph`;
  try {
    const view = await module();
    if (signal.aborted) return;
    main.dataset.view = name ?? "";
    view.show(main, { parts: parts.filter((part) => ID.test(part) || /^\d+$/.test(part)) }, signal);
  } catch (error) {
    fill(main, failed(error, show));
  }
  if (!isFirst) main.focus({ preventScroll: name === "nodes" });
  isFirst = false;
}

/** Return the main part of the frame, which is drawn once for each caller. */
function mainOf(name) {
  let main = page.querySelector(".frame > main");
  if (main === null) {
    fill(page, frame({ leave: signOut, again: redraw }));
    main = page.querySelector(".frame > main");
  }
  markCurrent(page, name === "records" ? "nodes" : name === "profile" ? "" : name);
  return main;
}

/** Draw everything again, for another caller. */
function redraw() {
  forgetGraph();
  fill(page);
  show();
}

async function signOut() {
  await endPersona().catch(() => {});
  const issued = session.issuedKeyId();
  if (issued !== null) await call("DELETE", at("keys", issued)).catch(() => {});
  session.signOut();
  forgetGraph();
  location.hash = "#/";
  isFirst = true;
  show();
}

/** A key that is no longer valid ends the persona's view, or the session. */
function keyEnded() {
  if (session.persona() !== null) session.seeAs(null);
  else session.signOut();
  redraw();
}

window.addEventListener("hashchange", show);
window.addEventListener("key-ended", keyEnded);
document.addEventListener("keydown", (event) => {
  const field = event.target.closest("input, textarea, select");
  if (event.key === "/" && !field && !event.ctrlKey && !event.metaKey && session.ownKey() !== null) {
    event.preventDefault();
    location.hash = "#/search";
    requestAnimationFrame(() => document.querySelector("input[type=search]")?.focus());
  }
});
show();
