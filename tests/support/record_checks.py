"""Checks that stored records are complete and unique, in one snapshot, safe beside writers."""

from __future__ import annotations

import gzip
import threading
from collections.abc import Sequence
from itertools import pairwise
from types import TracebackType
from typing import Any

import psycopg
from psycopg import sql

from neurigraph_pipelines.graph.provisioning import User
from neurigraph_pipelines.lifecycle.object_keys import active_key
from neurigraph_pipelines.model import Claims
from neurigraph_pipelines.model.errors import ConfigurationError, TransientError
from neurigraph_pipelines.model.ports import ObjectStore, Transaction
from neurigraph_pipelines.retrieval.open import file_of_record, open_file
from neurigraph_pipelines.retrieval.query.question import Question
from neurigraph_pipelines.retrieval.query.search import search
from neurigraph_pipelines.wiring.installation import Installation
from tests.support.memories import rows, schemas_of
from tests.support.segments import read

_REGISTRIES = ("record_index", "file_index", "delta_log", "compression_state_log")


def whole_records(installation: Installation, user: User) -> int:
    """Count a user's conversation records; assert that each is complete, exclusive and indexed."""
    with installation.database.pipeline() as tx:
        tx.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        nodes = _rows(
            tx, "SELECT schema_name, record_count FROM neurigraph.graph_index WHERE user_id = %s", user.user_id
        )
        records = [
            record
            for node in nodes
            for record in _whole_records_of(tx, installation.objects, node["schema_name"], node["record_count"])
        ]
        for table in _REGISTRIES:
            (row,) = _rows(tx, f"SELECT count(*) AS n FROM neurigraph.{table} WHERE user_id = %s", user.user_id)
            assert row["n"] == len(records), table
    for one, other in pairwise(sorted(records, key=lambda r: (r["source_id"], r["first_message"]))):
        assert one["source_id"] != other["source_id"] or one["last_message"] < other["first_message"], "stored twice"
    return len(records)


def unstored_messages(installation: Installation, user: User) -> int:
    """Count the messages that no record holds."""
    (row,) = rows(
        installation,
        "SELECT coalesce(sum(last_message), 0)::int AS n FROM neurigraph.sources WHERE user_id = %s",
        user.user_id,
    )
    messages: int = row["n"]
    with installation.database.pipeline() as tx:
        for schema in schemas_of(installation, user).values():
            (held,) = _rows(
                tx,
                "SELECT coalesce(sum(last_message - first_message + 1), 0)::int AS n FROM {schema}.metadata_records",
                schema=schema,
            )
            messages -= held["n"]
    return messages


def orphans(installation: Installation, users: Sequence[User]) -> set[str]:
    """Return objects of users that no record names, and named objects that do not exist."""
    named: set[str] = set()
    for user in users:
        for schema in schemas_of(installation, user).values():
            with installation.database.pipeline() as tx:
                for row in _rows(tx, "SELECT storage_path FROM {schema}.file_manifest", schema=schema):
                    named |= {row["storage_path"], active_key(row["storage_path"])}
    prefixes = [f"{tier}/{user.slug}/" for tier in ("durable", "active") for user in users]
    return named ^ {key for prefix in prefixes for key in installation.objects.keys(prefix)}


class Reader(threading.Thread):
    """A thread that searches, opens and checks the tables; all it finds must be complete.

    A context manager: the first thing that was not fails the block. A database that does not answer is none of them.

    Attributes:
        looks: How often everything was looked at.
        outages: How often the database did not answer.
    """

    def __init__(self, installation: Installation, users: Sequence[User], question: str) -> None:
        super().__init__(name="reader", daemon=True)
        self.looks = self.outages = 0
        self._installation = installation
        self._users = users
        self._question = question
        self._fault: BaseException | None = None
        self._done = threading.Event()

    def __enter__(self) -> Reader:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._done.set()
        self.join()
        if self._fault is not None:
            raise self._fault
        assert self.looks > 0

    def run(self) -> None:
        """Check repeatedly until the block ends."""
        while not self._done.wait(0.5):
            try:
                for user in self._users:
                    self._look(user)
                self.looks += 1
            except (psycopg.OperationalError, TransientError, ConfigurationError):
                self.outages += 1
            except BaseException as fault:
                self._fault = fault
                return

    def _look(self, user: User) -> None:
        here, claims = self._installation, Claims.of_user(user.user_id)
        answer = search(here.acting_for(claims), Question(self._question))
        for hit in (hit for hit in answer.hits if hit.stored):
            file_id = file_of_record(here.database, claims, hit.key)
            assert open_file(here.acting_for(claims), file_id)
        whole_records(here, user)


def _whole_records_of(tx: Transaction, objects: ObjectStore, schema: str, counted: int) -> list[dict[str, Any]]:
    """Return the records of one node; assert that each is complete and the node's count right."""
    records = _rows(tx, "SELECT * FROM {schema}.metadata_records", schema=schema)
    for record in records:
        whole = "WHERE record_id = %s"
        (file,) = _rows(tx, f"SELECT * FROM {{schema}}.file_manifest {whole}", record["record_id"], schema=schema)
        text = gzip.decompress(b"".join(objects.get(file["storage_path"])))
        assert b"".join(objects.get(active_key(file["storage_path"]))) == text
        (row,) = _rows(tx, f"SELECT * FROM neurigraph.segments {whole}", record["record_id"])
        segment = read(row).segment
        messages = range(record["first_message"], record["last_message"] + 1)
        assert set(segment.rows["message"].tolist()) == set(messages)
        assert (row["passages"], text.count(b"\n")) == (len(segment.rows), len(messages))
        deltas = _rows(tx, f"SELECT FROM neurigraph.delta_log {whole}", record["record_id"])
        logs = _rows(tx, "SELECT FROM neurigraph.compression_state_log WHERE file_id = %s", file["file_id"])
        assert (len(deltas), len(logs)) == (1, 1)
    assert counted == len(records), schema
    return records


def _rows(tx: Transaction, query: str, *values: object, schema: str = "") -> list[dict[str, Any]]:
    return tx.execute(sql.SQL(query).format(schema=sql.Identifier(schema)), values).fetchall()
