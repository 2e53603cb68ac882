"""Segmentation: the rule that splits a long conversation into segments, by token counts and roles, never by text.

Pure functions. ``detection`` finds the conversations and stores the segments.

**Terms.** The unstored tail of a conversation consists of *exchanges*. An exchange starts with a user message and ends
with the completed response: an assistant message that is complete, waits for no tool result, and is followed by the
next user message or, so far, by nothing. After it lies an *exchange boundary*. System messages between a response and
the next user message belong to the response. If only people talk, at least two of them by author name, every complete
message is a response. A message counts as complete once another one follows, whatever its sender said.

**The rule.**

1. A tail shorter than ``watch`` tokens is not split.
2. The segment ends at the first exchange boundary from ``target`` to ``limit`` tokens.
3. If there is none and the tail is not longer than ``limit``, the tail waits: a response is still coming.
4. Once the tail is longer than ``limit``, no such boundary can come: the segment ends at the last exchange boundary
   before ``target``. Its length is from ``watch`` to ``limit`` if such a boundary exists, and shorter if the exchange
   that follows is too long. A running exchange goes whole into the next segment.
5. Without any exchange boundary up to ``limit``, the first exchange is longer than ``limit``. While it runs, the tail
   waits until it is ``PATIENCE`` times ``limit`` long, because an exchange that never completes must not block the
   inbox. A complete or endless exchange is split at a *message boundary*, between two messages, by rules 2 and 4.
6. Without a message boundary up to ``limit``, one message, or one tool call with its results, is longer than ``limit``:
   the segment ends at the first boundary after it and is longer than ``limit``.

No boundary of either kind lies inside a message, after a last message that is incomplete, or between a tool call and
its result. The results of a call are the tool messages that follow it within its exchange, until the assistant speaks
again after the first of them. If no call is recorded, they belong to the message before them. A call without a result
waits for it until the user continues after a response without it, or the conversation ends.

The same rule splits the rest. So the next segment starts at a user message, except after a message boundary. An ended
conversation is split as if nothing were running, until the rest is not longer than ``limit``; the rest is its last
segment.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from itertools import accumulate

from neurigraph_pipelines.model import Role
from neurigraph_pipelines.settings import Settings

PATIENCE = 2
"""A running exchange longer than this many limits counts as endless."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """Segment lengths in tokens.

    Attributes:
        watch: Shorter tails are not split.
        target: The preferred length.
        limit: The greatest length, if a boundary permits.
    """

    watch: int
    target: int
    limit: int

    @classmethod
    def of(cls, settings: Settings) -> Sizes:
        """Return the sizes from the settings."""
        return cls(
            settings.ingestion.chunk_watch_tokens,
            settings.ingestion.chunk_target_tokens,
            settings.ingestion.chunk_limit_tokens,
        )


@dataclass(frozen=True, slots=True)
class Turn:
    """The properties of one message that segmentation uses.

    Attributes:
        complete: False while the message is streaming in.
        calls: Whether it calls tools whose results come as separate messages.
    """

    seq: int
    role: Role
    tokens: int
    complete: bool = True
    calls: bool = False
    author: str | None = None


@dataclass(frozen=True, slots=True)
class Chunk:
    """A segment to store, from the first to the last message inclusive."""

    first_message: int
    last_message: int
    tokens: int


@dataclass(frozen=True, slots=True)
class Split:
    """The result of splitting a tail.

    Attributes:
        chunks: Segments without gap or overlap, from the first message on. May be empty.
        waiting: The conversation is open, and the rest is long enough but has no boundary yet.
    """

    chunks: tuple[Chunk, ...]
    waiting: bool


class _Boundary(IntEnum):
    NONE = 0
    MESSAGE = 1
    EXCHANGE = 2


def split_tail(tail: Sequence[Turn], sizes: Sizes, *, ended: bool = False) -> Split:
    """Split the unstored tail of a conversation by the rule of this module.

    Args:
        tail: All messages that no segment covers yet, in order.
        ended: Whether the conversation ended. Then the rest, which is never empty, is its last segment.
    """
    splitter = _Splitter(tail, sizes, ended)
    chunks: list[Chunk] = []
    start = 0
    while splitter.is_long(start):
        end = splitter.next_end(start)
        if end is None:
            return Split(tuple(chunks), waiting=not ended)
        chunks.append(Chunk(tail[start].seq, tail[end].seq, splitter.tokens(start, end)))
        start = end + 1
    return Split(tuple(chunks), waiting=False)


class _Splitter:
    """Finds the ends of the segments of one tail. Messages are given by their indexes."""

    def __init__(self, tail: Sequence[Turn], sizes: Sizes, ended: bool) -> None:
        self._sizes, self._ended = sizes, ended
        self._boundaries = _boundaries(tail, ended)
        self._last = len(tail) - 1
        exchanges = (i for i, kind in enumerate(self._boundaries) if kind is _Boundary.EXCHANGE)
        self._last_exchange = max(exchanges, default=-1)
        self._sums = [0, *accumulate(turn.tokens for turn in tail)]

    def tokens(self, start: int, end: int) -> int:
        """Return the tokens of the messages from ``start`` to ``end`` inclusive."""
        return self._sums[end + 1] - self._sums[start]

    def is_long(self, start: int) -> bool:
        """Return whether the rest from ``start`` on is to be split."""
        rest = self.tokens(start, self._last)
        return rest > self._sizes.limit if self._ended else rest >= self._sizes.watch

    def next_end(self, start: int) -> int | None:
        """Return the message that ends the segment which begins at ``start``; None to wait."""
        rest = self.tokens(start, self._last)
        exchange = self._best(start, _Boundary.EXCHANGE)
        if exchange is not None and self.tokens(start, exchange) >= self._sizes.target:
            return exchange
        if not self._ended and rest <= self._sizes.limit:
            return None
        if exchange is not None:
            return exchange
        if not self._ended and self._last_exchange < start and rest <= PATIENCE * self._sizes.limit:
            return None
        message = self._best(start, _Boundary.MESSAGE)
        if message is not None:
            return message
        later = range(start, self._last + 1)
        return next((i for i in later if self._boundaries[i] is not _Boundary.NONE), None)

    def _best(self, start: int, at_least: _Boundary) -> int | None:
        """Return the first boundary from target to limit, else the last one before target."""
        found = None
        for i in range(start, self._last + 1):
            size = self.tokens(start, i)
            if size > self._sizes.limit:
                break
            if self._boundaries[i] >= at_least:
                found = i
                if size >= self._sizes.target:
                    break
        return found


def _boundaries(tail: Sequence[Turn], ended: bool) -> list[_Boundary]:
    """Return the kind of boundary after each message."""
    found = [_Boundary.MESSAGE] * len(tail)
    among_people = (
        all(turn.role in (Role.USER, Role.SYSTEM) for turn in tail)
        and len({turn.author for turn in tail if turn.author is not None}) > 1
    )
    answered = False
    bound_from: int | None = None  # the next tool result removes the boundaries from here on
    awaited = False  # a call has no result yet
    for i, turn in enumerate(tail):
        last = i + 1 == len(tail)
        complete = turn.complete or not last
        if turn.role is Role.TOOL:
            first = i - 1 if bound_from is None else bound_from
            found[max(first, 0) : i] = [_Boundary.NONE] * (i - max(first, 0))
            bound_from, awaited = i, False
        elif turn.role is Role.ASSISTANT and not awaited:
            bound_from, awaited = i if turn.calls else None, turn.calls
        if among_people:
            answered = complete
        elif turn.role is Role.SYSTEM:
            answered = answered and complete
        else:
            answered = turn.role is Role.ASSISTANT and complete and not turn.calls
        if answered and (not awaited if last else tail[i + 1].role is Role.USER):
            found[i] = _Boundary.EXCHANGE
            bound_from, awaited = None, False
    if bound_from is not None and awaited and not ended:
        found[bound_from:] = [_Boundary.NONE] * (len(tail) - bound_from)  # the result may still come
    if found and (ended or found[-1] is _Boundary.MESSAGE):
        found[-1] = _Boundary.NONE  # the end needs no boundary, and after an unanswered message anything may follow
    return found
