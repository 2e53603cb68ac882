"""An erasure that stops at a chosen moment, for tests to kill.

Run as ``python -m tests.support.pausing_erasure URL SECRET OBJECTS USER_ID KIND SUBJECT_ID MOMENT OCCURRENCE``; prints
``paused`` when it gets there.
"""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace
from uuid import UUID

from neurigraph_pipelines.database.secret import Secret
from neurigraph_pipelines.lifecycle.erasure.forget import forget
from neurigraph_pipelines.lifecycle.erasure.receipts import ErasureSubject, SubjectKind
from neurigraph_pipelines.model import Claims
from neurigraph_pipelines.model.context import Context
from neurigraph_pipelines.settings import Settings
from resources.postgres.database import PostgresDatabase
from resources.storage.local import LocalObjectStore
from tests.support.pausing_run import Moments, PausingDatabase, PausingStore

# Transactions that write to the receipt: it is opened, with the first rows of a record or a node, then more rows go,
# then all rows are said to be gone, and at last all objects.
MOMENTS = [
    ("record", "transaction open", 2),
    ("record", "transaction committed", 2),
    ("record", "object removed", 1),
    ("node", "transaction open", 2),
    ("node", "transaction committed", 2),
    ("node", "object removed", 3),
    ("user", "transaction committed", 1),
    ("user", "transaction committed", 2),
    ("user", "transaction committed", 3),
    ("user", "object removed", 2),
    ("user", "transaction committed", 4),
    ("user", "transaction open", 6),
]


def main() -> None:
    url, secret, folder, user_id, kind, subject_id, moment, occurrence = sys.argv[1:]
    moments = Moments(moment, int(occurrence))
    parts = SimpleNamespace(
        settings=Settings.model_validate({}),
        database=PausingDatabase(PostgresDatabase(url, Secret(secret)), moments, "neurigraph.erasures"),
        objects=PausingStore(LocalObjectStore(Path(folder)), moments),
    )
    forget(
        Context(parts, Claims.of_user(UUID(user_id))),
        ErasureSubject(SubjectKind(kind), UUID(subject_id)),
        through="tests",
    )


if __name__ == "__main__":
    main()
