"""Create the private folder of the embedded server and the data folder in it.

After ``kill -9`` at any step the next caller continues. Callers hold the start lock of ``postgres.embedded``, which
starts and stops the server.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import shutil
import tempfile
from pathlib import Path

from neurigraph_pipelines.model.errors import ConfigurationError
from resources.files import sync_folder, write_private
from resources.postgres.installation import (
    MAJOR_VERSION,
    SYSTEM_FOLDER,
    Account,
    last_line,
    make_system_folder,
    programs,
)

SUPERUSER = "neurigraph_superuser"

# The character type decides which characters full text search treats as part of a word: under C, dashes and quotation
# marks beyond ASCII are letters (measured). Older versions of macOS have no C.UTF-8.
_CHARACTER_TYPES = ("C.UTF-8", "en_US.UTF-8", "C")


def make_folder(folder: Path, account: Account) -> None:
    """Make the private folder, or a link in its place if ``account`` cannot reach it.

    Raises:
        OSError: A folder could not be made.
    """
    if not folder.is_dir() and not folder.is_symlink():
        new = folder.with_name(folder.name + ".new")
        shutil.rmtree(new, ignore_errors=True)
        _make_private(new, account)
        if account.can_enter(new):
            new.rename(folder)
        else:
            new.rmdir()
            name = f"{hashlib.sha256(bytes(folder)).hexdigest()[:16]}-{secrets.token_hex(4)}"
            folder.symlink_to(SYSTEM_FOLDER / "clusters" / name)
    if folder.is_symlink():
        make_system_folder(SYSTEM_FOLDER)
        make_system_folder(SYSTEM_FOLDER / "clusters")
    _make_private(folder.resolve(), account)


def _make_private(folder: Path, account: Account) -> None:
    """Make a folder owned by this process; another account may only pass through it."""
    folder.mkdir(mode=0o700, exist_ok=True)
    if folder.stat().st_uid == os.geteuid():
        if account.switch:
            os.chown(folder, -1, account.gid)
        folder.chmod(0o710 if account.switch else 0o700)


def make_cluster(folder: Path, account: Account) -> str:
    """Make the data folder unless it exists: build in a temporary folder and move the result into place.

    Returns:
        The password of ``SUPERUSER``.

    Raises:
        ConfigurationError: The data has another major version, its password is lost, or ``initdb`` failed.
        OSError: A file could not be read or written.
    """
    data, password_file = folder / "data", folder / "superuser_password"
    if (data / "PG_VERSION").exists():
        _check_version(data)
        if not password_file.exists():
            raise ConfigurationError(
                f"{password_file} is missing: restore it from a backup, or move {folder} away to start "
                "with an empty database."
            )
        return password_file.read_text(encoding="utf-8")
    password = secrets.token_urlsafe(32)
    write_private(password_file, password)
    for abandoned in folder.glob("build-*"):
        # An initdb whose caller was killed may still write there: it fails, and the next call removes the rest.
        shutil.rmtree(abandoned, ignore_errors=True)
    build = Path(tempfile.mkdtemp(prefix="build-", dir=folder))
    write_private(build / "password", password)
    account.own(build / "password")
    account.own(build)
    _initdb(account, build)
    (build / "data").rename(data)
    sync_folder(folder)
    shutil.rmtree(build, ignore_errors=True)
    return password


def _check_version(data: Path) -> None:
    version = (data / "PG_VERSION").read_text(encoding="utf-8").strip()
    if version != str(MAJOR_VERSION):
        raise ConfigurationError(
            f"{data} was written by Postgres {version} and {MAJOR_VERSION} is installed: dump it with the "
            "release of Neurigraph that made it, move the folder away, and load the dump."
        )


def _initdb(account: Account, build: Path) -> None:
    options = f"--pgdata=data --pwfile=password --username={SUPERUSER} --auth=scram-sha-256 --encoding=UTF8"
    locale = "--locale-provider=builtin --builtin-locale=C.UTF-8 --locale=C --data-checksums"
    program = programs(account) / "initdb"
    output = b""
    for character_type in _CHARACTER_TYPES:
        arguments = [*options.split(), *locale.split(), f"--lc-ctype={character_type}"]
        made = account.run([program, *arguments], folder=build)
        if made.returncode == 0:
            return
        output = made.stdout
        if b"invalid locale name" not in output:
            break
    raise ConfigurationError(f"initdb failed in {build}: {last_line(output)}")
