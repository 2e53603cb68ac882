"""Where a long conversation is cut into segments: a pure decision over counts and roles, never over text.

Finding the conversations and writing the segments down is for ``detection``.

**The rule.** The unstored tail of a conversation is a run of *exchanges*. An exchange begins with what a user says and
goes on until the response to it is completed: a message of the assistant that is complete, awaits no result of a tool,
and is followed by the next user message or, so far, by nothing. Behind it lies a *clean break*. What the system says
between a response and the next user message belongs to the response. Where only people talk, at least two of them by
their names, every complete message is a response. A message that another one follows is complete, whatever its sender
said of it.

1. Nothing is sought while the tail is shorter than ``watch`` tokens.
2. The segment ends at the first clean break from ``target`` to ``limit`` tokens.
3. While there is none and the tail is not longer than ``limit``, it waits: a response is still coming.
4. Once the tail is longer than ``limit``, none can come any more: the segment ends at the last clean break before
   ``target``. That is within ``watch`` to ``limit`` whenever a clean break is, and shorter when the exchange that
   follows is so long that none is. An exchange that is still running is left to the next segment as a whole.
5. Without any clean break up to ``limit``, the first exchange is itself longer than that. While it runs, it waits,
   until it is ``PATIENCE`` times ``limit`` long: an exchange that never completes must not keep everything in the
   inbox. When it is complete, or endless, it is cut at a *lesser break*: between two of its messages, by 2 and 4.
6. Without a lesser break up to ``limit`` either, one message, or one call with its results, is longer than ``limit``
   alone: the segment ends at the first break behind it, and is longer than ``limit``.

No break of either kind lies inside a message, behind a last message that is not complete, or between a call of a tool
and its result. The results of a call are the messages of tools that follow it within its exchange, until the assistant
speaks again after the first of them; where no call is noted they belong to the message before them. A call that has no
result yet awaits it until the user goes on after a response without it, or the conversation ends.

What is left is taken up again by the same rule; so the next segment begins at the next user message, except behind a
lesser break. A conversation that has ended is cut as if nothing were running, until what is left is not longer than
``limit``: that is its last segment.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from itertools import accumulate

from neurigraph_pipelines.model import Role
from neurigraph_pipelines.settings import Settings

PATIENCE = 2
"""Limits that a running exchange may fill before it is taken for endless."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """Tokens from which a break is sought, nearest to which it should lie, and which no segment should exceed."""

    watch: int
    target: int
    limit: int

    @classmethod
    def of(cls, settings: Settings) -> Sizes:
        """The sizes that an installation is set to."""
        return cls(settings.chunk_watch_tokens, settings.chunk_target_tokens, settings.chunk_limit_tokens)


@dataclass(frozen=True, slots=True)
class Turn:
    """What the decision knows of one message.

    Attributes:
        complete: False while it is streaming in.
        calls: It calls tools whose results come as messages of their own.
    """

    seq: int
    role: Role
    tokens: int
    complete: bool = True
    calls: bool = False
    author: str | None = None


@dataclass(frozen=True, slots=True)
class Chunk:
    """A segment to store, from one message to another, both included."""

    first_message: int
    last_message: int
    tokens: int


@dataclass(frozen=True, slots=True)
class Tiling:
    """How a tail is cut.

    Attributes:
        chunks: Without gap or overlap, from the first message on; none of them may mean wait or nothing.
        waiting: Of an open conversation: what is left is long enough, and its break has not come yet.
    """

    chunks: tuple[Chunk, ...]
    waiting: bool


class _Break(IntEnum):
    NONE = 0
    LESSER = 1
    CLEAN = 2


def tile(tail: Sequence[Turn], sizes: Sizes, *, ended: bool = False) -> Tiling:
    """Cut the unstored tail of a conversation by the rule of this module.

    Args:
        tail: All messages that no segment covers yet, in order.
        ended: Nothing follows: what is left behind the last chunk is the conversation's last segment. Never empty.
    """
    breaks = _breaks(tail, ended)
    last_clean = max((i for i, kind in enumerate(breaks) if kind is _Break.CLEAN), default=-1)
    sums = [0, *accumulate(turn.tokens for turn in tail)]
    chunks: list[Chunk] = []
    start = 0

    def best(least: _Break) -> int | None:
        """The first break of that kind from target to limit, else the last one before."""
        found = None
        for i in range(start, len(tail)):
            size = sums[i + 1] - sums[start]
            if size > sizes.limit:
                break
            if breaks[i] >= least:
                found = i
                if size >= sizes.target:
                    break
        return found

    def cut() -> int | None:
        """Index of the message that ends the next segment; None to wait."""
        rest = sums[-1] - sums[start]
        clean = best(_Break.CLEAN)
        if clean is not None and sums[clean + 1] - sums[start] >= sizes.target:
            return clean
        if not ended and rest <= sizes.limit:
            return None
        if clean is not None:
            return clean
        if not ended and last_clean < start and rest <= PATIENCE * sizes.limit:
            return None
        lesser = best(_Break.LESSER)
        if lesser is not None:
            return lesser
        return next((i for i in range(start, len(tail)) if breaks[i] is not _Break.NONE), None)

    while sums[-1] - sums[start] > sizes.limit if ended else sums[-1] - sums[start] >= sizes.watch:
        at = cut()
        if at is None:
            return Tiling(tuple(chunks), waiting=not ended)
        chunks.append(Chunk(tail[start].seq, tail[at].seq, sums[at + 1] - sums[start]))
        start = at + 1
    return Tiling(tuple(chunks), waiting=False)


def _breaks(tail: Sequence[Turn], ended: bool) -> list[_Break]:
    """What kind of break lies behind each message."""
    found = [_Break.LESSER] * len(tail)
    among_people = (
        all(turn.role in (Role.USER, Role.SYSTEM) for turn in tail)
        and len({turn.author for turn in tail if turn.author is not None}) > 1
    )
    answered = False
    bound_from: int | None = None  # from here on, the next result of a tool forbids breaks
    awaited = False  # no result has come since
    for i, turn in enumerate(tail):
        last = i + 1 == len(tail)
        complete = turn.complete or not last
        if turn.role is Role.TOOL:
            first = i - 1 if bound_from is None else bound_from
            found[max(first, 0) : i] = [_Break.NONE] * (i - max(first, 0))
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
            found[i] = _Break.CLEAN
            bound_from, awaited = None, False
    if bound_from is not None and awaited and not ended:
        found[bound_from:] = [_Break.NONE] * (len(tail) - bound_from)  # the result may still come
    if found and (ended or found[-1] is _Break.LESSER):
        found[-1] = _Break.NONE  # an end is no cut; and behind an unanswered message anything may come
    return found
