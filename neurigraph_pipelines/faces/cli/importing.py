"""The command ``import``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from neurigraph_pipelines.faces.cli import source_options
from neurigraph_pipelines.faces.cli.output import Json, Output
from neurigraph_pipelines.faces.cli.session import DryRun, SpaceTags, UserSlug
from neurigraph_pipelines.inbox.export_formats import EXPORT_FORMATS
from neurigraph_pipelines.model.errors import InvalidInputError

commands = typer.Typer()

_FORMATS = (*EXPORT_FORMATS, "vault", "basic-memory", "document", "neurigraph")

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
        callback=lambda name: _known_format(name),
        help=f"{', '.join(_FORMATS)}; auto detects it.",
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
_Git = Annotated[
    bool,
    typer.Option("--git", help="FILE is a repository on this machine: take in its commits and decisions (docs/adr)."),
]


def _known_format(name: str) -> str:
    if name not in ("auto", *_FORMATS):
        raise typer.BadParameter(f"{name!r} is none: use one of {', '.join(_FORMATS)}.")
    return name


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
    private: source_options.Private = None,
    dates: _Dates = None,
    watch: _Watch = False,
    git: _Git = False,
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
    from neurigraph_pipelines.faces.cli.import_kinds import Import

    where = (origin, document_type, url, channel, author, meta, updated_at, replaces, tier, space, time_zone)
    details = source_options.details_of(*where)
    chosen = Import(user, format_name, private, details, Output(as_json), dates, dry_run)
    if git and format_name != "auto":
        raise InvalidInputError("--git reads a repository, which has one format: leave --format out.")
    if git:
        chosen.take_history(Path(what))
    else:
        chosen.take(what, external_id, key, watch)
