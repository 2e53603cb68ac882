"""Commands that add memories: ``import`` and ``ingest``."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from neurigraph_pipelines.faces.cli import source_options
from neurigraph_pipelines.faces.cli.exporting import FORMAT, import_export
from neurigraph_pipelines.faces.cli.output import Json, Output, counted
from neurigraph_pipelines.faces.cli.session import (
    AnyUserSlug,
    DryRun,
    SpaceTags,
    UserSlug,
    argument,
    claims_of,
    opened,
)
from neurigraph_pipelines.faces.cli.uploading import (
    Private,
    ensure_owner,
    find_owner,
    import_document,
    import_page,
    read_uploads,
    stated_privacy,
)
from neurigraph_pipelines.faces.cli.vaults import format_of, import_notes, import_view
from neurigraph_pipelines.inbox.export_formats import NAMES

if TYPE_CHECKING:
    from neurigraph_pipelines.inbox.queue_hold import QueueHold
    from neurigraph_pipelines.inbox.triggers import Queue
    from neurigraph_pipelines.ingestion.healing import Healed
    from neurigraph_pipelines.ingestion.records import BatchResult, Committed
    from neurigraph_pipelines.knowledge.reading import FactsRead
    from neurigraph_pipelines.model import ItemFailure, Privacy, RejectedItem
    from neurigraph_pipelines.model.sources import SourceDetails
    from neurigraph_pipelines.wiring.installation import Installation

commands = typer.Typer()

_ADDRESSES = ("http://", "https://")
_NOTHING_ACCEPTED = 2
_NOTHING_STORED = 5
_NOT_ALL = 1
_RETURNED_REMEDY = "`neurigraph ingest` tries those that are pending again, `neurigraph failures` shows the others"
_UNREAD_REMEDY = "`neurigraph failures` shows why, and `neurigraph replay` reads them again"

_What = Annotated[
    str,
    typer.Argument(
        metavar="FILE",
        help="An export (.json, .jsonl, .txt, .zip, a folder), a vault of Markdown notes, any file, or the URL of a "
        "web page or a repository (.git).",
    ),
]
_FormatName = Annotated[
    str,
    typer.Option(
        "--format",
        help=f"{NAMES}, vault, document or neurigraph; auto detects it.",
    ),
]
_ExternalId = Annotated[
    str | None,
    typer.Option(help="Your id of a file that is stored as it is: other bytes under it are its next version."),
]
_Dates = Annotated[
    Literal["dmy", "mdy", "ymd"] | None,
    typer.Option(help="The order of day, month and year in dates in numbers; else as the file shows."),
]
_Watch = Annotated[
    bool, typer.Option("--watch", help="Import the files of a folder, and new and changed files, until Ctrl-C.")
]


@commands.command("import")
def import_file(
    what: _What,
    user: UserSlug,
    format_name: _FormatName = "auto",
    external_id: _ExternalId = None,
    origin: source_options.Origin = None,
    document_type: source_options.Type = None,
    url: source_options.Url = None,
    channel: source_options.ChannelName = None,
    author: source_options.Author = None,
    meta: source_options.Meta = None,
    updated_at: source_options.UpdatedAt = None,
    replaces: source_options.Replaces = None,
    tier: source_options.TierName = None,
    space: SpaceTags = None,
    time_zone: source_options.TimeZone = None,
    private: Private = None,
    dates: _Dates = None,
    watch: _Watch = False,
    dry_run: DryRun = False,
    as_json: Json = False,
) -> None:
    """Import the conversations of a file into the inbox, or the file itself if it contains none.

    What is said of where it comes from holds for all new conversations in it; only one can replace a source. The user
    is created if necessary. Messages that are in the inbox already are not added again: to finish an interrupted
    import, run it again. A web page or a repository is fetched; one that has changed is its
    next version. Of a vault of Markdown notes, each note becomes a note at a node of its own, and links become edges.
    A Neurigraph export is restored completely, if its user does not exist here.
    """
    from neurigraph_pipelines.inbox.imports.vault import FORMAT as VAULT
    from neurigraph_pipelines.model.errors import InvalidInputError

    output = Output(as_json)
    where = (origin, document_type, url, channel, author, meta, updated_at, replaces, tier, space, time_zone)
    details = source_options.details_of(*where)
    if what.lower().startswith(_ADDRESSES):
        if dry_run:
            raise InvalidInputError(
                "--dry-run is for conversations: what is at an address is fetched and stored as a whole."
            )
        import_page(what, user, output, private, external_id, details)
        return
    if not watch:
        _import_one(Path(what), user, format_name, private, external_id, details, output, dates, dry_run)
        return
    if dry_run or external_id is not None or replaces is not None or format_name == VAULT:
        raise InvalidInputError("--watch goes without --dry-run, --external-id, --replaces and --format vault.")
    _watch(Path(what), user, format_name, private, details, output, dates)


def _watch(
    folder: Path,
    user: str,
    format_name: str,
    private: bool | None,
    details: SourceDetails,
    output: Output,
    dates: str | None,
) -> None:
    from neurigraph_pipelines.faces.cli.watching import watch
    from neurigraph_pipelines.text.external_ids import external_id_of

    def import_one(file: Path) -> None:
        known = external_id_of("watch", argument(file.relative_to(folder).as_posix()))
        _import_one(file, user, format_name, private, known, details, output, dates)

    with opened() as installation:  # kept open, so that the server does not start for each file
        watch(folder, installation.settings.uploads.drop_settle_seconds, import_one, output)


def _import_one(
    file: Path,
    user: str,
    format_name: str,
    private: bool | None,
    external_id: str | None,
    details: SourceDetails,
    output: Output,
    dates: str | None = None,
    dry_run: bool = False,
) -> None:
    from neurigraph_pipelines.inbox.import_format import DOCUMENT, why_document
    from neurigraph_pipelines.inbox.imports.vault import FORMAT as VAULT
    from neurigraph_pipelines.model.errors import InvalidInputError

    chosen = format_of(file) if format_name == "auto" else format_name
    if dry_run and chosen in (FORMAT, DOCUMENT):
        raise InvalidInputError("--dry-run is for conversations: this file would be stored as a whole.")
    if chosen == VAULT:
        if external_id is not None:
            raise InvalidInputError("--external-id is for one file: the notes of a vault are known by their paths.")
        import_notes(file, user, output, stated_privacy(private), details, dry_run)
    elif chosen == FORMAT:
        import_export(file, user, output)
    elif chosen == DOCUMENT:
        if format_name == "auto" and (reason := why_document(file)) is not None:
            output.note(f"not read as a conversation: {reason}")
        import_document(file, user, output, private, external_id, details)
    else:
        _import_conversations(file, user, chosen, stated_privacy(private), details, output, dates, dry_run)


def _import_conversations(
    file: Path,
    user: str,
    chosen: str,
    privacy: Privacy | None,
    details: SourceDetails,
    output: Output,
    dates: str | None,
    dry_run: bool,
) -> None:
    from neurigraph_pipelines.inbox import importing
    from neurigraph_pipelines.inbox.imports.date_order import DateOrder
    from neurigraph_pipelines.inbox.imports.source import content_size
    from neurigraph_pipelines.model import Claims, ReceivedThrough

    total, order = content_size(file), DateOrder(dates) if dates else None
    with opened() as installation:
        if dry_run:
            owner, created = find_owner(installation, user), False
        else:
            installation, owner, created = ensure_owner(installation, user, output)
        with output.progress(in_bytes=True) as progress:
            task = progress.add_task(f"{'reading' if dry_run else 'importing'} {chosen}", total=total)
            on_bytes = partial(progress.advance, task)

            def on_rejected(item: RejectedItem) -> None:
                output.note(f"rejected: {item.where}: {item.reason}")

            if owner is None:
                output.note(f"the user {user} does not exist and would be created")
                report = importing.count_file(
                    installation.settings, file, chosen, on_bytes=on_bytes, on_rejected=on_rejected, date_order=order
                )
            else:
                report = importing.import_file(
                    installation.acting_for(Claims.of_user(owner.user_id, ReceivedThrough.IMPORT)),
                    file,
                    chosen,
                    privacy=privacy,
                    details=details,
                    dry_run=dry_run,
                    on_bytes=on_bytes,
                    on_rejected=on_rejected,
                    date_order=order,
                )
        estimated = not installation.tokens.exact
    data = {"user": user if owner is None else owner.slug, "user_created": created, "dry_run": dry_run}
    data |= {"file": str(file), "format": chosen, **asdict(report)}
    output.result(data, lambda: import_view(report, estimated, dry_run))
    if report.rejected and not report.conversations_seen:
        raise typer.Exit(_NOTHING_ACCEPTED)


@commands.command()
def ingest(user: AnyUserSlug = None, as_json: Json = False) -> None:
    """Store all due segments: file, summarise, extract keywords, embed and commit them.

    Then embed stored records that have no vectors yet, and read new ones for facts. This runs in one process, without
    Dagster. If it is interrupted, unfinished segments return to the queue, and records are read by the next run.
    The exit code is 1 if a segment came back or a file could not be read, and 5 if segments came back and none was
    stored.
    """
    from neurigraph_pipelines.inbox import triggers
    from neurigraph_pipelines.inbox.queue_hold import current_hold
    from neurigraph_pipelines.ingestion.batch import STEPS, run_due
    from neurigraph_pipelines.ingestion.healing import heal_pending
    from neurigraph_pipelines.knowledge.reading import read_waiting
    from neurigraph_pipelines.retrieval.packing import pack_after_commit

    output = Output(as_json)
    results: list[BatchResult] = []
    with opened() as installation:
        user_id = claims_of(installation, user, whole_graph=True).user_id if user is not None else None
        context = installation.context
        unread = read_uploads(installation, user_id, output)
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
        installation.uploads.clear()
        queue = triggers.queue(installation.database, user_id)
        done = _Ingested(results, healed, read, queue, current_hold(installation.database), unread)
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
    from neurigraph_pipelines.faces.cli import views

    queue, embedder, waiting = done.queue, installation.embedder.model, done.healed.waiting
    tokens = f"tokens by {installation.tokens.name}" if installation.tokens.exact else "token counts estimated"
    lines = [
        f"{counted(len(done.stored), 'record')} stored in {counted(done.nodes, 'node')} "
        f"({installation.language_model.name}, {embedder}, {tokens}).",
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
            f"{counted(waiting.of_other_models, 'record')}. `neurigraph reembed` switches them to it."
        )
    if done.read.facts:
        lines.append(f"{counted(done.read.facts, 'fact')} found.")
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
        lines.append(f"Failed after all attempts: {counted(queue.failed, 'segment')}. See `neurigraph failures`.")
    return views.lines(*lines)


def _faults_view(done: _Ingested) -> list[str]:
    """Return sources that were repeated, unreadable or incomplete, each with its remedy."""
    from neurigraph_pipelines.ingestion.unfinished import REMEDY

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
