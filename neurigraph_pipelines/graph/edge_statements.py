"""Statements of the owner of a graph about edges: that one holds, has ended, or never was; and their withdrawal.

What records state is in ``edges``. Strength, count and validity follow from both by trigger.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from datetime import UTC, datetime
from uuid import UUID

from neurigraph_pipelines.access.authentication import require_owner
from neurigraph_pipelines.access.guards import FREE, Guard
from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.graph.history import author_of
from neurigraph_pipelines.graph.locks import lock_graph_exclusive
from neurigraph_pipelines.model import Claims, Stance
from neurigraph_pipelines.model.errors import ConflictError, InvalidInputError, NotFoundError
from neurigraph_pipelines.model.ports import Database
from neurigraph_pipelines.text.hygiene import utc
from neurigraph_pipelines.views.evidence import StatedEvidence

MAX_STATEMENTS = 50
"""Most statements of people about one edge."""

_QUERIES = statements("edge_statements")
_EVIDENCE = statements("evidence")
_log = logging.getLogger("neurigraph.graph")


@dataclass(frozen=True, slots=True)
class EdgeStatement:
    """A statement about an edge.

    Attributes:
        valid_from: Since when the relation holds, or does not hold; None if that is not known. Not of an end.
        valid_until: Until when. An end without a time is now.
    """

    stance: Stance
    valid_from: datetime | None = None
    valid_until: datetime | None = None


def state_evidence(
    database: Database, claims: Claims, edge_id: UUID, said: EdgeStatement, guard: Guard = FREE
) -> StatedEvidence:
    """State that an edge holds, has ended, or never was. The same again changes nothing.

    Raises:
        InvalidInputError: The times do not fit each other or the stance.
        NotFoundError: There is no such edge, or the caller sees no evidence for it; also in the function below.
        ForbiddenError: The caller does not own the graph; also in the function below.
        ConflictError: The edge has too many statements of people.
    """
    begins, ends = _times(said)
    _require_edge(database, claims, edge_id)
    values: dict[str, object] = {
        "edge_id": edge_id,
        "user_id": claims.user_id,
        "observed_by": author_of(claims),
        "stance": said.stance.value,
        "valid_from": begins,
        "valid_until": ends,
        "most": MAX_STATEMENTS,
    }
    with database.owner() as tx:
        lock_graph_exclusive(tx, claims.user_id)
        guard.admit(tx)
        known = tx.execute(_QUERIES["statement_of_person"], values).fetchone()
        made = known or tx.execute(_QUERIES["state_evidence"], values).fetchone()
        if made is None:
            if tx.execute(_QUERIES["edge_exists"], values).fetchone() is None:  # its last memory is gone meanwhile
                raise NotFoundError
            raise ConflictError(f"the edge has {MAX_STATEMENTS} statements of people: take one back first")
        stated = StatedEvidence(
            evidence_id=made["evidence_id"],
            edge_id=edge_id,
            stance=said.stance,
            valid_from=begins,
            valid_until=ends,
            created=known is None,
        )
        guard.note_result(tx, stated.model_dump(), status=None if stated.created else 200)
    _log.info("somebody states that an edge %s: edge %s, evidence %s", said.stance, edge_id, stated.evidence_id)
    return stated


def take_back_evidence(
    database: Database, claims: Claims, edge_id: UUID, evidence_id: UUID, guard: Guard = FREE
) -> None:
    """Take back a person's statement about an edge: the edge is as if nobody had made the statement.

    Raises:
        NotFoundError: The edge has no such statement of a person. A statement of a memory goes with the memory.
    """
    _require_edge(database, claims, edge_id)
    values = {"edge_id": edge_id, "user_id": claims.user_id, "evidence_id": evidence_id}
    with database.owner() as tx:
        lock_graph_exclusive(tx, claims.user_id)
        guard.admit(tx)
        if tx.execute(_QUERIES["take_back_evidence"], values).fetchone() is None:
            raise NotFoundError("the edge has no such statement of a person; what a memory states goes with the memory")
        guard.note_result(tx)
    _log.info("a statement about an edge was taken back: edge %s, evidence %s", edge_id, evidence_id)


def _require_edge(database: Database, claims: Claims, edge_id: UUID) -> None:
    if not database.ask(claims, _EVIDENCE["edge"], {"edge_id": edge_id}):
        raise NotFoundError
    require_owner(claims)


def _times(said: EdgeStatement) -> tuple[datetime | None, datetime | None]:
    begins, ends = (None if one is None else utc(one) for one in (said.valid_from, said.valid_until))
    if said.stance is Stance.ENDS:
        if begins is not None:
            raise InvalidInputError("an end has one time: give `valid_until`, or nothing for now")
        return None, ends or datetime.now(UTC)
    if begins is not None and ends is not None and begins >= ends:
        raise InvalidInputError("`valid_until` must come after `valid_from`")
    return begins, ends
