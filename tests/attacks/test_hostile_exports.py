"""Attacks by exports: each is well-formed, with a matching manifest, and made to reach what belongs to another user."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import uuid4

import psycopg
import pytest

from neurigraph_pipelines.exchange.portability.archive import MANIFEST
from neurigraph_pipelines.graph.provisioning import find_user
from neurigraph_pipelines.lifecycle.erasure.forget import forget
from neurigraph_pipelines.lifecycle.erasure.receipts import ErasureSubject, SubjectKind
from neurigraph_pipelines.lifecycle.orphans import audit_objects
from neurigraph_pipelines.lifecycle.verification import verify
from neurigraph_pipelines.model import Claims
from neurigraph_pipelines.model.errors import ConfigurationError, InvalidInputError
from neurigraph_pipelines.retrieval.query.question import Question
from neurigraph_pipelines.retrieval.query.search import search
from neurigraph_pipelines.wiring.installation import Installation
from tests.support.exported_user import QUESTIONS, Source, exported_user, replace_text, restore, rewrite, seal
from tests.support.files import StoredFile, store_file
from tests.support.memories import WordEmbedder, rows

pytestmark = [pytest.mark.attack, pytest.mark.slow]

VICTIMS_WORDS = "#Notes The victim's own words. " * 20


@pytest.fixture(scope="module")
def source(shared_installation: Installation, tmp_path_factory: pytest.TempPathFactory) -> Source:
    return exported_user(shared_installation, tmp_path_factory.mktemp("exports"))


@pytest.fixture
def victim(installation: Installation) -> StoredFile:
    return store_file(installation, VICTIMS_WORDS)


@pytest.fixture
def export(source: Source, tmp_path: Path) -> Path:
    """The attacker's own export, to be changed."""
    return Path(shutil.copytree(source.folder, tmp_path / "export"))


def one_file(export: Path) -> dict[str, Any]:
    """Return the row of an active transcript in the export."""
    lines = [line for path in export.glob("nodes/*/file_manifest.jsonl") for line in path.read_text().splitlines()]
    files = [json.loads(line) for line in lines]
    return next(file for file in files if file["compression_state"] == "active")


def objects(here: Installation) -> dict[str, bytes]:
    return {key: b"".join(here.objects.get(key)) for key in here.objects.keys("")}


def take_record(export: Path, victim: StoredFile) -> None:
    """Pass off the attacker's file as the victim's: the same record, file and keys."""
    own = one_file(export)
    ids = {own["record_id"]: str(victim.row["record_id"]), own["file_id"]: str(victim.file_id)}
    replace_text(export, {own["storage_path"]: victim.key, **ids})


def take_record_with_wrong_checksum(export: Path, victim: StoredFile) -> None:
    take_record(export, victim)
    node = next(p for p in export.glob("nodes/*/file_manifest.jsonl") if victim.key in p.read_text())

    def lie(row: dict[str, Any]) -> dict[str, Any]:
        return {**row, "stored_sha256": "\\x" + "00" * 32} if row["storage_path"] == victim.key else row

    rewrite(str(node.relative_to(export)), lie)(export)


def take_record_in_the_node(export: Path, victim: StoredFile) -> None:
    """Change the rows of the node only: the registries keep the attacker's ids, which no unique index refuses."""
    registries = {path: path.read_bytes() for path in export.glob("tables/*")}
    take_record(export, victim)
    for path, content in registries.items():
        path.write_bytes(content)
    seal(export)


def take_key(export: Path, victim: StoredFile) -> None:
    """Name the victim's object, and keep the attacker's ids."""
    replace_text(export, {one_file(export)["storage_path"]: victim.key})


@pytest.mark.parametrize("attack", [take_record, take_record_with_wrong_checksum, take_record_in_the_node, take_key])
def test_object_of_another_user(
    installation: Installation, victim: StoredFile, export: Path, attack: Callable[[Path, StoredFile], None]
) -> None:
    """A restore neither overwrites it nor removes it, and nor does the attacker who forgets all."""
    before, content = objects(installation), victim.open().content
    attack(export, victim)
    restored = None
    try:
        restored = restore(installation, export, "exporter")
    except InvalidInputError:
        assert objects(installation) == before
    assert restored is not None or attack in (take_record_with_wrong_checksum, take_record_in_the_node)
    after = objects(installation)
    assert {key: after.get(key) for key in before} == before
    if restored is not None:
        claims = Claims.of_user(restored.user_id)
        forget(installation.acting_for(claims), ErasureSubject(SubjectKind.USER, restored.user_id), through="tests")
    assert objects(installation) == before
    assert victim.open().content == content
    assert not verify(installation.context).findings


def test_every_id_of_another_user(source: Source, installation: Installation, export: Path) -> None:
    """The same graph again, under another name: every id, key and name is taken, and both users are whole."""
    restore(installation, source.folder, "exporter")
    before = objects(installation)
    replace_text(export, {str(source.user.user_id): str(uuid4()), '"exporter"': '"intruder"'})
    restored = restore(installation, export, "intruder")
    intruder = Claims.of_user(restored.user_id)
    for table, column in (("record_index", "record_id"), ("sources", "source_id"), ("graph_index", "node_id")):
        found = rows(installation, f"SELECT count(DISTINCT {column}) AS ids, count(*) AS rows FROM neurigraph.{table}")
        assert found[0]["ids"] == found[0]["rows"] > 2
    assert {key: content for key, content in objects(installation).items() if key in before} == before
    for question in QUESTIONS:
        asked = Question(question)
        answers = [
            search(installation.acting_for(claims).using(embedder=WordEmbedder()), asked)
            for claims in (source.claims, intruder)
        ]
        mine, others = (sorted((hit.title, hit.score) for hit in answer.hits) for answer in answers)
        assert mine == others  # equal scores are ordered by id
        ids = [{str(hit.record_id or hit.source_id) for hit in answer.hits} for answer in answers]
        assert not ids[0] & ids[1]
    assert not verify(installation.context).findings
    assert not audit_objects(installation.context).orphans
    forget(installation.acting_for(intruder), ErasureSubject(SubjectKind.USER, restored.user_id), through="tests")
    assert objects(installation) == before
    assert not verify(installation.context).findings
    assert find_user(installation.database, "exporter").user_id == source.user.user_id


def refer_to_record(row: dict[str, Any], victim: StoredFile) -> dict[str, Any]:
    return {**row, "record_id": str(victim.row["record_id"])}


def other_source(row: dict[str, Any], victim: StoredFile) -> dict[str, Any]:
    (source,) = rows(victim.here, "SELECT source_id FROM neurigraph.sources")
    return {**row, "source_id": str(source["source_id"])}


def refer_to_persona(row: dict[str, Any], victim: StoredFile) -> dict[str, Any]:
    return {**row, "persona_id": str(victim.place.node_id)}


def grant_to_persona(row: dict[str, Any], victim: StoredFile) -> dict[str, Any]:
    return {**row, "subject_type": "persona", "subject_id": str(victim.place.node_id)}


@pytest.mark.parametrize(
    ("name", "change", "said"),
    [
        ("nodes/*/metadata_records.jsonl", refer_to_record, "cannot be restored"),
        ("nodes/*/metadata_records.jsonl", other_source, "differ from its registries"),
        ("nodes/*/file_manifest.jsonl", refer_to_record, "cannot be restored"),
        ("tables/file_index.jsonl", refer_to_record, "another user"),
        ("tables/sources.jsonl", refer_to_persona, "another user"),
        ("tables/permission_grants.jsonl", grant_to_persona, "another user"),
    ],
)
def test_reference_to_another_user(
    installation: Installation,
    victim: StoredFile,
    export: Path,
    name: str,
    change: Callable[[dict[str, Any], StoredFile], dict[str, Any]],
    said: str,
) -> None:
    before = objects(installation)
    rewrite(name, lambda row: change(row, victim))(export)
    with pytest.raises(InvalidInputError, match=said):
        restore(installation, export, "exporter")
    assert objects(installation) == before
    assert len(rows(installation, "SELECT FROM neurigraph.users")) == 1


@pytest.mark.parametrize("key", ["durable/../../secret", "/etc/passwd", "durable//x", "active/x", ".partial/x"])
def test_object_outside_the_store(installation: Installation, export: Path, key: str) -> None:
    """A name in the manifest, and a key in a row."""
    outside = installation.home.parent / "secret"
    outside.write_text("what only the server may read")
    own = one_file(export)["storage_path"]
    replaced = Path(shutil.copytree(export, export.parent / "row"))
    rewrite(
        str(
            next(p for p in replaced.glob("nodes/*/file_manifest.jsonl") if own in p.read_text()).relative_to(replaced)
        ),
        lambda row: {**row, "storage_path": key},
    )(replaced)
    with pytest.raises(InvalidInputError, match="missing in the export"):
        restore(installation, replaced, "exporter")
    path = export / MANIFEST
    path.write_text(path.read_text().replace(own, key))
    with pytest.raises(InvalidInputError, match="not a valid name"):
        restore(installation, export, "exporter")
    assert outside.read_text() == "what only the server may read"
    assert objects(installation) == {}


def test_active_file_that_cannot_be_unpacked(installation: Installation, export: Path) -> None:
    """Its checksum is right, and a restore unpacks it into the working copy."""
    own, content = one_file(export), b"This is no gzip."
    (export / "objects" / own["storage_path"]).write_bytes(content)
    known = {"stored_bytes": len(content), "stored_sha256": f"\\x{hashlib.sha256(content).hexdigest()}"}
    node = next(p for p in export.glob("nodes/*/file_manifest.jsonl") if own["file_id"] in p.read_text())
    lie = rewrite(
        str(node.relative_to(export)), lambda row: {**row, **known} if row["file_id"] == own["file_id"] else row
    )
    lie(export)
    with pytest.raises(InvalidInputError, match="not what its row says"):
        restore(installation, export, "exporter")
    assert objects(installation) == {}


OUT_OF_LOCKS = """
CREATE FUNCTION pg_temp.fail() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN RAISE out_of_memory USING MESSAGE = 'out of shared memory'; END $$;
CREATE TRIGGER fail BEFORE DELETE ON neurigraph.sources EXECUTE FUNCTION pg_temp.fail();
"""


def test_server_without_locks_keeps_nothing(source: Source, installation: Installation) -> None:
    """The server fails at the end of the transaction, as it does when its lock table is full."""
    with psycopg.connect(installation.administrator_url, autocommit=True) as administrator:
        administrator.execute(OUT_OF_LOCKS)
        with pytest.raises(ConfigurationError, match="max_locks_per_transaction"):
            restore(installation, source.folder, "exporter")
        assert objects(installation) == {}
        administrator.execute("DROP TRIGGER fail ON neurigraph.sources")
    assert restore(installation, source.folder, "exporter").records
