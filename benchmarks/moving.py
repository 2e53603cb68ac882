"""Users moved a minute from the database of one installation to that of another."""

from __future__ import annotations

import time

from benchmarks.bench import Bench
from benchmarks.chat import conversations
from benchmarks.report import Section, number, table
from neurigraph_pipelines.graph.provisioning import User, create_user
from neurigraph_pipelines.ingestion.batch import run_due
from neurigraph_pipelines.ingestion.inbox import Inbox
from neurigraph_pipelines.model import Claims
from neurigraph_pipelines.portability.move_user import move_user
from neurigraph_pipelines.wiring import Installation

SIZES = {0: 20, 1: 8, 10: 3}
QUICK_SIZES = {0: 1, 1: 1}
"""Users that are moved, by their number of conversations."""

_METHOD = """Users with conversations of 20 to 30 messages are moved one after the other, as `neurigraph users move`
does, between two installations, each with a database and an object store of its own on one server. Writers wait from
the moment at which all rows of the user are locked until the user is in the other database. The offline model and
MiniLM stored the conversations beforehand. Time is by the clock."""


def run(bench: Bench) -> Section:
    """Move users of each size."""
    rows = []
    with bench.installation() as source, bench.installation() as target:
        for size, count in (QUICK_SIZES if bench.quick else SIZES).items():
            bench.say(f"{count} users with {size} conversations")
            users = [_user(source, f"user-{size}-{place}", place * size, size) for place in range(count)]
            started = time.perf_counter()
            moved = [move_user(source.context, target.context, one.slug, on_bytes=lambda _: None) for one in users]
            seconds = (time.perf_counter() - started) / count
            each = [sum(getattr(one, part) for one in moved) / count for part in ("nodes", "records", "seconds")]
            rows.append([f"{size:,}", f"{count}", *(number(value) for value in each), number(60 / seconds)])
    header = ("conversations of a user", "users", "nodes", "records", "writers wait, s", "users a minute")
    return Section("Moving users to another database", _METHOD, table(header, rows))


def _user(installation: Installation, slug: str, first: int, count: int) -> User:
    user, _ = create_user(installation.database, slug)
    inbox = Inbox(installation.context)
    for chat in conversations(first, count):
        with installation.database.agent(Claims.of_user(user.user_id)) as tx:
            inbox.add_conversation(tx, user.user_id, chat)
    for _ in run_due(installation.context, "benchmark", user.user_id):
        pass
    return user
