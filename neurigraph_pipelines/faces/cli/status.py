"""The commands ``status`` and ``doctor``: the running parts, their faults, and the remedies."""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime
from typing import Any, NamedTuple

import typer

from neurigraph_pipelines.faces.cli import layouts, leaving, output
from neurigraph_pipelines.faces.cli.session import installed
from neurigraph_pipelines.ingestion.failures import list_failures
from neurigraph_pipelines.ingestion.readiness import check
from neurigraph_pipelines.runtime.doctor import dagster_failures
from neurigraph_pipelines.runtime.doctor.examination import examine
from neurigraph_pipelines.runtime.doctor.findings import Level
from neurigraph_pipelines.runtime.stack.home_lock import running_stack
from neurigraph_pipelines.wiring.installation import Installation

commands = typer.Typer()
NOT_READY = 1
ERRORS_SHOWN = 3


@commands.command()
def status() -> None:
    """Show the parts that run on this home folder, their faults (exit code 1), and data that leaves this machine."""
    with installed() as installation:
        running = running_stack(installation.home)
        found = check(installation.context)
        report = leaving.report(installation)
        errors = [] if any(fault.part == "reading" for fault in found.faults) else last_errors(installation)

    def layout() -> Any:
        age = found.queue_age_seconds
        queue = (
            [] if age is None else [f"the oldest waiting segment waits for {age:,.0f} s" if age else "nothing waits"]
        )
        faults = [f"{fault.part} does not work: {fault.reason}" for fault in found.faults]
        works = faults or ["reading, writing and ingestion work"]
        failed = [f"failed {one.at:%Y-%m-%d %H:%M} UTC: {one.part}: {one.error}" for one in errors]
        return layouts.unbroken(*_stack_lines(running), *works, *queue, *failed, "", *leaving.lines(report))

    data = {"running": running, "ready": not found.faults, **asdict(found)}
    output.result({**data, "last_errors": [one._asdict() for one in errors], **asdict(report)}, layout)
    if found.faults:
        raise typer.Exit(NOT_READY)


@commands.command()
def doctor() -> None:
    """Check packages, disk, permissions, clocks, keys, models, queue and checks, and name the remedy of each fault.

    The exit code is 1 if something does not work; warnings leave it at 0.
    """
    with installed() as installation:
        findings = list(examine(installation))
    worst = [one for one in findings if one.level is Level.ERROR]
    warnings = sum(one.level is Level.WARNING for one in findings)

    def layout() -> Any:
        texts = []
        for one in findings:
            texts.append(f"{one.level:<8} {one.subject}: {one.found}")
            texts += [f"{'':<9}→ {one.remedy}"] if one.remedy else []
        return layouts.unbroken(*texts, "", f"Errors: {len(worst)}, warnings: {warnings}.")

    output.result({"well": not worst, "findings": [asdict(one) for one in findings]}, layout)
    if worst:
        raise typer.Exit(NOT_READY)


def _stack_lines(running: dict[str, object] | None) -> list[str]:
    if running is None:
        return ["neurigraph up does not run"]
    parts = running.get("parts")
    processes = parts.items() if isinstance(parts, dict) else ()
    return [
        f"neurigraph up runs: process {running.get('pid')}",
        *(f"{name} {place}" for name, place in running.items() if name not in ("pid", "parts")),
        *(f"{name} runs: process {pid}" for name, pid in processes),
    ]


class LastError(NamedTuple):
    """A segment or upload that failed for good, or a run of Dagster that failed."""

    at: datetime
    part: str
    error: str
    id: object


def last_errors(installation: Installation) -> list[LastError]:
    """Return the newest segments and uploads that failed for good, and failed runs of Dagster, newest first."""
    with installation.database.pipeline() as tx:
        failures = list_failures(tx, limit=ERRORS_SHOWN)
    runs = dagster_failures.read(installation).runs
    errors = [
        *(LastError(one.occurred_at, one.step, one.error, one.failure_id) for one in failures),
        *(LastError(one.ended_at, one.job, "the run failed", one.run_id) for one in runs),
    ]
    return sorted(errors, key=lambda one: one.at, reverse=True)[:ERRORS_SHOWN]
