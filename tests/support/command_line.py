"""The command line as a process on the installation of a test."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.core import TyperGroup

from neurigraph_pipelines.faces.cli import entry
from neurigraph_pipelines.settings import Settings
from tests.conftest import ROOT
from tests.support.warm_cli import PROGRAM, warm_program

__all__ = ["PROGRAM", "describe", "environment", "is_command", "run_cli"]


def environment(settings: Settings, **more: str) -> dict[str, str]:
    """Return the environment of a process on the same installation, without other settings of this process."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("NEURIGRAPH_", "OPENAI_"))}
    assert settings.database.url is not None
    assert settings.secret is not None
    return {
        **kept,
        "NEURIGRAPH_HOME": str(settings.home),
        "NEURIGRAPH_DATABASE_URL": settings.database.url.get_secret_value(),
        "NEURIGRAPH_SECRET": settings.secret.get_secret_value(),
        "NEURIGRAPH_ROLE_SECRET": settings.secret.get_secret_value(),
        "NEURIGRAPH_LANGUAGE_MODEL": "offline",
        "NEURIGRAPH_EMBEDDER": "neurigraph",
        **more,
    }


def describe(settings: Settings, monkeypatch: pytest.MonkeyPatch, **more: str) -> None:
    """Set the environment of this process to the installation, as Dagster's processes have it."""
    for name, value in environment(settings, **more).items():
        monkeypatch.setenv(name, value)


def run_cli(
    settings: Settings,
    *arguments: str,
    folder: Path = ROOT,
    more: Mapping[str, str] | None = None,
    stdin: str | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run a command in a folder, with extra variables and a standard input; the test checks the exit code."""
    return subprocess.run(
        [warm_program(), *arguments],
        env=environment(settings, **(more or {})),
        cwd=folder,
        input=stdin,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def is_command(words: str) -> bool:
    """Return whether the command line has a command that begins with some words; the rest are its arguments."""
    found: Any = typer.main.get_command(entry.app)
    for word in words.split():
        if not isinstance(found, TyperGroup):
            return True
        found = found.get_command(typer.Context(found), word)
    return found is not None
