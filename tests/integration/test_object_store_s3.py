"""Faults between us and S3: retried or reported, and no partial object is served."""

from __future__ import annotations

import os
import subprocess
import sys
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from neurigraph_pipelines.model.errors import StorageError, TransientError
from resources.storage.s3 import S3ObjectStore
from resources.storage.s3_bucket import S3Bucket
from tests.support.s3_proxy import Fault, S3Proxy, s3_proxy
from tests.support.s3_servers import SECRET_ACCESS_KEY, moto_server, new_bucket, opened_bucket, rclone_server

pytestmark = pytest.mark.slow

PROJECT = Path(__file__).parents[2]
PART = 5 << 20
CONTENT = bytes(range(256)) * 4_000
LARGE = os.urandom(PART + 1_000_000)


@pytest.fixture(scope="module")
def moto() -> Iterator[str]:
    with moto_server() as address:
        yield address


@pytest.fixture(scope="module")
def rclone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with rclone_server(tmp_path_factory.mktemp("buckets")) as address:
        yield address


class Broken:
    """A store behind a proxy."""

    def __init__(self, proxy: S3Proxy, bucket: S3Bucket) -> None:
        self.proxy = proxy
        self.bucket = bucket
        self.store = S3ObjectStore(bucket, part_bytes=PART)

    def read(self, key: str) -> bytes:
        return b"".join(self.store.get(key))


@pytest.fixture(scope="module")
def behind_moto(moto: str) -> Iterator[Broken]:
    yield from behind_proxy(moto)


@pytest.fixture(scope="module")
def behind_rclone(rclone: str) -> Iterator[Broken]:
    yield from behind_proxy(rclone)


def behind_proxy(server: str) -> Iterator[Broken]:
    name = new_bucket(server)
    with (
        s3_proxy(server) as proxy,
        opened_bucket(proxy.address, f"s3://{name}/p", attempts=3, read_timeout=1.0) as bucket,
    ):
        yield Broken(proxy, bucket)


@pytest.fixture
def broken(behind_rclone: Broken) -> Broken:
    """Without objects and faults; rclone takes a fraction of moto's time."""
    return emptied(behind_rclone)


@pytest.fixture(params=["moto", "rclone"])
def either(request: pytest.FixtureRequest) -> Broken:
    """For what the servers do differently."""
    return emptied(request.getfixturevalue(f"behind_{request.param}"))


def emptied(broken: Broken) -> Broken:
    broken.proxy.faults.clear()
    for key in list(broken.store.keys()):
        broken.store.delete(key)
    for upload in uploads(broken):  # such as one whose first answer was lost
        broken.bucket.call("abort_multipart_upload", Key="p/a", UploadId=upload)
    broken.proxy.log.clear()
    return Broken(broken.proxy, broken.bucket)


OPERATIONS: dict[str, tuple[str, Callable[[S3ObjectStore], Any], Any]] = {
    "put": ("PUT", lambda store: store.put("b", [CONTENT]).size_bytes, len(CONTENT)),
    "get": ("GET", lambda store: b"".join(store.get("a")), CONTENT),
    "get_range": ("GET", lambda store: store.get_range("a", 1_000, 500_000), CONTENT[1_000:][:500_000]),
    "exists": ("HEAD", lambda store: store.exists("a"), True),
    "keys": ("GET", lambda store: list(store.keys()), ["a"]),
    "delete": ("DELETE", lambda store: store.delete("a"), None),
}


# The way to the server


@pytest.mark.parametrize(
    ("operation", "fault"),
    [
        *product(OPERATIONS, ["slow_down", "reset", "lose_answer"]),
        *product(["get", "get_range", "keys"], ["reset_in_body", "end_in_body"]),
        *product(["get", "put"], ["stall"]),
    ],
)
def test_transient_faults_are_retried(broken: Broken, operation: str, fault: Fault) -> None:
    method, use, expected = OPERATIONS[operation]
    broken.store.put("a", [CONTENT])
    broken.proxy.fail(method, fault, times=1 if fault == "stall" else 2)
    assert use(broken.store) == expected
    assert not broken.proxy.faults
    assert broken.store.exists("a") == (operation != "delete")
    if operation == "put":
        assert broken.read("b") == CONTENT


@pytest.mark.parametrize("fault", ["slow_down", "reset", "reset_in_body", "end_in_body"])
@pytest.mark.parametrize("operation", ["get", "get_range"])
def test_permanent_faults_are_reported(broken: Broken, operation: str, fault: Fault) -> None:
    method, use, _ = OPERATIONS[operation]
    broken.store.put("a", [CONTENT])
    broken.proxy.fail(method, fault, times=3)
    with pytest.raises(TransientError):
        use(broken.store)
    assert len(broken.proxy.of(method)) == 3
    assert broken.read("a") == CONTENT


def test_interrupted_read_resumes(broken: Broken) -> None:
    content = os.urandom(20_000_000)
    broken.store.put("a", [content])
    broken.proxy.log.clear()
    chunks = broken.store.get("a")
    found = [next(chunks)]
    broken.proxy.fail("GET", "reset_in_body")
    assert b"".join(found + list(chunks)) == content
    ranges = [exchange.range for exchange in broken.proxy.of("GET")]
    assert ranges == [
        "bytes=0-8388607", "bytes=8388608-16777215", "bytes=8388608-16777215", "bytes=16777216-19999999"
    ]  # fmt: skip


def test_failed_put_stores_nothing(broken: Broken) -> None:
    broken.store.put("a", [b"first"])
    broken.proxy.fail("PUT", "reset", times=3)
    with pytest.raises(TransientError):
        broken.store.put("a", [CONTENT])
    assert broken.read("a") == b"first"


def test_put_with_lost_response_is_repeatable(broken: Broken) -> None:
    broken.proxy.fail("PUT", "lose_answer", times=3)
    with pytest.raises(TransientError):
        broken.store.put("a", [CONTENT])
    assert broken.read("a") == CONTENT
    broken.store.put("a", [CONTENT])
    assert list(broken.store.keys()) == ["a"]


def test_damaged_transfer_is_retried_or_removed(either: Broken, rclone: str) -> None:
    checks = rclone.endswith(either.proxy.upstream)  # moto takes whatever comes
    either.proxy.fail("PUT", "damage_request")
    if checks:
        either.store.put("a", [CONTENT])
        assert either.read("a") == CONTENT
    else:
        with pytest.raises(TransientError, match="arrived damaged"):
            either.store.put("a", [CONTENT])
        assert not either.store.exists("a")


def test_replaced_object_fails_the_read(broken: Broken) -> None:
    broken.store.put("a", [bytes(9_000_000)])
    chunks = broken.store.get("a")
    next(chunks)
    broken.store.put("a", [bytes(9_000_001)])
    with pytest.raises(TransientError, match="was replaced while it was read"):
        list(chunks)


def test_replaced_object_is_not_moved_to_cold(behind_moto: Broken, moto: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody replaces the object between the look at it and the copy: the copy is refused, and the next one done."""
    broken = behind_moto
    cold = S3ObjectStore(broken.bucket, cold_storage_class="GLACIER_IR")
    cold.put("large", [bytes(131_072)])
    head = broken.bucket.head

    def head_then_replaced(name: str) -> dict[str, Any]:
        found: dict[str, Any] = head(name)
        broken.store.put("large", [b"x" * 131_072])
        return found

    with monkeypatch.context() as slow:
        slow.setattr(broken.bucket, "head", head_then_replaced)
        with pytest.raises(TransientError):
            cold.move_to_cold("large")
    assert "StorageClass" not in head("p/large")
    cold.move_to_cold("large")
    assert head("p/large")["StorageClass"] == "GLACIER_IR"
    assert broken.read("large") == b"x" * 131_072


def test_server_without_ranges_is_refused(behind_moto: Broken) -> None:
    behind_moto.store.put("a", [CONTENT])
    behind_moto.proxy.fail("GET", "ignore_range")  # part of what rclone has signed
    with pytest.raises(StorageError, match="other bytes"):
        behind_moto.store.get_range("a", 1, 10)


def test_slow_server_is_awaited(broken: Broken) -> None:
    broken.proxy.latency = 0.3
    try:
        broken.store.put("a", [CONTENT])
        assert broken.read("a") == CONTENT
    finally:
        broken.proxy.latency = 0.0
    assert len(broken.proxy.log) == 2


# Large objects


@pytest.mark.parametrize("fault", ["slow_down", "reset", "lose_answer"])
@pytest.mark.parametrize(("method", "target"), [("POST", "uploads"), ("PUT", "partNumber=2"), ("POST", "uploadId")])
def test_large_object_survives_any_fault(broken: Broken, method: str, target: str, fault: Fault) -> None:
    broken.proxy.fail(method, fault, target=target)
    broken.store.put("a", [LARGE])
    assert not broken.proxy.faults
    assert broken.read("a") == LARGE


@pytest.mark.parametrize(("method", "target"), [("PUT", "partNumber=2"), ("POST", "uploadId")])
def test_failed_large_put_keeps_old_object(broken: Broken, method: str, target: str) -> None:
    broken.store.put("a", [b"first"])
    broken.proxy.fail(method, "slow_down", times=3, target=target)
    with pytest.raises(TransientError):
        broken.store.put("a", [LARGE])
    assert broken.read("a") == b"first"
    assert uploads(broken) == []


def test_damaged_part_is_not_stored(broken: Broken) -> None:
    broken.proxy.fail("PUT", "damage_request", target="partNumber=1")
    # moto takes whatever comes; rclone, which writes parts as they come, gives the whole upload up.
    with pytest.raises(TransientError):
        broken.store.put("a", [LARGE])
    assert not broken.store.exists("a")
    assert uploads(broken) == []


def test_failed_upload_is_aborted(broken: Broken) -> None:
    def failing() -> Iterator[bytes]:
        yield LARGE + LARGE
        assert len(uploads(broken)) == 1
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        broken.store.put("a", failing())
    assert uploads(broken) == []
    assert list(broken.store.keys()) == []


def test_aborted_upload_is_reported(broken: Broken) -> None:
    def interrupted(last: int) -> Iterator[bytes]:
        yield LARGE + LARGE
        (upload,) = uploads(broken)
        broken.bucket.call("abort_multipart_upload", Key="p/a", UploadId=upload)
        yield bytes(last)

    broken.store.put("a", [b"first"])
    for last in (10, 3 * PART):
        with pytest.raises(TransientError):
            broken.store.put("a", interrupted(last))
        assert broken.read("a") == b"first"


PUT = """
import sys
from resources.storage.s3 import S3ObjectStore
from resources.storage.s3_bucket import S3Access, S3Bucket
def chunks():
    yield bytes(12_000_000)
    print("half way", flush=True)
    sys.stdin.read()
url, *access = sys.argv[1:]
S3ObjectStore(S3Bucket(url, S3Access(*access)), part_bytes=5 << 20).put("a", chunks())
"""


def test_killed_put_is_cleaned_up(either: Broken, moto: str) -> None:
    arguments = (f"s3://{either.bucket.name}/p", either.proxy.address, "us-east-1", "tests", SECRET_ACCESS_KEY)
    with subprocess.Popen(
        [sys.executable, "-c", PUT, *arguments], cwd=PROJECT, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"half way\n"
        process.kill()
    assert list(either.store.keys()) == []
    assert not either.store.exists("a")
    assert len(uploads(either)) == 1
    either.store.put("b", [LARGE])
    # Of moto every upload is from 2010; to rclone it is a minute old, and may still be somebody's.
    assert len(uploads(either)) == (0 if moto.endswith(either.proxy.upstream) else 1)


def test_memory_is_bounded(rclone: str) -> None:
    with opened_bucket(rclone, f"s3://{new_bucket(rclone)}") as opened:
        store = S3ObjectStore(opened, part_bytes=PART)
        store.put("warm", [b"x"])
        tracemalloc.start()
        try:
            store.put("a", (bytes(1_000_000) for _ in range(60)))
            assert sum(map(len, store.get("a"))) == 60_000_000
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    assert peak < 45_000_000


# Refusals
EVERY: tuple[Callable[[S3ObjectStore], Any], ...] = (
    lambda store: store.put("a", [b"x"]),
    lambda store: store.put("a", [LARGE]),
    lambda store: store.get("a"),
    lambda store: store.get_range("a", 0, 1),
    lambda store: store.exists("a"),
    lambda store: store.modified_at("a"),
    lambda store: store.move_to_cold("a"),
    lambda store: store.delete("a"),
    lambda store: list(store.keys()),
)


def refusals(bucket: S3Bucket) -> set[str]:
    message = set()
    for use in EVERY:
        with pytest.raises(StorageError) as refused:
            use(S3ObjectStore(bucket, part_bytes=PART))
        assert type(refused.value) is StorageError
        assert SECRET_ACCESS_KEY not in str(refused.value)
        message.add(str(refused.value))
    return message


def test_missing_bucket_is_an_error(broken: Broken) -> None:
    with opened_bucket(broken.proxy.address, "s3://nobody-made-this") as absent:
        (message,) = refusals(absent)
    assert "NoSuchBucket" in message
    assert message.endswith("create the bucket, or correct its name.")


def test_wrong_secret_is_refused(rclone: str) -> None:
    with opened_bucket(rclone, f"s3://{new_bucket(rclone)}", secret_access_key="wrong") as refused:
        (message,) = refusals(refused)
    assert message.endswith("correct the secret access key.")


def test_missing_credentials_are_reported(moto: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", os.devnull)
    monkeypatch.setenv("AWS_CONFIG_FILE", os.devnull)
    with opened_bucket(moto, "s3://b", access_key_id=None, secret_access_key=None) as anonymous:
        (message,) = refusals(anonymous)
    assert "set NEURIGRAPH_S3_ACCESS_KEY_ID" in message


def test_boto3_credential_chain(rclone: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "tests")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET_ACCESS_KEY)
    name = new_bucket(rclone)
    with opened_bucket(rclone, f"s3://{name}", access_key_id=None, secret_access_key=None) as opened:
        assert S3ObjectStore(opened).put("a", [b"x"]).size_bytes == 1


def test_unreachable_server_is_transient() -> None:
    with opened_bucket("http://127.0.0.1:9", "s3://b", attempts=2) as gone:
        for use in EVERY:
            with pytest.raises(TransientError, match="cannot be reached"):
                use(S3ObjectStore(gone, part_bytes=PART))


def uploads(broken: Broken) -> list[str]:
    """Uploads in parts that have neither been completed nor ended."""
    with suppress(TransientError):  # rclone's answer where there are none
        listing = broken.bucket.call("list_multipart_uploads", Prefix=broken.bucket.prefix)
        return [upload["UploadId"] for upload in listing.get("Uploads", ())]
    return []
