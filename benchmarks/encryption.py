"""What encryption costs: writes, passages and whole reads of files, against the same files as they are.

Usage: ``python -m benchmarks.encryption``. Both stores are folders of one disk and take turns, so that a ratio compares
equal conditions. Processor time is that of this process.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from random import Random

from neurigraph_pipelines.ports import ObjectStore
from resources.master_keys import MasterKeyFile
from resources.storage.encrypted import EncryptedObjectStore
from resources.storage.graph_keys import GraphKeys
from resources.storage.local import LocalObjectStore

_SIZES = {"10 kB": 10_000, "1 MB": 1_000_000, "50 MB": 50_000_000}
_PASSAGE_BYTES = 12_000
_TURNS = 15


def main() -> None:
    """Measure, and print one JSON object."""
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        plain = LocalObjectStore(Path(folder, "plain"))
        below = LocalObjectStore(Path(folder, "encrypted"))
        keys = GraphKeys(below, MasterKeyFile(Path(folder, "master_key")))
        stores: dict[str, ObjectStore] = {"plain": plain, "encrypted": EncryptedObjectStore(below, keys, writes=True)}
        for name, size in _SIZES.items():
            found[name] = _ratios(stores, size)
    json.dump(found, sys.stdout, indent=1)
    print()


def _ratios(stores: dict[str, ObjectStore], size: int) -> dict[str, dict[str, float]]:
    """Return medians of wall and processor time in milliseconds for each store and operation, and their ratios."""
    content, at = os.urandom(size), Random(22)
    key, length = f"durable/ada/{size}", min(size, _PASSAGE_BYTES)
    operations: dict[str, Callable[[ObjectStore], object]] = {
        "write": lambda store: store.put(key, [content]),
        "passage": lambda store: store.get_range(key, at.randrange(size - length + 1), length),
        "open": lambda store: sum(map(len, store.get(key))),
    }
    found = {}
    for operation, run in operations.items():
        times: dict[str, list[tuple[float, float]]] = {name: [] for name in stores}
        for _ in range(_TURNS):
            for name, store in stores.items():
                wall, processor = time.perf_counter(), time.process_time()
                run(store)
                times[name].append((time.perf_counter() - wall, time.process_time() - processor))
        wall_of = {name: statistics.median(one for one, _ in taken) * 1_000 for name, taken in times.items()}
        work_of = {name: statistics.median(one for _, one in taken) * 1_000 for name, taken in times.items()}
        found[operation] = {
            "plain_ms": round(wall_of["plain"], 3),
            "encrypted_ms": round(wall_of["encrypted"], 3),
            "wall_ratio": round(wall_of["encrypted"] / wall_of["plain"], 2),
            "processor_ratio": round(work_of["encrypted"] / max(work_of["plain"], 1e-6), 2),
        }
    return found


if __name__ == "__main__":
    main()
