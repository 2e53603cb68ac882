"""Writing the links that rules and models find, in the transaction of what they were found in.

People state links in ``linking``; ``listing.links`` shows both.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any
from uuid import UUID, uuid5

import psycopg

from neurigraph_pipelines.knowledge.cues import OBSERVER, StatedFact, find_causes
from neurigraph_pipelines.model import Message
from neurigraph_pipelines.model.links import MAX_LINK_MESSAGES, MAX_REASON, EndKind, NewLink
from neurigraph_pipelines.ports import Transaction
from neurigraph_pipelines.statements import statements

_QUERIES = statements("links")


def record_links(tx: Transaction, user_id: UUID, links: Iterable[NewLink]) -> list[UUID]:
    """Write inferred links, and return the ids of those that are there now.

    A link that somebody rejected or ended is not inferred again, and one that is there already in the same relation
    stays as it is. A link that would close a cycle, or whose cause begins after its effect, is left out.

    Args:
        tx: A transaction of the pipeline that has locked the graph, shared or exclusively.
        user_id: The owner of both ends.
    """
    written: list[UUID] = []
    for link in links:
        values = row_of(user_id, link)
        try:
            with tx.transaction():
                row = tx.execute(_QUERIES["infer"], values).fetchone()
        except (psycopg.errors.CheckViolation, psycopg.errors.ForeignKeyViolation):  # impossible, or an end is gone
            continue
        if row is not None:
            written.append(row["link_id"])
    return written


def replace_links(
    tx: Transaction, user_id: UUID, record_id: UUID, observers: Sequence[str], links: Iterable[NewLink]
) -> int:
    """Replace the links that some observers found in a record, and return how many there are now.

    What people decided about stays.
    """
    written = record_links(tx, user_id, links)
    values = {"record_id": record_id, "observers": list(observers), "kept": written}
    tx.execute(_QUERIES["delete_inferred"], values)
    return len(written)


def link_causes(tx: Transaction, record_id: UUID, user_id: UUID, messages: Sequence[Message]) -> int:
    """Replace the causes that the messages of a record state between its facts, and return how many there are."""
    facts = [StatedFact(**row) for row in tx.execute(_QUERIES["facts_of_record"], {"record_id": record_id})]
    return replace_links(tx, user_id, record_id, [OBSERVER], find_causes(facts, messages))


def row_of(user_id: UUID, link: NewLink) -> dict[str, Any]:
    """Return a link as the queries take it. Its id follows from who says what of which ends."""
    stored = link.stored()
    ends = {
        **{f"from_{kind}_id": None for kind in (EndKind.FACT, EndKind.RECORD)},
        **{f"to_{kind}_id": None for kind in EndKind},
        f"from_{stored.start.kind}_id": stored.start.id,
        f"to_{stored.end.kind}_id": stored.end.id,
    }
    return {
        **ends,
        "link_id": uuid5(stored.start.id, f"{stored.relation} {stored.end.id} {stored.observed_by}"),
        "user_id": user_id,
        "from_id": stored.start.id,
        "to_id": stored.end.id,
        "relation": stored.relation,
        "strength": stored.strength,
        "confidence": stored.confidence,
        "observed_by": stored.observed_by,
        "detected_by": stored.detected_by.value,
        "reason": stored.reason[:MAX_REASON] if stored.reason else None,
        "messages": sorted(set(stored.messages))[:MAX_LINK_MESSAGES],
        "valid_from": stored.valid_from,
        "valid_until": stored.valid_until,
    }
