"""Rehydration: concurrent openers, lost leases and abandoned work."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from uuid import uuid4

import pytest

from neurigraph_pipelines.lifecycle import transitions
from neurigraph_pipelines.lifecycle.rehydration import _rewrite_working_copy, revert_stuck
from neurigraph_pipelines.lifecycle.stored_bytes import durable_content
from neurigraph_pipelines.model import CompressionCause
from neurigraph_pipelines.model.errors import RehydratingError
from neurigraph_pipelines.wiring.installation import Installation
from tests.support.files import StoredFile, store_file
from tests.support.transitions import compress, start_rehydration


@pytest.fixture
def file(shared_installation: Installation) -> StoredFile:
    return store_file(shared_installation)


def test_concurrent_opens_decompress_once(file: StoredFile) -> None:
    text = file.open().content
    compress(file)
    with ThreadPoolExecutor(50) as openers:
        found = list(openers.map(lambda _: file.open(wait=60).content, range(50)))
    assert found == [text] * 50
    assert file.events == ["decompressed", "compressed", "rehydrating", "decompressed"]


def test_second_opener_waits_or_retries(file: StoredFile) -> None:
    text = file.open().content
    compress(file)
    holder = uuid4()
    with file.here.database.pipeline() as tx:
        manifest = transitions.begin_rehydration(tx, file.here.settings, file.place, holder, CompressionCause.RETRIEVAL)
    assert manifest is not None
    assert manifest.content_sha256 is not None
    with pytest.raises(RehydratingError, match="try again") as caught:
        file.open()
    assert 0 < caught.value.retry_after_seconds < 10
    with pytest.raises(RehydratingError):
        file.open(wait=0.05)
    with pytest.raises(RehydratingError):
        compress(file)
    with ThreadPoolExecutor(1) as waiting:
        opened = waiting.submit(file.open, wait=60)
        with file.here.database.pipeline() as tx:
            assert transitions.activate(
                tx, file.here.settings, file.place, holder, manifest.content_sha256, CompressionCause.RETRIEVAL
            )
        assert opened.result().content == text


def test_lost_lease_changes_nothing(file: StoredFile) -> None:
    compress(file)
    here, holder = file.here, uuid4()
    retrieval = CompressionCause.RETRIEVAL
    with here.database.pipeline() as tx:
        transitions.begin_rehydration(tx, here.settings, file.place, holder, retrieval)
    lapse(file)
    file.open()
    with here.database.pipeline() as tx:
        assert not transitions.activate(tx, here.settings, file.place, holder, bytes(32), retrieval)
        assert not transitions.give_up(tx, file.place, holder, "too late", retrieval)
    assert (file.state, file.events[-1]) == ("active", "decompressed")
    assert file.row["content_sha256"] != bytes(32)


def lapse(file: StoredFile, into: str = "past") -> None:
    """Let the lease end, or begin only when a clock that was set back has caught up."""
    bounds = {"past": "now() - interval '1 hour', now()", "future": "now() + interval '1 day', NULL"}[into]
    with file.here.database.pipeline() as tx:
        tx.execute(f'UPDATE "{file.place.schema_name}".file_manifest SET lease = tstzrange({bounds})')


@pytest.mark.parametrize("into", ["past", "future"])
def test_abandoned_rehydration_is_reverted(file: StoredFile, into: str) -> None:
    text = file.open().content
    compress(file)
    start_rehydration(file)
    here, user_id = file.here, file.user.user_id
    assert revert_stuck(here.database, user_id=user_id) == []
    lapse(file, into)
    (found,) = revert_stuck(here.database, user_id=user_id, dry_run=True)
    assert (found.file_id, file.state) == (file.file_id, "rehydrating")
    assert revert_stuck(here.database, user_id=user_id) == [found]
    assert revert_stuck(here.database, user_id=user_id) == []
    assert (file.state, file.events[-2:], file.node["compression_state"]) == (
        "dormant",
        ["rehydrating", "failed"],
        "dormant",
    )
    assert file.open().content == text


@pytest.mark.parametrize("into", ["past", "future"])
def test_opening_resumes_abandoned_rehydration(file: StoredFile, into: str) -> None:
    text = file.open().content
    compress(file)
    start_rehydration(file)
    lapse(file, into)
    assert file.open().content == text
    assert file.events[-2:] == ["rehydrating", "decompressed"]


def test_revert_skips_leased_files(file: StoredFile) -> None:
    """It holds the node's lock by then, which the holder of the file's lock may need next."""
    here = file.here
    other = store_file(here, "#Notes Another one.", user=(file.user, file.claims))
    dying = here.settings.changed(rehydration_lease_seconds=0.0)
    for each in (file, other):
        compress(each)
        with here.database.pipeline() as tx:
            transitions.begin_rehydration(tx, dying, each.place, uuid4(), CompressionCause.RETRIEVAL)
    first, last = sorted((file, other), key=lambda each: each.file_id)
    with ThreadPoolExecutor(1) as pool, here.database.pipeline() as holder:
        transitions.lock(holder, last.place)
        reverted = pool.submit(revert_stuck, here.database, user_id=file.user.user_id).result(timeout=20)
    assert [stuck.file_id for stuck in reverted] == [first.file_id]
    assert [stuck.file_id for stuck in revert_stuck(here.database, user_id=file.user.user_id)] == [last.file_id]


def test_only_the_holder_renews_a_lease(file: StoredFile) -> None:
    compress(file)
    here, holder = file.here, uuid4()
    with here.database.pipeline() as tx:
        transitions.begin_rehydration(tx, here.settings, file.place, holder, CompressionCause.RETRIEVAL)
    lapse(file)
    with here.database.pipeline() as tx:
        transitions.renew_lease(tx, here.settings, file.place, uuid4())
    assert len(revert_stuck(here.database, user_id=file.user.user_id, dry_run=True)) == 1
    with here.database.pipeline() as tx:
        transitions.renew_lease(tx, here.settings, file.place, holder)
    assert revert_stuck(here.database, user_id=file.user.user_id, dry_run=True) == []


def test_working_copy_of_a_dormant_file_is_not_rewritten(file: StoredFile) -> None:
    """A reader found the working copy missing; before it writes it again, the file becomes dormant."""
    here = file.here
    with here.database.pipeline() as tx:
        content = durable_content(here.objects, transitions.manifest_of(tx, file.place))
    here.objects.delete(file.copy)
    _rewrite_working_copy(here.context, file.place, content)
    assert b"".join(here.objects.get(file.copy)) == content.content, "while it is active"
    compress(file)
    _rewrite_working_copy(here.context, file.place, content)
    assert not here.objects.exists(file.copy)
