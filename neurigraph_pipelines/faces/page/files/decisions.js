/**
 * The decisions that an action allows, each with its key: approve, reject, second, many (both), ignore for now.
 */

import { at, call } from "./api.js";

const APPROVALS = {
  store: "Store it",
  delete: "Forget it",
  promote: "Keep it longer",
  archive: "Archive it",
  restore: "Restore it",
  supersede: "Replace the first by the second",
  link: "Confirm the link",
  merge_nodes: "Merge the first into the second",
  resolve: "Keep the first, take the second back",
  digest: "Make the digest",
};

/** Return the decisions about an action: `{key, label, work}`; `work` is null for what changes nothing. */
export function decisionsOf(action) {
  const vote = (approves, second = false) => () => call("POST", at("actions", action.action_id, "votes"), { body: { approves, second } });
  const [first, second] = action.places;
  const hasTwoFacts = action.fact_id !== null && action.other_fact_id !== null;
  return [
    { key: "a", label: first ? `Move it to ${first}` : APPROVALS[action.kind] ?? "Approve", work: vote(true) },
    second && { key: "s", label: `Move it to ${second}`, work: vote(true, true) },
    { key: "r", label: first ? "Leave it here" : "Reject", work: vote(false) },
    hasTwoFacts && action.kind === "resolve" && { key: "s", label: "Keep the second, take the first back", work: keepSecond(action) },
    hasTwoFacts && action.kind !== "link" && { key: "m", label: "Both hold: compare them no more", work: keepBoth(action) },
    { key: "i", label: "Ignore for now", work: null },
  ].filter(Boolean);
}

/** Taking the first statement back ends the dispute, and the server withdraws what was proposed. */
function keepSecond(action) {
  return () => call("POST", at("facts", action.fact_id, "retract"));
}

function keepBoth(action) {
  return () => call("POST", at("facts", action.fact_id, "undo"), { query: { other_fact_id: action.other_fact_id } });
}
