"""Commands that follow the links of facts: ``why``, ``changed``, ``about`` and ``connected``."""

from __future__ import annotations

from typing import Annotated, NamedTuple
from uuid import UUID

import typer
from rich.console import RenderableType

from neurigraph_pipelines.faces.cli import views
from neurigraph_pipelines.faces.cli.output import Json, Output
from neurigraph_pipelines.faces.cli.session import UserSlug, argument, claims_of, filter_option, moment, opened
from neurigraph_pipelines.knowledge.fact_queries import FactQuery, QueryKind, query_facts
from neurigraph_pipelines.views.fact_queries import QueriedFacts
from neurigraph_pipelines.views.facts import Fact

commands = typer.Typer()

Query = Annotated[str, typer.Argument(metavar="QUESTION_OR_FACT_ID", help="Words, or an id.", show_default=False)]
MaxHops = Annotated[int | None, typer.Option(min=1, max=6, help="Most steps from a match.", show_default=False)]
MaxNodes = Annotated[int, typer.Option(min=1, max=200, help="Maximum number of facts.")]
MinStrength = Annotated[float, typer.Option(min=0, max=1, help="Weaker links are not followed.")]
Type = Annotated[list[str] | None, filter_option("Follow only this relation, such as `led_to`.", "RELATION")]
At = Annotated[str | None, filter_option("Only knowledge of this moment.", "TIME")]
ValidAt = Annotated[str | None, filter_option("Only facts that were true at this moment.", "TIME")]


@commands.command()
def why(
    question: Query,
    user: UserSlug,
    max_hops: MaxHops = None,
    relation: Type = None,
    min_strength: MinStrength = 0.3,
    at: At = None,
    valid_at: ValidAt = None,
    max_nodes: MaxNodes = 50,
    as_json: Json = False,
) -> None:
    """Show the causes and influences of a fact, the shortest paths first."""
    bounds = _Bounds(max_hops, min_strength, max_nodes)
    _run("why", question, user, bounds, relation, at, valid_at, as_json=as_json)


@commands.command()
def changed(question: Query, user: UserSlug, at: At = None, max_nodes: MaxNodes = 50, as_json: Json = False) -> None:
    """Show the earlier and later versions of facts, by when they occurred."""
    _run("changed", question, user, _Bounds(max_nodes=max_nodes), at=at, as_json=as_json)


@commands.command()
def about(
    name: Annotated[str, typer.Argument(help="Any name of a person or a thing.")],
    user: UserSlug,
    max_hops: MaxHops = None,
    min_strength: MinStrength = 0.3,
    at: At = None,
    valid_at: ValidAt = None,
    max_nodes: MaxNodes = 50,
    as_json: Json = False,
) -> None:
    """Show the facts about a person or a thing, the last said first, and what is related to them."""
    bounds = _Bounds(max_hops, min_strength, max_nodes)
    _run("about", name, user, bounds, at=at, valid_at=valid_at, as_json=as_json)


@commands.command()
def connected(
    question: Query,
    user: UserSlug,
    max_hops: MaxHops = None,
    relation: Type = None,
    min_strength: MinStrength = 0.3,
    at: At = None,
    valid_at: ValidAt = None,
    max_nodes: MaxNodes = 50,
    as_json: Json = False,
) -> None:
    """Show important facts that are connected to a fact by up to six steps, the nearest first."""
    bounds = _Bounds(max_hops, min_strength, max_nodes)
    _run("connected", question, user, bounds, relation, at, valid_at, as_json=as_json)


class _Bounds(NamedTuple):
    """The bounds of a walk."""

    max_hops: int | None = None
    min_strength: float = 0.3
    max_nodes: int = 50


def _id(text: str) -> UUID | None:
    try:
        return UUID(text)
    except ValueError:
        return None


def _run(
    kind: str,
    question: str,
    user: str,
    bounds: _Bounds,
    relation: list[str] | None = None,
    at: str | None = None,
    valid_at: str | None = None,
    *,
    as_json: bool,
) -> None:
    """Walk and print."""
    fact_id = None if kind == "about" else _id(question)
    with opened() as installation:
        context = installation.acting_for(claims_of(installation, user))
        wanted = FactQuery(
            kind=QueryKind(kind),
            traverse_types=tuple(map(argument, relation or ())),
            at=moment("--at", at),
            valid_at=moment("--valid-at", valid_at),
            fact_id=fact_id,
            query=argument(question) if fact_id is None else None,
            **bounds._asdict(),
        )
        found = query_facts(context, wanted)
    Output(as_json).result(found.model_dump(exclude_unset=True), lambda: _view(found))


def _view(found: QueriedFacts) -> RenderableType:
    matches = [_line(one) for one in found.matches]
    related = [one.path_description for one in found.related]
    return views.lines(*(matches or ["There are no such facts."]), *related, *found.notes)


def _line(fact: Fact) -> str:
    status = "" if fact.status == "active" else f", {fact.status}"
    return f"{fact.occurred_from or fact.said_at:%Y-%m-%d}  {fact.statement} ({fact.fact_id}{status})"
