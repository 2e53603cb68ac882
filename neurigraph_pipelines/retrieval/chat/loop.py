"""The loop of a chat: calls of tools within bounds, then one answer with citations from the collected messages.

A language model that calls tools chooses them; without one, a fixed plan does. Either way the answer is made as ``ask``
makes it, from messages alone, and its citations are checked.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import StrEnum
from itertools import islice
from typing import Any
from uuid import UUID, uuid4

from neurigraph_pipelines.model.chat import SEARCH, Exchange, ToolCall, Turn
from neurigraph_pipelines.model.context import Context
from neurigraph_pipelines.model.enriching import enriched
from neurigraph_pipelines.model.errors import NeurigraphError
from neurigraph_pipelines.model.measuring import measured
from neurigraph_pipelines.retrieval.ask import reply_from
from neurigraph_pipelines.retrieval.chat.follow_ups import standing_alone
from neurigraph_pipelines.retrieval.chat.remembering import earlier_turns, open_chat, remember_answer
from neurigraph_pipelines.retrieval.chat.tools import DISPUTES, OPEN, WALK, Outcome, Toolbox
from neurigraph_pipelines.retrieval.documents import records_of
from neurigraph_pipelines.retrieval.query.parse import parse
from neurigraph_pipelines.retrieval.query.question import MAX_QUERY_CHARACTERS, Question
from neurigraph_pipelines.text.lexemes import lexer_of
from neurigraph_pipelines.text.visible import all_visible, visible
from neurigraph_pipelines.views.answers import Reply

FOLLOWED = 5
"""Most related names that the fixed plan searches for."""

OPENED = 2
"""Messages whose windows are opened for more context."""

TOLD_TURNS = 6
"""Turns before the question that a language model reads when it answers."""

_TOLD_CHARACTERS = 600


class Mode(StrEnum):
    """How a chat looks for an answer."""

    SIMPLE = "simple"
    AGENTIC = "agentic"
    DEEP = "deep"

    @property
    def most_calls(self) -> int:
        """Most calls of tools for one answer."""
        return {Mode.SIMPLE: 1, Mode.AGENTIC: 4, Mode.DEEP: 12}[self]


@dataclass(frozen=True, slots=True)
class Asked:
    """A message to a chat.

    Attributes:
        turns: The chat as the client has it; the last is the user's question. If the client sends that alone, the turns
            before it are those that were kept.
        chat_id: The conversation to go on with; None begins one.
        container_tag: The space that is searched and that the chat is in; None for all.
        document_ids: The answer rests on these sources alone; None for all.
        with_context: Whether the messages around the best ones are read, too.
        tone: How the answer should sound, for a language model.
    """

    turns: Sequence[Turn]
    mode: Mode = Mode.SIMPLE
    chat_id: UUID | None = None
    container_tag: str | None = None
    document_ids: Collection[UUID] | None = None
    with_context: bool = False
    tone: str | None = None

    def standing_alone(self, language: str) -> str:
        """Return the question completed from earlier turns; unchanged if it stands alone."""
        last = self.turns[-1].content
        question = enriched("follow-up", lambda: standing_alone(self.turns, lexer_of(language)), lambda: last)
        return question if len(question) <= MAX_QUERY_CHARACTERS else last


@dataclass(frozen=True, slots=True)
class Event:
    """An event of a chat: ``conversation``, ``tool_use``, ``tool_result``, ``assistant`` or ``done``."""

    type: str
    data: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class _Step:
    """A call that was made."""

    event_id: str
    call: ToolCall
    outcome: Outcome


def chat(context: Context, asked: Asked) -> Iterator[Event]:
    """Add a message to a chat at once, and return the events that lead to its answer.

    The question is kept before anything is searched, the answer once it is complete. Who stops reading the events stops
    the search at its next step.

    Raises:
        InvalidInputError: The message is not acceptable.
        NotFoundError: There is no such conversation of the caller.
        ForbiddenError: The caller may not write, so that the chat could not be remembered.
    """
    parse(Question(asked.turns[-1].content), context.settings.language)  # what no search takes is refused unstored
    before = earlier_turns(context, asked.chat_id) if asked.chat_id and len(asked.turns) == 1 else []
    chat_id = open_chat(context, asked.turns, asked.chat_id, asked.container_tag)
    asked = replace(asked, turns=[*before, *asked.turns])
    claims = context.claims.within([asked.container_tag] if asked.container_tag else None)
    events = _answering(context, context.acting_for(claims), asked, chat_id)
    return (Event(event.type, all_visible(event.data)) for event in events)


def _answering(context: Context, limited: Context, asked: Asked, chat_id: UUID) -> Iterator[Event]:
    """Yield the events of an answer.

    Args:
        context: Writes to the chat.
        limited: Reads, in the space of the chat.
    """
    yield Event("conversation", {"conversation_id": str(chat_id), "mode": asked.mode})
    moment = datetime.now(UTC)
    scope = () if asked.document_ids is None else tuple(records_of(limited, asked.document_ids))
    own = frozenset(records_of(limited, [chat_id]))
    box = Toolbox(limited, moment, chat_id, own, asked.document_ids, scope)
    steps: list[_Step] = []
    query = asked.standing_alone(context.settings.language)
    for call in islice(_calls(limited, asked, query, box, steps), asked.mode.most_calls):
        event_id = uuid4().hex
        yield Event("tool_use", {"id": event_id, "name": call.name, "input": call.arguments})
        started = time.monotonic()
        outcome = box.run(call)
        steps.append(_Step(event_id, call, outcome))
        took = round(1_000 * (time.monotonic() - started))
        shown = {"id": event_id, "name": call.name, "is_error": outcome.is_error, "output": outcome.shown}
        yield Event("tool_result", {**shown, "duration_ms": took})
    if asked.with_context:
        box.widen(OPENED)
    reply = _reply(limited, asked, query, box)
    calls = [
        {"id": one.event_id, "name": one.call.name, "input": one.call.arguments, "result": one.outcome.shown}
        for one in steps
    ]
    remember_answer(context, chat_id, reply.answer, asked.turns[-1].message_id, calls)
    yield Event("assistant", {"content": reply.answer})
    ended = {"conversation_id": str(chat_id), "tool_calls": len(steps)}
    yield Event("done", {**ended, **reply.model_dump(exclude={"answer"})})


@measured("chat.answer")
def _reply(context: Context, asked: Asked, query: str, box: Toolbox) -> Reply:
    worded = _told(asked) if context.tool_caller else None
    reply = reply_from(context, query, box.moment, box.passages, box.notes, worded=worded, without=box.own_records)
    return reply.model_copy(update={"notes": list(dict.fromkeys(reply.notes))})


def _told(asked: Asked) -> str:
    """Return the question as a language model reads it: with the turns before it, and how the answer should sound."""
    *before, last = asked.turns[-TOLD_TURNS - 1 :]
    told = last.content
    if before:
        chat = "\n".join(f"{turn.role}: {turn.content[:_TOLD_CHARACTERS]}" for turn in before)
        told += f"\n(The question refers to this chat, which is no source:\n{chat})"
    return visible(f"{told}\n(The answer should sound: {asked.tone})" if asked.tone else told)


def _calls(context: Context, asked: Asked, query: str, box: Toolbox, steps: Sequence[_Step]) -> Iterator[ToolCall]:
    """Yield the calls of an answer, as a language model chooses them or as the fixed plan has them."""
    caller = context.tool_caller
    if asked.mode is Mode.SIMPLE or caller is None:
        yield from _planned(asked, query, box)
        return
    exchanges: list[Exchange] = []
    while True:
        try:
            turns = [replace(turn, content=visible(turn.content)) for turn in asked.turns]
            calls = caller.calls(turns, box.moment, box.specs, exchanges)
        except NeurigraphError as error:
            box.notes.append(f"{caller.name} chose no tools, so a fixed plan did. {error}")
            yield from _planned(asked, query, box)
            return
        if not calls:
            if not steps:  # an answer rests on one search at least
                yield _call(SEARCH, query=query)
            return
        before = len(steps)
        yield from calls
        exchanges.append(Exchange(calls, [one.outcome.text for one in steps[before:]]))


def _planned(asked: Asked, query: str, box: Toolbox) -> Iterator[ToolCall]:
    """Yield the calls of a fixed plan: search, walk, search for related memories, open windows, name disputes.

    The caller runs each before it takes the next one, and takes no more than the mode allows. Of an agentic chat that
    leaves a search, a walk, a search for the first related name and the disputes.
    """
    yield _call(SEARCH, query=query)
    is_deep = asked.mode is Mode.DEEP
    if asked.document_ids is None:
        for node_id in _named_first(box.nodes, query)[: 3 if is_deep else 1]:
            yield _call(WALK, node=node_id)
        unsaid = [name for name in box.neighbours if name.casefold() not in query.casefold()]
        for name in unsaid[: FOLLOWED if is_deep else 1]:
            yield _call(SEARCH, query=f"{name}: {query}")
    if is_deep:
        for passage in box.passages[:OPENED]:
            if passage.message is not None and passage.hit.stored:
                yield _call(OPEN, memory=str(passage.hit.record_id), message=passage.message.seq)
    yield _call(DISPUTES)


def _named_first(nodes: Mapping[str, str], query: str) -> list[str]:
    """Return the ids of nodes by their paths, those whose names the question says first."""
    return sorted(nodes, key=lambda node_id: nodes[node_id].rpartition("/")[2].casefold() not in query.casefold())


def _call(name: str, **arguments: Any) -> ToolCall:
    return ToolCall(uuid4().hex, name, arguments)
