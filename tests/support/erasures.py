"""Erasures: request one, and check that nothing of a word remains."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import UUID, uuid4

from neurigraph_pipelines.graph.navigation import find_node
from neurigraph_pipelines.graph.provisioning import User
from neurigraph_pipelines.lifecycle.erasure.forget import forget, preview
from neurigraph_pipelines.lifecycle.erasure.receipts import ErasureSubject, SubjectKind
from neurigraph_pipelines.lifecycle.orphans import audit_objects
from neurigraph_pipelines.lifecycle.verification import verify
from neurigraph_pipelines.model import Claims
from neurigraph_pipelines.views.erasures import Erasure, ErasurePreview
from neurigraph_pipelines.wiring.installation import Installation
from tests.support.memories import ingest, node_rows, plain_context, schemas_of, stored
from tests.support.word_traces import found_in_database, found_in_objects

FACT, RECORD, NODE, USER = SubjectKind.FACT, SubjectKind.RECORD, SubjectKind.NODE, SubjectKind.USER


def erase(here: Installation, claims: Claims, kind: SubjectKind, subject_id: UUID) -> Erasure:
    return forget(here.acting_for(claims), ErasureSubject(kind, subject_id), through="tests")


def planned(here: Installation, claims: Claims, kind: SubjectKind, subject_id: UUID) -> ErasurePreview:
    return preview(here.database, claims, ErasureSubject(kind, subject_id))


def mark() -> str:
    """A word that occurs nowhere else; one that ended in ``ed`` would be stemmed."""
    return f"mark{uuid4().hex[:12]}0"


def remember_all(here: Installation) -> dict[str, UUID]:
    """Store due segments; return the records by title."""
    return {record.title: record.record_id for record in stored(ingest(plain_context(here)))}


def node_at(here: Installation, claims: Claims, path: str) -> UUID:
    with here.database.agent(claims) as tx:
        return find_node(tx, claims.user_id, path)


def traces(here: Installation, word: str) -> list[str]:
    return [*found_in_database(here, word), *found_in_objects(here, word)]


def sound(here: Installation) -> bool:
    """Rows, objects, counts and logs agree, and no object is left over."""
    audit = audit_objects(here.context, dry_run=True)
    return verify(here.context).findings == [] and audit.orphans == []


def parts_of_a_document(here: Installation, claims: Claims) -> Iterator[tuple[UUID, str]]:
    """Store a file that is too long for one record; gives the records in order, with a word of each."""
    here.settings = here.settings.changed(chunk_watch_tokens=2_000, chunk_target_tokens=2_000, chunk_limit_tokens=3_500)
    words = [mark() for _ in range(1_000)]
    here.uploads.receive(claims, "tides.txt", ["".join(f"The tide {word}.\n" for word in words).encode()])
    here.uploads.read_due(here.text_extractor)
    remember_all(here)
    here.uploads.clear()
    (schema,) = [
        schema
        for schema in schemas_of(here, User(claims.user_id, "", claims.user_id)).values()
        if node_rows(here, schema, "SELECT FROM {schema}.metadata_records")
    ]
    for record in node_rows(
        here, schema, "SELECT record_id, summary FROM {schema}.metadata_records ORDER BY first_message"
    ):
        yield record["record_id"], next(word for word in words if word in record["summary"])
