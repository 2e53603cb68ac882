"""Chains of versions: how facts enter them with a verdict, and leave them again.

A fact enters a chain beside another one, its anchor: with a verdict, or because somebody stated it as the next version.
So a chain is a tree of anchors in the world's order, and a fact that leaves takes the facts below it along.
Callers hold the lock of the user's beliefs.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from uuid import UUID

from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.model.ports import Transaction

_QUERIES = statements("verdicts")
_CHAINS = statements("chains")
_Pair = tuple[UUID, UUID]


def members(tx: Transaction, fact_id: UUID) -> list[UUID]:
    """Return the versions of a fact's chain, the first one first, locked; empty if there is no such fact."""
    return [row["fact_id"] for row in tx.execute(_QUERIES["chain"], {"fact_id": fact_id})]


def waiting(tx: Transaction, fact_id: UUID) -> list[UUID]:
    """Return the facts that updates which wait for a person join to a fact, the one that holds first."""
    return [row["fact_id"] for row in tx.execute(_CHAINS["waiting_chain"], {"fact_id": fact_id})]


def ask_once(tx: Transaction, chain: Sequence[UUID]) -> None:
    """Close the open proposals among the facts of a waiting chain, save that of its last for its first."""
    values = {"fact_ids": list(chain), "first": chain[0], "last": chain[-1]}
    tx.execute(_CHAINS["withdraw_between"], values)


def settle(tx: Transaction, chain: Sequence[UUID], judged_by: str, reason: str) -> None:
    """Let all updates that wait among the facts of a chain supersede."""
    tx.execute(_CHAINS["settle_between"], {"fact_ids": list(chain), "judged_by": judged_by, "reason": reason})


def enter(tx: Transaction, later_id: UUID, earlier_id: UUID, superseding: Collection[_Pair]) -> None:
    """Enter a fact that has no chain yet into the chain of another fact, at its place in the world's order.

    A place between two versions needs that the later of them supersedes it, too.

    Args:
        superseding: Pairs of facts, the later one first, of which the later one supersedes the earlier one.
    """
    later, earlier = members(tx, later_id), members(tx, earlier_id)
    if earlier_id in later or not later or not earlier:
        return
    if len(later) == 1:
        entering, chain, after = later_id, earlier, earlier.index(earlier_id) + 1
    elif len(earlier) == 1:
        entering, chain, after = earlier_id, later, later.index(later_id)
    else:
        return  # two chains: the verdict alone says it
    before, behind = chain[:after], chain[after:]
    is_fitting = (not before or (entering, before[-1]) in superseding) and (
        not behind or (behind[0], entering) in superseding
    )
    if is_fitting:
        tx.execute(_QUERIES["write_chain"], {"fact_ids": [*before, entering, *behind]})
        values = {"later_id": later_id, "earlier_id": earlier_id, "entered": _side(entering == later_id)}
        tx.execute(_QUERIES["note_entry"], values)


def part(tx: Transaction, later_id: UUID, earlier_id: UUID) -> None:
    """Separate two facts of a chain that no verdict joins any more; each other fact stays with its anchor.

    Nothing changes if they are in two chains, if other versions stand between them and neither entered beside the
    other, or if somebody stated one of them as the next version of the other.
    """
    chain = members(tx, later_id)
    if earlier_id not in chain:
        return
    anchors, stated = _anchors(tx, chain)
    leaving = _leaving(chain, anchors, later_id, earlier_id)
    if leaving is None or leaving in stated:
        return
    tx.execute(_QUERIES["forget_entry"], {"fact_id": leaving, "anchor_id": anchors[leaving]})
    del anchors[leaving]
    gone = {one for one in chain if _is_below(one, leaving, anchors)}
    for some in ([one for one in chain if one not in gone], [one for one in chain if one in gone]):
        tx.execute(_QUERIES["write_chain"], {"fact_ids": some})


def _leaving(chain: Sequence[UUID], anchors: Mapping[UUID, UUID], later_id: UUID, earlier_id: UUID) -> UUID | None:
    """Return the fact of two that leaves the chain; None if neither does."""
    for one, other in ((later_id, earlier_id), (earlier_id, later_id)):
        if anchors.get(one) == other:
            return one
    if chain.index(later_id) != chain.index(earlier_id) + 1:
        return None
    return next((one for one in (later_id, earlier_id) if one in anchors), None)


def _anchors(tx: Transaction, chain: Sequence[UUID]) -> tuple[dict[UUID, UUID], set[UUID]]:
    """Return the anchor of each fact of a chain, and the facts that somebody stated as a next version.

    A version without a noted entry has the version before it as its anchor. The first such version has none.
    """
    rows = tx.execute(_QUERIES["anchors"], {"fact_ids": list(chain)}).fetchall()
    found = {row["fact_id"]: row["anchor_id"] for row in rows}
    plain = [one for one in chain if one not in found]
    return found | dict(zip(plain[1:], plain, strict=False)), {row["fact_id"] for row in rows if row["is_stated"]}


def _is_below(fact_id: UUID, top: UUID, anchors: Mapping[UUID, UUID]) -> bool:
    """Return whether a fact is ``top``, or reaches ``top`` over its anchors."""
    seen: set[UUID] = set()
    one: UUID | None = fact_id
    while one is not None and one != top and one not in seen:
        seen.add(one)
        one = anchors.get(one)
    return one == top


def _side(is_later: bool) -> str:
    return "later" if is_later else "earlier"
