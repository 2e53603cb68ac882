"""Erasure while others store, search and open."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from uuid import uuid4

from neurigraph_pipelines.erasure.forget import forget
from neurigraph_pipelines.erasure.receipts import Subject, SubjectKind
from neurigraph_pipelines.errors import LostObjectError, NotFoundError
from neurigraph_pipelines.graph.navigation import find_node
from neurigraph_pipelines.lifecycle.orphans import audit_objects
from neurigraph_pipelines.lifecycle.verification import verify
from neurigraph_pipelines.model import Claims
from neurigraph_pipelines.retrieval.open import file_of_record, open_file
from neurigraph_pipelines.retrieval.query.phase_one import phase_one
from neurigraph_pipelines.retrieval.query.question import Question
from neurigraph_pipelines.wiring import Installation
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
            found = phase_one(here.acting_for(claims).using(embedder=context.embedder), Question("hello mill"))
            for hit in found.hits:
                file_id = file_of_record(here.database, claims, hit["record_id"])
                assert open_file(here.acting_for(claims), file_id).content
        except (NotFoundError, LostObjectError):  # it went at this moment
            pass

    def node_of(number: int) -> Subject:
        with here.database.agent(claims) as tx:
            return Subject(SubjectKind.NODE, find_node(tx, claims.user_id, f"Topic{number}"))

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


def forgotten(here: Installation, claims: Claims, subject: Subject) -> bool:
    done = forget(here.acting_for(claims), subject, through="tests")
    return done.finished_at is not None
