"""Threads that put and delete objects at the same time, in folders that the others prune."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from neurigraph_pipelines.model.ports import ObjectStore


def read(store: ObjectStore, key: str) -> bytes:
    """Return the content of an object."""
    return b"".join(store.get(key))


def put_and_delete_at_once(stores: Sequence[ObjectStore], turns: int) -> None:
    """Run one thread per store; every object reads back as it was put until it is deleted."""

    def work(number: int, store: ObjectStore) -> None:
        for turn in range(turns):
            key = f"a/b/{turn % 3}/{number}"
            store.put(key, [b"%d" % turn])
            assert read(store, key) == b"%d" % turn
            list(store.keys("a/"))
            store.delete(key)

    with ThreadPoolExecutor(len(stores)) as pool:
        for done in [pool.submit(work, number, store) for number, store in enumerate(stores)]:
            done.result()
