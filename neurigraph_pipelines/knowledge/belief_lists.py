"""What is believed of a fact, and what a memory brought: its facts, the links inferred for them, and their conflicts.

Everything is over what the caller sees. The belief itself is the owner's: it would tell of facts that others may not
see.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.knowledge.effects import believed
from neurigraph_pipelines.model import Claims
from neurigraph_pipelines.model.ports import Database
from neurigraph_pipelines.retrieval.listing.facts import fact
from neurigraph_pipelines.views.kinds import Effect, Verdict

_QUERIES = statements("verdicts")
_CONFLICTS = {Verdict.UPDATES: "update", Verdict.CONTRADICTS: "contradiction", Verdict.SAME: "duplicate"}
_LINKS = (Verdict.CONTRADICTS, Verdict.ELABORATES, Verdict.SUPPORTS, Verdict.DEPENDS_ON)
REASONS = {
    Verdict.SAME: "it says the same",
    Verdict.UPDATES: "the later one replaces the earlier one",
    Verdict.CONTRADICTS: "both cannot be true",
    Verdict.ELABORATES: "it adds details",
    Verdict.SUPPORTS: "it makes the other one more likely",
    Verdict.DEPENDS_ON: "it holds only if the other one does",
}
"""What others than the owner read as a reason: a model's own words may tell of what they may not see."""

MOST_STEPS = 100
"""Most versions that are followed from a fact to the current one."""


def belief(database: Database, claims: Claims, fact_id: UUID) -> dict[str, Any]:
    """Return what is believed now of what a fact says, and what conflicts with it.

    Raises:
        NotFoundError: There is no such fact, or the caller does not see it.
    """
    current = fact(database, claims, fact_id)
    seen = {fact_id}
    while (after := current["superseded_by"]) is not None and after not in seen and len(seen) < MOST_STEPS:
        seen.add(after)
        current = fact(database, claims, after)
    rows = verdicts(database, claims, fact_ids=sorted(seen))
    rows = [row for row in rows if row["verdict"] in (Verdict.UPDATES, Verdict.CONTRADICTS)]
    return {
        "fact_id": fact_id,
        "current_belief": current,
        "conflicting_beliefs": [_conflicting(row, current["fact_id"]) for row in rows],
        "confidence": current["confidence"],
        "belief": _belief(database, claims, current["fact_id"]) if claims.role == "user" else None,
        "needs_review": any(
            row["effect"] in (Effect.FLAGGED, Effect.DISPUTES) and row["undone_at"] is None for row in rows
        ),
    }


def brought(
    database: Database, claims: Claims, record_id: UUID, facts: Sequence[Mapping[str, Any]]
) -> dict[str, list[Any]]:
    """Return what the facts of a memory mean for the known ones: what is new, inferred links, and conflicts."""
    rows = verdicts(database, claims, record_id=record_id)
    repeated = [one for one in facts if one["canonical_id"] != one["fact_id"]]
    conflicts = [_conflict(row, record_id) for row in rows if row["verdict"] in _CONFLICTS]
    conflicts += [
        {
            "fact_id": one["fact_id"],
            "existing_fact_id": one["canonical_id"],
            "type": "duplicate",
            "suggested_action": "ignore",
            "confidence": 1.0,
            "reason": "the same words",
            "effect": Effect.NONE.value,
        }
        for one in repeated
    ]
    links = [
        {
            "from_fact_id": row["later_id"],
            "to_fact_id": row["earlier_id"],
            "relation": row["verdict"],
            "confidence": row["confidence"],
            "reason": row["reason"],
        }
        for row in rows
        if row["verdict"] in _LINKS
    ]
    again = {one["fact_id"] for one in repeated}
    return {
        "created": [one["fact_id"] for one in facts if one["fact_id"] not in again],
        "inferred_links": links,
        "conflicts": conflicts,
    }


def verdicts(
    database: Database, claims: Claims, *, fact_ids: Sequence[UUID] | None = None, record_id: UUID | None = None
) -> list[dict[str, Any]]:
    """Return the verdicts on some facts, or on those of a record, of which the caller sees both sides."""
    values = {
        "user_id": claims.user_id,
        "fact_ids": None if fact_ids is None else list(fact_ids),
        "record_id": record_id,
    }
    rows = database.ask(claims, _QUERIES["verdicts_of"], values)
    return [row if row["is_owner"] else row | {"reason": REASONS[Verdict(row["verdict"])]} for row in rows]


def _belief(database: Database, claims: Claims, fact_id: UUID) -> float | None:
    found = believed(database.ask(claims, _QUERIES["grounds"], {"fact_ids": [fact_id]}), [fact_id])
    return round(found[fact_id], 4) if fact_id in found else None


def _conflicting(row: Mapping[str, Any], current_id: UUID) -> dict[str, Any]:
    """Return one side of a verdict, the one that is not believed now, with how it was resolved."""
    side = "earlier" if row["later_id"] == current_id or row["effect"] == Effect.SUPERSEDES else "later"
    relationship = "contradicts"
    resolution = None
    if row["undone_at"] is not None:
        resolution = "somebody took this back"
    elif row["effect"] == Effect.SUPERSEDES:
        relationship, resolution = "superseded", row["reason"]
    elif row["effect"] == Effect.DISPUTES:
        relationship = "disputed"
    return {
        "fact_id": row[f"{side}_id"],
        "statement": row[f"{side}_statement"],
        "said_at": row[f"{side}_said_at"],
        "relationship": relationship,
        "resolution": resolution,
        "reason": row["reason"],
        "confidence": row["confidence"],
    }


def _conflict(row: Mapping[str, Any], record_id: UUID) -> dict[str, Any]:
    is_later = row["later_record_id"] == record_id
    return {
        "fact_id": row["later_id"] if is_later else row["earlier_id"],
        "existing_fact_id": row["earlier_id"] if is_later else row["later_id"],
        "type": _CONFLICTS[Verdict(row["verdict"])],
        "suggested_action": _suggested(row),
        "confidence": row["confidence"],
        "reason": row["reason"],
        "effect": row["effect"],
    }


def _suggested(row: Mapping[str, Any]) -> str:
    if row["verdict"] == Verdict.SAME:
        return "merge"
    is_clear = row["effect"] == Effect.SUPERSEDES or (len(row["missing"]) == 1 and "automatic" in row["missing"][0])
    return "supersede" if row["verdict"] == Verdict.UPDATES and is_clear else "flag"
