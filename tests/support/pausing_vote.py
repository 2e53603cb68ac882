"""A deciding vote that stops at a chosen moment of what it carries out, for tests to kill.

Run as ``python -m tests.support.pausing_vote URL SECRET USER_ID ACTION_ID MOMENT``; prints ``paused`` when it gets
there.
"""

from __future__ import annotations

import sys
from types import SimpleNamespace
from uuid import UUID

from neurigraph_pipelines.database.secret import Secret
from neurigraph_pipelines.knowledge.deciding.actions import vote
from neurigraph_pipelines.model import Claims
from neurigraph_pipelines.model.context import Context
from neurigraph_pipelines.settings import Settings
from resources.postgres.database import PostgresDatabase
from tests.support.pausing_run import Moments, PausingDatabase

MOMENTS = ("transaction open", "transaction committed")
"""Of the change: the vote is committed before both."""


def main() -> None:
    url, secret, user_id, action_id, moment = sys.argv[1:]
    database = PausingDatabase(PostgresDatabase(url, Secret(secret)), Moments(moment, 1), "neurigraph.actions")
    parts = SimpleNamespace(settings=Settings.model_validate({}), database=database)
    vote(Context(parts, Claims.of_user(UUID(user_id))), UUID(action_id), approves=True)


if __name__ == "__main__":
    main()
