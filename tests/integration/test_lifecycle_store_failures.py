"""An object store that refuses: the caller gets the error, and no file changes."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from neurigraph_pipelines.lifecycle import control
from neurigraph_pipelines.lifecycle.dormancy import sweep_dormant
from neurigraph_pipelines.lifecycle.orphans import audit_objects
from neurigraph_pipelines.lifecycle.verification import verify, verify_sample
from neurigraph_pipelines.model.errors import LostObjectError, StorageError
from neurigraph_pipelines.model.ports import ObjectStore
from neurigraph_pipelines.retrieval.open import open_file, open_message
from neurigraph_pipelines.wiring.installation import Installation
from resources.storage.s3 import S3ObjectStore
from tests.support.files import StoredFile, all_keys, store_file
from tests.support.s3_servers import new_bucket, opened_bucket, rclone_server

Way = Callable[[StoredFile, ObjectStore], object]

WAYS: dict[str, Way] = {
    "open": lambda f, objects: open_file(f.here.acting_for(f.claims).using(objects=objects), f.file_id),
    "message": lambda f, objects: open_message(f.here.acting_for(f.claims).using(objects=objects), f.file_id, 1),
    "audit": lambda f, objects: audit_objects(f.here.context.using(objects=objects)),
    "verify": lambda f, objects: verify(f.here.context.using(objects=objects), user_id=f.user.user_id, repair=True),
    "look": lambda f, objects: verify(
        f.here.context.using(objects=objects), user_id=f.user.user_id, read=False, repair=True
    ),
    "sample": lambda f, objects: verify_sample(f.here.context.using(objects=objects)),
}


@pytest.fixture(scope="module")
def refusing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ObjectStore]:
    """A store opened with a wrong secret."""
    with (
        rclone_server(tmp_path_factory.mktemp("buckets")) as address,
        opened_bucket(address, f"s3://{new_bucket(address)}", secret_access_key="wrong") as bucket,
    ):
        yield S3ObjectStore(bucket)


@pytest.fixture
def file(shared_installation: Installation) -> StoredFile:
    return store_file(shared_installation)


def known(file: StoredFile) -> tuple[object, ...]:
    """Return everything that a refusal must not change."""
    clocks = {"last_accessed_at", "recompress_after"}
    return ({name: value for name, value in file.row.items() if name not in clocks}, file.events, all_keys(file.here))


@pytest.mark.parametrize("state", ["active", "dormant"])
@pytest.mark.parametrize("way", WAYS)
def test_store_refusal_changes_nothing(file: StoredFile, refusing: ObjectStore, way: str, state: str) -> None:
    if state == "dormant":
        control.compress(file.here.acting_for(file.claims), file.file_id)
    before = known(file)
    with pytest.raises(StorageError, match="correct the secret access key") as refused:
        WAYS[way](file, refusing)
    assert not isinstance(refused.value, LostObjectError)
    assert known(file) == before
    assert file.open().content


def test_uncompressible_file_stays_active(file: StoredFile, refusing: ObjectStore) -> None:
    before = known(file)
    with pytest.raises(StorageError, match="correct the secret access key"):
        control.compress(file.here.acting_for(file.claims).using(objects=refusing), file.file_id)
    file.age(31)
    report = sweep_dormant(file.here.context.using(objects=refusing), user_id=file.user.user_id)
    assert report.files == 0
    assert "correct the secret access key" in report.failures[file.file_id]
    assert known(file) == before
