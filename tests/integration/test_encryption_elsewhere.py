"""Encrypted files in a bucket, and through exports, imports, moves, merges and backups."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from neurigraph_pipelines.graph.moving import move_records
from neurigraph_pipelines.graph.navigation import find_node
from neurigraph_pipelines.graph.reshaping import merge_nodes
from neurigraph_pipelines.lifecycle.dormancy import sweep_dormant
from neurigraph_pipelines.lifecycle.erasure.forget import forget
from neurigraph_pipelines.lifecycle.erasure.receipts import ErasureSubject, SubjectKind
from neurigraph_pipelines.lifecycle.verification import verify
from neurigraph_pipelines.model import KEYS, Claims
from neurigraph_pipelines.retrieval.open import file_of_record, open_file, open_message
from neurigraph_pipelines.runtime.stack.backup.create import back_up
from neurigraph_pipelines.runtime.stack.backup.folder import BackupFolder
from neurigraph_pipelines.runtime.stack.backup.load import restore
from neurigraph_pipelines.wiring.installation import Installation
from resources.age_encryption import AgeKey
from resources.storage.sealing import MAGIC
from tests.integration.test_backup import SILENT
from tests.support.exported_user import export
from tests.support.exported_user import restore as restore_export
from tests.support.memories import converse, ingest, new_user, plain_context, rows, stored
from tests.support.s3_servers import ACCESS_KEY_ID, SECRET_ACCESS_KEY, moto_server, new_bucket, s3_client

pytestmark = pytest.mark.slow

WORD = "quokka"


def sealed(here: Installation, **changes: Any) -> Installation:
    """Return another installation on the same home and database, with encryption."""
    made = Installation(here.settings.changed(encryption=True, **changes))
    made.embedder = here.embedder
    return made


def remember(here: Installation, *texts: str) -> tuple[Claims, list[Any]]:
    """Store a conversation of a new user, and return the ids of its records."""
    user, claims = new_user(here)
    converse(here, claims, *texts)
    return claims, [record.record_id for record in stored(ingest(plain_context(here), user))]


def opened(here: Installation, claims: Claims, record_id: Any) -> str:
    """Return a transcript as it is opened."""
    return open_file(here.acting_for(claims), file_of_record(here.database, claims, record_id)).content.decode()


def on_disk(here: Installation, slug: str = "") -> dict[str, bytes]:
    """Return the objects of a user as they lie on the disk."""
    folder = here.home / "objects"
    files = (path for path in folder.rglob("*") if path.is_file())
    found = {str(path.relative_to(folder)): path.read_bytes() for path in files}
    return {key: content for key, content in found.items() if not key.startswith(KEYS) and slug in key}


def key_ids(contents: dict[str, bytes]) -> set[bytes]:
    """Return the ids of the data keys that objects are encrypted with."""
    assert contents
    assert all(content.startswith(MAGIC) for content in contents.values())
    return {content[len(MAGIC) : len(MAGIC) + 16] for content in contents.values()}


def test_files_in_a_bucket_are_encrypted(installation: Installation) -> None:
    with moto_server() as address:
        bucket = new_bucket(address)
        with s3_client(address) as client:

            def raw() -> dict[str, bytes]:
                listed = client.list_objects_v2(Bucket=bucket).get("Contents", [])
                return {one["Key"]: client.get_object(Bucket=bucket, Key=one["Key"])["Body"].read() for one in listed}

            settings = {
                "objects_url": f"s3://{bucket}",
                "s3_endpoint_url": address,
                "s3_region": "us-east-1",
                "s3_access_key_id": ACCESS_KEY_ID,
                "s3_secret_access_key": SecretStr(SECRET_ACCESS_KEY),
            }
            with sealed(installation, **settings) as here:
                text = f"#Family {WORD} " + " ".join(f"word{number}" for number in range(20_000))
                claims, (record_id,) = remember(here, text, "How nice.")
                objects = {key: content for key, content in raw().items() if not key.startswith(KEYS)}
                key_ids(objects)
                assert not any(WORD.encode() in content for content in objects.values())
                assert WORD in opened(here, claims, record_id)
                file_id = file_of_record(here.database, claims, record_id)
                assert "How nice." in str(open_message(here.acting_for(claims), file_id, 2)), "a passage alone"
                asleep = here.settings.changed(dormancy_days=0)
                sweep_dormant(here.context.using(settings=asleep), user_id=claims.user_id)
                assert WORD in opened(here, claims, record_id), "rehydrated"
                assert verify(here.context, user_id=claims.user_id).findings == []
                before = {key: content for key, content in raw().items() if not key.startswith(KEYS)}
                assert here.rotate_master_key() >= 1
                assert {key: raw()[key] for key in before} == before
            with sealed(installation, **settings) as here:
                assert WORD in opened(here, claims, record_id)
                subject = ErasureSubject(SubjectKind.USER, claims.user_id)
                forget(here.acting_for(claims), subject, through="tests")
                assert raw() == {}, "neither objects nor keys are left"


def test_export_is_plain_and_its_import_is_encrypted_with_another_key(
    installation: Installation, shared_installation: Installation, tmp_path: Path
) -> None:
    with sealed(installation) as here:
        user, claims = new_user(here, "traveller")
        converse(here, claims, f"#Family {WORD} came.", "Yes.")
        ingest(plain_context(here), user)
        export(here, user, tmp_path / "export")
        plain = [path.read_bytes() for path in (tmp_path / "export").rglob("*") if path.is_file()]
        assert not any(content.startswith(MAGIC) for content in plain)
        first = key_ids(on_disk(here, "/traveller/"))
        forget(here.acting_for(claims), ErasureSubject(SubjectKind.USER, user.user_id), through="tests")
    with sealed(shared_installation) as there:
        restore_export(there, tmp_path / "export", "traveller")
        assert key_ids(on_disk(there, "/traveller/")).isdisjoint(first)
        (made,) = rows(there, "SELECT user_id FROM neurigraph.users WHERE slug = %s", "traveller")
        theirs = Claims.of_user(made["user_id"])
        (record,) = rows(there, "SELECT record_id FROM neurigraph.record_index WHERE user_id = %s", theirs.user_id)
        assert WORD in opened(there, theirs, record["record_id"])
        assert verify(there.context, user_id=theirs.user_id).findings == []
    restore_export(installation, tmp_path / "export", "traveller")
    assert not any(content.startswith(MAGIC) for content in on_disk(installation, "/traveller/").values())


def test_moved_and_merged_memories_are_read(installation: Installation) -> None:
    with sealed(installation) as here:
        claims, records = remember(here, f"#Family/Dave {WORD} says hello.", f"#Work {WORD} again.")
        with here.database.agent(claims) as tx:
            dave = find_node(tx, claims.user_id, "Family/Dave")
            work = find_node(tx, claims.user_id, "Work")
        move_records(here.database, claims, [records[0]], work)
        for record in records:
            assert WORD in opened(here, claims, record)
        merge_nodes(here.database, claims, work, dave)
        for record in records:
            assert WORD in opened(here, claims, record)
        assert verify(here.context, user_id=claims.user_id).findings == []
        assert len(key_ids(on_disk(here))) == 1


def test_restored_backup_is_encrypted_with_the_keys_of_its_home(installation: Installation, tmp_path: Path) -> None:
    AgeKey.make(tmp_path / "key")
    folder = BackupFolder(tmp_path / "backups", AgeKey.read(tmp_path / "key"))
    with sealed(installation) as here:
        claims, (record_id,) = remember(here, f"#Family {WORD} came.", "Yes.")
        back_up(here, folder, None, SILENT)
        before = key_ids(on_disk(here, "durable/"))
    backed_up = b"".join(path.read_bytes() for path in folder.path.rglob("*") if path.is_file())
    assert WORD.encode() not in backed_up
    installation.close()
    with sealed(installation) as here:
        here.master_key_file.unlink()  # the home is another one: its keys are lost
        for path in (here.home / "objects").rglob("*"):
            if path.is_file():
                path.unlink()
    with sealed(installation) as here:
        restore(here, folder, None, True, SILENT)
        assert WORD in opened(here, claims, record_id)
        assert key_ids(on_disk(here, "durable/")).isdisjoint(before)
        assert verify(here.context).findings == []
