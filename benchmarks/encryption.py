"""What encryption costs: writes, passages and whole reads of files, against the same files as they are."""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable
from random import Random

from benchmarks.bench import Bench
from benchmarks.report import Section, number, table
from neurigraph_pipelines.model.ports import ObjectStore
from resources.master_keys import MasterKeyFile
from resources.storage.encrypted import EncryptedObjectStore
from resources.storage.graph_keys import GraphKeys
from resources.storage.local import LocalObjectStore

_SIZES = {"10 kB": 10_000, "1 MB": 1_000_000, "50 MB": 50_000_000}
_PASSAGE_BYTES = 12_000
_TURNS, _QUICK_TURNS = 15, 2

_METHOD = f"""The object store of encrypted files against that of plain ones. Both are folders of one disk and take
turns, so that a ratio compares equal conditions; medians of {_TURNS} turns. *Passage*: {_PASSAGE_BYTES:,} bytes from a
random place. Processor time is that of the process. A plain write waits for the disk, too."""


def run(bench: Bench) -> Section:
    """Measure files of three sizes."""
    plain = LocalObjectStore(bench.folder / "plain")
    below = LocalObjectStore(bench.folder / "encrypted")
    keys = GraphKeys(below, MasterKeyFile(bench.folder / "master_key"))
    stores: dict[str, ObjectStore] = {"plain": plain, "encrypted": EncryptedObjectStore(below, keys, writes=True)}
    turns = _QUICK_TURNS if bench.quick else _TURNS
    rows = [[name, *row] for name, size in _SIZES.items() for row in _compared(stores, size, turns)]
    header = ("file", "call", "plain ms", "encrypted ms", "encrypted ÷ plain", "processor time, encrypted ÷ plain")
    return Section("Encryption", _METHOD, table(header, rows))


def _compared(stores: dict[str, ObjectStore], size: int, turns: int) -> list[list[str]]:
    """Return a row for each call: medians of both stores, and the ratios of wall and processor time."""
    content, at = os.urandom(size), Random(22)
    key, length = f"durable/ada/{size}", min(size, _PASSAGE_BYTES)
    operations: dict[str, Callable[[ObjectStore], object]] = {
        "write": lambda store: store.put(key, [content]),
        "passage": lambda store: store.get_range(key, at.randrange(size - length + 1), length),
        "open": lambda store: sum(map(len, store.get(key))),
    }
    rows = []
    for operation, call in operations.items():
        times: dict[str, list[tuple[float, float]]] = {name: [] for name in stores}
        for _ in range(turns):
            for name, store in stores.items():
                wall, processor = time.perf_counter(), time.process_time()
                call(store)
                times[name].append((time.perf_counter() - wall, time.process_time() - processor))
        wall_of = {name: statistics.median(one for one, _ in taken) * 1_000 for name, taken in times.items()}
        work_of = {name: statistics.median(one for _, one in taken) * 1_000 for name, taken in times.items()}
        rows.append(
            [
                operation,
                *map(number, wall_of.values()),
                number(wall_of["encrypted"] / wall_of["plain"]),
                number(work_of["encrypted"] / max(work_of["plain"], 1e-6)),
            ]
        )
    return rows
