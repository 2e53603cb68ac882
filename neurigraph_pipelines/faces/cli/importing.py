"""The command ``import``."""

from __future__ import annotations

from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from neurigraph_pipelines.faces.cli import source_options
from neurigraph_pipelines.faces.cli.exporting import FORMAT, import_export
from neurigraph_pipelines.faces.cli.output import Json, Output
from neurigraph_pipelines.faces.cli.session import (
    DryRun,
    SpaceTags,
    UserSlug,
    argument,
    opened,
)
from neurigraph_pipelines.faces.cli.uploading import (
    Private,
    ensure_owner,
    find_owner,
    import_document,
    import_page,
    stated_privacy,
)
from neurigraph_pipelines.faces.cli.vaults import format_of, import_notes, import_view
from neurigraph_pipelines.inbox.export_formats import NAMES

if TYPE_CHECKING:
    from neurigraph_pipelines.model import Privacy, RejectedItem
    from neurigraph_pipelines.model.sources import SourceDetails

commands = typer.Typer()

_ADDRESSES = ("http://", "https://")
_NOTHING_ACCEPTED = 2

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
_Key = Annotated[Path | None, typer.Option(help="The file of the secret age key of an encrypted export.")]
_Watch = Annotated[
    bool, typer.Option("--watch", help="Import the files of a folder, and new and changed files, until Ctrl-C.")
]


@commands.command("import", short_help="Take in conversations, exports, mails or any file.")
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
    key: _Key = None,
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
    from resources.age_encryption import is_encrypted

    output = Output(as_json)
    if key is not None or (format_name in ("auto", FORMAT) and is_encrypted(Path(what))):
        import_export(Path(what), user, output, key)
        return
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
        import_export(file, user, output, None)
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
