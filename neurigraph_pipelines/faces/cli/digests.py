"""Commands about digests: the list ``digests``, and the group ``digest`` to make, show and remove one."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any
from uuid import UUID

import typer

from neurigraph_pipelines.faces.cli.output import Json, Output, counted, more
from neurigraph_pipelines.faces.cli.session import (
    AnyUserSlug,
    Cursor,
    DryRun,
    Limit,
    UserSlug,
    claims_of,
    filter_option,
    node_id_of,
    opened,
    parse_id,
    record_id_of,
)

if TYPE_CHECKING:
    from neurigraph_pipelines.views.digests import Digest

commands = typer.Typer()
_group = typer.Typer(no_args_is_help=True, help="Put memories into a few sentences, and read or remove the result.")
commands.add_typer(_group, name="digest")

_RecordIds = Annotated[list[str], typer.Argument(metavar="RECORD_ID...", help="Ids of memories.", show_default=False)]
_DigestId = Annotated[
    str, typer.Argument(metavar="DIGEST_ID", help="Id from `neurigraph digests`.", show_default=False)
]
_NOT_ALL = 1


@commands.command("digests")
def list_digests(
    user: UserSlug,
    node: Annotated[str | None, filter_option("Only windows of this node: an id, a path or a name.", "NODE")] = None,
    record: Annotated[str | None, filter_option("Only those derived from this memory.", "RECORD_ID")] = None,
    days: Annotated[int | None, filter_option("Only windows of so many days: 7, 30 or 90.", "DAYS")] = None,
    limit: Limit = 50,
    cursor: Cursor = None,
    as_json: Json = False,
) -> None:
    """List digests of windows and of named memories, the last made first."""
    from neurigraph_pipelines.knowledge import digests

    with opened() as installation:
        claims = claims_of(installation, user)
        found = digests.page_of_digests(
            installation.database,
            installation.cursors,
            claims,
            node_id=node_id_of(installation, claims, node) if node is not None else None,
            record_id=record_id_of(record) if record is not None else None,
            days=days,
            limit=limit,
            cursor=cursor,
        )
    shown = [*map(_line, found.items), *more(found.next_cursor)] or ["There are no digests."]
    Output(as_json).result(found.shown("digests"), _lines(*shown))


@_group.command("make")
def make(identifiers: _RecordIds, user: UserSlug, as_json: Json = False) -> None:
    """Put some memories into words. The same memories again give the digest that is there."""
    from neurigraph_pipelines.knowledge import digesting, digests

    with opened() as installation:
        claims = claims_of(installation, user)
        made = digesting.digest_of_records(installation.acting_for(claims), [record_id_of(one) for one in identifiers])
        found = digests.get_digest(installation.database, claims, made)
    Output(as_json).result(found, _lines(_line(found), found.text))


@_group.command("show")
def show(identifier: _DigestId, user: UserSlug, as_json: Json = False) -> None:
    """Print a digest, and the memories that it is derived from."""
    from neurigraph_pipelines.knowledge import digests

    with opened() as installation:
        found = digests.get_digest(installation.database, claims_of(installation, user), _id_of(identifier))
    derived = ", ".join(map(str, found.derived_from))
    Output(as_json).result(found, _lines(_line(found), found.text, f"Derived from {derived}"))


@_group.command("remove")
def remove(identifier: _DigestId, user: UserSlug, dry_run: DryRun = False, as_json: Json = False) -> None:
    """Remove a digest; its memories stay."""
    from neurigraph_pipelines.knowledge import digests

    with opened() as installation:
        claims = claims_of(installation, user)
        found = digests.remove_digest(installation.database, claims, _id_of(identifier), dry_run=dry_run)
    said = f"{'Would remove' if dry_run else 'Removed'} {found.title}."
    Output(as_json).result({"dry_run": dry_run, "digest": found}, _lines(said))


@_group.command("sweep")
def sweep(user: AnyUserSlug = None, as_json: Json = False) -> None:
    """Put the windows into words whose memories changed, as the asset `node_digests` does at night."""
    from neurigraph_pipelines.knowledge import digesting

    output = Output(as_json)
    with opened() as installation, output.progress() as progress:
        user_id = claims_of(installation, user, whole_graph=True).user_id if user is not None else None
        task = progress.add_task("digests", total=None)
        done = digesting.sweep(
            installation.context, user_id=user_id, on_done=lambda count: progress.advance(task, count)
        )
    counts = {"windows": done.windows, "written": done.written, "changed": done.changed, "failed": len(done.failed)}
    said = f"Wrote {counted(done.written, 'digest')}; {counted(len(done.failed), 'window')} failed."
    output.result(counts, _lines(said))
    if done.failed:
        raise typer.Exit(_NOT_ALL)


def _id_of(identifier: str) -> UUID:
    return parse_id(identifier, "a digest", "neurigraph digests")


def _line(found: Digest) -> str:
    about = f"{found.days} days from {found.starts_at:%Y-%m-%d}" if found.days else "named memories"
    return f"{found.digest_id}  {about}  {counted(found.records, 'memory', 'memories')}  {found.title}"


def _lines(*texts: str) -> Callable[[], Any]:
    def view() -> Any:
        from neurigraph_pipelines.faces.cli import views

        return views.lines(*texts)

    return view
