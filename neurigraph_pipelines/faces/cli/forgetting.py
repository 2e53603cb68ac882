"""Commands that erase permanently, and their receipts: ``forget``, ``erasures`` and ``scrub``."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import asdict
from typing import Annotated, Any
from uuid import UUID

import typer

from neurigraph_pipelines.access.short_ids import id_of, may_begin
from neurigraph_pipelines.faces.cli import layouts, output
from neurigraph_pipelines.faces.cli.operations import Confirmed, confirm
from neurigraph_pipelines.faces.cli.result_layouts import shown
from neurigraph_pipelines.faces.cli.session import (
    AnyUserSlug,
    DryRun,
    UserSlug,
    argument,
    claims_of,
    node_id_of,
    opened,
    option,
    positional,
    user_id_of,
)
from neurigraph_pipelines.lifecycle.erasure import forget as erasing
from neurigraph_pipelines.lifecycle.erasure import scrubbing
from neurigraph_pipelines.lifecycle.erasure.forget import finish_erasures, preview
from neurigraph_pipelines.lifecycle.erasure.receipts import ErasureSubject, SubjectKind, receipts, with_objects
from neurigraph_pipelines.model import Claims
from neurigraph_pipelines.model.context import Context
from neurigraph_pipelines.model.errors import InvalidInputError, NotFoundError, TransientError
from neurigraph_pipelines.views.erasures import Erasure, ErasurePreview
from neurigraph_pipelines.wiring.installation import Installation

commands = typer.Typer()
administration = typer.Typer()


_THROUGH = "command line"
_NOT_ALL = 1


@commands.command()
def forget(
    user: UserSlug,
    identifier: Annotated[
        str | None, positional("Id of a record, node or fact, or a node's path.", "ID_OR_PATH")
    ] = None,
    everything: Annotated[bool, option("Erase the user and all their data.", "--everything")] = False,
    dry_run: DryRun = False,
    yes: Confirmed = False,
) -> None:
    """Erase a record, a fact, a node with all nodes below it, or a user, with all derived data. This cannot be undone.

    Repeating the command prints the same receipt, and finishes an erasure that was interrupted.
    """
    if everything == (identifier is not None):
        raise InvalidInputError("give a record, a node or a fact, or --everything to erase the user")
    with opened() as installation:
        claims = claims_of(installation, user, whole_graph=True)
        subject, preview = _find(installation, claims, identifier)
        if dry_run:
            if preview is None:
                raise NotFoundError("it was erased already: `neurigraph admin erasures` shows the receipt")
            output.result(preview, lambda: shown(preview, ""))
            return
        if preview is not None and not yes:
            confirm(preview)
        nodes = len(preview.nodes) if preview is not None else None
        receipt = _erase(installation.acting_for(claims), subject, nodes)
        if subject.kind is SubjectKind.USER:
            installation.databases.directory.forget(subject.subject_id)
        data = with_objects(installation.database, receipt)
    output.result(data, lambda: shown(receipt, ""))
    if receipt.finished_at is None:
        raise TransientError(
            "the erasure has begun and is not finished: `neurigraph admin erasures --finish` does the rest"
        )


def _erase(context: Context, subject: ErasureSubject, nodes: int | None) -> Erasure:
    """Erase a subject with so many nodes, and show the progress."""
    with output.progress() as progress:
        tasks = {name: progress.add_task(name, total=total) for name, total in (("nodes", nodes), ("objects", None))}
        return erasing.forget(
            context, subject, through=_THROUGH, on_done=lambda what, count: progress.advance(tasks[what], count)
        )


@administration.command()
def erasures(
    user: AnyUserSlug = None,
    finish: Annotated[bool, option("First finish erasures that were interrupted.", "--finish")] = False,
    limit: Annotated[int, typer.Option(min=1, max=200, help="Maximum number of receipts, newest first.")] = 50,
) -> None:
    """Show the receipts of erasures: ids, counts and checksums, without any erased text."""
    with opened() as installation:
        if finish:
            finish_erasures(installation.context)
        user_id = user_id_of(installation, user)
        with installation.database.pipeline() as tx:
            found = receipts(tx, user_id, limit=limit)
        data = {"erasures": [with_objects(installation.database, receipt) for receipt in found]}
    receipts_shown = [shown(one, "") for one in found] or [layouts.lines("Nothing was erased.")]
    output.result(data, lambda: layouts.stacked(*receipts_shown))


@administration.command()
def scrub(user: AnyUserSlug = None) -> None:
    """Rewrite the tables of the database, so that their files contain no erased data.

    Each table is locked while it is rewritten, and needs its own size in free disk space. Database logs and backups are
    not changed.
    """
    with opened() as installation, output.progress() as progress:
        task = progress.add_task("tables", total=None)
        user_id = user_id_of(installation, user)
        report = scrubbing.scrub(
            installation.database, user_id, lambda done, of: progress.update(task, completed=done, total=of)
        )

    def layout() -> Any:
        busy = [f"In use, so run it again for: {', '.join(report.busy)}"] if report.busy else []
        return layouts.lines(f"{report.tables:,} tables rewritten.", *busy)

    output.result(asdict(report), layout)
    if report.busy:
        raise typer.Exit(_NOT_ALL)


def _find(
    installation: Installation, claims: Claims, identifier: str | None
) -> tuple[ErasureSubject, ErasurePreview | None]:
    """Return the subject and a preview of its erasure, which is None if that was done or begun before."""
    if identifier is None:
        user = ErasureSubject(SubjectKind.USER, claims.user_id)
        return user, preview(installation.database, claims, user)
    for kind, wanted in _called(installation, claims, argument(identifier)).items():
        with suppress(NotFoundError):
            subject = ErasureSubject(SubjectKind(kind), wanted)
            return subject, preview(installation.database, claims, subject)
    with installation.database.agent(claims) as tx:
        for receipt in receipts(tx):
            if str(receipt.subject_id) == identifier and receipt.subject_kind != SubjectKind.USER:
                return ErasureSubject(receipt.subject_kind, receipt.subject_id), None
    raise NotFoundError(f"there is no record, node or fact {argument(identifier)}")


def _called(installation: Installation, claims: Claims, text: str) -> dict[str, UUID]:
    """Return the things that a text may name, by kind: a node of that path or name, or things with such an id.

    Raises:
        InvalidInputError: Several nodes have the name, or ids of several things begin with the text.
    """
    found = dict[str, UUID]()
    with suppress(NotFoundError):
        found["node"] = node_id_of(installation, claims, text)
    if not may_begin(text) or ("node" in found and not str(found["node"]).startswith(text.lower())):
        return found
    for kind in ("record", "fact"):
        with suppress(NotFoundError):
            found[kind] = id_of(installation.database, claims, kind, text)
    if len(set(found.values())) > 1:
        raise InvalidInputError(f"ids of several things begin with {text}: give more characters")
    return found
