"""Evidence for nodes that do not exist yet, as commits write it."""

from __future__ import annotations

from collections.abc import Iterable
from uuid import UUID

from neurigraph_pipelines.graph.candidates import add_candidates
from neurigraph_pipelines.graph.edges import Places
from neurigraph_pipelines.graph.witnesses import Witness
from neurigraph_pipelines.model import Claims, Detector, NodeCandidate
from neurigraph_pipelines.model.ports import Transaction
from neurigraph_pipelines.wiring.installation import Installation
from tests.support.memories import converse, ingest, plain_context, rows, stored


def new_witness(here: Installation, claims: Claims, text: str = "#Business Something was said.") -> Witness:
    """Store a record, and return it as evidence."""
    converse(here, claims, text)
    (record,) = stored(ingest(plain_context(here)))
    return as_witness(record.record_id)


def as_witness(record_id: UUID) -> Witness:
    return Witness(record_id, Detector.MODEL, lambda _: "{}")


def places_of(here: Installation, tx: Transaction, user_id: UUID) -> Places:
    (user,) = rows(here, "SELECT slug FROM neurigraph.users WHERE user_id = %s", user_id)
    return Places(tx, user_id, user["slug"])


def doubt(
    here: Installation, tx: Transaction, user_id: UUID, witness: Witness, candidates: Iterable[NodeCandidate]
) -> None:
    """Let a record mention candidates."""
    add_candidates(tx, places_of(here, tx, user_id), [(witness, one) for one in candidates])
