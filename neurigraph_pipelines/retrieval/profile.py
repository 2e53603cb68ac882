"""The statements that hold about the user, or about anybody, in sections, each with its place.

Made when it is read, from what the caller sees. Statements that were replaced, taken back or are over are left out, and
so are conclusions that nobody confirmed.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import NamedTuple
from uuid import UUID

from neurigraph_pipelines.database.asking import ask_rows
from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.graph.describing import Described, sentence_of
from neurigraph_pipelines.graph.naming import name_key
from neurigraph_pipelines.model import ConceptKind
from neurigraph_pipelines.model.context import Context
from neurigraph_pipelines.model.errors import NotFoundError
from neurigraph_pipelines.model.facts import THE_USER
from neurigraph_pipelines.retrieval.about import NamedNode, described, facts_about, named_nodes
from neurigraph_pipelines.retrieval.query.facts import facts_by_id
from neurigraph_pipelines.text.hygiene import clean_text
from neurigraph_pipelines.views.facts import Fact
from neurigraph_pipelines.views.kinds import FactKind, FactStatus, StatedAs
from neurigraph_pipelines.views.profiles import PersonProfile, ProfileItem, ProfileSection, ProfileSectionName

MOST_READ, MOST_OF_A_SECTION, MOST_PEOPLE = 200, 20, 8
"""Facts that are read, the latest; statements of a section; and people whom the profile of the user names."""

STATED = "stated"
"""The extractor of facts that somebody stated by hand."""

_SECTIONS: Mapping[FactKind, ProfileSectionName] = {
    FactKind.PREFERENCE: "preferences",
    FactKind.STATE: "circumstances",
    FactKind.RELATION: "circumstances",
    FactKind.PLAN: "plans",
    FactKind.COMMITMENT: "plans",
    FactKind.DECISION: "plans",
}
_ORDER: tuple[ProfileSectionName, ...] = ("about", "preferences", "people", "circumstances", "plans")
_QUERIES, _LISTING = statements("about"), statements("listing")


class _Owner(NamedTuple):
    slug: str
    display_name: str | None
    author: str | None


def profile_of(context: Context, name: str | None = None, node_id: UUID | None = None) -> PersonProfile:
    """Return the profile of somebody by name, or that of the owner of the graph.

    Args:
        node_id: Only what memories in this node or below it say.

    Raises:
        NotFoundError: Nothing that the caller sees is about somebody of this name.
    """
    named = clean_text(name, "repair")[0].strip() if name is not None else None
    nodes = named_nodes(context, [name_key(named)]) if named else []
    people = [node for node in nodes if node.concept_kind == ConceptKind.PERSON]
    own = owner_names(context)
    is_user = not named or (not people and name_key(named) in map(name_key, own))
    names = own if is_user else [str(named), *(one for node in people for one in node.names)]
    within = _nodes_below(context, node_id) if node_id is not None else None
    standing = _standing(context, names, people, within)
    about = _clauses(context, names, people, standing)
    found: dict[ProfileSectionName, list[ProfileItem]] = {
        "about": [one for one in about if within is None or one.fact_id in standing]
    }
    said = {one.fact_id for one in found["about"]}
    for one in standing.values():
        section = _section(one, names)
        if section is not None and one.fact_id not in said:
            found.setdefault(section, []).append(_item(one))
    if is_user:
        found["people"] = [one for one in people_of(context) if within is None or one.node_id in within]
    if named and not people and not any(found.values()):
        raise NotFoundError(f"nothing is known about {named[:80]!r}")
    sections = [(section, _first(found.get(section, []))) for section in _ORDER]
    return PersonProfile(
        name=people[0].names[-1] if people else names[0],
        is_user=is_user,
        node_id=people[0].node_id if people else None,
        sections=[ProfileSection(section=section, items=items) for section, items in sections if items],
    )


def owner_names(context: Context) -> list[str]:
    """Return the names under which facts speak of the owner of the graph, the usual one first."""
    values = {"user_id": context.claims.user_id, "limit": MOST_READ}
    owners = ask_rows(context.database, context.claims, _QUERIES["owner"], _Owner, values)
    found = [name for one in owners for name in (one.author, one.display_name, one.slug) if name]
    return [*dict.fromkeys([*found, THE_USER])]


def own_facts(context: Context, *, about_others: bool) -> list[Fact]:
    """Return the facts that hold about the owner of the graph first of all, in the order of their days.

    Args:
        about_others: Whether the subject may be somebody of theirs, such as a sister.
    """
    names = owner_names(context)
    own = frozenset(name.casefold() for name in names)
    found = (one for one in _standing(context, names, [], None).values() if _section(one, names))
    return [one for one in found if about_others or (one.subject or "").casefold() in own]


def holds(one: Fact, now: datetime) -> bool:
    """Return whether a fact holds: it was not replaced or taken back, is not over, and somebody said so."""
    is_said = one.stated_as is not StatedAs.INFERENCE or one.pinned or one.confirmed_at is not None
    is_over = any(time is not None and time <= now for time in (one.valid_until, one.expires_at))
    is_standing = one.status in (FactStatus.ACTIVE, FactStatus.DISPUTED) and one.is_latest and not one.superseded
    return is_said and is_standing and not is_over and not one.is_forgotten


def seconds_to_next_end(context: Context) -> float:
    """Return how long no fact of the graph is over or forgotten by the passing of time."""
    (row,) = context.database.ask(context.claims, _QUERIES["until_next_end"], {"user_id": context.claims.user_id})
    return math.inf if row["seconds"] is None else float(row["seconds"])


def _nodes_below(context: Context, node_id: UUID) -> frozenset[UUID]:
    place = {"user_id": context.claims.user_id, "node_id": node_id, "below": True}
    return frozenset(row["node_id"] for row in context.database.ask(context.claims, _LISTING["node_and_below"], place))


def _standing(
    context: Context, names: Sequence[str], people: Sequence[NamedNode], within: frozenset[UUID] | None
) -> dict[UUID, Fact]:
    """Return the facts about somebody that hold, the first of those that say the same, in the order of their days."""
    ids = facts_about(context, names, people, MOST_READ)
    now = datetime.now(UTC)
    found: dict[UUID, Fact] = {}
    for one in sorted(facts_by_id(context, ids).values(), key=lambda one: (one.said_at, str(one.fact_id))):
        if holds(one, now) and (within is None or one.node_id in within):
            found.setdefault(one.canonical_id, one)
    return {one.fact_id: one for one in found.values()}


def _section(one: Fact, names: Collection[str]) -> ProfileSectionName | None:
    """Return the section that a fact belongs to; None if it is not about the person first of all."""
    is_kept = one.pinned or one.confirmed_at is not None or one.extractor == STATED
    begins = re.compile(rf"(?!.{{1,60}}: \")\W*(?:{'|'.join(map(re.escape, names))})(?!\w)", re.IGNORECASE)
    is_owners = THE_USER in names and one.subject == THE_USER  # its words may have a former name of the account
    if not (is_kept or is_owners) and begins.match(one.statement) is None:
        return None
    return _SECTIONS.get(one.kind) or ("circumstances" if is_kept or one.subject is not None else None)


def _clauses(
    context: Context, names: Sequence[str], people: Sequence[NamedNode], standing: Mapping[UUID, Fact]
) -> list[ProfileItem]:
    """Return the relations of somebody, and the last value of each fact with a form."""
    ((_, clauses),) = described(context, [Described(people[0].node_id if people else None, names)])
    facts = [standing.get(one.fact_id) if one.fact_id else None for one in clauses]
    return [
        _item(fact, clause.text)
        if fact is not None
        else ProfileItem(
            text=clause.text, fact_id=clause.fact_id, record_id=clause.record_id, first_message=clause.message
        )
        for clause, fact in zip(clauses, facts, strict=True)
    ]


def people_of(context: Context) -> Iterator[ProfileItem]:
    """Yield the relations of the people with most memories, by name."""
    values = {"user_id": context.claims.user_id, "limit": MOST_PEOPLE}
    people = ask_rows(context.database, context.claims, _QUERIES["people"], Described, values)
    for one, clauses in described(context, people):
        if clauses:
            first = clauses[0]
            yield ProfileItem(
                text=sentence_of(one.names[-1], clauses),
                node_id=one.node_id,
                record_id=first.record_id,
                first_message=first.message,
            )


def _item(one: Fact, text: str | None = None) -> ProfileItem:
    values = {name: getattr(one, name) for name in ProfileItem.model_fields if hasattr(one, name)}
    return ProfileItem(**{**values, "text": text or one.statement, "node_id": None})


def _first(items: Sequence[ProfileItem]) -> list[ProfileItem]:
    """Return the pinned statements and the latest, in the order in which they were said."""
    chosen = sorted(range(len(items)), key=lambda place: (not items[place].pinned, -place))[:MOST_OF_A_SECTION]
    return [items[place] for place in sorted(chosen)]
