"""Commands about the states of files: ``compress``, ``verify`` and ``storage``."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import asdict
from typing import Annotated, Any

import typer
from rich.progress import Progress

from neurigraph_pipelines.faces.cli import layouts, output
from neurigraph_pipelines.faces.cli.output import counted
from neurigraph_pipelines.faces.cli.session import (
    AnyUserSlug,
    DryRun,
    claims_of,
    file_id_of,
    node_id_of,
    opened,
    option,
    positional,
    user_id_of,
)
from neurigraph_pipelines.lifecycle import control
from neurigraph_pipelines.lifecycle.dormancy import SweepReport, sweep_active, sweep_dormant, sweep_expired
from neurigraph_pipelines.lifecycle.orphans import OrphanReport, audit_objects
from neurigraph_pipelines.lifecycle.storage_report import StorageTotals, storage_report
from neurigraph_pipelines.lifecycle.verification import Finding, Verification, verify_sample
from neurigraph_pipelines.lifecycle.verification import verify as verify_files
from neurigraph_pipelines.model import Claims, CompressionState
from neurigraph_pipelines.model.errors import InvalidInputError
from neurigraph_pipelines.wiring.installation import Installation

commands = typer.Typer()
administration = typer.Typer()

_NOT_ALL = 1


@commands.command()
def compress(
    identifier: Annotated[str | None, positional("Id from `neurigraph search`.", "FILE_OR_RECORD_ID")] = None,
    user: AnyUserSlug = None,
    node: Annotated[str | None, option("All files of this node, by path or id.")] = None,
    due: Annotated[bool, option("All files due by the settings, as in Dagster's schedules.", "--due")] = False,
    dry_run: DryRun = False,
) -> None:
    """Make files dormant: one, all of a node, all of a user, or all that are due. Repeating it changes nothing.

    A file that is being read or decompressed stays active.
    """
    if (identifier is not None) + (node is not None) + due > 1:
        raise InvalidInputError("give only one of: a file, --node, --due")
    if user is None and not due:
        raise InvalidInputError("give --user, or --due for the due files of all users")
    with opened() as installation:
        claims = claims_of(installation, user) if user is not None else None
        with output.progress() as progress:
            task = progress.add_task("compressing", total=None)

            def advance(count: int) -> None:
                progress.advance(task, count)

            if claims is None or due:
                report = _compress_due(installation, claims, dry_run, advance)
            elif identifier is not None:
                report = _compress_one(installation, claims, identifier, dry_run)
            else:
                report = _compress_awake(installation, claims, node, dry_run, advance)
    output.result(
        {**asdict(report), "failures": {str(file_id): why for file_id, why in report.failures.items()}},
        lambda: _compressed_view(report, dry_run),
    )
    if report.failures:
        raise typer.Exit(_NOT_ALL)


def _compress_due(
    installation: Installation, claims: Claims | None, dry_run: bool, on_done: Callable[[int], None]
) -> SweepReport:
    user_id = claims.user_id if claims is not None else None
    reports = (
        sweep(
            installation.context,
            limit=sys.maxsize,
            user_id=user_id,
            dry_run=dry_run,
            on_done=on_done,
        )
        for sweep in (sweep_expired, sweep_dormant)
    )
    return sum(reports, SweepReport())


def _compress_one(installation: Installation, claims: Claims, identifier: str, dry_run: bool) -> SweepReport:
    file_id = file_id_of(installation, claims, identifier)
    before = control.file_state(installation.database, claims, file_id)
    if not dry_run:
        control.compress(installation.acting_for(claims), file_id)
    if before.state != CompressionState.ACTIVE:
        return SweepReport(nodes=1)
    return SweepReport(nodes=1, files=1, bytes_freed=before.size_bytes if before.compression == "gzip" else 0)


def _compress_awake(
    installation: Installation, claims: Claims, node: str | None, dry_run: bool, on_done: Callable[[int], None]
) -> SweepReport:
    return sweep_active(
        installation.context,
        user_id=claims.user_id,
        node_id=node_id_of(installation, claims, node) if node is not None else None,
        dry_run=dry_run,
        on_done=on_done,
    )


def _compressed_view(report: SweepReport, dry_run: bool) -> Any:
    became, freed = ("would become dormant", "would be freed") if dry_run else ("became dormant", "were freed")
    return layouts.lines(
        f"{counted(report.files, 'file')} {became}, {report.bytes_freed:,} bytes {freed}.",
        *(f"{file_id} stays active: {why}" for file_id, why in report.failures.items()),
    )


@administration.command()
def verify(
    user: AnyUserSlug = None,
    node: Annotated[str | None, option("Only this node of --user, by path or id.")] = None,
    sample: Annotated[int | None, option("Check only this many random files.", min=1, max=1_000_000)] = None,
    quick: Annotated[bool, option("Only check that objects exist; read none.", "--quick")] = False,
    repair: Annotated[bool, option("Repair faults with only one possible repair.", "--repair")] = False,
) -> None:
    """Check objects, checksums, passages, registries, counters and the state log, and list all faults.

    Without --user it also lists objects that no row refers to; --repair removes them after the grace period. The exit
    code is 1 if faults remain.
    """
    if sample is not None and (user is not None or node is not None or quick or repair):
        raise InvalidInputError("--sample reads files of all users and repairs nothing: use it without other options")
    if node is not None and user is None:
        raise InvalidInputError("--node needs --user")
    audit = None
    with opened() as installation, output.progress() as progress:
        if sample is not None:
            found = verify_sample(installation.context, sample)
        else:
            found = _verify_files(installation, user, node, quick, repair, progress)
            if user is None:
                audit = _audit_objects(installation, repair, progress)
    output.result(
        {**asdict(found), "left": found.left, "objects": asdict(audit) if audit is not None else None},
        lambda: _verified_view(found, audit),
    )
    if found.left or (audit is not None and audit.left):
        raise typer.Exit(_NOT_ALL)


def _verify_files(
    installation: Installation, user: str | None, node: str | None, quick: bool, repair: bool, progress: Progress
) -> Verification:
    claims = claims_of(installation, user) if user is not None else None
    task = progress.add_task("verifying files", total=None)
    return verify_files(
        installation.context,
        user_id=claims.user_id if claims is not None else None,
        node_id=node_id_of(installation, claims, node) if claims is not None and node is not None else None,
        read=not quick,
        repair=repair,
        on_node=lambda done: progress.update(task, completed=done.files),
    )


def _audit_objects(installation: Installation, repair: bool, progress: Progress) -> OrphanReport:
    task = progress.add_task("looking for orphaned objects", total=None)
    return audit_objects(installation.context, dry_run=not repair, on_done=lambda count: progress.advance(task, count))


def _verified_view(found: Verification, audit: OrphanReport | None) -> Any:
    lines = [
        f"Checked {counted(found.files, 'file')} of {counted(found.nodes, 'node')}: {found.bytes_read:,} bytes read, "
        f"{counted(found.passages, 'passage')} compared."
    ]
    groups: dict[str, list[Finding]] = {}
    for finding in found.findings:
        groups.setdefault(finding.fault, []).append(finding)
    for fault, findings in groups.items():
        lines.append(f"{fault.replace('_', ' ')}: {len(findings):,}")
        lines += [f"   {each.subject}  {each.detail}{'  repaired' * each.repaired}" for each in findings]
    if audit is not None:
        lines.append(
            f"Checked {counted(audit.objects, 'object')}: {counted(len(audit.orphans), 'orphan')}, "
            f"of which {audit.young:,} within the grace period and {audit.removed:,} removed; "
            f"of other programs: {counted(len(audit.foreign), 'object')}."
        )
        lines += [f"   {key}" for key in audit.orphans]
    left = found.left + (audit.left if audit is not None else 0)
    lines.append(f"{left:,} findings are left." if left else "Nothing is wrong.")
    return layouts.lines(*lines)


@administration.command()
def storage(user: AnyUserSlug = None) -> None:
    """Show the bytes that active and dormant files occupy, and the bytes saved: by user, or by node of one user."""
    with opened() as installation:
        user_id = user_id_of(installation, user)
        users = list(storage_report(installation.database, user_id=user_id))
    rows = [{"user": owner.slug, **_totals(owner.totals)} for owner in users]
    nodes = [{"path": node.path, **_totals(node.totals)} for owner in users for node in owner.nodes]

    def layout() -> Any:
        shown = rows if user is None else nodes
        return layouts.table(shown) if shown else layouts.lines("No file is stored yet.")

    output.result({"users": rows, "nodes": nodes}, layout)


def _totals(totals: StorageTotals) -> dict[str, int]:
    return {**asdict(totals), "saved_bytes": totals.saved_bytes}
