"""Git repositories on this machine: their names and spaces, and their history as a log with their decisions."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import IO

from neurigraph_pipelines.inbox.imports.git_log import DECISION, REPOSITORY
from neurigraph_pipelines.model.errors import InvalidInputError

_REMOTE = re.compile(r"^(?:[a-z+]+://)?(?:[^@/]*@)?(?P<place>.+?)(?:\.git)?/*$")

_DECISIONS = "docs/adr/"
_SIGNED = "--format=Author: %an <%ae>%nDate:   %ad"
_LOG = ("log", "--reverse", "--no-merges", "--no-color", "--no-decorate", "--name-only", "--format=medium")


def write_history(folder: Path, repository: str, target: IO[bytes]) -> None:
    """Write what ``imports.git_log`` reads: the commits of the current branch, oldest first, and the decisions in it.

    Raises:
        InvalidInputError: The folder is no repository with commits, or there is no Git.
    """
    target.write(f"{REPOSITORY}{repository}\n".encode())
    target.flush()
    _git(folder, *_LOG, "--date=iso-strict", "--no-show-signature", target=target)
    for path in _git(folder, "ls-tree", "-z", "--name-only", "--full-tree", "HEAD", _DECISIONS).decode().split("\0"):
        if path.endswith(".md"):
            last = _text(folder, "log", "-1", "--date=iso-strict", _SIGNED, "--", f":(top,literal){path}")
            text = _text(folder, "show", f"HEAD:{path}").replace("\n", "\n    ")
            target.write(f"{DECISION}{path}\n{last}\n    {text}\n\n".encode())


def _text(folder: Path, *arguments: str) -> str:
    return _git(folder, *arguments).decode("utf-8", "replace").replace("\r", "")


def _git(folder: Path, *arguments: str, target: IO[bytes] | None = None) -> bytes:
    command = ["git", "-c", "core.quotePath=off", "-C", str(folder), *arguments]
    try:
        done = subprocess.run(  # noqa: S603
            command, stdout=target or subprocess.PIPE, stderr=subprocess.PIPE, check=False
        )
    except (OSError, ValueError) as error:
        raise InvalidInputError(f"Git cannot be run here ({error}): install it.") from error
    if done.returncode:
        said = done.stderr.decode("utf-8", "replace").strip().splitlines()
        raise InvalidInputError(f"{folder} is no Git repository with commits ({said[-1] if said else 'no reason'}).")
    return done.stdout or b""


def repository_of(folder: Path) -> str:
    """Return the address of a folder's repository without scheme and user, or the name of the folder."""
    for of_git in (("config", "--get", "remote.origin.url"), ("rev-parse", "--show-toplevel")):
        try:
            done = subprocess.run(  # noqa: S603
                ["git", "-C", str(folder), *of_git],  # noqa: S607
                capture_output=True,
                text=True,
                timeout=5,
                check=False,
            )
        except (OSError, ValueError, subprocess.TimeoutExpired):
            break
        if (said := done.stdout.strip()) and (found := _REMOTE.fullmatch(said)):
            return found["place"].replace(":", "/") if of_git[0] == "config" else Path(said).name
    return folder.name or "folder"


def space_of(repository: str) -> str:
    """Return the tag of the space of a repository."""
    return f"repository:{re.sub(r'[^A-Za-z0-9_-]+', '_', repository).strip('_')}"[:100]
