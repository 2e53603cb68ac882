"""Damaged and hostile exports: refused with a reason, and nothing is stored."""

from __future__ import annotations

import json
import math
import shutil
import zipfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from hashlib import sha256
from itertools import count
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np
import pytest

from neurigraph_pipelines.exchange.portability.archive import MANIFEST
from neurigraph_pipelines.ingestion.recount import recount
from neurigraph_pipelines.lifecycle.verification import verify
from neurigraph_pipelines.model.errors import InvalidInputError
from neurigraph_pipelines.text.search_segments import ROLES, VOICES, SearchSegment, read_vectors
from neurigraph_pipelines.wiring.installation import Installation
from tests.conftest import ROOT
from tests.support.exported_user import Source, exported_user, restore, rewrite
from tests.support.files import store_file
from tests.support.memories import plain_context, rows

FORMER = ROOT / "tests/data/export_of_version_2.zip"


@pytest.fixture(scope="module")
def source(shared_installation: Installation, tmp_path_factory: pytest.TempPathFactory) -> Source:
    return exported_user(shared_installation, tmp_path_factory.mktemp("exports"))


@pytest.fixture(scope="module")
def empty(new_installation: Callable[[], AbstractContextManager[Installation]]) -> Iterator[Installation]:
    """An installation in which every restore is refused, so that nothing is ever in it."""
    with new_installation() as made:
        yield made


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


def of_segments(**values: object) -> Callable[[Path], None]:
    """Change columns of the segments with one passage."""
    return rewrite("tables/segments.jsonl", lambda row: {**row, **values} if row["passages"] == 1 else row)


def in_segments(change: Callable[[bytes], bytes]) -> Callable[[Path], None]:
    """Change the content of all segments."""

    def of_row(row: dict[str, Any]) -> dict[str, Any]:
        return {**row, "content": "\\x" + change(bytes.fromhex(row["content"][2:])).hex()}

    return rewrite("tables/segments.jsonl", of_row)


def in_second_line(**values: object) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """Change columns of the second row alone."""
    numbers = count(1)
    return lambda row: {**row, **values} if next(numbers) == 2 else row


def in_rows(**values: object) -> Callable[[Path], None]:
    """Change columns of all passages."""

    def change(content: bytes) -> bytes:
        segment = SearchSegment.read(content)
        changed = segment.rows.copy()
        for name, value in values.items():
            changed[name] = value
        return segment._replace(rows=changed).content

    return in_segments(change)


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
        (change_manifest(user={}), "damaged"),
        (change_manifest(user=None), "a part of a memory, which a peer was granted"),
        (change_manifest(rows={"users": 2}), "other numbers of rows than it says of .*'users'"),
        (change_manifest(lost_objects=[{}]), "damaged"),
        (link_out, "cannot be read"),
        (in_segments(lambda content: content[:-1]), "a segment of the export is damaged"),
        (in_segments(lambda content: content.replace(b"null", b"true", 1)), "a segment of the export is damaged"),
        (in_segments(lambda _: SearchSegment.of([]).content), "a segment of the export is damaged"),
        (in_rows(byte_length=-1), "a segment of the export is damaged"),
        (in_rows(seq=7, message=-1), "a segment of the export is damaged"),
        (in_rows(window_length=math.nan), "a segment of the export is damaged"),
        (of_segments(content="\\x0g"), "a segment of the export is damaged"),
        (of_segments(content=7), "a segment of the export is damaged"),
        (of_segments(vectors="\\x00"), "a segment of the export is damaged"),
        (of_segments(next_vectors="\\x" + "00" * (8 + 2 * 513), next_model="x"), "a segment of the export is damaged"),
        (of_segments(vectors="\\x" + "0000c07f" * 2 + "01" * 2), "a segment of the export is damaged"),
        (of_segments(node_id=str(uuid4())), "cannot be restored"),
        (of_segments(record_id=str(uuid4())), "cannot be restored"),
        (rewrite("tables/segments.jsonl", lambda row: {**row, "colour": "red"}), "segments does not have"),
        (rewrite("tables/users.jsonl", lambda row: {**row, "colour": "red"}), "users does not have"),
        (
            rewrite("tables/graph_index.jsonl", in_second_line(colour="red")),
            "line 2 of .*graph_index.* column 'colour'",
        ),
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
    source: Source, empty: Installation, tmp_path: Path, damage: Callable[[Path], None], said: str
) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(source.folder, copy)
    damage(copy)
    with pytest.raises(InvalidInputError, match=said):
        restore(empty, copy, "exporter")
    assert rows(empty, "SELECT FROM neurigraph.users") == []
    assert list(empty.objects.keys()) == []


def _named_in_one_text(row: dict[str, Any]) -> dict[str, Any]:
    source = f"{row.pop('source_kind')}:{row.pop('source_id')}"
    return {**row, "source": source}


def _by_digest(row: dict[str, Any]) -> dict[str, Any]:
    digest = sha256(str(row.pop("statement_key")).encode()).hexdigest()
    return {**row, "digest": digest}


def _of_version_1(folder: Path) -> None:
    change_manifest(version=1, shared_ddl=50)(folder)
    rewrite("tables/record_index.jsonl", _named_in_one_text)(folder)
    rewrite("tables/facts.jsonl", lambda row: {name: row[name] for name in row if name != "statement_key"})(folder)
    rewrite("tables/forgotten_facts.jsonl", _by_digest)(folder)
    rewrite("tables/graph_index.jsonl", lambda row: {**row, "node_ddl_version": 12})(folder)


def former_export(folder: Path) -> Path:
    """The export of version 2 that a program of that version wrote, as a folder."""
    with zipfile.ZipFile(FORMER) as members:
        members.extractall(folder)
    return folder


def former_passages(folder: Path) -> dict[str, list[dict[str, Any]]]:
    """The rows of passages in an export of version 1 or 2, by record."""
    found: dict[str, list[dict[str, Any]]] = {}
    for path in folder.glob("nodes/*/passages.jsonl"):
        for line in path.read_text().splitlines():
            found.setdefault(json.loads(line)["record_id"], []).append(json.loads(line))
    return found


@pytest.mark.parametrize("version", [1, 2])
def test_export_of_an_earlier_version_is_restored(installation: Installation, tmp_path: Path, version: int) -> None:
    """Its passages become segments with the same words, places and vectors."""
    former = former_export(tmp_path / "former")
    passages = former_passages(former)
    if version == 1:
        _of_version_1(former)
    assert restore(installation, former, "exporter").records == 10
    segments = {str(row["record_id"]): row for row in rows(installation, "SELECT * FROM neurigraph.segments")}
    assert segments.keys() == passages.keys()
    for record_id, of_record in passages.items():
        row = segments[record_id]
        segment = SearchSegment.read(row["content"])
        for column in ("seq", "byte_offset", "byte_length", "lexeme_count"):
            assert segment.rows[column].tolist() == [one[column] for one in of_record]
        assert segment.named("author") == [one["author"] for one in of_record]
        assert segment.rows["statement"].tolist() == [one["statement_key"] for one in of_record]
        assert None not in {ROLES[role] for role in segment.rows["role"].tolist()}
        assert None not in {VOICES[voice] for voice in segment.rows["voice"].tolist()}
        assert all(segment.external_ids)
        for column, exported in (("vectors", "embedding"), ("next_vectors", "embedding_next")):
            sent = [one[exported] for one in of_record]
            assert (row[column] is None) == (sent[0] is None)
            if row[column] is not None:
                read = read_vectors(row[column], len(of_record))
                exact = np.array([json.loads(one) for one in sent])
                assert np.allclose(read, exact[:, : read.shape[1]], atol=0.005)
                assert not exact[:, read.shape[1] :].any()
    assert {row["model"] for row in segments.values()} == {"words", None}
    assert rows(installation, "SELECT holder FROM neurigraph.signing_keys") == [{"holder": "peer:lab"}]
    assert {row["next_model"] for row in segments.values()} == {"other", None}
    assert {tuple(row["languages"]) for row in segments.values()} == {(), ("german",)}
    assert not verify(installation.context).findings


def test_words_of_a_former_export_are_those_of_a_commit(installation: Installation, tmp_path: Path) -> None:
    restore(installation, former_export(tmp_path / "former"), "exporter")
    done = recount(plain_context(installation), None, datetime.now(UTC))
    assert (done.records, done.failed) == (0, [])
    assert done.complete > 5


DAMAGED_PASSAGES: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "no place": lambda row: {**row, "byte_offset": -1},
    "a place that is none": lambda row: {**row, "byte_offset": "far"},
    "a number that is too large": lambda row: {**row, "lexeme_count": 1 << 40},
    "lexemes without frequencies": lambda row: {**row, "frequencies": []},
    "an endless vector": lambda row: {**row, "embedding": "[" + ",".join(["1e999"] * 512) + "]"},
    "a vector that is no number": lambda row: {**row, "embedding": "[" + ",".join(["NaN"] * 512) + "]"},
    "a short vector": lambda row: {**row, "embedding": "[1,2]"},
    "a vector that is none": lambda row: {**row, "embedding": "[" * 100_000},
    "an unknown voice": lambda row: {**row, "voice": "of God"},
    "passages in disorder": lambda row: {**row, "seq": 5},
    "a record that is none": lambda row: {**row, "record_id": str(uuid4())},
    "a NUL character": lambda row: {**row, "author": "a\0b"},
}


@pytest.mark.parametrize("damage", DAMAGED_PASSAGES)
def test_damaged_passages_of_a_former_export_are_refused(empty: Installation, tmp_path: Path, damage: str) -> None:
    former = former_export(tmp_path / "former")
    chosen = max(former.glob("nodes/*/passages.jsonl"), key=lambda path: path.read_text().count("\n"))
    rewrite(str(chosen.relative_to(former)), DAMAGED_PASSAGES[damage])(former)
    with pytest.raises(InvalidInputError):
        restore(empty, former, "exporter")
    assert rows(empty, "SELECT FROM neurigraph.users") == []


def test_lost_passages_of_a_former_export_are_refused(empty: Installation, tmp_path: Path) -> None:
    former = former_export(tmp_path / "former")
    change_manifest(rows={**json.loads((former / MANIFEST).read_text())["rows"], "passages": 17})(former)
    with pytest.raises(InvalidInputError, match=r"other numbers of rows than it says of .*'passages'"):
        restore(empty, former, "exporter")


def test_damaged_zip_is_refused(source: Source, empty: Installation, tmp_path: Path) -> None:
    content = source.zipped.read_bytes()
    cut = tmp_path / "cut.zip"
    cut.write_bytes(content[:-2_000])
    with pytest.raises(InvalidInputError, match="not a readable export"):
        restore(empty, cut, "exporter")
    bomb = tmp_path / "bomb.zip"
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as members:
        members.writestr("tables/users.jsonl", bytes(100 << 20))
    with pytest.raises(InvalidInputError, match="would unpack to"):
        restore(empty, bomb, "exporter")
    with pytest.raises(InvalidInputError, match="not a readable export"):
        restore(empty, tmp_path / "nothing", "exporter")


def test_what_follows_from_a_segment_is_not_believed(
    source: Source, installation: Installation, tmp_path: Path
) -> None:
    """Numbers, speakers and languages are those of the content, and what is in quarantine is not counted."""
    copy = Path(shutil.copytree(source.folder, tmp_path / "copy"))
    lies = {"passages": 900, "words": 900, "speakers": ["Eve"], "languages": ["klingon"], "is_counted": False}
    rewrite("tables/segments.jsonl", lambda row: {**row, **lies})(copy)
    restore(installation, copy, "exporter")
    query = "SELECT record_id, passages, words, speakers, languages, is_counted FROM neurigraph.segments ORDER BY 1"
    assert rows(installation, query) == rows(source.here, query)


def test_segment_of_another_node_is_refused(source: Source, empty: Installation, tmp_path: Path) -> None:
    """Who may read one node only would find what is said in another."""
    copy = Path(shutil.copytree(source.folder, tmp_path / "copy"))
    nodes = {json.loads(line)["node_id"] for line in (copy / "tables/segments.jsonl").read_text().splitlines()}
    node_id = min(nodes)
    rewrite("tables/segments.jsonl", lambda row: {**row, "node_id": node_id})(copy)
    with pytest.raises(InvalidInputError, match="differ from its registries"):
        restore(empty, copy, "exporter")


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
