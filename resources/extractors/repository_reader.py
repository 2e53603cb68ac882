"""Repositories: a pack with one commit. Its text files are read by the readers of those; nothing is written to disk.

The pack is gone through twice: once for ids, sizes and folders, once for the chosen files. So memory holds one file and
what it is made of, not all. Links and submodules are not followed.
"""

from __future__ import annotations

import base64
import importlib
from collections import Counter, deque
from collections.abc import Iterator
from datetime import UTC, datetime
from io import BytesIO
from typing import BinaryIO, NamedTuple

from dulwich.object_format import DEFAULT_OBJECT_FORMAT
from dulwich.objects import Commit, parse_tree
from dulwich.pack import DeltaChainIterator, PackData, UnpackedObject

from neurigraph_pipelines.text.media_types import media_type_of
from resources.extractors.grouping import Part, cut, grouped

LARGEST_FILE = 512 * 1024
"""Bytes of the largest file that is read; code that people write has far fewer."""

_MOST_ENTRIES = 200_000
"""Entries of folders that are looked at: a folder can be in itself many times over, under other names."""

_LONGEST_PATH = 1_000
_COMMIT, _TREE, _BLOB = 1, 2, 3
_FOLDER, _LINK, _SUBMODULE, _KIND = 0o040000, 0o120000, 0o160000, 0o170000
_UNUSABLE = {"", ".", "..", ".git"}

File = dict[str, str]
"""The path and the bytes of a file, in Base64; its parts follow."""


class _Objects(NamedTuple):
    """The contents of a pack: commits, folders, and the size of each file, None if it is not text; by their ids."""

    commits: dict[bytes, bytes]
    folders: dict[bytes, bytes]
    files: dict[bytes, int | None]


class _Unpacking(DeltaChainIterator[UnpackedObject]):
    def _result(self, unpacked: UnpackedObject) -> UnpackedObject:
        return unpacked


def read(stream: BinaryIO, facts: dict[str, str], most_files: int, most_bytes: int) -> Iterator[Part | File]:
    """Yield parts that describe the commit, then each file with its parts.

    Args:
        stream: A real file.
        most_files: Files to read, those of the upper folders first.
        most_bytes: Bytes to read of all files together.
    """
    pack = PackData.from_file(stream, DEFAULT_OBJECT_FORMAT)  # the end of the process closes it
    objects = _objects(pack)
    if len(objects.commits) != 1:
        raise ValueError(f"it has {len(objects.commits)} commits instead of one")
    ((commit_id, raw),) = objects.commits.items()
    commit = Commit.from_string(raw)
    left_out = Counter[str]()
    chosen = _chosen(objects, bytes.fromhex(commit.tree.decode()), most_files, most_bytes, left_out)
    when = datetime.fromtimestamp(commit.commit_time, UTC)
    facts |= {"commit": commit_id.hex(), "committed": when.isoformat(), "files": f"{len(chosen):,}"}
    if left_out:
        facts["left out"] = "; ".join(f"{count:,} {why}" for why, count in sorted(left_out.items()))
    yield from cut("commit", commit.message.decode("utf-8", "replace"), "commit")
    yield from grouped(((path, "files") for path in chosen.values()), "files")
    for unpacked in _Unpacking.for_pack_data(pack):
        path = chosen.get(unpacked.sha()) if unpacked.obj_type_num == _BLOB else None
        if path is not None:
            yield from _file(path, b"".join(unpacked.obj_chunks or ()))


def _objects(pack: PackData) -> _Objects:
    found = _Objects({}, {}, {})
    for unpacked in _Unpacking.for_pack_data(pack):
        kind, content = unpacked.obj_type_num, b"".join(unpacked.obj_chunks or ())
        if kind == _BLOB:
            is_text = len(content) > LARGEST_FILE or media_type_of(content, "").is_text
            found.files[unpacked.sha()] = len(content) if is_text else None
        elif kind in (_COMMIT, _TREE):
            (found.commits if kind == _COMMIT else found.folders)[unpacked.sha()] = content
    return found


def _chosen(
    objects: _Objects, root: bytes, most_files: int, most_bytes: int, left_out: Counter[str]
) -> dict[bytes, str]:
    """Return the files to read, by id: those of the upper folders first, within a folder by name."""
    chosen: dict[bytes, str] = {}
    for path, file_id, mode in _entries(objects.folders, root, left_out):
        why = _reason(objects.files, file_id, mode)
        if why is None and file_id in chosen:
            why = "that repeat another one"
        if why is None and (len(chosen) == most_files or objects.files[file_id] > most_bytes):  # type: ignore[operator]
            why = f"beyond the limit of {most_files:,} files or the bytes that are left"
        if why is None:
            chosen[file_id] = path
            most_bytes -= objects.files[file_id] or 0
        else:
            left_out[why] += 1
    return chosen


def _reason(files: dict[bytes, int | None], file_id: bytes, mode: int) -> str | None:
    """Return why a file is not read; None if it is."""
    if mode & _KIND == _LINK:
        return "that are links"
    if mode & _KIND == _SUBMODULE:
        return "that are submodules"
    if file_id not in files or (files[file_id] or 0) > LARGEST_FILE:
        return f"larger than {LARGEST_FILE:,} bytes"
    return None if files[file_id] else "without text"


def _entries(folders: dict[bytes, bytes], root: bytes, left_out: Counter[str]) -> Iterator[tuple[str, bytes, int]]:
    """Yield path, id and mode of each file in a folder and below it, level by level."""
    waiting, seen = deque([("", root)]), 0
    while waiting:
        above, folder = waiting.popleft()
        for name, mode, hexadecimal in parse_tree(folders[folder], 20):
            seen += 1
            if seen > _MOST_ENTRIES:
                left_out[f"or more, because only {_MOST_ENTRIES:,} are looked at"] += 1
                return
            path = _path(above, name)
            if path is None:
                left_out["with a name that is no file name"] += 1
            elif mode & _KIND == _FOLDER:
                waiting.append((f"{path}/", bytes.fromhex(hexadecimal.decode())))
            else:
                yield path, bytes.fromhex(hexadecimal.decode()), mode


def _path(above: str, name: bytes) -> str | None:
    path = above + name.decode("utf-8", "replace")
    wrong = name.decode("utf-8", "replace") in _UNUSABLE or b"/" in name or b"\\" in name
    return None if wrong or len(path) > _LONGEST_PATH or not path.isprintable() or "\ufffd" in path else path


def _file(path: str, content: bytes) -> Iterator[Part | File]:
    yield {"path": path, "content": base64.b64encode(content).decode()}
    reader = media_type_of(content, path).reader or "text"
    parts: list[Part] = []
    try:
        parts += importlib.import_module(f".{reader}_reader", __package__).read(BytesIO(content), {})
    except MemoryError:
        raise
    except Exception:  # a parser raises any error; the file waits, and fails by itself
        return
    yield from ((place, text, section or path) for place, text, section in parts)
