"""Writing the links that rules and models find, in the transaction of their records.

What is not sure waits for the owner as an action. What a model finds is written once it is approved. Rules read closed
forms: what they find is written at once, and rejecting the action rejects it.

People state links in ``linking``; ``knowledge.link_lists`` shows both.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from uuid import UUID, uuid5

import psycopg

from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.graph.governance.proposals import Doubt, propose
from neurigraph_pipelines.graph.naming import name_key
from neurigraph_pipelines.knowledge import references
from neurigraph_pipelines.knowledge.cues import (
    CONFIDENCE,
    OBSERVER,
    FactSaid,
    find_deciders,
    find_links,
    links_to_earlier,
)
from neurigraph_pipelines.model import Detector, Message
from neurigraph_pipelines.model.errors import NotFoundError
from neurigraph_pipelines.model.facts import ReadFact
from neurigraph_pipelines.model.links import MAX_LINK_MESSAGES, MAX_REASON, LinkEnd, StatedLink
from neurigraph_pipelines.model.ports import Transaction
from neurigraph_pipelines.text.causes import causes_of
from neurigraph_pipelines.views.kinds import ActionKind, EndKind

SURE = 0.8
"""Least confidence of a link that nobody is asked about."""

LIKELY = 0.6
"""Least confidence of one that waits for a person; less certain ones are dropped."""

MAX_ASKED = 10
"""Most links of one memory that wait for a person."""

MAX_EARLIER = 400
"""Most facts, the last ones, among which reasons that were told before are looked for."""

MAX_CUED = 20_000
"""Characters of a message that are read to see whether a record gives reasons."""

_QUERIES = statements("links")
_BEFORE = statements("told_before")


def record_links(tx: Transaction, user_id: UUID, links: Iterable[StatedLink]) -> list[UUID]:
    """Write inferred links, and return the ids of the links that are there now.

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
    tx: Transaction, user_id: UUID, record_id: UUID, observers: Sequence[str], links: Iterable[StatedLink]
) -> int:
    """Replace the links that some observers found in a record, and return how many there are now.

    What people decided about stays.
    """
    written = record_links(tx, user_id, links)
    values = {"record_id": record_id, "observers": list(observers), "kept": written}
    tx.execute(_QUERIES["delete_inferred"], values)
    return len(written)


def link_facts(
    tx: Transaction, record_id: UUID, user_id: UUID, messages: Sequence[Message], model: str, read: Sequence[ReadFact]
) -> None:
    """Replace the links of a record and its facts: closed forms, addresses, and links that a language model read.

    Args:
        model: The name of the language model.
        read: The facts that it read, with their links.
    """
    facts = [FactSaid(**row) for row in tx.execute(_QUERIES["facts_of_record"], {"record_id": record_id})]
    observer = f"model:{model}"
    found = _found(facts, observer, read)
    stated = [*find_links(facts, messages), *_earlier(tx, record_id, facts, messages)]
    decided = list(_decided(tx, user_id, facts, messages))
    sure = [one for one in found if one.confidence >= SURE]
    named = references.find_references(tx, record_id, user_id, messages)
    replace_links(tx, user_id, record_id, [OBSERVER, references.OBSERVER, observer], [*stated, *decided, *named, *sure])
    likely = [one for one in (*found, *stated) if LIKELY <= one.confidence < SURE]
    for one in sorted(likely, key=lambda one: -one.confidence)[:MAX_ASKED]:
        _ask(tx, user_id, one)


def _found(facts: Sequence[FactSaid], observer: str, read: Sequence[ReadFact]) -> list[StatedLink]:
    """Return the links between facts that were read, if the record has the facts now."""
    known = {fact.statement: fact for fact in facts}
    return [
        StatedLink(
            LinkEnd.fact(known[fact.statement].fact_id),
            LinkEnd.fact(known[one.statement].fact_id),
            one.relation,
            observer,
            Detector.MODEL,
            one.confidence,
            one.confidence,
            one.reason,
            tuple(range(fact.first_message, fact.last_message + 1)),
        )
        for fact in read
        for one in fact.links
        if fact.statement in known and one.statement in known
    ]


def _earlier(
    tx: Transaction, record_id: UUID, facts: Sequence[FactSaid], messages: Sequence[Message]
) -> list[StatedLink]:
    """Return the links to reasons that other records told before."""
    if not any(next(causes_of(part), None) for one in messages for part in one.content[:MAX_CUED].split(". ")):
        return []
    rows = tx.execute(_BEFORE["facts_before"], {"record_id": record_id, "limit": MAX_EARLIER})
    return links_to_earlier(facts, messages, [FactSaid(**row) for row in rows])


def _decided(
    tx: Transaction, user_id: UUID, facts: Sequence[FactSaid], messages: Sequence[Message]
) -> Iterator[StatedLink]:
    """Yield the links from decisions to the people who decided, if they have nodes."""
    found = list(find_deciders(facts, messages))
    if not found:
        return
    keys = [name_key(name) for _, name, _ in found]
    nodes: dict[str, list[UUID]] = {}
    for row in tx.execute(_BEFORE["people"], {"user_id": user_id, "keys": keys}):
        for key in {row["name_key"], row["name_key"].split(" ")[0]}:
            nodes.setdefault(key, []).append(row["node_id"])
    for fact_id, name, message in found:
        ends = set(nodes.get("" if name.lower() in ("i", "we") else name_key(name), ()))
        if len(ends) == 1:
            reason = "the message says who decided"
            start, end = LinkEnd.fact(fact_id), LinkEnd(EndKind.NODE, ends.pop())
            yield StatedLink(
                start, end, "decided_by", OBSERVER, Detector.RULE, CONFIDENCE, CONFIDENCE, reason, (message,)
            )


def _ask(tx: Transaction, user_id: UUID, link: StatedLink) -> None:
    """Propose a link, unless its ends have or had this relation by other means than a rule.

    A link of a rule that was not written is impossible.
    """
    ends = {"user_id": user_id, "from_id": link.start.id, "to_id": link.end.id, "relation": link.relation}
    (known,) = tx.execute(_QUERIES["known_link"], {**ends, "sure": SURE})
    if known["is_doubtful"] is False or (known["is_doubtful"] is None and link.detected_by is Detector.RULE):
        return
    doubt = Doubt(
        ActionKind.LINK,
        user_id,
        "inferred",
        "facts",
        fact_id=link.start.id,
        other_fact_id=link.end.id,
        details={"relation": link.relation, "confidence": round(link.confidence, 2)},
    )
    try:
        propose(tx, doubt)
    except NotFoundError:
        return  # gone meanwhile


def row_of(user_id: UUID, link: StatedLink) -> dict[str, object]:
    """Return a link as the queries take it. Its id follows from its observer, its relation and its ends."""
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
