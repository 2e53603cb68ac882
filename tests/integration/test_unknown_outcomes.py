"""A COMMIT whose answer never comes: whatever ends the wait, the objects of rows that may be there stay."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace

import pytest
from psycopg import OperationalError

from neurigraph_pipelines.exchange.peers.pulling import pull
from neurigraph_pipelines.lifecycle.orphans import audit_objects
from neurigraph_pipelines.lifecycle.verification import verify
from neurigraph_pipelines.model.errors import NeurigraphError
from neurigraph_pipelines.wiring.installation import Installation
from tests.support.exported_user import Source, exported_user, restore
from tests.support.memories import converse, ingest, new_user, plain_context, rows
from tests.support.peers import new_pair
from tests.support.uploads import FERRY, staged, store, upload
from tests.support.withheld_commit import TRIGGERS, withheld_commit

pytestmark = pytest.mark.parametrize("trigger", TRIGGERS)
TRIGGERED = (KeyboardInterrupt, SystemExit, OperationalError, NeurigraphError)


@contextmanager
def struck(here: Installation, marker: str, trigger: str, *, committed: bool = True) -> Iterator[Installation]:
    """The same installation, whose writer ends with the error of the trigger in its COMMIT."""
    with withheld_commit(here, marker, trigger, committed=committed) as other, suppress(*TRIGGERED):
        yield other


@pytest.fixture(scope="module")
def source(shared_installation: Installation, tmp_path_factory: pytest.TempPathFactory) -> Source:
    return exported_user(shared_installation, tmp_path_factory.mktemp("exports"))


def sweep(here: Installation) -> int:
    """Remove all objects without a row, whatever their age."""
    return audit_objects(here.context.using(settings=here.settings.changed(orphan_grace_hours=0.0))).removed


def test_conversation(installation: Installation, trigger: str) -> None:
    user, claims = new_user(installation)
    converse(installation, claims, "#Family/Ana One.", "#Work Two. @Ana:sister")
    with struck(installation, ".metadata_records (", trigger) as other:
        ingest(plain_context(other), user)
    assert len(rows(installation, "SELECT FROM neurigraph.record_index")) == 2
    assert sweep(installation) == 0
    found = verify(installation.context)
    assert (found.files, found.findings) == (2, [])
    assert ingest(plain_context(installation), user) == []


def test_conversation_whose_commit_did_not_arrive(installation: Installation, trigger: str) -> None:
    user, claims = new_user(installation)
    converse(installation, claims, "#Family/Ana One.")
    with struck(installation, ".metadata_records (", trigger, committed=False) as other:
        ingest(plain_context(other), user)
    assert rows(installation, "SELECT FROM neurigraph.record_index") == []
    assert sweep(installation) == 2, "an object and its working copy, without a row"
    with installation.database.pipeline() as tx:
        tx.execute("UPDATE neurigraph.storage_triggers SET next_attempt_at = now()")
    (result,) = ingest(plain_context(installation), user)
    assert len(result.stored) == 1
    assert verify(installation.context).findings == []


@pytest.mark.parametrize("committed", [True, False])
def test_upload(installation: Installation, trigger: str, committed: bool) -> None:
    _, claims = new_user(installation)
    with struck(installation, "INSERT INTO neurigraph.uploads", trigger, committed=committed) as other:
        upload(other, claims, "ferry.pdf", FERRY)
    assert len(rows(installation, "SELECT FROM neurigraph.uploads")) == committed
    assert len(staged(installation)) == 1
    upload(installation, claims, "ferry.pdf", FERRY)
    assert len(store(installation)) == 1
    assert verify(installation.context).findings == []


def test_record_of_an_upload(installation: Installation, trigger: str) -> None:
    _, claims = new_user(installation)
    upload(installation, claims, "ferry.pdf", FERRY)
    installation.uploads.read_due(installation.text_extractor)
    with struck(installation, ".metadata_records (", trigger) as other:
        ingest(other.context)
    assert store(installation) == []
    found = verify(installation.context)
    assert (found.files, found.findings, staged(installation)) == (2, [], [])


def test_restore(installation: Installation, source: Source, trigger: str) -> None:
    with struck(installation, "pg_temp.new_keys", trigger) as other:
        restore(other, source.folder, "exporter")
    assert rows(installation, "SELECT slug FROM neurigraph.users WHERE slug = 'exporter'")
    assert sweep(installation) == 0
    assert verify(installation.context).findings == []


def test_mirror(shared_installation: Installation, installation: Installation, trigger: str) -> None:
    with new_pair(shared_installation, installation) as pair:
        with struck(installation, "pg_temp.new_keys", trigger) as other:
            pull(replace(pair.peering, context=plain_context(other)), pair.peer.peer_id)
        assert rows(installation, "SELECT FROM neurigraph.mirrored_records")
        assert sweep(installation) == 0
        pair.check_whole()
        pair.pull()
        pair.check_equal()
