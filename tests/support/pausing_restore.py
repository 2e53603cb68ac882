"""A restore that stops once it has written some objects, for tests to kill.

Run as ``python -m tests.support.pausing_restore URL SECRET OBJECTS ARCHIVE SLUG OCCURRENCE``; prints ``paused``.
"""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace

from neurigraph_pipelines.database.secret import Secret
from neurigraph_pipelines.exchange.portability.archive import open_archive
from neurigraph_pipelines.exchange.portability.restore import restore_user
from neurigraph_pipelines.model.context import Context
from resources.postgres.database import PostgresDatabase
from resources.storage.local import LocalObjectStore
from tests.support.pausing_run import Moments, PausingStore


def main() -> None:
    url, secret, objects, archive, slug, occurrence = sys.argv[1:]
    store = PausingStore(LocalObjectStore(Path(objects)), Moments("durable object written", int(occurrence)))
    settings = SimpleNamespace(language="english")
    parts = SimpleNamespace(database=PostgresDatabase(url, Secret(secret)), objects=store, settings=settings)
    with open_archive(Path(archive)) as opened:
        restore_user(Context(parts), opened, slug, lambda _: None)


if __name__ == "__main__":
    main()
