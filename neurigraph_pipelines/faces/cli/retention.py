"""Commands about how long memories are kept: ``tier``, ``promote``, and the group ``archive``."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import asdict
from datetime import timedelta
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from neurigraph_pipelines.faces.cli.output import Json, Output, counted, more
from neurigraph_pipelines.faces.cli.session import (
    AnyUserSlug,
    Cursor,
    DryRun,
    Limit,
    UserSlug,
    argument,
    claims_of,
    moment,
    opened,
    record_id_of,
)
from neurigraph_pipelines.model.errors import InvalidInputError

if TYPE_CHECKING:
    from neurigraph_pipelines.lifecycle.archive import Expiry
    from neurigraph_pipelines.views.retention import Archived, Retention

commands = typer.Typer()
_group = typer.Typer(no_args_is_help=True, help="Put memories out of every read, bring them back, or forget them.")
commands.add_typer(_group, name="archive")

TierName = Literal["short", "mid", "long"]

_RecordId = Annotated[str, typer.Argument(metavar="RECORD_ID", help="Id from `neurigraph search`.", show_default=False)]
_RecordIds = Annotated[list[str], typer.Argument(metavar="RECORD_ID...", help="Ids of memories.", show_default=False)]
_THROUGH = "archive on the command line"
_NOT_ALL = 1


@commands.command()
def tier(
    identifier: _RecordId,
    tier: Annotated[TierName, typer.Argument(help="short: some hours; mid: some days; long: for good.")],
    user: UserSlug,
    expires_at: Annotated[
        str | None, typer.Option(metavar="TIME", help="When it expires, if not by the tier.", show_default=False)
    ] = None,
    reason: Annotated[str | None, typer.Option(help="Why.", show_default=False)] = None,
    as_json: Json = False,
) -> None:
    """Set how long a memory is kept after it was last read. Then it is archived, and can be brought back."""
    from neurigraph_pipelines.lifecycle import retention
    from neurigraph_pipelines.model import Tier

    with opened() as installation:
        context = installation.acting_for(claims_of(installation, user))
        kept = retention.set_tier(
            context,
            record_id_of(identifier),
            Tier(tier),
            expires_at=moment("--expires-at", expires_at),
            reason=argument(reason) if reason is not None else None,
        )
    Output(as_json).result(kept, _lines(_kept(kept)))


@commands.command()
def promote(identifier: _RecordId, user: UserSlug, as_json: Json = False) -> None:
    """Move a memory to the next tier: short, mid, long. Memories that are read often move by themselves."""
    from neurigraph_pipelines.lifecycle import retention

    with opened() as installation:
        context = installation.acting_for(claims_of(installation, user))
        kept = retention.promote(context, record_id_of(identifier))
    Output(as_json).result(kept, _lines(_kept(kept)))


@_group.command("add")
def add(
    identifiers: _RecordIds,
    user: UserSlug,
    reason: Annotated[str, typer.Option(help="Why, for the list.")],
    as_json: Json = False,
) -> None:
    """Put memories out of every read, and keep them."""
    from neurigraph_pipelines.lifecycle import archive

    with opened() as installation:
        context = installation.acting_for(claims_of(installation, user))
        done = archive.archive(context, [record_id_of(one) for one in identifiers], argument(reason))
    Output(as_json).result({"record_ids": done}, _lines(f"Archived {_memories(len(done))}."))


@_group.command("list")
def list_archive(user: UserSlug, limit: Limit = 50, cursor: Cursor = None, as_json: Json = False) -> None:
    """List the memories of the archive, with the time and the reason of archiving."""
    from neurigraph_pipelines.lifecycle import archive

    with opened() as installation:
        claims = claims_of(installation, user)
        found = archive.page_of_archive(installation.database, installation.cursors, claims, limit=limit, cursor=cursor)
    shown = [*map(_line, found.items), *more(found.next_cursor)] or ["The archive is empty."]
    Output(as_json).result(found.shown("records"), _lines(*shown))


@_group.command("restore")
def restore(identifiers: _RecordIds, user: UserSlug, as_json: Json = False) -> None:
    """Bring memories back with the tiers that they had."""
    from neurigraph_pipelines.lifecycle import archive

    with opened() as installation:
        context = installation.acting_for(claims_of(installation, user))
        done = archive.restore(context, [record_id_of(one) for one in identifiers])
    Output(as_json).result({"record_ids": done}, _lines(f"Restored {_memories(len(done))}."))


@_group.command("purge")
def purge(
    user: UserSlug,
    older_than: Annotated[float, typer.Option(min=0, metavar="DAYS", help="Days in the archive.")],
    dry_run: DryRun = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation.")] = False,
    as_json: Json = False,
) -> None:
    """Forget memories that have been in the archive for so many days, for good. Each leaves a receipt."""
    from neurigraph_pipelines.lifecycle.erasure import purging

    with opened() as installation:
        context = installation.acting_for(claims_of(installation, user))
        age = timedelta(days=older_than)
        if not dry_run and not yes:
            _confirm(purging.purge(context, age, through=_THROUGH, dry_run=True).records)
        done = purging.purge(context, age, through=_THROUGH, dry_run=dry_run)
    if dry_run:
        said = [f"Would forget {_memories(done.records)}."]
    else:
        said = [f"Forgot {_memories(len(done.erasure_ids))}: `neurigraph erasures` shows the receipts."]
    said += [f"{done.left:,} are left for the next call."] if done.left else []
    Output(as_json).result(done, _lines(*said))
    if done.failed:
        raise typer.Exit(_NOT_ALL)


@_group.command("sweep")
def sweep(user: AnyUserSlug = None, dry_run: DryRun = False, as_json: Json = False) -> None:
    """Promote memories read often, and archive expired ones, as the asset `expired_records` does every hour."""
    from neurigraph_pipelines.lifecycle import archive

    output = Output(as_json)
    with opened() as installation, output.progress() as progress:
        user_id = claims_of(installation, user, whole_graph=True).user_id if user is not None else None
        task = progress.add_task("archiving", total=None)
        report = archive.sweep(
            installation.context,
            user_id=user_id,
            dry_run=dry_run,
            on_done=lambda count: progress.advance(task, count),
        )
    output.result({"dry_run": dry_run, **asdict(report)}, _lines(*_swept(report, dry_run)))
    if report.failed:
        raise typer.Exit(_NOT_ALL)


def _swept(report: Expiry, dry_run: bool) -> list[str]:
    would = "Would promote" if dry_run else "Promoted"
    said = [f"{would} {_memories(report.promoted)}, {'archive' if dry_run else 'archived'} {report.archived:,}."]
    return said + [f"Not now, of user {user_id}: {why}" for user_id, why in report.failed]


def _kept(kept: Retention) -> str:
    if kept.expires_at is None:
        return "It is kept for good."
    return f"{kept.tier}: it is archived at {kept.expires_at:%Y-%m-%d %H:%M} UTC, unless it is read before."


def _line(one: Archived) -> str:
    return (
        f"{one.record_id}  {one.archived_at:%Y-%m-%d %H:%M} UTC  {one.node_path}: {one.title}  "
        f"({one.archived_reason}; {one.archived_by})"
    )


def _memories(number: int) -> str:
    return counted(number, "memory", "memories")


def _confirm(records: int) -> None:
    if not sys.stdin.isatty():
        raise InvalidInputError("this cannot be undone: repeat it with --yes, or see what it does with --dry-run")
    typer.confirm(f"Forget {_memories(records)} for good?", abort=True, err=True)


def _lines(*texts: str) -> Callable[[], Any]:
    def view() -> Any:
        from neurigraph_pipelines.faces.cli import views

        return views.lines(*texts)

    return view
