"""Which home folder a server's folder belongs to.

A copy of a home holds a link to the same server, or a copy of files that the server was writing. Neither may be used.
"""

from __future__ import annotations

import json
from pathlib import Path

from neurigraph_pipelines.model.errors import ConfigurationError
from resources.files import write_private

_RECORD = "home.json"
_README = "README.txt"
_TEXT = """This is the home folder of a Neurigraph installation.

The database is in {data}
Stored files are in {objects} unless NEURIGRAPH_OBJECTS_URL names another place.

A copy of this folder is not a backup: `neurigraph admin backup add FOLDER` makes one, while everything runs.
"""


def mark_owner(home: Path, folder: Path) -> None:
    """Check that a server's folder belongs to a home, and record it; write where the data is.

    Args:
        home: The home folder, resolved.
        folder: The server's folder below it, or a link to it.

    Raises:
        ConfigurationError: The home is a copy of another one.
        OSError: The record cannot be read or written.
    """
    record, own = folder / _RECORD, {"path": str(home), "folder": [home.stat().st_dev, home.stat().st_ino]}
    known = _read(record)
    if known == own:
        return
    if known is not None and known["folder"] != own["folder"] and known["path"] != own["path"]:
        _require_no_copy(home, folder, Path(str(known["path"])))
    text = _TEXT.format(data=(folder / "data").resolve(), objects=home / "objects")
    write_private(home / _README, text)
    write_private(record, json.dumps(own))


def _require_no_copy(home: Path, folder: Path, other: Path) -> None:
    """Raise if another home still uses the folder, or if the folder was copied from there while the server ran."""
    remedy = f"set NEURIGRAPH_HOME={other}, or use `neurigraph admin backup add` there and `restore` in a new home"
    if not other.is_dir():
        return  # it was moved here from another file system
    if (other / folder.name).resolve() == folder.resolve():
        raise ConfigurationError(f"{home} is a copy of {other} and would use its database: {remedy}")
    if (folder / "data" / "postmaster.pid").exists():
        raise ConfigurationError(
            f"{home} is a copy of {other}, made while its database was running and therefore not whole: {remedy}"
        )


def _read(record: Path) -> dict[str, object] | None:
    try:
        found = json.loads(record.read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        return None
    return found if isinstance(found, dict) and {"path", "folder"} <= found.keys() else None
