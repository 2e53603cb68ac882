"""The stack that `neurigraph up` starts, with a provider and a disk that tests can break.

The object store lies on a small disk of its own, the models are a provider on loopback, and leases last longer than
any test waits.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID, uuid4

import psycopg
import pytest
from psycopg import sql

from neurigraph_pipelines.graph.provisioning import User
from neurigraph_pipelines.inbox.conversations import Inbox
from neurigraph_pipelines.model import Claims, SourceKind
from neurigraph_pipelines.runtime.stack.processes import LocalStack
from neurigraph_pipelines.wiring.installation import Installation
from tests.support.dagster_stack import await_true, worker_of
from tests.support.embedded_server import new_home
from tests.support.memories import converse, new_user, rows
from tests.support.model_provider import ModelProvider
from tests.support.record_checks import unstored_messages, whole_records

ALONE = 1_600
"""Word count that puts a conversation in its own batch: two such conversations exceed ``BATCH_MAX_TOKENS``."""

_SETTINGS = {
    "NEURIGRAPH_LANGUAGE_MODEL": "openai",
    "NEURIGRAPH_EMBEDDER": "openai",
    "OPENAI_API_KEY": "test",
    "NEURIGRAPH_OPENAI_EMBEDDING_MODEL": "text-embedding-ada-002",
    "NEURIGRAPH_MODEL_TIMEOUT_SECONDS": "10",
    "NEURIGRAPH_MODEL_MAX_RETRIES": "1",
    "NEURIGRAPH_CLAIM_LEASE_SECONDS": "900",
    "NEURIGRAPH_RETRY_BASE_SECONDS": "0.5",
    "NEURIGRAPH_MAX_ATTEMPTS": "20",
    "NEURIGRAPH_BATCH_MAX_SEGMENTS": "200",
    "NEURIGRAPH_BATCH_MAX_TOKENS": "6000",
    "NEURIGRAPH_BATCHES_IN_FLIGHT": "8",
    "NEURIGRAPH_UI_PORT": "0",
}


@dataclass(frozen=True, slots=True)
class BreakableStack:
    """A running stack, and the parts of it that tests can break."""

    installation: Installation
    provider: ModelProvider
    stack: LocalStack

    def user(self) -> User:
        """Create a user."""
        return new_user(self.installation)[0]

    def say(self, user: User, marker: str, words: int = 0, *, ended: bool = True) -> UUID:
        """Add a conversation of two messages with the marker; return its source id."""
        rest = " ".join(f"word{number}" for number in range(words))
        texts = (f"{marker} says hello. {rest}", f"{marker} says goodbye.")
        return converse(self.installation, Claims.of_user(user.user_id), *texts, ended=ended)

    def end(self, user: User, sources: Sequence[UUID]) -> None:
        """End conversations in one transaction, so that one sensor tick finds them all."""
        inbox = Inbox(self.installation.context)
        with self.installation.database.agent(Claims.of_user(user.user_id)) as tx:
            for source_id in sources:
                inbox.end(tx, SourceKind.CONVERSATION, source_id)

    def triggers(self, user: User) -> list[dict[str, object]]:
        """Return the segments of a user, oldest first."""
        return rows(
            self.installation,
            """SELECT t.source_id, t.state::text, t.attempts, t.batch_id, t.last_error
            FROM neurigraph.storage_triggers AS t WHERE t.user_id = %s ORDER BY t.created_at, t.first_message""",
            user.user_id,
        )

    def run_key(self, user: User) -> str:
        """Return the run key of the batch with the only segment of a user."""
        (segment,) = self.triggers(user)
        assert segment["batch_id"] is not None
        return f"ingest-{segment['batch_id']}"

    def worker(self, user: User) -> int:
        """Return the id of the process that works on the only segment of a user."""
        return worker_of(self.stack, self.run_key(user))

    def stored_once(self, *users: User, records: int = 1) -> None:
        """Wait until every message is stored; assert that each record is complete and stored once."""
        await_true(lambda: not any(unstored_messages(self.installation, user) for user in users), "all is stored")
        for user in users:
            assert whole_records(self.installation, user) == records
            assert {row["state"] for row in self.triggers(user)} == {"stored"}


@contextmanager
def breakable_stack(folder: Path, disk: Path | None, **settings: str) -> Iterator[BreakableStack]:
    """Start everything in ``folder``; objects go to ``disk``, or to the home folder. ``settings`` are variables."""
    with ModelProvider() as provider, new_home(folder) as home, pytest.MonkeyPatch.context() as environment:
        for name in [name for name in os.environ if name.startswith(("NEURIGRAPH_", "OPENAI_"))]:
            environment.delenv(name)
        places = {"NEURIGRAPH_HOME": str(home), "OPENAI_BASE_URL": provider.base_url}
        if disk is not None:
            places["NEURIGRAPH_OBJECTS_URL"] = str(disk / "objects")
        for name, value in {**_SETTINGS, **places, **settings}.items():
            environment.setenv(name, value)
        with Installation() as installation:
            installation.migrate()
            with LocalStack(installation, with_api=False) as stack:
                yield BreakableStack(installation, provider, stack)


class SmallDisk:
    """A small file system that can be filled and made read-only; only root may mount one.

    Its name in the list of mounts ends with the id of the process, so that the next one finds what killed tests left.
    """

    SIZE = "24m"
    NAME = "neurigraph-test-"

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._ballast = folder / "ballast"

    def mount(self) -> bool:
        """Mount it, and unmount those of dead processes; return whether that succeeded."""
        command = ["mount", "-t", "tmpfs", "-o", f"size={self.SIZE}", f"{self.NAME}{os.getpid()}", str(self.folder)]
        try:
            for line in Path("/proc/self/mounts").read_text().splitlines():
                name, folder, *_ = line.split()
                _, _, process = name.partition(self.NAME)
                if process.isdecimal() and not Path(f"/proc/{process}").exists():
                    SmallDisk(Path(folder)).unmount()
            return subprocess.run(command, capture_output=True, check=False).returncode == 0
        except FileNotFoundError:
            return False

    def unmount(self) -> None:
        """Unmount lazily: processes that still use it are not disturbed. Another process may have done it."""
        subprocess.run(["umount", "--lazy", str(self.folder)], capture_output=True, check=False)

    def fill(self) -> None:
        """Fill the disk completely."""
        with self._ballast.open("wb", buffering=0) as file:
            try:
                while True:
                    file.write(bytes(1 << 16))
            except OSError:
                return

    def empty(self) -> None:
        """Free the space again."""
        self._ballast.unlink()

    def make_read_only(self, wanted: bool) -> None:
        """Make the disk read-only or writable; wait for files that are being written."""
        command = ["mount", "-o", "remount," + ("ro" if wanted else "rw"), str(self.folder)]
        await_true(
            lambda: subprocess.run(command, capture_output=True, check=False).returncode == 0, "the disk is remounted"
        )


@contextmanager
def locked(installation: Installation, table: str, column: str, value: UUID) -> Iterator[psycopg.Connection]:
    """Lock one row of a table until the block ends."""
    with psycopg.connect(installation.administrator_url) as connection:
        connection.execute(
            sql.SQL("SELECT FROM neurigraph.{} WHERE {} = %s FOR NO KEY UPDATE").format(
                sql.Identifier(table), sql.Identifier(column)
            ),
            [value],
        )
        yield connection
        connection.rollback()


def waiters(installation: Installation, holder: psycopg.Connection) -> int:
    """Return the number of transactions that wait for locks of a connection."""
    (row,) = rows(
        installation,
        "SELECT count(*) AS n FROM pg_locks WHERE NOT granted AND %s = ANY(pg_blocking_pids(pid))",
        holder.info.backend_pid,
    )
    found: int = row["n"]
    return found


def unique(names: Sequence[str]) -> dict[str, str]:
    """Return a unique marker for each name."""
    return {name: f"Mark{uuid4().hex[:12]}" for name in names}
