"""Notes of answers and searches about shown messages that a later message updates or contradicts.

Both statements are given with their days. The verdicts come from ``knowledge``; the database shows those of which the
caller sees both sides.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from neurigraph_pipelines.database.asking import ask_rows
from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.model import Statement
from neurigraph_pipelines.model.context import Context
from neurigraph_pipelines.model.enriching import enriched
from neurigraph_pipelines.retrieval.index.caches import MOST_WATCHES, WATCH_SECONDS, Conflicting, caches_of
from neurigraph_pipelines.retrieval.passages import ReadMessage, stated
from neurigraph_pipelines.retrieval.query.found import Found, FoundMessage
from neurigraph_pipelines.text.lexemes import Lexer
from neurigraph_pipelines.views.kinds import Effect, Verdict

MOST = 5
"""Most conflicts that one answer names."""

SURE = 0.75
"""Least confidence of a conflict that waits for a person."""

FIRST = 10
"""Of so many messages of a search, conflicts are looked up."""

MOST_KNOWN = 1_000
"""Of so many conflicts of a caller, the messages are known. With more, conflicts are looked up at every search."""

_QUERIES = statements("conflicts")


class Conflict(NamedTuple):
    """Two facts of which the later one updates or contradicts the earlier one."""

    later_statement: str
    earlier_statement: str
    later_said_at: datetime
    earlier_said_at: datetime
    later_record_id: UUID
    earlier_record_id: UUID
    later_first: int
    earlier_first: int
    later_last: int
    earlier_last: int
    verdict: Verdict
    effect: Effect


def notes_of(context: Context, quoted: Iterable[tuple[UUID, int]], without: Collection[UUID] = ()) -> list[str]:
    """Return a sentence for each conflict among the statements of some messages; see ``conflicts_of``."""
    return [note_of(one) for one in conflicts_of(context, quoted, without)]


def conflicts_of(
    context: Context, quoted: Iterable[tuple[UUID, int]], without: Collection[UUID] = ()
) -> list[Conflict]:
    """Return the conflicts among the statements of some messages; none if a defect stops the search for them.

    Args:
        quoted: Ids of records, with numbers of their messages.
        without: Records whose statements make no conflict.
    """

    def found() -> list[Conflict]:
        conflicts = _conflicts(context, quoted)
        return [one for one in conflicts if {one.later_record_id, one.earlier_record_id}.isdisjoint(without)]

    return enriched("conflicts", found, list)


def latest_first(
    given: Sequence[Statement], passages: Sequence[ReadMessage], conflicts: Iterable[Conflict], lexer: Lexer
) -> list[Statement]:
    """Return statements, behind each that says the later side of a conflict the one that says the earlier side.

    A side that no statement says is quoted, if its message was found. One statement may say both.

    Args:
        given: Statements that quote the passages by their places, from 1.
    """
    found = list(given)
    outdated: set[tuple[int, ...]] = set()
    for one in sorted(conflicts, key=lambda one: (one.later_said_at, one.earlier_said_at)):  # so a chain ends in order
        sides = (
            (one.later_statement, places_among(passages, one.later_record_id, one.later_first, one.later_last)),
            (one.earlier_statement, places_among(passages, one.earlier_record_id, one.earlier_first, one.earlier_last)),
        )
        said = [[s for s in found if places & set(s.quoted) and says(s.text, text, lexer)] for text, places in sides]
        if not all(places for _, places in sides) or not any(said) or any(one in said[1] for one in said[0]):
            continue
        later, earlier = (
            told[0] if told else stated(passages, min(places)) for told, (_, places) in zip(said, sides, strict=True)
        )
        start = min(found.index(each) for each in (later, earlier) if each in found)
        rest = [each for each in found if each not in (later, earlier)]
        outdated.add(earlier.quoted)
        found = [
            *rest[:start],
            replace(later, is_superseded=later.is_superseded or later.quoted in outdated),
            replace(earlier, is_superseded=True),
            *rest[start:],
        ]
    return found


def places_among(passages: Sequence[ReadMessage], record_id: UUID, first: int, last: int) -> set[int]:
    """Return the places of a record's messages among passages, from 1."""
    return {
        place
        for place, one in enumerate(passages, start=1)
        if one.hit.record_id == record_id and one.message and first <= one.message.seq <= last
    }


def says(text: str, statement: str, lexer: Lexer) -> bool:
    """Return whether a text has most of the words of a fact's statement."""
    words = frozenset(lexer.lexemes(statement))
    return 2 * len(words & frozenset(lexer.lexemes(text))) >= len(words)


def newest_first(context: Context, found: Found, *, with_notes: bool) -> Found:
    """Return the result of a search with a note for each conflict of its first messages, the newer message first.

    Of two messages that update or contradict each other, the newer one takes the place of the better one, and the other
    one follows it. Nothing is left out, and scores stay as they are.
    """
    first = [(one.record_id, one.seq) for one in found.messages[:FIRST] if one.record_id is not None]
    if not first or not found.disagrees or not _may_conflict(context, first):
        return found
    messages, notes = list(found.messages), list(found.notes)
    for conflict in _conflicts(context, first):
        notes += [note_of(conflict)] if with_notes else []
        _bring_together(messages, conflict)
    return replace(found, messages=tuple(messages), notes=tuple(notes))


def _bring_together(messages: list[FoundMessage], conflict: Conflict) -> None:
    places = [
        _place(messages, conflict.later_record_id, conflict.later_first, conflict.later_last),
        _place(messages, conflict.earlier_record_id, conflict.earlier_first, conflict.earlier_last),
    ]
    if places[0] is None or places[1] is None or places[0] == places[1]:
        return
    pair = [messages[place] for place in places if place is not None]
    for place in sorted(place for place in places if place is not None)[::-1]:
        del messages[place]
    start = min(place for place in places if place is not None)
    messages[start:start] = pair


def _place(messages: Sequence[FoundMessage], record_id: UUID, first: int, last: int) -> int | None:
    """Return where the best message is that states one side of a conflict; None if it was not found."""
    hits = (place for place, one in enumerate(messages) if one.record_id == record_id and first <= one.seq <= last)
    return next(hits, None)


def _may_conflict(context: Context, messages: Iterable[tuple[UUID, int]]) -> bool:
    """Return whether some messages may have conflicts that the caller sees; asked at most once in a while."""
    cache, claims = caches_of(context.database).watches, context.claims
    known = cache.peek(Conflicting, claims)
    if known is None:
        values = {"user_id": claims.user_id, "least": SURE, "most": MOST_KNOWN}
        (row,) = context.database.ask(claims, _QUERIES["conflicting_messages"], values)
        stated: dict[str, list[tuple[int, int]]] = {}
        for record_id, first, last in row["stated"]:
            stated.setdefault(record_id, []).append((first, last))
        known = Conflicting(stated, row["are_all"])
        cache.put(claims, known, MOST_WATCHES, size=1 + len(row["stated"]), seconds=WATCH_SECONDS)
    return not known.are_all or any(
        first <= seq <= last for record_id, seq in messages for first, last in known.stated.get(str(record_id), ())
    )


def _conflicts(context: Context, quoted: Iterable[tuple[UUID, int]]) -> list[Conflict]:
    places = list(dict.fromkeys(quoted))
    if not places:
        return []
    values = {
        "record_ids": [record_id for record_id, _ in places],
        "messages": [message for _, message in places],
        "least": SURE,
        "most": MOST,
    }
    return ask_rows(context.database, context.claims, _QUERIES["about_messages"], Conflict, values)


def note_of(conflict: Conflict) -> str:
    """Return a conflict in a sentence."""
    earlier = _said(conflict.earlier_said_at, conflict.earlier_statement)
    later = _said(conflict.later_said_at, conflict.later_statement)
    if conflict.effect == Effect.SUPERSEDES:
        return f"Superseded: {earlier}; since then {later}."
    if conflict.effect == Effect.DISPUTES:
        return f"Disputed: {earlier}, but {later}."
    word = "Perhaps outdated" if conflict.verdict == Verdict.UPDATES else "Perhaps contradicted"
    return f"{word}: {earlier}; {later}."


def _said(day: datetime, statement: str) -> str:
    return f"{day:%Y-%m-%d} “{statement.rstrip('.')}”"
