"""A transition of a file that stops at a chosen moment, for tests to kill.

Run as ``python -m tests.support.pausing_transition URL SECRET OBJECTS USER_ID FILE_ID STEP MOMENT OCCURRENCE``; prints
``paused`` when it gets there. The steps are the real ones, over the pausing context of ``pausing_run``.
"""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace
from uuid import UUID

from neurigraph_pipelines.database.secret import Secret
from neurigraph_pipelines.lifecycle import control
from neurigraph_pipelines.lifecycle.dormancy import sweep_dormant, sweep_expired
from neurigraph_pipelines.lifecycle.rehydration import revert_stuck
from neurigraph_pipelines.model import Claims
from neurigraph_pipelines.model.context import Context
from neurigraph_pipelines.retrieval.open import open_file
from neurigraph_pipelines.settings import Settings
from resources.postgres.database import PostgresDatabase
from resources.storage.local import LocalObjectStore
from tests.support.pausing_run import Moments, PausingDatabase, PausingStore

LEASE_SECONDS = 0.5
MOMENTS = [
    ("compress", "object removed", 1),
    ("compress", "transaction committed", 1),
    ("dormant", "object moved to the cold", 1),
    ("dormant", "object removed", 1),
    ("dormant", "transaction open", 1),
    ("dormant", "transaction committed", 1),
    ("expired", "object removed", 1),
    ("expired", "transaction committed", 1),
    ("open", "transaction open", 1),
    ("open", "transaction committed", 1),
    ("open", "working copy written", 1),
    ("open", "transaction open", 2),
    ("open", "transaction committed", 2),
    ("stuck", "transaction open", 1),
    ("stuck", "transaction committed", 1),
]


def main() -> None:
    url, secret, folder, user, file, step, moment, occurrence = sys.argv[1:]
    moments = Moments(moment, int(occurrence))
    database = PausingDatabase(PostgresDatabase(url, Secret(secret)), moments, "neurigraph.compression_state_log")
    objects = PausingStore(LocalObjectStore(Path(folder)), moments)
    settings = Settings.model_validate({}).changed(rehydration_lease_seconds=LEASE_SECONDS)
    user_id, file_id = UUID(user), UUID(file)
    claims = Claims.of_user(user_id)
    context = Context(SimpleNamespace(database=database, objects=objects, settings=settings), claims)
    if step == "compress":
        control.compress(context, file_id)
    elif step == "open":
        open_file(context, file_id)
    elif step == "stuck":
        revert_stuck(database, user_id=user_id)
    else:
        sweep = {"dormant": sweep_dormant, "expired": sweep_expired}[step]
        sweep(context, user_id=user_id)


if __name__ == "__main__":
    main()
