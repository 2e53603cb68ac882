"""The command ``import``."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal
from uuid import UUID

import typer
from pydantic import Field

from neurigraph_pipelines.faces.cli.import_kinds import Import
from neurigraph_pipelines.faces.cli.session import DryRun, UserSlug, option, positional
from neurigraph_pipelines.faces.cli.taken import fields_of, stated_by, with_options
from neurigraph_pipelines.faces.operations.source_fields import PRIVACY, SourceFields
from neurigraph_pipelines.inbox.export_formats import EXPORT_FORMATS
from neurigraph_pipelines.inbox.imports.zones import with_zone
from neurigraph_pipelines.model import Privacy
from neurigraph_pipelines.model.errors import InvalidInputError
from neurigraph_pipelines.views.base import Form

commands = typer.Typer()

_FORMATS = (*EXPORT_FORMATS, "vault", "basic-memory", "document", "neurigraph")

_What = Annotated[
    str,
    positional(
        "An export (.json, .jsonl, .txt, .zip, a folder), a vault of Markdown notes, any file, or the URL of a "
        "web page or a repository (.git).",
        "FILE",
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
    str | None, option("Your id of a file that is stored as it is: other bytes under it are its next version.")
]
_Dates = Annotated[
    Literal["dmy", "mdy", "ymd"] | None,
    option("The order of day, month and year in dates in numbers; else as the file shows."),
]
_Key = Annotated[Path | None, option("The file of the secret age key of an encrypted export.")]
_Watch = Annotated[bool, option("Import the files of a folder, and new and changed files, until Ctrl-C.", "--watch")]
_Git = Annotated[
    bool, option("FILE is a repository on this machine: take in its commits and decisions (docs/adr).", "--git")
]


def _known_format(name: str) -> str:
    if name not in ("auto", *_FORMATS):
        raise typer.BadParameter(f"{name!r} is none: use one of {', '.join(_FORMATS)}.")
    return name


class _Stated(Form, SourceFields):
    """The options that hold for one file."""

    time_zone: str | None = Field(
        default=None, description="The time zone of times that name none, such as Europe/Berlin. Default: UTC."
    )
    privacy: Privacy | None = Field(default=None, description=PRIVACY)


_OPTIONS = fields_of(_Stated, {"document_type": "--type", "metadata": "--meta"})


@commands.command("import")
@with_options(_OPTIONS)
def import_file(
    what: _What,
    user: UserSlug,
    format_name: _FormatName = "auto",
    external_id: _ExternalId = None,
    replaces: Annotated[UUID | None, option("The source that it is the next version of, by its id.")] = None,
    dates: _Dates = None,
    watch: _Watch = False,
    git: _Git = False,
    key: _Key = None,
    dry_run: DryRun = False,
    **stated: Any,
) -> None:
    """Import the conversations of a file into the inbox, or the file itself if it contains none.

    What is said of where it comes from holds for all new conversations in it; only one can replace a source. The user
    is created if necessary. Messages that are in the inbox already are not added again: to finish an interrupted
    import, run it again. A web page or a repository is fetched; one that has changed is its
    next version. Of a vault of Markdown notes, each note becomes a note at a node of its own, and links become edges.
    A Neurigraph export is restored completely, if its user does not exist here.
    """
    source = stated_by(_Stated, _OPTIONS, stated)
    details = with_zone(replace(source.details, replaces=replaces), source.time_zone)
    chosen = Import(user, format_name, source.privacy, details, dates, dry_run)
    if git and format_name != "auto":
        raise InvalidInputError("--git reads a repository, which has one format: leave --format out.")
    if git:
        chosen.take_history(Path(what))
    else:
        chosen.take(what, external_id, key, watch)
