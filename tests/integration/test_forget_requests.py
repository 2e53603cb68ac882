"""Requests to erase: what a confirmed one covers, and one beside another."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from uuid import UUID

from neurigraph_pipelines.lifecycle.erasure.forget import contents
from neurigraph_pipelines.lifecycle.erasure.receipts import ErasureSubject, SubjectKind
from neurigraph_pipelines.wiring.installation import Installation
from tests.support.erasures import NODE, RECORD, USER, erase, node_at, remember_all
from tests.support.locks import wait_until_locked
from tests.support.memories import converse, new_user


def test_request_beside_another_one_continues_it(installation: Installation) -> None:
    """The first has opened the erasure and not committed yet, so the second waits for it."""
    here = installation
    _, claims = new_user(here)
    converse(here, claims, "#Family hello", "goodbye")
    (record_id,) = remember_all(here).values()
    opening = """INSERT INTO neurigraph.erasures (user_id, subject_kind, subject_id, requested_through)
        VALUES (%s, %s, %s, 'another request') RETURNING erasure_id"""
    with ThreadPoolExecutor(1) as pool:
        with here.database.owner() as tx:
            (opened,) = tx.execute(opening, [claims.user_id, RECORD, record_id]).fetchall()
            asked = pool.submit(erase, here, claims, RECORD, record_id)
            wait_until_locked(here, role="neurigraph_pipeline")
        receipt = asked.result()
    assert (receipt.erasure_id, receipt.erased["records"]) == (opened["erasure_id"], 1)


def test_contents_are_those_of_the_subject(installation: Installation) -> None:
    """A confirmed erasure is refused when its contents change, and not when something else does."""
    here = installation
    _, claims = new_user(here)
    for text in ("#Family hello", "#Family/Dave hello", "#Work hello"):
        converse(here, claims, text, "goodbye")
    record_ids = set(remember_all(here).values())

    def found(kind: SubjectKind, subject_id: UUID) -> set[UUID]:
        return set(contents(here.database, claims, ErasureSubject(kind, subject_id)))

    family, dave, work = (node_at(here, claims, path) for path in ("Family", "Family/Dave", "Work"))
    assert found(NODE, family) & {family, dave, work} == {family, dave}
    assert len(found(NODE, family) & record_ids) == 2
    assert found(USER, claims.user_id) > found(NODE, family) | {work} | record_ids
    assert all(found(RECORD, record_id) == {record_id} for record_id in record_ids)
