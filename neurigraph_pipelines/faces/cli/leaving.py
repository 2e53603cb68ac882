"""The sources of an installation's settings, and the hosts that get data, for ``status`` and ``up``."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from dotenv import dotenv_values

from neurigraph_pipelines.settings import list_settings
from neurigraph_pipelines.settings.outgoing import Destination, destinations
from neurigraph_pipelines.settings.sources import HOME_FILE, given_of, named_file, values_of_file
from neurigraph_pipelines.wiring.installation import Installation


@dataclass(frozen=True, slots=True)
class Report:
    """The places of settings and data, and every host that gets some of it.

    Attributes:
        files: The names of the settings in each file.
        ignored_file: A file that somebody may have meant to be read.
    """

    home: str
    database: str
    language_model: str
    embedder: str
    reranker: str
    environment: list[str]
    files: dict[str, list[str]]
    ignored_file: str | None
    leaves_the_machine: list[Destination]


def report(installation: Installation) -> Report:
    """Return the places of settings and data, and every host that gets some of it."""
    settings = installation.settings
    variables = [setting.variable for setting in list_settings()]
    files = [path for path in (named_file(), installation.home / HOME_FILE) if path is not None and path.is_file()]
    return Report(
        str(installation.home),
        "embedded" if settings.database.url is None else "server",
        settings.models.chosen_language_model,
        settings.models.chosen_embedder,
        settings.chosen_reranker,
        [name for name in variables if name in os.environ],
        {str(path): list(given_of(variables, values_of_file(path))) for path in files},
        _ignored(),
        list(destinations(settings)),
    )


def sentences(found: Report) -> list[str]:
    """Return the hosts that get data as lines of text, and a file that somebody may have meant to be read."""
    hosts = [
        f"  {one.purpose}: {one.host}{' (this machine)' if one.is_local else ''} gets {one.data}"
        for one in found.leaves_the_machine
    ]
    lines = ["Data goes to:", *hosts] if hosts else ["Nothing leaves this machine."]
    lines += [f"Settings of {path}: {', '.join(names) or 'none'}" for path, names in found.files.items()]
    if found.ignored_file:
        lines.append(f"{found.ignored_file} has settings and is not read: pass --env-file to read it.")
    return lines


def lines(found: Report) -> list[str]:
    """Return the report as lines of text."""
    return [
        f"Home folder:  {found.home}",
        f"Database:     {found.database}",
        f"Models:       {found.language_model}, {found.embedder}, reranker {found.reranker}",
        f"Environment:  {', '.join(found.environment) or 'no settings'}",
        *sentences(found),
    ]


def _ignored() -> str | None:
    """Return the `.env` of the current folder if it has settings of ours and nobody named it."""
    path, named = Path(".env").absolute(), named_file()
    if not path.is_file() or (named is not None and named.absolute() == path):
        return None
    try:
        names = {name.upper() for name in dotenv_values(path, interpolate=False)}
    except (OSError, UnicodeDecodeError):
        return None
    return str(path) if names & {setting.variable for setting in list_settings()} else None
