"""Commands that erase permanently, and their receipts: ``forget``, ``erasures`` and ``scrub``."""

from __future__ import annotations

import sys
from contextlib import suppress
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any
from uuid import UUID

import typer

from neurigraph_pipelines.faces.cli.output import Json, Output
from neurigraph_pipelines.faces.cli.session import (
    AnyUserSlug,
    DryRun,
    UserSlug,
    argument,
    claims_of,
    node_id_of,
    opened,
    user_id_of,
)
from neurigraph_pipelines.model.errors import InvalidInputError, NotFoundError, TransientError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from neurigraph_pipelines.lifecycle.erasure.receipts import ErasureSubject
    from neurigraph_pipelines.model import Claims
    from neurigraph_pipelines.model.context import Context
    from neurigraph_pipelines.views.erasures import Erasure, ErasurePreview
    from neurigraph_pipelines.wiring.installation import Installation

commands = typer.Typer()
administration = typer.Typer()

Confirmed = Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation.")]

_THROUGH = "command line"
_NODES_SHOWN = 20
_NOT_ALL = 1


@commands.command(short_help="Erase a memory, fact, node or user for good.")
def forget(
    user: UserSlug,
    identifier: Annotated[
        str | None,
        typer.Argument(
            metavar="ID_OR_PATH", help="Id of a record, node or fact, or a node's path.", show_default=False
        ),
    ] = None,
    everything: Annotated[bool, typer.Option("--everything", help="Erase the user and all their data.")] = False,
    dry_run: DryRun = False,
    yes: Confirmed = False,
    as_json: Json = False,
) -> None:
    """Erase a record, a fact, a node with all nodes below it, or a user, with all derived data. This cannot be undone.

    Repeating the command prints the same receipt, and finishes an erasure that was interrupted.
    """
    if everything == (identifier is not None):
        raise InvalidInputError("give a record, a node or a fact, or --everything to erase the user")
    from neurigraph_pipelines.lifecycle.erasure.receipts import SubjectKind, with_objects

    output = Output(as_json)
    with opened() as installation:
        claims = claims_of(installation, user, whole_graph=True)
        subject, preview = _find(installation, claims, identifier)
        if dry_run:
            if preview is None:
                raise NotFoundError("it was erased already: `neurigraph admin erasures` shows the receipt")
            output.result(preview, lambda: _preview_view(preview))
            return
        if preview is not None and not yes:
            _confirm(preview)
        nodes = len(preview.nodes) if preview is not None else None
        receipt = _erase(installation.acting_for(claims), subject, nodes, output)
        if subject.kind is SubjectKind.USER:
            installation.databases.directory.forget(subject.subject_id)
        data = with_objects(installation.database, receipt)
    output.result(data, lambda: _receipt_view(receipt))
    if receipt.finished_at is None:
        raise TransientError(
            "the erasure has begun and is not finished: `neurigraph admin erasures --finish` does the rest"
        )


def _erase(context: Context, subject: ErasureSubject, nodes: int | None, output: Output) -> Erasure:
    """Erase a subject with so many nodes, and show the progress."""
    from neurigraph_pipelines.lifecycle.erasure.forget import forget

    with output.progress() as progress:
        tasks = {name: progress.add_task(name, total=total) for name, total in (("nodes", nodes), ("objects", None))}
        return forget(
            context, subject, through=_THROUGH, on_done=lambda what, count: progress.advance(tasks[what], count)
        )


@administration.command()
def erasures(
    user: AnyUserSlug = None,
    finish: Annotated[bool, typer.Option("--finish", help="First finish erasures that were interrupted.")] = False,
    limit: Annotated[int, typer.Option(min=1, max=200, help="Maximum number of receipts, newest first.")] = 50,
    as_json: Json = False,
) -> None:
    """Show the receipts of erasures: ids, counts and checksums, without any erased text."""
    from neurigraph_pipelines.lifecycle.erasure.forget import finish_erasures
    from neurigraph_pipelines.lifecycle.erasure.receipts import receipts, with_objects

    with opened() as installation:
        if finish:
            finish_erasures(installation.context)
        user_id = user_id_of(installation, user)
        with installation.database.pipeline() as tx:
            found = receipts(tx, user_id, limit=limit)
        data = {"erasures": [with_objects(installation.database, receipt) for receipt in found]}

    def layout() -> Any:
        from rich.console import Group

        from neurigraph_pipelines.faces.cli import layouts

        return Group(*map(_receipt_view, found)) if found else layouts.lines("Nothing was erased.")

    Output(as_json).result(data, layout)


@administration.command()
def scrub(user: AnyUserSlug = None, as_json: Json = False) -> None:
    """Rewrite the tables of the database, so that their files contain no erased data.

    Each table is locked while it is rewritten, and needs its own size in free disk space. Database logs and backups are
    not changed.
    """
    from neurigraph_pipelines.lifecycle.erasure import scrubbing

    output = Output(as_json)
    with opened() as installation, output.progress() as progress:
        task = progress.add_task("tables", total=None)
        user_id = user_id_of(installation, user)
        report = scrubbing.scrub(
            installation.database, user_id, lambda done, of: progress.update(task, completed=done, total=of)
        )

    def layout() -> Any:
        from neurigraph_pipelines.faces.cli import layouts

        busy = [f"In use, so run it again for: {', '.join(report.busy)}"] if report.busy else []
        return layouts.lines(f"{report.tables:,} tables rewritten.", *busy)

    output.result(asdict(report), layout)
    if report.busy:
        raise typer.Exit(_NOT_ALL)


def _find(
    installation: Installation, claims: Claims, identifier: str | None
) -> tuple[ErasureSubject, ErasurePreview | None]:
    """Return the subject and a preview of its erasure, which is None if that was done or begun before."""
    from neurigraph_pipelines.lifecycle.erasure.forget import preview
    from neurigraph_pipelines.lifecycle.erasure.receipts import ErasureSubject, SubjectKind, receipts

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
    """Return what a text may name by kind: the node with that path or name before things whose ids begin with it.

    Raises:
        InvalidInputError: Several nodes have the name, or ids of several things begin with the text.
    """
    from neurigraph_pipelines.access.short_ids import id_of, may_begin

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


def _confirm(preview: ErasurePreview) -> None:
    if not sys.stdin.isatty():
        raise InvalidInputError("this cannot be undone: confirm with --yes, or use --dry-run first")
    from rich.console import Console

    Console(stderr=True, markup=False, highlight=False, emoji=False).print(_preview_view(preview))
    typer.confirm("Erase all of this permanently?", abort=True, err=True)


def _preview_view(preview: ErasurePreview) -> Any:
    from neurigraph_pipelines.faces.cli import layouts

    return layouts.lines(
        f"Would erase the {preview.subject_kind} {preview.subject_id}:",
        *(f"  node {path}" for path in preview.nodes[:_NODES_SHOWN]),
        *([f"  and {len(preview.nodes) - _NODES_SHOWN:,} more nodes"] if len(preview.nodes) > _NODES_SHOWN else []),
        f"  records {preview.records:,}, changes in their history {preview.deltas:,}",
        f"  files {preview.files:,}, {preview.object_bytes:,} bytes",
        f"  complete sources {preview.sources:,}, sources of which parts remain {preview.shared_sources:,}",
        f"  messages that wait to be stored {preview.waiting_messages:,}",
    )


def _receipt_view(receipt: Erasure) -> Any:
    from neurigraph_pipelines.faces.cli import layouts

    def lines() -> Iterator[str]:
        when = f"finished {receipt.finished_at:%Y-%m-%d %H:%M:%S} UTC" if receipt.finished_at else "not finished"
        asked = f"requested {receipt.requested_at:%Y-%m-%d %H:%M:%S} UTC"
        yield f"{receipt.subject_kind} {receipt.subject_id}, {asked}, {when}"
        yield f"  receipt {receipt.erasure_id}, user {receipt.user_id}, through {receipt.requested_through}"
        erased = (f"{name.replace('_', ' ')} {count:,}" for name, count in receipt.erased.items())
        yield f"  erased: {', '.join(erased) or 'nothing'}"
        for name, ids in receipt.kept.items():
            if ids:
                yield f"  kept, because other records need them: {name} {', '.join(map(str, ids))}"

    return layouts.lines(*lines())
