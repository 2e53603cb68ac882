"""``search_memory`` and ``get_context``: questions, answered by hits, by a block for a prompt, or in words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated
from uuid import UUID

from pydantic import Field, WithJsonSchema
from pydantic.json_schema import SkipJsonSchema

from neurigraph_pipelines.faces.mcp.budget import DEFAULT_TOKENS
from neurigraph_pipelines.faces.mcp.calls import AgentCall
from neurigraph_pipelines.faces.mcp.framing import described, inline, kept_until, path_of
from neurigraph_pipelines.faces.mcp.tools.answer import Only, Result, Shown, plain
from neurigraph_pipelines.faces.mcp.tools.tool import Arguments, MaxTokens, Tool, takes
from neurigraph_pipelines.faces.operations import search as operations
from neurigraph_pipelines.retrieval import prompt
from neurigraph_pipelines.retrieval.query.question import MAX_LIMIT
from neurigraph_pipelines.views import search as views
from neurigraph_pipelines.views.answers import Citation
from neurigraph_pipelines.views.facts import FoundFact
from neurigraph_pipelines.views.sources import Provenance

MAX_HITS = 50

_MESSAGES = 3  # that a hit names
_SOURCE = ("origin", "document_type", "url", "author", "version", "updated_at")
_FACT = ("fact_id", "statement", "record_id", "first_message", "author", "score")
_CITATION = (
    *("number", "record_id", "source_id", "stored", "node_path", "title"),
    *("seq", "section", "author", "voice", "occurred_at", "text"),
)
_FACT_TOKENS = 90  # of ids and names of fields
_HIT_TOKENS = 260  # of ids, times, names of fields, and what is said of its messages

_NODE = "Path or id: what lies there or below."


@takes(
    operations.search,
    query="",
    node_id=("node", _NODE),
    speaker="Only what this person said.",
    occurred_after="",
    occurred_before="",
    at=("known_at", "Only what was known then."),
)
class SearchArguments(Arguments):
    """Arguments of ``search_memory``."""

    limit: int = Field(default=8, ge=1, le=MAX_HITS)
    skip: int = Field(default=0, ge=0, le=MAX_LIMIT - MAX_HITS, description="Hits to leave out, to go on.")
    include_facts: bool = Field(default=False, description="Also single statements.")
    max_tokens: MaxTokens = DEFAULT_TOKENS


class ShortHit(Shown[views.Hit]):
    """A memory that matches."""

    SHOWS = (
        *("record_id", "source_id", "stored", "title", "summary", "node_id", "node_path", "occurred_at", "score"),
        "file_id",
    )
    UNLISTED = ("expires_at",)

    said_by: list[str]
    source: Annotated[Provenance, Only(*_SOURCE)]
    messages: list[Annotated[views.MessageHit, Only("seq", "author", "section", "voice", "score")]]

    def lines(self) -> Iterator[str]:
        """Yield the node of the memory, its speakers and times, and its text."""
        hit = self.view
        yield f"{_place(hit)}, {hit.occurred_at.isoformat()}, score {hit.score:.2f}"
        said = [
            f"{one.seq} ({one.voice or 'unknown'}{_named(one.author)}{_named(one.section)})" for one in self.messages
        ]
        yield from _came_from(self.source)
        yield from kept_until(hit.expires_at)
        if self.said_by:
            yield f"said by: {', '.join(self.said_by)}" + (f"; best messages: {', '.join(said)}" if said else "")
        yield from described(hit.title, hit.summary)


class FoundMemories(Result):
    """The hits of a search."""

    hits: list[ShortHit]
    facts: Annotated[list[Annotated[FoundFact, Only(*_FACT)]], WithJsonSchema({"type": "array"})] = Field(
        default_factory=list
    )
    next_skip: int | None = None
    notes: list[str] = Field(default_factory=list)

    def lines(self) -> Iterator[str]:
        """Yield the hits, best first, and how to go on."""
        for hit in self.hits:
            yield ""
            yield from hit.lines()
        for fact in self.facts:
            who = f", said by {inline(fact.author)}" if fact.author else ""
            yield f"\nfact of record_id {fact.record_id}, message {fact.first_message}{who}, score {fact.score:.2f}"
            yield from described(None, fact.statement)
        if not self.hits:
            yield "Nothing that is remembered matches."
        yield ""
        yield from (f"Note: {inline(note)}" for note in self.notes)
        if self.next_skip is not None:
            yield f"There is more: call again with skip={self.next_skip}, or with a larger max_tokens."
        if self.hits:
            yield "open_memory reads the messages of a record_id, or of a source_id that is not stored yet."


def search_memory(call: AgentCall, given: SearchArguments) -> FoundMemories:
    """Search, and show as many hits as fit."""
    most, include = min(given.skip + given.limit + 1, MAX_LIMIT), ["facts"] if given.include_facts else []
    found = call.do(operations.search, given.of(operations.search) | {"limit": most, "include": include})
    budget, shown = call.budget(given.max_tokens), list[ShortHit]()
    facts = [
        fact
        for fact in (found.facts or ())[: given.limit]
        if budget.fits(fact.statement, fact.author, fixed=_FACT_TOKENS)
    ]
    said: dict[UUID, list[views.MessageHit]] = {}
    for message in found.messages:
        said.setdefault(message.key, []).append(message)
    hits = found.hits[given.skip :]
    for hit in hits[: given.limit]:
        one = hit
        if not budget.fits(hit.title, hit.summary, hit.node_path or "", fixed=_HIT_TOKENS):
            if shown:
                break
            budget.fits(hit.title, hit.node_path or "", fixed=_HIT_TOKENS)
            one = hit.model_copy(update={"summary": f"{budget.cut(hit.summary)}…"})
        shown.append(_hit(one, said.get(hit.key, [])[:_MESSAGES]))
    rest = len(hits) > len(shown)
    skip = given.skip + len(shown) if rest else None
    return FoundMemories(hits=shown, facts=facts, next_skip=skip, notes=plain(found.notes))


def _hit(hit: views.Hit, messages: list[views.MessageHit]) -> ShortHit:
    return ShortHit(
        view=hit,
        said_by=[str(voice) for voice in hit.origin.voices],
        source=hit.origin.source,
        messages=messages,
    )


def _named(name: str | None) -> str:
    return f", {inline(name)}" if name else ""


def _came_from(source: Provenance) -> Iterator[str]:
    """Yield in one line where a source comes from, if its writer stated anything of it."""
    said = {"origin": source.origin, "author": source.author, "url": source.url}
    facts = [f"{name} {inline(value)}" for name, value in said.items() if value]
    if source.version > 1:
        facts.append(f"version {source.version}")
    if facts:
        yield f"source: {', '.join(facts)}"


def _place(one: views.Hit | Citation) -> str:
    """Return where a hit or citation lies: its record and node, or its source if it is not stored yet."""
    if one.stored:
        return f"record_id {one.record_id}, in {path_of(one.node_path)}"
    return f"source_id {one.source_id}, not stored yet"


@takes(operations.context, query="", node_id=("node", ""), asked_at="")
@takes(operations.ask, query="", node_id=("node", _NODE), asked_at="")
class ContextArguments(Arguments):
    """Arguments of ``get_context``."""

    answer: bool = Field(default=False, description="Instead, answer in words.")
    max_tokens: MaxTokens = prompt.DEFAULT_TOKENS


class ContextReply(Result):
    """A block for a prompt, or an answer in words."""

    text: str = ""
    answer: str = ""
    found: SkipJsonSchema[bool] = True  # every agent pays for schemas
    citations: SkipJsonSchema[list[Annotated[Citation, Only(*_CITATION)]]] = Field(default_factory=list)
    notes: list[str]

    def lines(self) -> Iterator[str]:
        """Yield the block, or the answer, which is made of remembered text, and its citations."""
        if self.text:
            yield from described(None, self.text)
            yield "open_memory takes each id in brackets."
            return
        yield "The answer, with the numbers of its citations:"
        yield from described(None, self.answer)
        for one in self.citations:
            who = f"{one.voice or 'a summary'}{_named(one.author)}{_named(one.section)}"
            place = _place(one) + ("" if one.seq is None else f", message {one.seq}")
            yield f"\n[{one.number}] said by {who}, {one.occurred_at.isoformat()}, {place}"
            yield from described(one.title, one.text)
        yield from (f"Note: {inline(note)}" for note in self.notes)


def get_context(call: AgentCall, given: ContextArguments) -> ContextReply:
    """Make a block for a prompt; or answer in words, and show as many citations as fit."""
    if not given.answer:
        made = call.do(operations.context, given.of(operations.context) | {"budget": given.max_tokens})
        return ContextReply(text=made.text or "", notes=plain(made.notes))
    reply = call.do(operations.ask, given.of(operations.ask))
    budget, notes = call.budget(given.max_tokens), plain(reply.notes)
    answer = budget.cut(plain(reply.answer))
    if len(answer) < len(reply.answer):
        notes.append("The answer is cut: call again with a larger max_tokens.")
    citations = list[Citation]()
    for one in reply.citations:
        if not budget.fits(one.title, one.text, one.node_path or "", fixed=_HIT_TOKENS):
            left = ", ".join(str(other.number) for other in reply.citations[len(citations) :])
            notes.append(f"Citations {left} are left out: call again with a larger max_tokens.")
            break
        citations.append(one)
    return ContextReply(answer=answer, found=reply.found, citations=citations, notes=notes)


SEARCH_MEMORY = Tool(
    "search_memory",
    "Find memories by meaning, words and time. Returns summaries with ids, best first; open_memory reads the words.",
    SearchArguments,
    FoundMemories,
    search_memory,
)
GET_CONTEXT = Tool(
    "get_context",
    "Who the user is, and what concerns a question or statement, in few tokens.",
    ContextArguments,
    ContextReply,
    get_context,
)
