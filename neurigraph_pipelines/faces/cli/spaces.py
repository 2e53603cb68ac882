"""Commands about spaces: ``spaces add``, ``list``, ``show``, ``change``, ``put``, ``take`` and ``remove``."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated
from uuid import UUID

import typer

from neurigraph_pipelines.faces.cli.output import Json, Output, counted, more
from neurigraph_pipelines.faces.cli.session import Cursor, Limit, UserSlug, argument, claims_of, opened

if TYPE_CHECKING:
    from rich.console import RenderableType

    from neurigraph_pipelines.model import Claims
    from neurigraph_pipelines.views.spaces import Space
    from neurigraph_pipelines.wiring.installation import Installation

commands = typer.Typer()
_spaces = typer.Typer(no_args_is_help=True, help="Named sets of sources, which searches and keys can be limited to.")
commands.add_typer(_spaces, name="spaces")

Tag = Annotated[str, typer.Argument(metavar="TAG", help="Container tag, such as sm_project_garden.")]
Name = Annotated[str | None, typer.Option(help="The name of the space for people.", show_default=False)]
About = Annotated[
    str | None,
    typer.Option("--context", help="A text that tells language models about its sources.", show_default=False),
]
SourceIds = Annotated[list[UUID], typer.Argument(metavar="SOURCE...", help="Ids of sources.")]


@_spaces.command("add")
def add(tag: Tag, user: UserSlug, name: Name = None, context: About = None, as_json: Json = False) -> None:
    """Make a space. The first use of a tag on a write makes one, too."""
    from neurigraph_pipelines.access.spaces import add_space

    with opened() as installation:
        asking = installation.acting_for(claims_of(installation, user))
        made = add_space(asking, argument(tag), name=name, entity_context=context)
    _print(made, as_json)


@_spaces.command("list")
def list_spaces(user: UserSlug, limit: Limit = 50, cursor: Cursor = None, as_json: Json = False) -> None:
    """List the spaces of a user, newest first."""
    from neurigraph_pipelines.access.spaces import page_of_spaces

    with opened() as installation:
        claims = claims_of(installation, user)
        found = page_of_spaces(installation.database, installation.cursors, claims, limit=limit, cursor=cursor)
    shown = [*map(_line, found.items), *more(found.next_cursor)] or ["There is no space."]
    Output(as_json).result(found.shown("spaces"), lambda: _lines(*shown))


@_spaces.command("show")
def show(tag: Tag, user: UserSlug, limit: Limit = 50, cursor: Cursor = None, as_json: Json = False) -> None:
    """Show a space and its sources, the last added first."""
    from neurigraph_pipelines.access.spaces import page_of_sources

    with _space(tag, user) as (installation, claims, space):
        found = page_of_sources(
            installation.database, installation.cursors, claims, space.space_id, limit=limit, cursor=cursor
        )
    sources = [f"  {one.source_id}  {one.kind}  {one.title or one.external_id}" for one in found.items]
    about = [f"  {space.entity_context}"] if space.entity_context else []
    Output(as_json).result(
        {**dict(space), "sources_in_it": found.shown("sources")},
        lambda: _lines(_line(space), *about, *sources, *more(found.next_cursor)),
    )


@_spaces.command("change")
def change(tag: Tag, user: UserSlug, name: Name = None, context: About = None, as_json: Json = False) -> None:
    """Change the name or the context of a space; an empty context drops it. A tag never changes."""
    from neurigraph_pipelines.access.spaces import change_space

    given = {"name": name, "entity_context": context}
    with _space(tag, user) as (installation, claims, space):
        changes = {field: value for field, value in given.items() if value is not None}
        changed = change_space(installation.acting_for(claims), space.space_id, changes)
    _print(changed, as_json)


@_spaces.command("put")
def put(tag: Tag, sources: SourceIds, user: UserSlug, as_json: Json = False) -> None:
    """Put sources into a space, with all memories from them."""
    from neurigraph_pipelines.access.spaces import add_sources

    with _space(tag, user) as (installation, claims, space):
        changed = add_sources(installation.database, claims, space.space_id, sources)
    _print(changed, as_json)


@_spaces.command("take")
def take(tag: Tag, sources: SourceIds, user: UserSlug, as_json: Json = False) -> None:
    """Take sources out of a space. They stay in the graph and in other spaces."""
    from neurigraph_pipelines.access.spaces import remove_sources

    with _space(tag, user) as (installation, claims, space):
        changed = remove_sources(installation.database, claims, space.space_id, sources)
    _print(changed, as_json)


@_spaces.command("remove")
def remove(tag: Tag, user: UserSlug, as_json: Json = False) -> None:
    """Remove a space. Its sources stay; keys that are bound to it alone see nothing any more."""
    from neurigraph_pipelines.access.spaces import remove_space

    with _space(tag, user) as (installation, claims, space):
        removed = remove_space(installation.database, claims, space.space_id)
    Output(as_json).result(removed, lambda: _lines(f"Removed {removed.container_tag}; its sources stay."))


@contextmanager
def _space(tag: str, user: str) -> Iterator[tuple[Installation, Claims, Space]]:
    """Open the installation and find a space of a user.

    Raises:
        NotFoundError: The user has no such space.
    """
    from neurigraph_pipelines.access.spaces import get_space

    with opened() as installation:
        claims = claims_of(installation, user)
        yield installation, claims, get_space(installation.database, claims, argument(tag))


def _print(space: Space, as_json: bool) -> None:
    Output(as_json).result(space, lambda: _lines(_line(space)))


def _line(space: Space) -> str:
    name = f"  {space.name}" if space.name != space.container_tag else ""
    return f"{space.container_tag}{name}  {counted(space.sources, 'source')}"


def _lines(*texts: str) -> RenderableType:
    from neurigraph_pipelines.faces.cli import views

    return views.lines(*texts)
