"""Damaged and hostile exports: refused with a reason, and nothing is stored."""

from __future__ import annotations

import json
import shutil
import zipfile
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from neurigraph_pipelines.exchange.portability.archive import MANIFEST
from neurigraph_pipelines.model.errors import InvalidInputError
from neurigraph_pipelines.wiring.installation import Installation
from tests.support.exported_user import Source, exported_user, restore, rewrite
from tests.support.files import store_file
from tests.support.memories import rows


@pytest.fixture(scope="module")
def source(shared_installation: Installation, tmp_path_factory: pytest.TempPathFactory) -> Source:
    return exported_user(shared_installation, tmp_path_factory.mktemp("exports"))


def flip_a_byte(export: Path) -> None:
    path = next((export / "nodes").rglob("metadata_records.jsonl"))
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def drop_an_object(export: Path) -> None:
    next((export / "objects/durable").rglob("*.gz")).unlink()


def drop_the_manifest(export: Path) -> None:
    (export / MANIFEST).unlink()


def change_manifest(**changes: Any) -> Callable[[Path], None]:
    def change(export: Path) -> None:
        path = export / MANIFEST
        path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))

    return change


def link_out(export: Path) -> None:
    path = export / "tables/users.jsonl"
    elsewhere = export.parent / "elsewhere.jsonl"
    path.rename(elsewhere)
    path.symlink_to(elsewhere)


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (flip_a_byte, r"nodes/.*/metadata_records.jsonl of the export is damaged"),
        (drop_an_object, r"objects/durable/.* of the export cannot be read"),
        (drop_the_manifest, "no readable manifest.json"),
        (change_manifest(version=99), "is newer"),
        (change_manifest(shared_ddl=9_999), "is newer"),
        (change_manifest(shared_ddl=49), "50 is the oldest"),
        (
            change_manifest(files=[{"name": "../../etc/passwd", "size_bytes": 1, "sha256": ""}]),
            "which is not a valid name",
        ),
        (
            change_manifest(files=[{"name": "objects/durable/../x", "size_bytes": 1, "sha256": ""}]),
            "which is not a valid name",
        ),
        (change_manifest(files="all of them"), "damaged"),
        (change_manifest(user=None), "damaged"),
        (change_manifest(rows={"users": 2}), "other numbers of rows than it says of .*'users'"),
        (change_manifest(lost_objects=[{}]), "damaged"),
        (link_out, "cannot be read"),
        (rewrite("tables/users.jsonl", lambda row: {**row, "colour": "red"}), "users does not have"),
        (rewrite("tables/graph_index.jsonl", lambda row: {**row, "layer_depth": "deep"}), "cannot be restored"),
        (rewrite("tables/graph_index.jsonl", lambda row: {**row, "layer_depth": 9}), "cannot be restored"),
        (
            rewrite("nodes/*/file_manifest.jsonl", lambda row: {**row, "storage_path": "durable/x/../../y"}),
            "is missing in the export",
        ),
        (
            rewrite("tables/uploads.jsonl", lambda row: {**row, "staging_key": "durable/bob/x"}),
            "is missing in the export",
        ),
    ],
)
def test_damaged_or_hostile_export_is_refused(
    source: Source, installation: Installation, tmp_path: Path, damage: Callable[[Path], None], said: str
) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(source.folder, copy)
    damage(copy)
    with pytest.raises(InvalidInputError, match=said):
        restore(installation, copy, "exporter")
    assert rows(installation, "SELECT FROM neurigraph.users") == []
    assert list(installation.objects.keys()) == []


def _named_in_one_text(row: dict[str, Any]) -> dict[str, Any]:
    source = f"{row.pop('source_kind')}:{row.pop('source_id')}"
    return {**row, "source": source}


def _by_digest(row: dict[str, Any]) -> dict[str, Any]:
    digest = sha256(str(row.pop("statement_key")).encode()).hexdigest()
    return {**row, "digest": digest}


def test_export_of_an_earlier_version_is_restored(source: Source, installation: Installation, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(source.folder, tmp_path / "copy"))
    change_manifest(version=1, shared_ddl=50)(copy)
    rewrite("tables/record_index.jsonl", _named_in_one_text)(copy)
    rewrite("tables/facts.jsonl", lambda row: {name: row[name] for name in row if name != "statement_key"})(copy)
    rewrite("tables/forgotten_facts.jsonl", _by_digest)(copy)
    rewrite("tables/graph_index.jsonl", lambda row: {**row, "node_ddl_version": 12})(copy)
    assert restore(installation, copy, "exporter").records == source.report.rows["record_index"]


def test_damaged_zip_is_refused(source: Source, installation: Installation, tmp_path: Path) -> None:
    content = source.zipped.read_bytes()
    cut = tmp_path / "cut.zip"
    cut.write_bytes(content[:-2_000])
    with pytest.raises(InvalidInputError, match="not a readable export"):
        restore(installation, cut, "exporter")
    bomb = tmp_path / "bomb.zip"
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as members:
        members.writestr("tables/users.jsonl", bytes(100 << 20))
    with pytest.raises(InvalidInputError, match="would unpack to"):
        restore(installation, bomb, "exporter")
    with pytest.raises(InvalidInputError, match="not a readable export"):
        restore(installation, tmp_path / "nothing", "exporter")


def test_foreign_references_are_refused(source: Source, installation: Installation, tmp_path: Path) -> None:
    """A delta that goes on with the history of another user's memory."""
    victim = store_file(installation)
    (last,) = rows(installation, "SELECT record_id, delta_id FROM neurigraph.delta_log")
    goes_on = {"record_id": str(last["record_id"]), "previous_delta_id": str(last["delta_id"])}
    copy = tmp_path / "copy"
    shutil.copytree(source.folder, copy)
    (first, *_) = (copy / "tables/delta_log.jsonl").read_text().splitlines()
    chosen = json.loads(first)["delta_id"]
    rewrite("tables/delta_log.jsonl", lambda row: {**row, **goes_on} if row["delta_id"] == chosen else row)(copy)
    with pytest.raises(InvalidInputError, match="refer to rows of another user"):
        restore(installation, copy, "exporter")
    assert len(rows(installation, "SELECT FROM neurigraph.users")) == 1
    assert victim.open().content
