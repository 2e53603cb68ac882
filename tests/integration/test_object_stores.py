"""The common behaviour of object stores: a folder, plain and encrypted, and two S3 servers."""

from __future__ import annotations

import hashlib
import itertools
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neurigraph_pipelines.model.errors import AbsentObjectError, DamagedObjectError, InvalidInputError, TransientError
from neurigraph_pipelines.model.ports import ObjectStore
from resources.master_keys import MasterKeyFile
from resources.storage.encrypted import EncryptedObjectStore
from resources.storage.graph_keys import GraphKeys
from resources.storage.local import LocalObjectStore
from resources.storage.s3 import S3ObjectStore
from tests.support.busy_stores import put_and_delete_at_once, read
from tests.support.s3_servers import moto_server, new_bucket, opened_bucket, rclone_server

MEGABYTE = 1 << 20

HOSTILE = [
    "",
    "/",
    "/etc/passwd",
    "..",
    "../outside",
    "a/../../outside",
    "a/..",
    "a//b",
    "a/",
    "./a",
    "a/.",
    "a\0b",
    "a\\..\\b",
    "\udcff",
    "a/\ud800",
    ".partial",
    ".partial/a",
    "x" * 256,
    "é" * 128,
    "/".join(["x" * 200] * 6),
    "x/" * 1_000_000,
]

# moto finds no route for a line break, and XML 1.0 has no other control characters.
parts = st.text(
    st.characters(exclude_characters="/\\", exclude_categories=["Cs", "Cc", "Zl", "Zp", "Cn"]), min_size=1, max_size=30
).filter(lambda part: part not in {".", "..", ".partial"} and len(part.encode()) <= 255)
valid_keys = st.lists(parts, min_size=1, max_size=4).map("/".join)
few_examples = settings(max_examples=15)


@pytest.fixture(scope="module", params=["folder", "moto", "rclone", "encrypted"])
def used_store(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ObjectStore]:
    """One store for the module: opening another costs more than most of the tests."""
    folder = tmp_path_factory.mktemp("objects")
    if request.param == "folder":
        yield LocalObjectStore(folder)
        return
    if request.param == "encrypted":
        plain, home = LocalObjectStore(folder), tmp_path_factory.mktemp("home")
        yield EncryptedObjectStore(plain, GraphKeys(plain, MasterKeyFile(home / "master_key")), writes=True)
        return
    server = moto_server() if request.param == "moto" else rclone_server(folder)
    with server as address, opened_bucket(address, f"s3://{new_bucket(address)}/below/here") as bucket:
        yield S3ObjectStore(bucket, part_bytes=5 * MEGABYTE)


@pytest.fixture
def store(used_store: ObjectStore) -> ObjectStore:
    return emptied(used_store)


def emptied(store: ObjectStore) -> ObjectStore:
    for key in list(store.keys()):
        store.delete(key)
    return store


def pieces(content: bytes, size: int) -> Iterator[bytes]:
    return (content[start : start + size] for start in range(0, len(content), size))


def test_object_round_trip(store: ObjectStore) -> None:
    content = os.urandom(3_000_000)
    stored = store.put("ada/work/文件 🙂 100% a+b.gz", pieces(content, 70_000))
    assert stored.key == "ada/work/文件 🙂 100% a+b.gz"
    assert stored.size_bytes == len(content)
    assert stored.sha256 == hashlib.sha256(content).hexdigest()
    assert read(store, stored.key) == content
    assert list(store.keys()) == [stored.key]


@pytest.mark.parametrize("size", [5 * MEGABYTE, 5 * MEGABYTE + 1, 20_000_000])
def test_large_object_in_any_chunks(store: ObjectStore, size: int) -> None:
    content = os.urandom(size)
    stored = store.put("a", itertools.chain([b""], pieces(content, 999_983), [b""]))
    assert (stored.size_bytes, stored.sha256) == (size, hashlib.sha256(content).hexdigest())
    assert read(store, "a") == content
    assert (
        store.get_range("a", size - 7_000_000 if size > 7_000_000 else 0, 1_000_000)
        == (content[-7_000_000:][:1_000_000])
    )
    assert list(store.keys()) == ["a"]


def test_empty_object(store: ObjectStore) -> None:
    assert store.put("a", []).size_bytes == 0
    assert store.put("b", [b"", b""]).size_bytes == 0
    assert store.exists("a")
    assert read(store, "a") == b""
    assert store.get_range("a", 0, 0) == b""
    with pytest.raises(DamagedObjectError, match="ends before byte 1"):
        store.get_range("a", 0, 1)


def test_object_is_replaced(store: ObjectStore) -> None:
    store.put("a/b", [b"a long first version"])
    store.put("a/b", [b"second"])
    assert read(store, "a/b") == b"second"
    assert list(store.keys()) == ["a/b"]


def test_reader_sees_one_version(store: ObjectStore) -> None:
    old, new = os.urandom(20_000_000), os.urandom(20_000_000)
    store.put("a", [old])
    chunks = store.get("a")
    first = next(chunks)
    store.put("a", [new])
    try:
        found = first + b"".join(chunks)
    except TransientError:
        found = old
    assert found == old
    assert read(store, "a") == new


def test_object_has_write_time(store: ObjectStore) -> None:
    store.put("a/b", [b"x"])
    written = store.modified_at("a/b")
    assert abs(written - datetime.now(UTC)) < timedelta(minutes=1)


def test_cold_object_is_unchanged(store: ObjectStore) -> None:
    store.put("a", [b"x"])
    for _ in range(2):
        store.move_to_cold("a")
        assert read(store, "a") == b"x"


def test_absent_object_is_an_error(store: ObjectStore) -> None:
    store.put("a/b", [b"x"])
    for key in ("nothing", "a/c", "A/B"):
        assert not store.exists(key)
        store.delete(key)
        for use in (
            lambda key=key: store.get(key),
            lambda key=key: store.get_range(key, 0, 1),
            lambda key=key: store.get_range(key, 0, 0),
            lambda key=key: store.modified_at(key),
            lambda key=key: store.move_to_cold(key),
        ):
            with pytest.raises(AbsentObjectError, match="no object"):
                use()
    assert read(store, "a/b") == b"x"


def test_new_store_is_empty(store: ObjectStore) -> None:
    assert list(store.keys()) == []
    assert list(store.keys("a/")) == []
    assert not store.exists("a")
    store.delete("a")


def test_deleted_object_is_gone(store: ObjectStore) -> None:
    store.put("a/b/c/d", [b"x"])
    store.put("a/e", [b"y"])
    store.delete("a/b/c/d")
    store.delete("a/b/c/d")
    assert not store.exists("a/b/c/d")
    assert list(store.keys()) == ["a/e"]
    store.delete("a/e")
    assert list(store.keys()) == []


@pytest.mark.parametrize("key", HOSTILE, ids=lambda key: repr(key[:20]))
def test_hostile_keys_are_refused_everywhere(store: ObjectStore, key: str) -> None:
    store.put("a/b", [b"x"])
    for use in (
        lambda: store.put(key, [b"x"]),
        lambda: store.get(key),
        lambda: store.get_range(key, 0, 1),
        lambda: store.exists(key),
        lambda: store.modified_at(key),
        lambda: store.move_to_cold(key),
        lambda: store.delete(key),
    ):
        with pytest.raises(InvalidInputError) as refused:
            use()
        assert len(str(refused.value)) < 600
    assert list(store.keys(key)) == (["a/b"] if "a/b".startswith(key) else [])


@few_examples
@given(objects=st.dictionaries(valid_keys, st.binary(max_size=50), max_size=6), extra=st.text(max_size=3))
def test_keys_are_listed_in_order(used_store: ObjectStore, objects: dict[str, bytes], extra: str) -> None:
    store = emptied(used_store)
    there: dict[str, bytes] = {}
    for key, content in {**objects, "a/b": b"1", "a-b": b"2", "a.": b"3", "a0/🙂": b"4"}.items():
        # As files, one key cannot go on where another ends.
        if not any(key.startswith(f"{other}/") or other.startswith(f"{key}/") for other in there):
            store.put(key, [content])
            there[key] = content
    assert list(store.keys()) == sorted(there)
    assert {key: read(store, key) for key in there} == there
    for prefix in {key[: len(key) // 2] for key in there} | {extra, "a", "a/", "../", "/"}:
        assert list(store.keys(prefix)) == sorted(key for key in there if key.startswith(prefix))
    for key in there:
        store.delete(key)
    assert list(store.keys()) == []


@few_examples
@given(content=st.binary(max_size=200), offset=st.integers(-5, 300), length=st.integers(-5, 2**70))
def test_ranges_are_exact(used_store: ObjectStore, content: bytes, offset: int, length: int) -> None:
    store = emptied(used_store)
    store.put("a", [content])
    if offset < 0 or length < 0:
        with pytest.raises(InvalidInputError):
            store.get_range("a", offset, length)
    elif offset + length > len(content):
        with pytest.raises(DamagedObjectError, match="ends before"):
            store.get_range("a", offset, length)
    else:
        assert store.get_range("a", offset, length) == content[offset : offset + length]


def test_listing_has_pages(store: ObjectStore) -> None:
    expected = [f"many/{number:04}" for number in range(1_010)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda key: store.put(key, [b"x"]), expected))
    assert list(store.keys("many/")) == expected
    assert list(store.keys("many/10")) == expected[1_000:]


@pytest.mark.parametrize("size", [10, 12_000_000])
def test_failing_source_keeps_old_object(store: ObjectStore, size: int) -> None:
    store.put("a", [b"first"])

    def failing() -> Iterator[bytes]:
        yield bytes(size)
        raise ZeroDivisionError

    for key in ("a", "b"):
        with pytest.raises(ZeroDivisionError):
            store.put(key, failing())
    assert list(store.keys()) == ["a"]
    assert read(store, "a") == b"first"


def test_concurrent_puts_and_deletes(store: ObjectStore) -> None:
    put_and_delete_at_once([store] * 4, turns=10)
    assert list(store.keys()) == []
