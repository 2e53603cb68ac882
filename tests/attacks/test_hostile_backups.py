"""Attacks by backups: each is whole by its checksums, and made to write elsewhere or to gain rights."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest

from neurigraph_pipelines.model.errors import InvalidInputError
from neurigraph_pipelines.runtime.stack.backup.create import BackupListener, back_up
from neurigraph_pipelines.runtime.stack.backup.folder import MANIFEST, OBJECT_LIST, BackupFolder
from neurigraph_pipelines.runtime.stack.backup.load import restore
from neurigraph_pipelines.wiring.installation import Installation
from tests.support.files import store_file

pytestmark = [pytest.mark.attack, pytest.mark.slow]

SILENT = BackupListener(lambda _: None, lambda _: None)


def another_key(key: str) -> Callable[[dict[str, Any], list[list[Any]]], None]:
    def change(_: dict[str, Any], objects: list[list[Any]]) -> None:
        objects[0][0] = key

    return change


def another_role(manifest: dict[str, Any], _: list[list[Any]]) -> None:
    manifest["roles"].append({"name": "intruder", "inherits": True, "member_of": []})


def more_rights(manifest: dict[str, Any], _: list[list[Any]]) -> None:
    manifest["roles"][0]["member_of"].append("pg_execute_server_program")


def rewrite(folder: BackupFolder, backup_id: str, change: Callable[[dict[str, Any], list[list[Any]]], None]) -> None:
    """Change a backup, with matching checksums."""
    manifest = folder.manifest(backup_id)
    objects = [json.loads(line) for line in b"".join(folder.read(backup_id, OBJECT_LIST)).splitlines()]
    change(manifest, objects)
    where = folder.path / "backups" / backup_id
    listed = "".join(json.dumps(line) + "\n" for line in objects).encode()
    (where / OBJECT_LIST).write_bytes(listed)
    manifest["object_list"]["sha256"] = hashlib.sha256(listed).hexdigest()
    (where / MANIFEST).unlink()
    folder.write_manifest(where, manifest)


@pytest.mark.parametrize(
    "change",
    [
        another_key("durable/../../secret"),
        another_key("/etc/passwd"),
        another_key("active/x"),
        another_role,
        more_rights,
    ],
)
def test_hostile_backup_is_refused(
    installation: Installation, tmp_path: Path, change: Callable[[dict[str, Any], list[list[Any]]], None]
) -> None:
    secret = installation.home.parent / "secret"
    secret.write_text("what only the server may read")
    content = store_file(installation).open().content
    folder = BackupFolder(tmp_path / "backups", None)
    done = back_up(installation, folder, None, SILENT)
    installation.close()
    rewrite(folder, done.backup_id, lambda *_: None)
    restore(installation, folder, None, True, SILENT)  # the same backup, unchanged
    rewrite(folder, done.backup_id, change)
    with pytest.raises(InvalidInputError):
        restore(installation, folder, None, True, SILENT)
    assert secret.read_text() == "what only the server may read"
    with psycopg.connect(installation.administrator_url) as connection:
        assert connection.execute("SELECT FROM pg_roles WHERE rolname = 'intruder'").fetchone() is None
        gained = "SELECT pg_has_role('neurigraph_agent', 'pg_execute_server_program', 'MEMBER')"
        assert connection.execute(gained).fetchone() == (False,)
    assert content
