"""The command ``ingest``."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

import typer

from neurigraph_pipelines.faces.cli import layouts, output
from neurigraph_pipelines.faces.cli.output import counted
from neurigraph_pipelines.faces.cli.session import AnyUserSlug, opened, user_id_of
from neurigraph_pipelines.faces.cli.uploading import read_uploads
from neurigraph_pipelines.inbox import triggers
from neurigraph_pipelines.inbox.queue_hold import QueueHold, current_hold
from neurigraph_pipelines.inbox.triggers import Queue
from neurigraph_pipelines.ingestion.batch import STEPS, run_due
from neurigraph_pipelines.ingestion.healing import Healed, heal_pending
from neurigraph_pipelines.ingestion.records import BatchResult, Committed
from neurigraph_pipelines.ingestion.unfinished import REMEDY
from neurigraph_pipelines.knowledge.reading import FactsRead, read_waiting
from neurigraph_pipelines.knowledge.reconciling import Reconciled, reconcile_waiting
from neurigraph_pipelines.model import ItemFailure
from neurigraph_pipelines.retrieval.packing import pack_after_commit
from neurigraph_pipelines.wiring.installation import Installation

commands = typer.Typer()

_NOTHING_STORED = 5
_NOT_ALL = 1
_RETURNED_REMEDY = (
    "`neurigraph ingest` tries those that are pending again, `neurigraph source failure list` shows the others"
)
_UNREAD_REMEDY = "`neurigraph source failure list` shows why, and `neurigraph source failure replay` reads them again"


@commands.command()
def ingest(user: AnyUserSlug = None) -> None:
    """Store all due segments: file, summarise, extract keywords, embed and commit them.

    Then embed stored records that have no vectors yet, read new ones for facts, and compare these with earlier ones.
    This runs in one process, without Dagster. If it is interrupted, unfinished segments return to the queue, and
    records are read and compared by the next run.
    The exit code is 1 if a segment came back or a file could not be read, and 5 if segments came back and none was
    stored.
    """
    results: list[BatchResult] = []
    with opened() as installation:
        user_id = user_id_of(installation, user)
        context = installation.context
        unread = read_uploads(installation, user_id)
        with output.progress() as progress:
            task = progress.add_task("storing", total=0)

            def begin(batch: triggers.Batch) -> None:
                progress.update(task, total=(progress.tasks[0].total or 0) + STEPS * batch.segments)

            for result in run_due(
                context, "cli", user_id, on_batch=begin, on_done=lambda done: progress.advance(task, done)
            ):
                results.append(result)
                progress.update(task, completed=progress.tasks[0].total)
            task = progress.add_task("embedding waiting records", total=None)
            healed = heal_pending(context, user_id=user_id, on_done=lambda done: progress.advance(task, done))
            pack_after_commit(context, None if user_id is None else {user_id})
            task = progress.add_task("reading for facts", total=None)
            read = read_waiting(context, user_id=user_id, on_done=lambda done: progress.advance(task, done))
            progress.add_task("comparing facts", total=None)
            compared = reconcile_waiting(context, user_id=user_id)
        installation.uploads.clear()
        queue = triggers.queue(installation.database, user_id)
        done = _Ingested(results, healed, read, compared, queue, current_hold(installation.database), unread)
        data = done.data(installation)
    output.result(data, lambda: _ingest_view(done, installation))
    if done.returned or unread:
        raise typer.Exit(_NOTHING_STORED if done.returned and not done.stored else _NOT_ALL)


@dataclass(frozen=True)
class _Ingested:
    """The work of one ``ingest``, and the segments that wait after it."""

    results: list[BatchResult]
    healed: Healed
    read: FactsRead
    compared: Reconciled
    queue: Queue
    held: QueueHold | None
    unread: list[dict[str, str]]

    @property
    def stored(self) -> list[Committed]:
        return [record for result in self.results for record in result.stored]

    @property
    def returned(self) -> list[tuple[ItemFailure, str]]:
        return [one for result in self.results for one in result.returned]

    @property
    def nodes(self) -> int:
        return len({record.node_path for record in self.stored})

    @property
    def unfinished(self) -> int:
        return sum(bool(record.left_out) for record in self.stored)

    def data(self, installation: Installation) -> dict[str, object]:
        """Return it as JSON has it."""
        return {
            "stored": len(self.stored),
            "nodes": self.nodes,
            "healed": self.healed.records,
            "pending_embedding": self.healed.waiting.records,
            "pending_for_another_model": self.healed.waiting.of_other_models,
            "facts": self.read.facts,
            "pending_facts": len(self.read.failed),
            "superseded": self.compared.superseded,
            "to_decide": self.compared.disputed + self.compared.flagged,
            "already_stored": sum(record.already_stored for record in self.stored),
            "unfinished": self.unfinished,
            "returned": [
                {"trigger_id": failure.trigger_id, "step": failure.step, "error": failure.error, "state": state}
                for failure, state in self.returned
            ],
            "remedy": _RETURNED_REMEDY if self.returned else None,
            "queue": asdict(self.queue),
            "held": asdict(self.held) if self.held is not None else None,
            "models": {
                "language_model": installation.language_model.name,
                "embedder": installation.embedder.model,
                "tokens": installation.tokens.name,
                "tokens_exact": installation.tokens.exact,
            },
            "unread": self.unread,
        }


def _ingest_view(done: _Ingested, installation: Installation) -> Any:
    queue, embedder, waiting = done.queue, installation.embedder.model, done.healed.waiting
    lines = [
        f"{counted(len(done.stored), 'record')} stored in {counted(done.nodes, 'node')} "
        f"({installation.language_model.name}, {embedder}).",
    ]
    if done.healed.records:
        lines.append(f"{counted(done.healed.records, 'waiting record')} embedded.")
    if waiting.records:
        lines.append(
            f"Waiting for embedding, and found by words alone until then: {counted(waiting.records, 'record')}."
        )
    if waiting.of_other_models:
        lines.append(
            f"Waiting because their users' searches use another model than {embedder}: "
            f"{counted(waiting.of_other_models, 'record')}. `neurigraph admin reembed` switches them to it."
        )
    if done.read.facts:
        lines.append(f"{counted(done.read.facts, 'fact')} found.")
    if done.compared.superseded:
        lines.append(f"{counted(done.compared.superseded, 'fact')} superseded by newer ones.")
    if conflicts := done.compared.disputed + done.compared.flagged:
        lines.append(f"{counted(conflicts, 'contradiction')} to decide: `neurigraph action list`.")
    if done.read.failed:
        lines.append(f"Waiting to be read for facts: {counted(len(done.read.failed), 'record')}.")
    if done.held is not None:
        lines.append(f"The queue is held, and no segment loses an attempt: {done.held.reason}")
    else:
        lines += [f"not stored ({state}): {failure.step}: {failure.error}" for failure, state in done.returned]
    lines += _faults_view(done)
    if queue.pending and queue.next_attempt_at is not None:
        lines.append(
            f"Waiting for another attempt: {counted(queue.pending, 'segment')}, "
            f"the next at {_clock(queue.next_attempt_at)}."
        )
    if queue.claimed:
        lines.append(f"Leased by another run: {counted(queue.claimed, 'segment')}.")
    if queue.failed:
        lines.append(
            f"Failed after all attempts: {counted(queue.failed, 'segment')}. See `neurigraph source failure list`."
        )
    return layouts.lines(*lines)


def _faults_view(done: _Ingested) -> list[str]:
    """Return sources that were repeated, unreadable or incomplete, each with its remedy."""
    lines = []
    if done.returned:
        lines.append(f"Came back: {counted(len(done.returned), 'segment')}. {_RETURNED_REMEDY}.")
    if done.unread:
        lines.append(f"Not read: {counted(len(done.unread), 'file')}. {_UNREAD_REMEDY}.")
    if done.unfinished:
        records = counted(done.unfinished, "record")
        lines.append(f"Stored without what a defect kept from being made: {records}. {REMEDY}.")
    return lines


def _clock(moment: datetime) -> str:
    return moment.astimezone().strftime("%H:%M:%S on %Y-%m-%d")
