"""Master keys: a file of the home folder, or the output of a command.

Each line is a key. The first wraps; the others only unwrap, until a rotation is complete.
"""

from __future__ import annotations

import shlex
import subprocess
from collections.abc import Sequence
from pathlib import Path

from neurigraph_pipelines.model.errors import ConfigurationError
from resources.files import kept_secret, new_secret, write_private
from resources.storage.graph_keys import MasterKey

_COMMAND_SECONDS = 60.0
_MINIMUM_LENGTH = 32


class MasterKeyFile:
    """Master keys in a file that only its owner can read."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def read(self, *, may_make: bool) -> Sequence[MasterKey]:
        """Return the keys of the file.

        Raises:
            ConfigurationError: The file is absent although keys are wrapped, or cannot be read.
        """
        try:
            if may_make:
                kept_secret(self._path)
            return _keys(self._path.read_text(encoding="utf-8"), str(self._path))
        except FileNotFoundError as error:
            raise ConfigurationError(
                f"files are encrypted, and their master key {self._path} is missing: put it back, or set "
                "NEURIGRAPH_MASTER_KEY_COMMAND. Nothing is lost"
            ) from error
        except (OSError, ValueError) as error:
            raise ConfigurationError(f"the master key {self._path} cannot be read: check its permissions") from error

    def add(self) -> None:
        """Put a new key before the others, unless an earlier rotation did so and is not complete."""
        lines = self._path.read_text(encoding="utf-8").split()
        if len(lines) == 1:
            write_private(self._path, new_secret() + lines[0] + "\n")

    def drop_old(self) -> None:
        """Remove all keys but the first."""
        write_private(self._path, self._path.read_text(encoding="utf-8").split()[0] + "\n")


class MasterKeyCommand:
    """Master keys that a command prints, such as one that asks a key service to unwrap them."""

    def __init__(self, command: str) -> None:
        self._command = command
        self._read: Sequence[MasterKey] | None = None

    def read(self, *, may_make: bool) -> Sequence[MasterKey]:
        """Return the keys; the command runs once in a process.

        Raises:
            ConfigurationError: The command fails, or prints no key.
        """
        if self._read is None:
            try:
                done = subprocess.run(  # noqa: S603 - the operator's command, never a shell line
                    shlex.split(self._command), capture_output=True, text=True, timeout=_COMMAND_SECONDS, check=False
                )
            except (OSError, ValueError, subprocess.TimeoutExpired) as error:
                raise ConfigurationError(
                    f"NEURIGRAPH_MASTER_KEY_COMMAND cannot be run ({type(error).__name__}): correct it"
                ) from error
            if done.returncode != 0:
                raise ConfigurationError(
                    f"NEURIGRAPH_MASTER_KEY_COMMAND ended with status {done.returncode}: run it to see why"
                )
            self._read = _keys(done.stdout, "what NEURIGRAPH_MASTER_KEY_COMMAND prints")
        return self._read


def _keys(text: str, place: str) -> Sequence[MasterKey]:
    lines = text.split()
    if not lines or min(map(len, lines)) < _MINIMUM_LENGTH:
        raise ConfigurationError(f"{place} is no master key: it is lines of at least {_MINIMUM_LENGTH} characters")
    return [MasterKey.of(line) for line in lines]
