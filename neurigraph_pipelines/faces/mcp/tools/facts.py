"""``memory_facts``: lists facts, or shows one fact with its places and its relations to others."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Annotated, Literal

from pydantic import Field
from pydantic.json_schema import SkipJsonSchema

from neurigraph_pipelines.faces.mcp.budget import DEFAULT_TOKENS, Budget
from neurigraph_pipelines.faces.mcp.calls import AgentCall
from neurigraph_pipelines.faces.mcp.framing import described, inline, path_of, quoted
from neurigraph_pipelines.faces.mcp.tools.answer import Only, Result, as_json, fitting, shown
from neurigraph_pipelines.faces.mcp.tools.tool import Arguments, MaxTokens, Tool, takes
from neurigraph_pipelines.faces.operations import facts as operations
from neurigraph_pipelines.faces.operations.links import links_of_fact
from neurigraph_pipelines.faces.operations.search import walk_facts
from neurigraph_pipelines.text.visible import visible
from neurigraph_pipelines.views.facts import Fact, SaidIn
from neurigraph_pipelines.views.kinds import LinkVerdict, Role
from neurigraph_pipelines.views.links import Link

MAX_PAGE = 100
MAX_LINKS = 20

Walked = Literal["", "why", "changed", "about", "connected"]

_FACT = (
    "fact_id", "statement", "kind", "who", "author", "said_at", "received_through", "occurred_from", "occurred_until",
    "status", "superseded_by", "source_count", "said_count", "last_said_at", "confidence", "record_id",
    "first_message", "node_path",
)  # fmt: skip
_SAID = (
    "fact_id", "record_id", "source_kind", "source_title", "first_message", "last_message", "author", "occurred_at",
    "received_through", "role",
)  # fmt: skip
_LINK = ("link_id", "confidence", "verdict", "words", "kind", "id", "text")


@takes(walk_facts, query="", fact_id="")
@takes(
    operations.list_facts,
    record_id="",
    node_id=("node", "Path or id: what lies there or below."),
    who="About this person.",
    limit="",
    cursor="",
)
@takes(operations.get_fact, fact_id="")
class FactArguments(Arguments):
    """Arguments of ``memory_facts``."""

    fact_id: str = Field(default="", description="Only this one.")
    walk: Walked = Field(default="", description="Follow links from fact_id or query.")
    limit: int = Field(default=20, ge=1, le=MAX_PAGE)
    max_tokens: MaxTokens = DEFAULT_TOKENS


class FoundFacts(Result):
    """Some facts, or one with where it was said."""

    facts: list[Annotated[Fact, Only(*_FACT)]]
    paths: list[str] = Field(default_factory=list)
    said_in: list[Annotated[SaidIn, Only(*_SAID)]] = Field(default_factory=list)
    links: SkipJsonSchema[list[Annotated[Link, Only(*_LINK)]]] = Field(default_factory=list)
    next_cursor: str | None = None
    notes: list[str] = Field(default_factory=list)

    def lines(self) -> Iterator[str]:
        """Yield each fact with who said it, when and through which door, and where else it was said."""
        for fact in self.facts:
            yield ""
            yield from _lines(fact)
        if not self.facts:
            yield "There are no such facts."
        for path in self.paths:
            yield ""
            yield "a path from one of them:"
            yield quoted(path)
        for place in self.said_in:
            title = f" {inline(place.source_title)}" if place.source_title else ""
            where = f"record_id {place.record_id}, messages {place.first_message} to {place.last_message}"
            yield f"said in {place.source_kind}{title}, {where}{_by(place, place.occurred_at, place.role)}"
        for link in self.links:
            yield f"it {link.words} {link.kind}_id {link.id}{_judged(link)}"
            yield from described(None, link.text)
        yield from self.notes
        if self.next_cursor is not None:
            yield f"There are more facts: call again with cursor={self.next_cursor}, or with a larger max_tokens."


def memory_facts(call: AgentCall, given: FactArguments) -> FoundFacts:
    """List the facts that fit, newest first, or show one with where it was said."""
    budget = call.budget(given.max_tokens)
    if given.walk:
        return _walked(call, given, budget)
    if given.fact_id:
        return _one(call, given, budget)
    listed = call.do(
        operations.list_facts, given.of(operations.list_facts), fitting(budget, _FACT, shortened=lambda fact: fact)
    )
    return FoundFacts(facts=listed.facts, next_cursor=listed.next_cursor)


def _one(call: AgentCall, given: FactArguments, budget: Budget) -> FoundFacts:
    """Return a fact with the places and links that fit."""
    found = call.do(operations.get_fact, given.of(operations.get_fact))
    budget.fits(as_json(shown(found, _FACT)))
    places = [place for place in found.said_in if budget.fits(as_json(shown(place, _SAID)))]
    holding = call.do(links_of_fact, {"fact_id": found.fact_id, "limit": MAX_LINKS}).links
    links: list[Link] = [one for one in holding if budget.fits(as_json(shown(one, _LINK)))]
    left = len(found.said_in) - len(places)
    notes = [f"{left} further places are left out: call again with a larger max_tokens."] if left else []
    return FoundFacts(facts=[found], said_in=places, links=links, notes=notes)


def _walked(call: AgentCall, given: FactArguments, budget: Budget) -> FoundFacts:
    """Return the facts that a graph query begins at and leads to, and the paths in words, as far as they fit."""
    who = given.of(operations.list_facts).get("who")
    asked = {"kind": given.walk, "who": [who] if who else [], "max_nodes": given.limit}
    answer = call.do(walk_facts, given.of(walk_facts) | asked)
    found = FoundFacts(facts=[], notes=list(answer.notes))
    reached = [(one, "") for one in answer.matches] + [(one.fact, one.path_description) for one in answer.related]
    for fact, path in reached:
        if not budget.fits(as_json(shown(fact, _FACT)) + path) and found.facts:
            found.notes.append("Further facts are left out: call again with a larger max_tokens.")
            break
        found.facts.append(fact)
        found.paths += [visible(path)] if path else []
    return found


def _judged(link: Link) -> str:
    """Return the confidence of a link, and the decision of a person about it."""
    decided = f", {link.verdict} by a person" if link.verdict is LinkVerdict.CONFIRMED else ""
    return f", with confidence {link.confidence:.2f}{decided}"


def _lines(fact: Fact) -> Iterator[str]:
    often = f"said {fact.said_count} times by {fact.source_count} sources, last on {fact.last_said_at.isoformat()}"
    sources = f", {often}" if fact.said_count > 1 else ""
    yield f"fact_id {fact.fact_id}, {fact.kind}, {fact.status}{_by(fact, fact.said_at)}{sources}"
    yield f"in record_id {fact.record_id}, message {fact.first_message}, at {path_of(fact.node_path)}"
    if fact.superseded_by is not None:
        yield f"A later version replaces it: fact_id {fact.superseded_by}."
    if fact.occurred_from or fact.occurred_until:
        begin, end = (at and at.isoformat() for at in (fact.occurred_from, fact.occurred_until))
        yield f"happened from {begin or 'an unknown time'} to {end or 'open'}"
    yield from described(None, fact.statement)


def _by(said: Fact | SaidIn, moment: datetime | None, role: Role | None = None) -> str:
    """Return who said something, when, and through which door it came, as far as it is known."""
    author = inline(said.author) if said.author else role
    who = f", said by {author}" if author else ""
    door = f", through {said.received_through}" if said.received_through else ""
    return f"{who}{f', {moment.isoformat()}' if moment else ''}{door}"


MEMORY_FACTS = Tool(
    "memory_facts",
    "List single statements of memories, newest first; with fact_id, where it was said, and links.",
    FactArguments,
    FoundFacts,
    memory_facts,
)
