"""The sources of an installation's settings, and the hosts that get data, for ``status`` and ``up``."""

from __future__ import annotations

import os
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from neurigraph_pipelines.wiring.installation import Installation


def report(installation: Installation) -> dict[str, Any]:
    """Return the places of settings and data, and every host that gets some of it."""
    from neurigraph_pipelines.settings import list_settings
    from neurigraph_pipelines.settings.outgoing import destinations
    from neurigraph_pipelines.settings.sources import HOME_FILE, given_of, named_file, values_of_file

    settings = installation.settings
    variables = [setting.variable for setting in list_settings()]
    files = [path for path in (named_file(), installation.home / HOME_FILE) if path is not None and path.is_file()]
    return {
        "home": str(installation.home),
        "database": "embedded" if settings.database.url is None else "server",
        "language_model": settings.models.chosen_language_model,
        "embedder": settings.models.chosen_embedder,
        "reranker": settings.chosen_reranker,
        "environment": [name for name in variables if name in os.environ],
        "files": {str(path): list(given_of(variables, values_of_file(path))) for path in files},
        "ignored_file": _ignored(),
        "leaves_the_machine": [asdict(one) for one in destinations(settings)],
    }


def sentences(found: dict[str, Any]) -> list[str]:
    """Return the hosts that get data as lines of text, and a file that somebody may have meant to be read."""
    hosts = [
        f"  {one['purpose']}: {one['host']}{' (this machine)' if one['is_local'] else ''} gets {one['data']}"
        for one in found["leaves_the_machine"]
    ]
    lines = ["Data goes to:", *hosts] if hosts else ["Nothing leaves this machine."]
    for path, names in found["files"].items():
        lines.append(f"Settings of {path}: {', '.join(names) or 'none'}")
    if found["ignored_file"]:
        lines.append(f"{found['ignored_file']} has settings and is not read: pass --env-file to read it.")
    return lines


def lines(found: dict[str, Any]) -> list[str]:
    """Return the report as lines of text."""
    return [
        f"Home folder:  {found['home']}",
        f"Database:     {found['database']}",
        f"Models:       {found['language_model']}, {found['embedder']}, reranker {found['reranker']}",
        f"Environment:  {', '.join(found['environment']) or 'no settings'}",
        *sentences(found),
    ]


def _ignored() -> str | None:
    """Return the `.env` of the current folder if it has settings of ours and nobody named it."""
    from dotenv import dotenv_values

    from neurigraph_pipelines.settings import list_settings
    from neurigraph_pipelines.settings.sources import named_file

    path, named = Path(".env").absolute(), named_file()
    if not path.is_file() or (named is not None and named.absolute() == path):
        return None
    try:
        names = {name.upper() for name in dotenv_values(path, interpolate=False)}
    except (OSError, UnicodeDecodeError):
        return None
    return str(path) if names & {setting.variable for setting in list_settings()} else None
