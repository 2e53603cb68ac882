"""A user moves between the databases of two embedded servers: killed at every step, and beside searches and writes."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from psycopg import Error

from neurigraph_pipelines.access.authentication import authenticate, issue_api_key
from neurigraph_pipelines.exchange.portability.move_user import move_user
from neurigraph_pipelines.graph.provisioning import User, create_user
from neurigraph_pipelines.lifecycle.verification import verify
from neurigraph_pipelines.model.errors import (
    ConfigurationError,
    ConflictError,
    NeurigraphError,
    NotFoundError,
    UnauthenticatedError,
)
from neurigraph_pipelines.retrieval.query.question import Question
from neurigraph_pipelines.retrieval.query.search import search
from neurigraph_pipelines.settings import Settings
from neurigraph_pipelines.wiring.installation import Installation
from resources.minilm.embedder import LocalEmbedder
from tests.conftest import ROOT, SECRET
from tests.support.dying_move import STEPS
from tests.support.embedded_server import new_home
from tests.support.exported_user import QUESTIONS, Source, all_rows, exported_user
from tests.support.memories import WordEmbedder, converse, ingest, new_user, plain_context, rows

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def other(
    tmp_path_factory: pytest.TempPathFactory, session_home: Path, local_embedder: LocalEmbedder
) -> Iterator[Installation]:
    """An installation on an embedded server of its own."""
    folder = tmp_path_factory.mktemp("other")
    folder.chmod(0o711)
    with new_home(folder) as home, Installation(Settings.model_validate(given(home, None))) as made:
        made.migrate()
        made.embedder = local_embedder
        yield made


@pytest.fixture(scope="module")
def source(shared_installation: Installation, tmp_path_factory: pytest.TempPathFactory) -> Source:
    made = exported_user(shared_installation, tmp_path_factory.mktemp("exports"))
    with shared_installation.database.owner() as tx:
        tx.execute("DELETE FROM neurigraph.peers")
    return made


def given(home: Path, url: str | None) -> dict[str, Any]:
    secrets = {"secret": SECRET, "role_secret": SECRET}
    return {"home": str(home), "database_url": url, "language_model": "offline", "embedder": "neurigraph", **secrets}


def settings_of(installation: Installation) -> str:
    url = installation.settings.database.url
    return json.dumps(given(installation.home, url.get_secret_value() if url is not None else None))


def move(here: Installation, there: Installation, slug: str) -> Any:
    """Move a user, and check that no copy lies in the home meanwhile."""

    def on_bytes(_: int) -> None:
        assert not (here.home / "moves").exists()

    return move_user(here.context, there.context, slug, on_bytes=on_bytes)


def die_moving(here: Installation, there: Installation, slug: str, step: str) -> None:
    command = [sys.executable, "-m", "tests.support.dying_move", settings_of(here), settings_of(there), slug, step]
    died = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert died.returncode == -signal.SIGKILL, died.stderr


def reached_by(key: str, *installations: Installation) -> list[Installation]:
    """Return the installations that a key opens."""
    found = []
    for one in installations:
        try:
            authenticate(one.database, key)
        except UnauthenticatedError:
            continue
        found.append(one)
    return found


def assert_gone(here: Installation, user_id: UUID, slug: str) -> None:
    """Assert that nothing of a user is left but the receipts."""
    with here.database.owner() as tx:
        tables = tx.execute(
            """SELECT c.table_name AS name FROM information_schema.columns AS c
            INNER JOIN information_schema.tables AS t USING (table_schema, table_name)
            WHERE c.table_schema = 'neurigraph' AND c.column_name = 'user_id' AND t.table_type = 'BASE TABLE'"""
        ).fetchall()
        for table in {row["name"] for row in tables} - {"erasures", "erased_objects"}:
            found = tx.execute(f"SELECT FROM neurigraph.{table} WHERE user_id = %s", [user_id]).fetchall()
            assert found == [], table
        schemas = tx.execute("SELECT nspname FROM pg_namespace WHERE nspname LIKE %s", [f"{slug}%"]).fetchall()
        assert schemas == []
        assert tx.execute("SELECT FROM neurigraph.erasures WHERE finished_at IS NULL").fetchall() == []
    assert [key for tier in ("durable/", "active/") for key in here.objects.keys(f"{tier}{slug}/")] == []


@pytest.mark.slow
def test_every_kill_loses_and_doubles_nothing(source: Source, other: Installation) -> None:
    here, there, user = source.here, other, source.user
    key = issue_api_key(here.database, user.user_id)
    before = all_rows(here, user.user_id)
    answers = [source.ask(here, question) for question in QUESTIONS]
    assert any(answer.hits for answer in answers)
    for number, step in enumerate(STEPS):
        die_moving(here, there, "exporter", step)
        # The copy is not reached before the switch, and the first database not after it.
        switched = number >= STEPS.index("before _complete")
        assert reached_by(key, here, there) in ([[there], []] if switched else [[here]]), step
        if not switched:
            assert all_rows(here, user.user_id) == before, step
        moved = move(here, there, "exporter")
        assert (moved.healed, moved.user_id) == (switched, user.user_id), step
        assert reached_by(key, here, there) == [there], step
        assert all_rows(there, user.user_id) == before, step
        assert_gone(here, user.user_id, "exporter")
        assert move(here, there, "exporter").healed  # once more changes nothing
        here, there = there, here
    assert [source.ask(here, question) for question in QUESTIONS] == answers
    assert not verify(here.context).findings
    assert rows(here, "SELECT FROM neurigraph.arrivals") == []
    if here is not source.here:
        move(here, source.here, "exporter")


def test_searches_and_writes_go_on(shared_installation: Installation, other: Installation) -> None:
    here, there = shared_installation, other
    user, claims = new_user(here, "busy")
    key = issue_api_key(here.database, user.user_id)
    converse(here, claims, "#Family/Dave Dave repairs the lighthouse lamp.")
    ingest(plain_context(here), user)
    places, stop = [here, there], threading.Event()
    accepted: list[str] = []
    searched: list[int] = []

    def client(work: Any) -> None:
        """Do something again and again, at the address where the key is known."""
        while not stop.is_set():
            for place in places:
                with suppress(UnauthenticatedError, NeurigraphError, Error):
                    work(place, authenticate(place.database, key))

    def write(place: Installation, asking: Any) -> None:
        name = f"talk-{len(accepted)}"
        converse(place, asking, f"#Family/Dave Talk number {len(accepted)}.", external_id=name)
        accepted.append(name)

    def ask(place: Installation, asking: Any) -> None:
        context = place.acting_for(asking).using(embedder=WordEmbedder())
        hits = search(context, Question("Who repairs the lighthouse lamp?")).hits
        # The user may have left between the check of the key and the search.
        assert hits or reached_by(key, place) == []
        searched.append(len(hits))

    with ThreadPoolExecutor(2) as pool:
        clients = [pool.submit(client, work) for work in (write, ask)]
        try:
            for _ in range(3):
                done = len(searched) + 2
                move(places[0], places[1], "busy")
                places.reverse()
                while len(searched) < done and not any(one.done() for one in clients):
                    stop.wait(0.05)
        finally:
            stop.set()
    for one in clients:
        one.result()
    assert_written(places, user, accepted)


def assert_written(places: list[Installation], user: User, accepted: list[str]) -> None:
    """Check that what was accepted is in the first place, once, and nothing in the other."""
    said = rows(places[0], "SELECT external_id FROM neurigraph.sources WHERE user_id = %s", user.user_id)
    names = sorted(row["external_id"] for row in said if row["external_id"].startswith("talk-"))
    # One more may have been stored whose answer was lost with the database.
    assert len(names) == len(set(names))
    assert set(accepted) <= set(names)
    assert len(names) - len(set(accepted)) <= 1
    ingest(plain_context(places[0]), user)
    stored = rows(places[0], "SELECT count(*) AS number FROM neurigraph.record_index WHERE user_id = %s", user.user_id)
    assert stored[0]["number"] == len(said)
    assert_gone(places[1], user.user_id, "busy")


def test_who_cannot_be_moved(shared_installation: Installation, other: Installation) -> None:
    here, there = shared_installation, other
    with pytest.raises(NotFoundError, match="nobody"):
        move(here, there, "nobody")
    user, _ = create_user(here.database, "twice")
    create_user(there.database, "twice")
    with pytest.raises(ConflictError, match="already"):
        move(here, there, "twice")
    with pytest.raises(ConfigurationError, match="one installation"):
        move(here, here, "twice")
    same = {**given(there.home, None), "objects_url": str(here.home / "objects")}
    with (
        Installation(Settings.model_validate(same)) as sharing,
        pytest.raises(ConfigurationError, match="one object store"),
    ):
        move(here, sharing, "twice")
    create_user(here.database, "dry")
    assert move_user(here.context, there.context, "dry", dry_run=True, on_bytes=lambda _: None).nodes == 0
    with here.database.owner() as tx:
        tx.execute("INSERT INTO neurigraph.organizations (user_id, name) VALUES (%s, 'club')", [user.user_id])
    with there.database.owner() as tx:
        tx.execute("DELETE FROM neurigraph.users WHERE slug = 'twice'")
    with pytest.raises(ConflictError, match="organization"):
        move(here, there, "twice")
