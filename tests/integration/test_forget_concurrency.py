"""Erasure while others store, search and open."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any
from uuid import UUID, uuid4

import httpx
import psycopg
import pytest
from psycopg import sql

from neurigraph_pipelines.access.authentication import issue_api_key, key_of, new_api_key
from neurigraph_pipelines.faces.cli.session import claims_of
from neurigraph_pipelines.graph import locks
from neurigraph_pipelines.graph.navigation import find_node
from neurigraph_pipelines.inbox.triggers import lease_due
from neurigraph_pipelines.ingestion.batch import assign_nodes
from neurigraph_pipelines.ingestion.detection import detect
from neurigraph_pipelines.ingestion.keywords import extract_keywords
from neurigraph_pipelines.ingestion.records import Summarized
from neurigraph_pipelines.ingestion.summarize import summarize
from neurigraph_pipelines.lifecycle.erasure.forget import finish_erasures, forget
from neurigraph_pipelines.lifecycle.erasure.receipts import ErasureSubject, SubjectKind
from neurigraph_pipelines.lifecycle.orphans import audit_objects
from neurigraph_pipelines.lifecycle.verification import verify
from neurigraph_pipelines.model import Claims
from neurigraph_pipelines.model.errors import ForgettingError, LostObjectError, NotFoundError
from neurigraph_pipelines.retrieval.open import file_of_record, open_file
from neurigraph_pipelines.retrieval.query.question import Question
from neurigraph_pipelines.retrieval.query.search import search
from neurigraph_pipelines.wiring.installation import Installation
from tests.support.api_calls import admin, assert_problem
from tests.support.api_server import serving
from tests.support.erasures import erase
from tests.support.memories import converse, ingest, new_user, plain_context, rows
from tests.support.word_traces import found_in_database, found_in_objects

NODES = 6


@contextmanager
def all_the_while(*works: Callable[[], object]) -> Iterator[None]:
    """Repeat the actions in threads; an error fails the block."""
    over = threading.Event()

    def repeat(work: Callable[[], object]) -> int:
        done = 0
        while not over.is_set():
            work()
            done += 1
        return done

    with ThreadPoolExecutor(len(works)) as pool:
        running = [pool.submit(repeat, work) for work in works]
        try:
            yield
        finally:
            over.set()
        assert all(each.result() for each in running)


def test_segment_that_is_erased_while_it_is_stored_is_no_defect(installation: Installation) -> None:
    here, context = installation, plain_context(installation)
    user, claims = new_user(here)
    converse(here, claims, "#Hobbies I sold the kayak.")
    detect(context)
    batch = lease_due(context, "test", user.user_id)
    assert batch is not None
    assigned = assign_nodes(context, batch.batch_id)
    erase(here, claims, SubjectKind.USER, user.user_id)
    for step in (summarize(context, assigned), extract_keywords(context, assigned, Summarized())):
        (failure,) = step.failures
        assert failure.error == "its messages were erased meanwhile"
        assert not failure.transient


def test_erasure_beside_other_work(installation: Installation) -> None:
    here, context = installation, plain_context(installation)
    user, claims = new_user(here)
    words = [f"mark{uuid4().hex[:12]}" for _ in range(NODES)]
    for number, word in enumerate(words):
        converse(here, claims, f"#Topic{number} {word} says hello.", f"#Topic{number}/Below {word} again. @Ana:sister")
    converse(here, claims, "#Else The mill says hello.")
    ingest(context)

    def store() -> None:
        converse(here, claims, "#Else The mill turns.", "#Topic0 The mill stands.")
        ingest(context, user)

    def ask() -> None:
        try:
            found = search(here.acting_for(claims).using(embedder=context.embedder), Question("hello mill"))
            for hit in found.hits:
                file_id = file_of_record(here.database, claims, hit.key)
                assert open_file(here.acting_for(claims), file_id).content
        except (NotFoundError, LostObjectError):  # it went at this moment
            pass

    def node_of(number: int) -> ErasureSubject:
        with here.database.agent(claims) as tx:
            return ErasureSubject(SubjectKind.NODE, find_node(tx, claims.user_id, f"Topic{number}"))

    with all_the_while(store, ask, ask):
        for number in range(NODES):
            assert forgotten(here, claims, node_of(number))
    assert {word: (found_in_database(here, word), found_in_objects(here, word)) for word in words} == {
        word: ([], []) for word in words
    }
    ingest(context)
    assert verify(here.context).findings == []
    assert audit_objects(here.context, dry_run=True).orphans == []
    assert rows(here, "SELECT state::text FROM neurigraph.storage_triggers WHERE state <> 'stored'") == []


def forgotten(here: Installation, claims: Claims, subject: ErasureSubject) -> bool:
    done = forget(here.acting_for(claims), subject, through="tests")
    return done.finished_at is not None


@pytest.mark.slow
def test_user_is_forgotten_beside_writers(installation: Installation) -> None:
    """Ten of ten erasures end, no writer is answered as if stored after that, and the key opens nothing more."""
    here, context = installation, plain_context(installation)
    with serving(here) as base, httpx.Client(base_url=base, timeout=60.0) as client:
        for number in range(10):
            made = client.post("/v1/users", json={"slug": f"writer{number}"}, headers=admin()).json()
            user_id, headers = made["user_id"], {"Authorization": f"Bearer {made['api_key']}"}
            over = threading.Event()

            def write(headers: dict[str, str] = headers, over: threading.Event = over) -> set[int]:
                statuses = set()
                while not over.is_set():
                    opened = client.post("/v1/conversations", json={"title": "Mill"}, headers=headers)
                    statuses.add(opened.status_code)
                    if opened.status_code == 201:
                        place = f"/v1/conversations/{opened.json()['conversation_id']}"
                        messages = {"messages": [{"role": "user", "content": f"#Mill{uuid4().hex[:2]} It turns."}]}
                        statuses.add(client.post(f"{place}/messages", json=messages, headers=headers).status_code)
                        statuses.add(client.post(f"{place}/end", headers=headers).status_code)
                return statuses

            def store(over: threading.Event = over) -> set[int]:
                while not over.is_set():
                    ingest(context)
                return set()

            with ThreadPoolExecutor(4) as pool:
                running = [pool.submit(work) for work in (write, write, write, store)]
                try:
                    time.sleep(0.5)
                    answer = client.delete(f"/v1/users/{user_id}", headers=headers)
                    assert_problem(client.get("/v1/account", headers=headers), 410)
                finally:
                    over.set()
                written = set[int]().union(*(each.result() for each in running))
            assert (answer.status_code, answer.json()["finished_at"] is not None) == (200, True), answer.text
            assert written <= {200, 201, 409, 410}
            assert rows(here, "SELECT FROM neurigraph.sources WHERE user_id = %s", user_id) == []
    assert verify(here.context).findings == []
    assert audit_objects(here.context, dry_run=True).orphans == []


@contextmanager
def read_all_the_time(here: Installation, user_id: object, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let somebody read a node of a user for longer than an erasure waits."""
    monkeypatch.setattr(locks, "PATIENCE_SECONDS", 0.3)
    (node,) = rows(
        here, "SELECT schema_name FROM neurigraph.graph_index WHERE user_id = %s AND layer_depth = 1", user_id
    )
    with here.database.owner() as tx:
        tx.execute(sql.SQL("SELECT FROM {}.metadata_records").format(sql.Identifier(node["schema_name"])))
        yield


def test_refused_erasure_has_no_effect_later(installation: Installation, monkeypatch: pytest.MonkeyPatch) -> None:
    here = installation
    user, claims = new_user(here)
    headers = {"Authorization": f"Bearer {issue_api_key(here.database, user.user_id)}"}
    converse(here, claims, "#Family hello", "goodbye")
    ingest(plain_context(here))
    with here.database.agent(claims) as tx:
        node_id = find_node(tx, claims.user_id, "Family")
    with serving(here) as base, read_all_the_time(here, user.user_id, monkeypatch):
        refused = httpx.delete(f"{base}/v1/nodes/{node_id}", headers=headers, timeout=60.0)
    assert (assert_problem(refused, 503)["status"], refused.headers["Retry-After"]) == (503, "5")
    assert finish_erasures(here.context) == []
    assert len(rows(here, "SELECT FROM neurigraph.record_index WHERE user_id = %s", user.user_id)) == 1


FORGETTING = "this user is being forgotten: nothing more is stored"
NOWHERE = UUID(int=1)
WRITES: list[tuple[str, str, dict[str, Any]]] = [
    ("POST", "/v1/notes", {"json": {"content": "The mill turns."}}),
    ("POST", "/v1/conversations", {"json": {"title": "Mill"}}),
    ("POST", f"/v1/conversations/{NOWHERE}/messages", {"json": {"messages": [{"role": "user", "content": "hi"}]}}),
    ("POST", "/v1/files", {"files": {"file": ("mill.txt", b"The mill turns.")}}),
    ("POST", "/v1/facts", {"json": {"statement": "The mill turns."}}),
    (
        "POST",
        "/v1/links",
        {"json": dict.fromkeys(("from_record_id", "to_record_id"), str(NOWHERE)) | {"relation": "supports"}},
    ),
    ("PATCH", f"/v1/records/{NOWHERE}", {"json": {"title": "Mill"}}),
    ("POST", "/v3/documents", {"json": {"content": "The mill turns."}}),
    ("POST", "/mcp", {"json": {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}}),
]


def test_begun_erasure_is_accepted_and_finished_later(
    installation: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each writer is refused meanwhile with 409 and afterwards with 410; a made-up key of the user says nothing."""
    here = installation
    user, claims = new_user(here)
    headers = {"Authorization": f"Bearer {issue_api_key(here.database, user.user_id)}"}
    converse(here, claims, "#Family hello", "goodbye")
    ingest(plain_context(here))

    def answers(base: str, status: int) -> set[tuple[str, str | None]]:
        given = [httpx.request(how, base + path, headers=headers, timeout=60.0, **body) for how, path, body in WRITES]
        return {(assert_problem(each, status)["detail"], each.headers.get("Retry-After")) for each in given}

    with serving(here) as base:
        with read_all_the_time(here, user.user_id, monkeypatch):
            accepted = httpx.delete(f"{base}/v1/users/{user.user_id}", headers=headers, timeout=60.0)
            assert (accepted.status_code, accepted.json()["finished_at"]) == (202, None), accepted.text
            with pytest.raises(ForgettingError, match="being forgotten"):
                converse(here, claims, "somebody who was let in before")
            with pytest.raises(ForgettingError, match="being forgotten"):
                claims_of(here, user.slug)
            assert answers(base, 409) == {(FORGETTING, "1")}
        (receipt,) = finish_erasures(here.context)
        assert answers(base, 410) == {("this user was forgotten, with all keys: the receipt is all that is left", None)}
        stranger = {"Authorization": f"Bearer {key_of(new_api_key(), user.user_id)}"}
        assert_problem(httpx.get(f"{base}/v1/account", headers=stranger), 401)
    assert (receipt.finished_at is not None, receipt.kept) == (True, {"originals": [], "sources": []})
    assert rows(here, "SELECT FROM neurigraph.users WHERE user_id = %s", user.user_id) == []


@pytest.mark.parametrize(("method", "path", "body"), [WRITES[0], *WRITES[4:7]], ids=["note", "fact", "link", "record"])
def test_writer_who_was_let_in_before_is_told(
    installation: Installation, method: str, path: str, body: dict[str, Any]
) -> None:
    """The key is checked before the body is read; the user is forgotten between the two."""
    here = installation
    user, claims = new_user(here)
    headers = {"Authorization": f"Bearer {issue_api_key(here.database, user.user_id)}"}
    text = json.dumps(body["json"]).encode()

    def was_used() -> bool:
        with here.database.owner() as tx:
            return tx.execute("SELECT FROM neurigraph.api_keys WHERE last_used_at IS NOT NULL").fetchone() is not None

    def slowly() -> Iterator[bytes]:
        yield text[:1]
        while not was_used():
            time.sleep(0.05)
        erase(here, claims, SubjectKind.USER, user.user_id)
        yield text[1:]

    with serving(here) as base:
        answer = httpx.request(
            method, base + path, headers={**headers, "Content-Type": "application/json"}, content=slowly(), timeout=60.0
        )
    assert_problem(answer, 410)


STOP = """CREATE OR REPLACE FUNCTION public.stop() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
IF NEW.finished_at IS NOT NULL AND NEW.user_id = '{}' THEN RAISE 'too long' USING ERRCODE = 'query_canceled'; END IF;
RETURN NEW; END $$"""


@pytest.mark.parametrize("stopped", [0, 1])
def test_error_of_the_database_stops_no_other_erasure(installation: Installation, stopped: int) -> None:
    here, people = installation, [new_user(installation) for _ in range(2)]
    with psycopg.connect(here.administrator_url, autocommit=True) as admin:
        for user, claims in people:
            admin.execute(sql.SQL(STOP.format(user.user_id)))
            admin.execute(
                "CREATE OR REPLACE TRIGGER stop BEFORE UPDATE ON neurigraph.erasures "
                "FOR EACH ROW EXECUTE FUNCTION public.stop()"
            )
            assert not forgotten(here, claims, ErasureSubject(SubjectKind.USER, user.user_id))
        admin.execute(sql.SQL(STOP.format(people[stopped][0].user_id)))
        with pytest.raises(psycopg.errors.QueryCanceled):
            finish_erasures(here.context)
    (left,) = rows(here, "SELECT user_id FROM neurigraph.erasures WHERE finished_at IS NULL")
    assert left["user_id"] == people[stopped][0].user_id
