"""Graph queries: the causes of a fact, its versions, the facts about a person, and connected facts.

A question begins at facts: at one that it names, at those that a search finds, or at those about a name. From there a
walk in the database follows links (``walks``). Everything is behind the same gates as a search.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from itertools import pairwise
from uuid import UUID

from pydantic import Field

from neurigraph_pipelines.database.asking import ask_views
from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.graph.naming import name_key
from neurigraph_pipelines.knowledge.open_changes import with_open_changes
from neurigraph_pipelines.knowledge.walks import Route, Step, Walk, described, link_of, place_of, walk
from neurigraph_pipelines.model.context import Context
from neurigraph_pipelines.model.errors import InvalidInputError, NotFoundError
from neurigraph_pipelines.model.links import require_relation
from neurigraph_pipelines.model.measuring import measured, report
from neurigraph_pipelines.model.spaces import MAX_TAGS
from neurigraph_pipelines.retrieval.about import facts_about, named_in, named_nodes
from neurigraph_pipelines.retrieval.query.facts import facts_by_id
from neurigraph_pipelines.retrieval.query.find import find
from neurigraph_pipelines.retrieval.query.parse import parse
from neurigraph_pipelines.retrieval.query.question import MAX_QUERY_CHARACTERS, Question
from neurigraph_pipelines.text.hygiene import clean_text, utc
from neurigraph_pipelines.views.base import Form
from neurigraph_pipelines.views.fact_queries import QueriedFacts, RelatedFact, WalkedGraph, WalkedLink
from neurigraph_pipelines.views.facts import FoundFact
from neurigraph_pipelines.views.kinds import FactStatus, Impact
from neurigraph_pipelines.views.spaces import ONLY_SPACES

MAX_HOPS = 6
MAX_NODES = 200
MAX_NAMES = 20
MATCHES = 10
"""Facts that a search begins with."""

CLOSEST, CLOSE = 3, 0.6
"""Facts that the other kinds begin with, and their least score as a share of the best one's: fewer, since each is
explained."""

_LONGEST_NAME = 5
_MOST_WORDS = 64
_ALL_VERSIONS = 100
_QUERIES = statements("walks")


class QueryKind(StrEnum):
    """The kind of a graph query."""

    SEARCH = "search"
    WHY = "why"
    CHANGED = "changed"
    ABOUT = "about"
    CONNECTED = "connected"


_HOPS = {QueryKind.SEARCH: 2, QueryKind.WHY: 3, QueryKind.ABOUT: 2, QueryKind.CONNECTED: MAX_HOPS}
_CAUSES = ("caused_by", "influenced_by")
_INVERSES = {"led_to": "caused_by"}


class TimeRange(Form):
    """A stretch of time; either end may be open."""

    start: datetime | None = None
    end: datetime | None = Field(default=None, description="The first moment after it.")


class QueryFacts(Form):
    """A graph query: where to begin, and how to walk from there."""

    query: str | None = Field(
        default=None,
        description="A question; for `about`, a name. Not needed with `fact_id`.",
        json_schema_extra={"minLength": 1, "maxLength": MAX_QUERY_CHARACTERS},
    )
    kind: QueryKind = Field(
        default=QueryKind.SEARCH,
        description="`why`: causes. `changed`: versions by time. `about`: a person or thing. `connected`: important "
        "facts, by distance.",
    )
    fact_id: UUID | None = Field(default=None, description="Begin at this fact.")
    max_hops: int | None = Field(
        default=None, ge=1, le=MAX_HOPS, description="Default: 2; 3 for `why`, 6 for `connected`, all for `changed`."
    )
    relations: list[str] = Field(
        default_factory=list,
        max_length=32,
        description="Only these relations. `caused_by` leads to causes, `led_to` to effects, the others both ways.",
    )
    min_strength: float = Field(default=0.3, ge=0, le=1, description="Weaker links are not followed.")
    time_range: TimeRange | None = Field(default=None, description="Show only facts of this time.")
    who: list[str] = Field(default_factory=list, max_length=MAX_NAMES, description="Show only facts about one of them.")
    status: list[FactStatus] = Field(
        default_factory=list, max_length=4, description="Show only these. Default: all but `archived`."
    )
    at: datetime | None = Field(default=None, description="Only knowledge of this moment.")
    valid_at: datetime | None = Field(default=None, description="Only facts that were true at this moment.")
    container_tags: list[str] = Field(default_factory=list, max_length=MAX_TAGS, description=ONLY_SPACES)
    include_graph: bool = Field(default=False, description="Return all memories on the paths, and their links.")
    max_nodes: int = Field(default=50, ge=1, le=MAX_NODES, description="Maximum number of facts.")


_ID = re.compile(r"\s*[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\s*", re.IGNORECASE)
"""The id of a fact, given in place of a question."""


@measured("search.facts_query")
def query_facts(context: Context, asked: QueryFacts) -> QueriedFacts:
    """Answer a graph query over the facts that the caller sees.

    Raises:
        InvalidInputError: A value is missing or out of bounds, or a relation is not known.
        NotFoundError: There is no such fact, or the caller does not see it, or it was not known at ``at``.
    """
    if asked.fact_id is None and asked.query is not None and _ID.fullmatch(asked.query):
        asked = asked.model_copy(update={"query": None, "fact_id": UUID(asked.query.strip())})
    route = _route(asked)
    seeds = _seeds(context, asked)
    found = _walked(context, asked, seeds, route)
    if asked.fact_id is not None and not found.steps:
        raise NotFoundError
    chosen = _chosen(context, asked, found)
    related = [(step, one) for step, one in chosen if step.hops > 0]
    reached = {step.memory_id for step, _ in related}
    matches = [(step, one) for step, one in chosen if step.hops == 0 and step.memory_id not in reached]
    if asked.kind is QueryKind.CHANGED and asked.fact_id is None and related:
        changed = {found.path(step)[0].step for step, _ in related}
        matches = [(step, one) for step, one in matches if step.step in changed]
    report("walked", facts=len(matches), related=len(related))
    graph = {"graph": _graph(context, asked, found, [*matches, *related])} if asked.include_graph else {}
    return QueriedFacts(
        matches=[one for _, one in matches],
        related=[_related(found, step, one) for step, one in related],
        notes=found.notes,
        **graph,
    )


def _route(asked: QueryFacts) -> Route:
    """Return how the walk of a query goes; its values are checked here."""
    if asked.query is None and asked.fact_id is None:
        raise InvalidInputError("give a query, or the fact to begin at")
    if asked.kind is QueryKind.ABOUT and asked.query is None:
        raise InvalidInputError("give the name of the person or thing as the query")
    if asked.query is not None and not 0 < len(asked.query.strip()) <= len(asked.query) <= MAX_QUERY_CHARACTERS:
        raise InvalidInputError(f"a query has 1 to {MAX_QUERY_CHARACTERS:,} characters, and not only spaces")
    forwards, backwards = _relations(asked)
    time = asked.time_range or TimeRange()
    wanted = {
        "impact": Impact.HIGH.value if asked.kind is QueryKind.CONNECTED else None,
        "who": [clean_text(name, "repair")[0] for name in asked.who],
        "after": time.start and utc(time.start).isoformat(),
        "before": time.end and utc(time.end).isoformat(),
    }
    depth = _ALL_VERSIONS if asked.kind is QueryKind.CHANGED else asked.max_hops or _HOPS[asked.kind]
    return Route(
        depth,
        forwards,
        backwards,
        asked.min_strength,
        asked.at and utc(asked.at),
        asked.valid_at and utc(asked.valid_at),
        FactStatus.ARCHIVED in asked.status,
        wanted,
    )


def _relations(asked: QueryFacts) -> tuple[list[str] | None, list[str] | None]:
    """Return the relations that are followed from their start and from their end; None for all."""
    if asked.kind is QueryKind.CHANGED:
        return ["supersedes"], ["supersedes"]
    if not asked.relations:
        return (list(_CAUSES), []) if asked.kind is QueryKind.WHY else (None, None)
    for relation in asked.relations:
        require_relation(relation)
    one_way = {*_INVERSES, *_INVERSES.values()}
    backwards = [_INVERSES[name] for name in asked.relations if name in _INVERSES]
    both = [name for name in asked.relations if name not in one_way]
    return [name for name in asked.relations if name not in _INVERSES], backwards + both


def _seeds(context: Context, asked: QueryFacts) -> list[tuple[UUID, float]]:
    """Return the facts that a query begins at, with their scores."""
    if asked.kind is QueryKind.ABOUT:
        return _about(context, asked)
    if asked.fact_id is not None:
        return [(asked.fact_id, 1.0)]
    question = Question(asked.query or "", limit=MATCHES, message_limit=MATCHES, include_facts=True, at=asked.at)
    found = find(context, parse(question, context.settings.language))
    return [(one.fact_id, one.score) for one in found.facts or ()]


def _walked(context: Context, asked: QueryFacts, seeds: Sequence[tuple[UUID, float]], route: Route) -> Walk:
    """Walk from all seeds at once; where each is explained, from one after the other that no walk has reached yet."""
    if asked.kind in (QueryKind.SEARCH, QueryKind.ABOUT):
        return walk(context, seeds, route)
    found = Walk([])
    for fact_id, score in seeds[:CLOSEST]:
        if score >= CLOSE * seeds[0][1] and all(step.memory_id != fact_id for step in found.steps):
            one = walk(context, [(fact_id, score)], route)
            if asked.kind is QueryKind.CONNECTED and not any(step.is_wanted and step.hops for step in one.steps):
                one = Walk([step._replace(is_wanted=True) for step in one.steps])
            found = found.joined(one)
    if asked.kind is QueryKind.CHANGED and asked.at is None and asked.valid_at is None:
        found = with_open_changes(context, found)
    return found


def _about(context: Context, asked: QueryFacts) -> list[tuple[UUID, float]]:
    """Return the facts about the node that the query names, or under the name itself, the last said first."""
    name = named_in(clean_text(asked.query or "", "repair")[0].strip())
    archived = FactStatus.ARCHIVED in asked.status
    nodes = named_nodes(context, [name_key(name)]) or named_nodes(context, _phrases(name))
    found = facts_about(context, [name], nodes, asked.max_nodes, archived=archived, worded=not nodes)
    return [(one, 1.0) for one in found]


def _phrases(text: str) -> list[str]:
    """Return the keys of all short sequences of words of a text."""
    words = re.findall(r"[\w'’.-]*\w", text)[:_MOST_WORDS]
    lengths = range(1, _LONGEST_NAME + 1)
    return list({name_key(" ".join(words[place : place + count])) for count in lengths for place in range(len(words))})


def _chosen(context: Context, asked: QueryFacts, found: Walk) -> list[tuple[Step, FoundFact]]:
    """Return the facts that are shown, matches first, then in the order of the kind; at most as many as asked for."""
    steps = [step for step in found.steps if step.is_wanted]
    steps.sort(key=lambda step: (step.hops > 0, *_ORDERS[asked.kind](step)))
    steps = list({(step.hops > 0, step.memory_id): step for step in reversed(steps)}.values())[::-1]
    chosen: list[tuple[Step, FoundFact]] = []
    for first in range(0, len(steps), asked.max_nodes):
        part = steps[first : first + asked.max_nodes]
        facts = facts_by_id(context, [step.memory_id for step in part])
        shown = [(step, facts[step.memory_id]) for step in part if step.memory_id in facts]
        chosen += [
            (step, FoundFact.of(one, step.score))
            for step, one in shown
            if not asked.status or one.status in asked.status
        ]
        if len(chosen) >= asked.max_nodes:
            break
    return chosen[: asked.max_nodes]


_ORDERS: Mapping[QueryKind, Callable[[Step], tuple[object, ...]]] = {
    QueryKind.SEARCH: lambda step: (-step.score, step.step),
    QueryKind.WHY: lambda step: (step.hops, -step.score, step.step),
    QueryKind.CHANGED: lambda step: (step.said_at.timestamp() * (1 if step.hops else -1), step.step),
    QueryKind.ABOUT: lambda step: (-step.score, step.step),
    QueryKind.CONNECTED: lambda step: (step.hops, -step.score, step.step),
}


def _related(found: Walk, step: Step, fact: FoundFact) -> RelatedFact:
    path = found.path(step)
    return RelatedFact(
        fact=fact,
        path=[place_of(one) for one in path],
        links=[link_of(before, after) for before, after in pairwise(path)],
        path_description=described(path),
        hops=step.hops,
    )


def _graph(context: Context, asked: QueryFacts, found: Walk, chosen: Sequence[tuple[Step, FoundFact]]) -> WalkedGraph:
    """Return the memories on the paths to some facts, and all links between them."""
    steps = {one.step: one for step, _ in chosen for one in found.path(step)}
    walked = [link_of(found.steps[one.parent - 1], one) for one in steps.values() if one.parent is not None]
    values = {
        "user_id": context.claims.user_id,
        "ids": [one.memory_id for one in steps.values()],
        "min_strength": asked.min_strength,
        "moment": asked.valid_at or asked.at,
    }
    stored = ask_views(context.database, context.claims, _QUERIES["links_between"], WalkedLink, values)
    known = {one.link_id for one in stored}
    return WalkedGraph(
        nodes=[place_of(one) for _, one in sorted(steps.items())],
        links=stored + [one for one in walked if one.link_id is None or one.link_id not in known],
    )
