"""The folder object store: links, permissions, full disks, kills, races."""

from __future__ import annotations

import itertools
import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from neurigraph_pipelines.model.errors import AbsentObjectError, StorageError
from neurigraph_pipelines.model.ports import ObjectStore
from resources.storage import local
from resources.storage.local import LocalObjectStore
from tests.support.busy_stores import read

PROJECT = Path(__file__).parents[2]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "deep" / "objects"


@pytest.fixture
def store(folder: Path) -> ObjectStore:
    return LocalObjectStore(folder)


def files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if not path.is_dir()]


# What a store does


def test_object_deleted_before_it_is_opened_is_absent(folder: Path) -> None:
    class Disappearing(LocalObjectStore):
        def exists(self, key: str) -> bool:
            found = super().exists(key)
            (folder / key).unlink(missing_ok=True)
            return found

    store = Disappearing(folder)
    store.put("a/b", [b"content"])
    with pytest.raises(AbsentObjectError, match="no object"):
        store.get_range("a/b", 0, 1)


def test_reader_keeps_its_version(store: ObjectStore) -> None:
    old, new = os.urandom(3_000_000), os.urandom(3_000_000)
    store.put("a", [old])
    pieces = store.get("a")
    first = next(pieces)
    store.put("a", [new])
    assert first + b"".join(pieces) == old


def test_folders_and_files_are_private(store: ObjectStore, folder: Path) -> None:
    before = os.umask(0)
    try:
        store.put("a/b/c", [b"x"])
    finally:
        os.umask(before)
    for path in (folder, *folder.rglob("*")):
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600), path


def test_delete_prunes_empty_folders(store: ObjectStore, folder: Path) -> None:
    store.put("a/b/c/d", [b"x"])
    store.put("a/e", [b"y"])
    store.delete("a/b/c/d")
    store.delete("a/b/c/d")
    assert not (folder / "a" / "b").exists()
    assert list(store.keys()) == ["a/e"]
    store.delete("a/e")
    assert not (folder / "a").exists()
    assert folder.is_dir()


def test_key_conflicts_with_object_or_folder(store: ObjectStore, folder: Path) -> None:
    store.put("a/b", [b"x"])
    for key in ("a", "a/b/c"):
        with pytest.raises(StorageError, match="cannot be written"):
            store.put(key, [b"y"])
    assert files(folder) == [folder / "a" / "b"]


# Keys


# What lies in the folder


def test_links_are_not_followed(store: ObjectStore, folder: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret").write_bytes(b"secret")
    store.put("a/own", [b"own"])
    (folder / "a" / "file").symlink_to(outside / "secret")
    (folder / "a" / "folder").symlink_to(outside)
    for key in ("a/file", "a/folder", "a/folder/secret"):
        assert not store.exists(key)
        with pytest.raises(StorageError, match="no object"):
            store.get(key)
        with pytest.raises(StorageError, match="no object"):
            store.get_range(key, 0, 3)
        store.delete(key)
    with pytest.raises(StorageError, match="cannot be written"):
        store.put("a/folder/new", [b"x"])
    store.put("a/file", [b"an object now"])
    assert list(store.keys()) == ["a/file", "a/own"]
    assert {path.name: path.read_bytes() for path in outside.iterdir()} == {"secret": b"secret"}


def test_pipes_and_odd_names_are_skipped(store: ObjectStore, folder: Path) -> None:
    store.put("a", [b"x"])
    os.mkfifo(folder / "pipe")
    (folder / os.fsdecode(b"\xff\xfe")).write_bytes(b"x")
    assert list(store.keys()) == ["a"]
    assert not store.exists("pipe")
    with pytest.raises(StorageError, match="no object"):
        store.get("pipe")


# What goes wrong


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of one megabyte: root is not held back by permissions."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(disk)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True, check=False).returncode != 0:
        pytest.skip("only root, and not in every container, may mount a small disk")
    yield disk
    subprocess.run(["umount", str(disk)], check=True)


def test_full_disk_leaves_nothing(small_disk: Path) -> None:
    store = LocalObjectStore(small_disk)
    store.put("a", [b"first"])
    with pytest.raises(StorageError, match="No space left on device"):
        store.put("a", itertools.repeat(bytes(100_000), 30))
    with pytest.raises(StorageError, match="No space left on device"):
        store.put("b/c", [bytes(3_000_000)])
    assert files(small_disk) == [small_disk / "a"]
    assert list(store.keys()) == ["a"]
    assert read(store, "a") == b"first"
    store.put("b/c", [bytes(500_000)])


def test_read_only_disk_is_reported(small_disk: Path) -> None:
    store = LocalObjectStore(small_disk)
    store.put("a/b", [b"first"])
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    with pytest.raises(StorageError, match="Read-only file system"):
        store.put("a/b", [b"second"])
    with pytest.raises(StorageError, match="Read-only file system"):
        store.delete("a/b")
    assert read(store, "a/b") == b"first"


@pytest.mark.skipif(os.geteuid() == 0, reason="permissions do not hold root back")
def test_unreadable_folder_is_reported(store: ObjectStore, folder: Path) -> None:
    store.put("a/b", [b"first"])
    (folder / "a").chmod(0)
    try:
        for use in (lambda: store.put("a/b", [b"x"]), lambda: store.exists("a/b"), lambda: list(store.keys())):
            with pytest.raises(StorageError, match="Permission denied"):
                use()
    finally:
        (folder / "a").chmod(0o700)
    assert read(store, "a/b") == b"first"


PUT = """
import sys
from pathlib import Path
from resources.storage.local import LocalObjectStore
def chunks():
    yield bytes(1_000_000)
    print("half way", flush=True)
    yield sys.stdin.buffer.read()
LocalObjectStore(Path(sys.argv[1])).put("a/b", chunks())
"""


def writer(folder: Path) -> subprocess.Popen[bytes]:
    process = subprocess.Popen(
        [sys.executable, "-c", PUT, str(folder)], cwd=PROJECT, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"half way\n"
    return process


def test_killed_put_is_swept(store: ObjectStore, folder: Path) -> None:
    killed = writer(folder)
    assert list(store.keys()) == []
    assert not store.exists("a/b")
    killed.kill()
    killed.communicate()
    assert list(store.keys()) == []
    assert not store.exists("a/b")
    assert len(files(folder)) == 1
    store.put("c", [b"x"])
    assert files(folder) == [folder / "c"]


def test_sweep_spares_running_put(store: ObjectStore, folder: Path) -> None:
    busy = writer(folder)
    store.put("c", [b"x"])
    busy.communicate(b"the rest", timeout=30)
    assert busy.returncode == 0
    assert store.get_range("a/b", 1_000_000, 8) == b"the rest"


def noted_syncs(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return a list to which each sync and each rename is added, in order."""
    done: list[str] = []
    fsync, rename = os.fsync, os.rename

    def noted_fsync(descriptor: int) -> None:
        kind = os.fstat(descriptor)
        done.append("sync folder" if stat.S_ISDIR(kind.st_mode) else f"sync file of {kind.st_size} bytes")
        fsync(descriptor)

    def noted_rename(old: str, new: str, *, src_dir_fd: int | None = None, dst_dir_fd: int | None = None) -> None:
        done.append("rename")
        rename(old, new, src_dir_fd=src_dir_fd, dst_dir_fd=dst_dir_fd)

    monkeypatch.setattr(os, "fsync", noted_fsync)
    monkeypatch.setattr(os, "rename", noted_rename)
    return done


def test_bytes_are_synced_before_the_name(store: ObjectStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """A power cut must not leave a name without its bytes: the file is synced, then renamed, then its folders."""
    done = noted_syncs(monkeypatch)
    store.put("a/b", [b"one", b"two"])
    renamed = done.index("rename")
    assert "sync file of 6 bytes" in done[:renamed]
    assert done[renamed + 1 :].count("sync folder") >= 2
    assert read(store, "a/b") == b"onetwo"


def test_folders_are_synced_while_their_names_may_be_new(
    store: ObjectStore, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder's name is synced once: again by another writer, and when the folder was removed and created again."""
    done = noted_syncs(monkeypatch)
    # As on a file system that gives a new folder the number of the one that was removed before it.
    monkeypatch.setattr(local, "_identity", lambda descriptor: (0, str(Path(f"/proc/self/fd/{descriptor}").readlink())))

    def put(store: ObjectStore, key: str) -> int:
        """Return how many folders were synced after the name was there."""
        done.clear()
        store.put(key, [b"x"])
        return done[done.index("rename") :].count("sync folder")

    assert [put(store, key) for key in ("a/b/c", "a/b/d", "a/e", "a/f/g")] == [3, 1, 1, 2]
    assert put(LocalObjectStore(folder), "a/b/h") == 3
    for key in ("a/b/c", "a/b/d", "a/b/h"):
        store.delete(key)
    assert put(store, "a/b/c") == 2
