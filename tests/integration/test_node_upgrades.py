"""Nodes of an earlier version are upgraded in bounded batches, while searches and ingestion go on, through kills."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from neurigraph_pipelines.database import statements
from neurigraph_pipelines.database.secret import Secret
from neurigraph_pipelines.database.statements import newest, numbered
from neurigraph_pipelines.graph.provisioning import NodeRef, User, resolve_path
from neurigraph_pipelines.graph.upgrades import Upgraded, nodes_ahead, outdated_versions, upgrade_all, upgrade_nodes
from neurigraph_pipelines.model import ConceptKind, PlannedNode
from neurigraph_pipelines.retrieval.query.question import Question
from neurigraph_pipelines.retrieval.query.search import search
from neurigraph_pipelines.wiring.installation import Installation
from resources.postgres.database import PostgresDatabase
from tests.conftest import SECRET
from tests.support.memories import WordEmbedder, converse, ingest, new_user, plain_context, rows
from tests.support.waiting import wait_until

NAMES = ("Sails", "Bees", "Kiln", "Choir", "Boat", "Garden")


def provision(here: Installation, user: User, *path: str) -> NodeRef:
    plan = [PlannedNode(path[:depth], ConceptKind.TOPIC, 1.0) for depth in range(1, len(path) + 1)]
    with here.database.pipeline() as tx:
        return resolve_path(tx, user.user_id, user.slug, path, plan)


def upgraded(here: Installation, node: NodeRef) -> bool:
    return bool(
        rows(
            here,
            "SELECT FROM information_schema.columns WHERE table_schema = %s AND column_name LIKE 'later_%%'",
            node.schema_name,
        )
    )


def test_nothing_is_upgraded_when_all_is_current(installation: Installation) -> None:
    new_user(installation)
    assert upgrade_nodes(installation.database) == 0


def test_nodes_are_upgraded_in_bounded_batches(installation: Installation, later_node_ddl: Callable[[], int]) -> None:
    user, _ = new_user(installation)
    nodes = [provision(installation, user, name) for name in ("One", "Two", "Three")]
    newest = later_node_ddl()
    assert upgrade_nodes(installation.database, limit=2) == 2
    assert upgrade_nodes(installation.database, limit=100) == 2
    assert upgrade_nodes(installation.database, limit=100) == 0
    assert all(upgraded(installation, node) for node in nodes)
    versions = rows(installation, "SELECT DISTINCT node_ddl_version AS v FROM neurigraph.graph_index")
    assert versions == [{"v": newest}]


def test_node_is_upgraded_before_write(installation: Installation, later_node_ddl: Callable[[], int]) -> None:
    user, _ = new_user(installation)
    old, other = provision(installation, user, "Old"), provision(installation, user, "Other")
    later_node_ddl()
    new = provision(installation, user, "Old", "New")
    assert upgraded(installation, new)
    assert not upgraded(installation, old)
    assert provision(installation, user, "Old").node_id == old.node_id
    assert upgraded(installation, old)
    assert not upgraded(installation, other)


def test_concurrent_upgrades_are_exclusive(installation: Installation, later_node_ddl: Callable[[], int]) -> None:
    user, _ = new_user(installation)
    for number in range(5):
        provision(installation, user, f"Node {number}")
    later_node_ddl()
    with ThreadPoolExecutor(4) as pool:
        done = [pool.submit(upgrade_nodes, installation.database) for _ in range(2)]
        touched = [pool.submit(provision, installation, user, f"Node {number}") for number in range(5)]
        counts = [future.result(timeout=30) for future in done]
        for future in touched:
            future.result(timeout=30)
    assert sum(counts) <= 6
    assert upgrade_nodes(installation.database) == 0


def test_node_in_use_is_left_and_done_later(installation: Installation, later_node_ddl: Callable[[], int]) -> None:
    user, _ = new_user(installation)
    used, free = provision(installation, user, "Used"), provision(installation, user, "Free")
    later_node_ddl()
    with installation.database.owner() as reading:
        # Holds its lock until the end. An upgrade that waits for it ends it, and the assertions fail.
        reading.execute("SET LOCAL idle_in_transaction_session_timeout = '60s'")
        reading.execute(f"SELECT FROM {used.schema_name}.metadata_records")
        assert upgrade_all(installation.database, lambda _: None, patience=0) == Upgraded(nodes=2, left=1)
        assert upgraded(installation, free)
        assert not upgraded(installation, used)
        with installation.database.owner() as other:
            other.execute("SET LOCAL statement_timeout = '2s'")
            other.execute(f"SELECT FROM {used.schema_name}.metadata_records")  # nobody waits behind an upgrade
    assert upgrade_all(installation.database, lambda _: None) == Upgraded(nodes=1, left=0)


def test_plan_counts_and_changes_nothing(installation: Installation, later_node_ddl: Callable[[], int]) -> None:
    user, _ = new_user(installation)
    assert (nodes_ahead(installation.database).nodes, nodes_ahead(installation.database).seconds) == (0, 0.0)
    nodes = [provision(installation, user, name) for name in NAMES]
    version = newest("node")
    later_node_ddl()
    plan = nodes_ahead(installation.database)
    assert (plan.versions, plan.sampled) == ({version: 7}, 5)
    assert plan.seconds is not None
    assert plan.seconds > 0
    assert not any(upgraded(installation, node) for node in nodes)
    assert outdated_versions(installation.database) == {version: 7}


def test_plan_without_a_node_to_try(installation: Installation, later_node_ddl: Callable[[], int]) -> None:
    """What cannot be tried now, such as a file that needs a missing table, has no estimate."""
    new_user(installation)
    later_node_ddl()
    add_node_file("ALTER TABLE {schema}.of_a_later_migration ADD COLUMN later real;")
    plan = nodes_ahead(installation.database)
    assert (plan.nodes, plan.sampled, plan.seconds) == (1, 0, None)


class Users:
    """A user who searches and stores all the time, until the block ends; an error there fails the test."""

    def __init__(self, here: Installation) -> None:
        self.user, self.claims = new_user(here)
        self._here = here
        self._stop = threading.Event()
        self.searches = self.stored = 0

    def tell(self, number: int) -> None:
        name = NAMES[number % len(NAMES)]
        converse(self._here, self.claims, f"#{name} {name} number{number} is told.")
        ingest(plain_context(self._here), self.user)

    def finds(self, number: int) -> bool:
        asking = self._here.acting_for(self.claims).using(embedder=WordEmbedder())
        hits = search(asking, Question(f"Which one is number{number}?")).hits
        return any(f"number{number} " in hit["title"] for hit in hits)

    @contextmanager
    def at_work(self) -> Any:
        with ThreadPoolExecutor(2) as pool:
            work = [pool.submit(self._search), pool.submit(self._store)]
            try:
                yield
            finally:
                self._stop.set()
            for future in work:
                future.result(timeout=60)

    def _search(self) -> None:
        while not self._stop.is_set():
            number = self.searches % len(NAMES)
            assert self.finds(number), number
            self.searches += 1

    def _store(self) -> None:
        while not self._stop.is_set():
            self.tell(len(NAMES) + self.stored)
            self.stored += 1


def add_node_file(statement: str) -> None:
    """Add a file to the node DDL that ``later_node_ddl`` has copied."""
    folder = Path(statements.SQL_ROOT) / "node"
    (folder / f"{newest('node') + 1:04d}_added.sql").write_text(f"{statement}\n")
    numbered.cache_clear()


def upgrade_in_process(url: str) -> None:
    """Upgrade all nodes; the body of a process that is killed."""
    database = PostgresDatabase(url, Secret(SECRET))
    upgrade_all(database, lambda _: None)
    os._exit(0)


@pytest.mark.parametrize("killed_at", [1, 3, 5])
def test_searches_and_ingestion_go_on_through_kills(
    installation: Installation, later_node_ddl: Callable[[], int], killed_at: int
) -> None:
    """The upgrading process is killed within a node, after some nodes; the next run does the rest."""
    work = Users(installation)
    for number in range(len(NAMES)):
        work.tell(number)
    later_node_ddl()
    add_node_file("SELECT pg_sleep(0.3);")  # so that the kill hits a node between two of its changes
    before = newest("node") - 2
    context = multiprocessing.get_context("fork")
    process = context.Process(target=upgrade_in_process, args=(installation.administrator_url,))
    with work.at_work():
        process.start()
        wait_until(
            lambda: outdated_versions(installation.database).get(before, 0) <= 7 - killed_at, "some nodes are upgraded"
        )
        assert process.pid is not None
        os.kill(process.pid, signal.SIGKILL)
        process.join(timeout=30)
        versions = rows(installation, "SELECT DISTINCT node_ddl_version AS v FROM neurigraph.graph_index ORDER BY 1")
        assert {row["v"] for row in versions} <= {before, newest("node")}, "no node is between two versions"
        assert upgrade_all(installation.database, lambda _: None).left == 0
    assert work.searches
    assert work.stored
    assert outdated_versions(installation.database) == {}
    assert all(work.finds(number) for number in range(len(NAMES) + work.stored))
