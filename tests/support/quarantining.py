"""A quarantine, a release or a sweep of what expired in a process of its own, for tests to kill.

Run as ``python -m tests.support.quarantining URL SECRET USER_ID hold KEY_ID``, ``… USER_ID release QUARANTINE_ID`` or
``… USER_ID sweep USER_ID``.
"""

from __future__ import annotations

import sys
from types import SimpleNamespace
from uuid import UUID

from neurigraph_pipelines.database.secret import Secret
from neurigraph_pipelines.lifecycle.archive import sweep
from neurigraph_pipelines.lifecycle.quarantine.holding import quarantine, release
from neurigraph_pipelines.lifecycle.quarantine.rules import QuarantineRule
from neurigraph_pipelines.model import Claims
from neurigraph_pipelines.model.context import Context
from neurigraph_pipelines.settings import Settings
from resources.postgres.database import PostgresDatabase


def main() -> None:
    url, secret, user_id, action, subject = sys.argv[1:]
    parts = SimpleNamespace(settings=Settings.model_validate({}), database=PostgresDatabase(url, Secret(secret)))
    context = Context(parts, Claims.of_user(UUID(user_id)))
    if action == "hold":
        quarantine(context, QuarantineRule(key_id=UUID(subject)), "a stolen key")
    elif action == "sweep":
        sweep(context, user_id=UUID(subject))
    else:
        release(context, UUID(subject))


if __name__ == "__main__":
    main()
