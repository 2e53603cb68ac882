"""Git repositories on this machine: their names and spaces, and their history as a log with their decisions."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import IO

from neurigraph_pipelines.inbox.imports.git_log import DECISION, REPOSITORY
from neurigraph_pipelines.model import RejectedItem
from neurigraph_pipelines.model.errors import InvalidInputError, UnreadableFileError
from neurigraph_pipelines.text.encodings import decoded

_REMOTE = re.compile(r"^(?:[a-z+]+://)?(?:[^@/]*@)?(?P<place>.+?)(?:\.git)?/*$")

_NAMING = (
    ("config", "--get", "remote.origin.url"),
    ("rev-parse", "--show-toplevel"),
    ("rev-parse", "--absolute-git-dir"),  # in a folder .git, and in a bare repository
)

_DECISIONS = "docs/adr/"
_SIGNED = "--format=Author: %an <%ae>%nDate:   %ad"
_LOG = ("log", "--reverse", "--no-merges", "--no-color", "--no-decorate", "--name-only", "--format=medium")


def write_history(folder: Path, repository: str, target: IO[bytes]) -> list[RejectedItem]:
    """Write the input of ``imports.git_log``: the commits of the current branch, oldest first, and the decisions in it.

    Returns:
        The decisions whose encoding is not recognised.

    Raises:
        InvalidInputError: The folder is no repository with commits, or there is no Git.
    """
    target.write(f"{REPOSITORY}{repository}\n".encode())
    target.flush()
    _git(folder, *_LOG, "--date=iso-strict", "--no-show-signature", target=target)
    rejected = []
    for path in _git(folder, "ls-tree", "-z", "--name-only", "--full-tree", "HEAD", _DECISIONS).decode().split("\0"):
        if path.endswith(".md"):
            last = _text(folder, "log", "-1", "--date=iso-strict", _SIGNED, "--", f":(top,literal){path}")
            try:
                text = _text(folder, "show", f"HEAD:{path}").replace("\n", "\n    ")
            except UnreadableFileError as error:
                rejected.append(RejectedItem(path, str(error)))
                continue
            target.write(f"{DECISION}{path}\n{last}\n    {text}\n\n".encode("utf-8", "replace"))
    return rejected


def _text(folder: Path, *arguments: str) -> str:
    return decoded(_git(folder, *arguments))[0].replace("\r", "")


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
    """Return the address of a folder's repository without scheme and user, or the name of the repository."""
    for of_git in _NAMING:
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
            return found["place"].replace(":", "/") if of_git[0] == "config" else _name_of(Path(said))
    return folder.name or "folder"


def _name_of(folder: Path) -> str:
    """Return the name of a working tree, or of that whose ``.git`` it is; of a bare repository, without its suffix."""
    return (folder.parent if folder.name == ".git" else folder).name.removesuffix(".git")


def space_of(repository: str) -> str:
    """Return the tag of the space of a repository."""
    return f"repository:{re.sub(r'[^A-Za-z0-9_-]+', '_', repository).strip('_')}"[:100]
