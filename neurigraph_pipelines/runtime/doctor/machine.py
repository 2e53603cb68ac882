"""Looks at this machine: packages, disk, and who may read the home folder."""

from __future__ import annotations

import os
import platform
import re
import shutil
import stat
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import neurigraph_pipelines
from neurigraph_pipelines.runtime.doctor.findings import Finding, error, warning, well
from neurigraph_pipelines.settings.sources import HOME_FILE

SECRET_FILES = (
    *("secret", "role_secret", "admin_key", "metrics_token", "ui_token", "master_key", HOME_FILE),
    *("dagster/pgpass", "dagster/settings.json", "dagster/aws_credentials"),
)
"""Files of the home folder that only its owner may read."""

ENOUGH = 10
"""How many times the least free space a disk should have."""

_PINNED = re.compile(r"(?P<name>[A-Za-z0-9._-]+)(?:\[[^]]*\])?(?:==(?P<version>[^;, ]+))?")


def packages() -> Iterator[Finding]:
    """Look for packages that are missing or not of the version that is required exactly."""
    wrong = []
    for requirement in metadata.requires("neurigraph") or ():
        required = _PINNED.match(requirement)
        assert required is not None
        if "extra ==" in requirement:
            continue
        try:
            installed = metadata.version(required["name"])
        except metadata.PackageNotFoundError:
            wrong.append(f"{required['name']} is missing")
            continue
        if required["version"] not in (None, installed):
            wrong.append(f"{required['name']} is {installed} instead of {required['version']}")
    if wrong:
        remedy = "install Neurigraph again with its dependencies; requirements/lock.txt has versions that agree"
        yield error("packages", "; ".join(wrong), remedy)
    else:
        version, python = neurigraph_pipelines.__version__, platform.python_version()
        yield well("packages", f"Neurigraph {version} on Python {python}, with the versions that it requires")


def disk(home: Path, least: int) -> Iterator[Finding]:
    """Look at the free space of the disks of the home folder and of the embedded server's data.

    Args:
        home: The home folder.
        least: Free bytes below which nothing is written any more.
    """
    logs = sum(file.stat().st_size for file in (home / "logs").glob("*.log*"))
    data = (home / "postgres").resolve()  # elsewhere if an account of its own runs the server
    folder = min((one for one in (home, data) if one.exists()), key=lambda one: shutil.disk_usage(one).free)
    free = shutil.disk_usage(folder).free
    found = f"{free / 1e9:,.1f} GB are free on the disk of {folder}; logs take {logs / 1e6:,.1f} MB"
    remedy = (
        "make room, or move the home folder to a larger disk; `neurigraph memory compress --due` packs unused files"
    )
    if free < least:
        yield error("disk", found, remedy)
    elif free < ENOUGH * least:
        yield warning("disk", found, remedy)
    else:
        yield well("disk", found)


def permissions(home: Path) -> Iterator[Finding]:
    """Look for files and folders that others may read or change, or that belong to another account."""
    found = False
    if home.stat().st_mode & (stat.S_IRGRP | stat.S_IROTH | stat.S_IWGRP | stat.S_IWOTH):
        found = True
        yield warning("permissions", f"others may list or change {home}", f"chmod go-rw {home}")
    for file in (home / name for name in SECRET_FILES):
        if not file.is_file():
            continue
        status = file.stat()
        if status.st_mode & (stat.S_IRWXG | stat.S_IRWXO):
            found = True
            remedy = f"chmod 600 {file}, and replace the secret if others may have read it (docs/operation.md)"
            yield error("permissions", f"others may read or change {file}", remedy)
        if status.st_uid != os.geteuid():
            found = True
            remedy = f"chown {os.geteuid()} {file}, or run Neurigraph as the account that owns the home folder"
            yield error("permissions", f"{file} belongs to another account", remedy)
    if not found:
        yield well("permissions", "only this account reads the secrets of the home folder")
