"""Packs of repositories: what hostile ones do to the process that reads them."""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Callable
from typing import Any

import pytest
from dulwich.object_format import DEFAULT_OBJECT_FORMAT
from dulwich.objects import Blob, Commit, ShaFile, Tree
from dulwich.pack import write_pack_objects

from neurigraph_pipelines.model import Extraction, RepositoryFile
from neurigraph_pipelines.model.errors import UnreadableFileError
from resources.extractors.text_extractor import SubprocessExtractor

_TEXT = b"The keel needs new bolts.\n"
_FILE, _LINK, _SUBMODULE, _FOLDER = 0o100644, 0o120000, 0o160000, 0o040000
_MEBIBYTE = 1 << 20


def _commit(tree: Tree, message: bytes = b"Change") -> Commit:
    made = Commit()
    made.tree = tree.id
    made.author = made.committer = b"Ana <ana@example.org>"
    made.commit_time = made.author_time = 1_700_000_000
    made.commit_timezone = made.author_timezone = 0
    made.message = message
    return made


def _tree(*entries: tuple[bytes, int, bytes]) -> Tree:
    made = Tree()
    for name, mode, object_id in entries:
        made.add(name, mode, object_id)  # type: ignore[arg-type]
    return made


def _pack(*objects: ShaFile) -> bytes:
    written = bytearray()

    write_pack_objects(written.extend, [(one, None) for one in objects], object_format=DEFAULT_OBJECT_FORMAT)
    return bytes(written)


def _raw_pack(*entries: bytes) -> bytes:
    body = b"PACK" + (2).to_bytes(4, "big") + len(entries).to_bytes(4, "big") + b"".join(entries)
    return body + hashlib.sha1(body, usedforsecurity=False).digest()


def _entry(kind: int, size: int, packed: bytes, base: bytes = b"") -> bytes:
    """Return an object of a pack, whose header states its kind and size."""
    first, size = (kind << 4) | (size & 15), size >> 4
    head = bytearray()
    while size:
        head.append(first | 0x80)
        first, size = size & 0x7F, size >> 7
    return bytes([*head, first]) + base + packed


def _read(pack: bytes, most_files: int = 100, **limits: Any) -> tuple[Extraction, list[RepositoryFile]]:
    values = {"seconds": 30.0, "memory_bytes": 512 * _MEBIBYTE, "text_bytes": 1_000_000, **limits}
    files: list[RepositoryFile] = []
    return SubprocessExtractor(**values).unpack([pack], most_files, files.append), files


def test_names_links_and_submodules_are_counted_and_not_followed() -> None:
    blob, passwords = Blob.from_string(_TEXT), Blob.from_string(b"/etc/passwd")
    names = [b"..", b".git", b"a\\b", b"tab\there", b"not utf-8 \xff", b"\xe2\x80\xaeright to left"]
    tree = _tree(
        *((name, _FILE, blob.id) for name in names),
        (b"link", _LINK, passwords.id),
        (b"module", _SUBMODULE, b"1" * 40),
        (b"<img src=x onerror=alert(1)>.txt", _FILE, blob.id),
    )
    found, files = _read(_pack(_commit(tree), tree, blob, passwords))
    assert [(file.path, file.content) for file in files] == [("<img src=x onerror=alert(1)>.txt", _TEXT)]
    assert [part.section for part in files[0].parts] == ["<img src=x onerror=alert(1)>.txt"]
    assert found.facts["left out"] == ("1 that are links; 1 that are submodules; 6 with a name that is no file name")


def test_name_with_a_slash_leaves_no_folder() -> None:
    blob = Blob.from_string(_TEXT)
    raw = b"100644 ../../../tmp/outside\x00" + bytes.fromhex(blob.id.decode())
    tree = Tree.from_raw_string(2, raw)
    found, files = _read(_pack(_commit(tree), tree, blob))  # type: ignore[arg-type]
    assert (files, found.facts["left out"]) == ([], "1 with a name that is no file name")


def test_folder_that_holds_itself_many_times_is_read_in_part() -> None:
    blob = Blob.from_string(_TEXT)
    trees = [_tree((b"a.txt", _FILE, blob.id))]
    for _ in range(30):  # 10^30 files
        trees.append(_tree(*((b"d%d" % number, _FOLDER, trees[-1].id) for number in range(10))))
    found, files = _read(_pack(_commit(trees[-1]), blob, *trees))
    assert "only 200,000 are looked at" in found.facts["left out"]
    assert files == []


def test_large_file_is_left_out_and_the_others_are_read() -> None:
    blob, large = Blob.from_string(_TEXT), Blob.from_string(b"x" * 600_000)
    tree = _tree((b"a.txt", _FILE, blob.id), (b"large.txt", _FILE, large.id), (b"absent.txt", _FILE, b"2" * 40))
    found, files = _read(_pack(_commit(tree), tree, blob, large))
    assert ([file.path for file in files], found.facts["left out"]) == (["a.txt"], "2 larger than 524,288 bytes")


def test_bytes_of_all_files_are_bounded() -> None:
    blobs = [Blob.from_string(b"%d" % number * 40_000) for number in range(1, 6)]
    tree = _tree(*((b"%d.txt" % number, _FILE, blob.id) for number, blob in enumerate(blobs)))
    found, files = _read(_pack(_commit(tree), tree, *blobs), text_bytes=100_000)
    assert len(files) == 2
    assert found.facts["left out"] == "3 beyond the limit of 100 files or the bytes that are left"


def _bomb() -> bytes:
    size = 2_000 * _MEBIBYTE
    packing = zlib.compressobj(9)
    packed = b"".join(packing.compress(bytes(_MEBIBYTE)) for _ in range(2_000)) + packing.flush()
    return _raw_pack(_entry(3, size, packed))


def _delta_bomb() -> bytes:
    """Return a pack of 2 MB whose last delta copies a megabyte a thousand times."""
    base = bytes(_MEBIBYTE)
    base_id = hashlib.sha1(b"blob %d\x00" % len(base) + base, usedforsecurity=False).digest()
    copies = 1_000
    copy = b"\xf0\xff\xff\x0f" * (copies + 1)  # 0x0FFFFF bytes from the beginning
    result = 0x0FFFFF * (copies + 1)

    def number(value: int) -> bytes:
        made = bytearray()
        while value > 0x7F:
            made.append(value & 0x7F | 0x80)
            value >>= 7
        return bytes([*made, value])

    delta = number(len(base)) + number(result) + copy
    return _raw_pack(_entry(3, len(base), zlib.compress(base)), _entry(7, len(delta), zlib.compress(delta), base_id))


def _two_commits() -> bytes:
    blob = Blob.from_string(_TEXT)
    tree = _tree((b"a.txt", _FILE, blob.id))
    return _pack(_commit(tree), _commit(tree, b"Another"), tree, blob)


def _cut_off() -> bytes:
    return _two_commits()[:-40]


def _without_its_folder() -> bytes:
    return _pack(_commit(_tree((b"a.txt", _FILE, b"3" * 40))))


@pytest.mark.parametrize(
    ("made", "reason"),
    [
        (_bomb, "memory"),
        (_delta_bomb, "memory"),
        (_two_commits, "2 commits instead of one"),
        (_cut_off, "damaged"),
        (_without_its_folder, "damaged"),
        (lambda: b"PACK" + bytes(40), "damaged"),
        (lambda: _raw_pack(_entry(7, 5, zlib.compress(b"\x01\x01\x01a!"), b"x" * 20)), "damaged"),
    ],
    ids=["zlib bomb", "delta bomb", "two commits", "cut off", "no folder", "zeros", "delta of nothing"],
)
def test_hostile_pack_fails_alone(made: Callable[[], bytes], reason: str) -> None:
    with pytest.raises(UnreadableFileError, match=reason):
        _read(made())
    blob = Blob.from_string(_TEXT)
    tree = _tree((b"a.txt", _FILE, blob.id))
    assert [file.path for file in _read(_pack(_commit(tree), tree, blob))[1]] == ["a.txt"]
