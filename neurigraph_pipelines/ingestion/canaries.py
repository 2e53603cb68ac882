"""Canaries: planted memories that nobody should ever retrieve. The first retrieval raises an alert.

A canary is an ordinary conversation to everybody who reads the graph. ``retrieval.log`` notices when it is retrieved,
in a process that answered before it was planted a minute later.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import NamedTuple
from uuid import UUID, uuid4

from neurigraph_pipelines.access.authentication import require_owner
from neurigraph_pipelines.database.asking import rows_of
from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.inbox.conversations import Inbox
from neurigraph_pipelines.model import Claims, IncomingMessage, Role, SourceKind
from neurigraph_pipelines.model.context import Context
from neurigraph_pipelines.model.ports import Database

MOST_REPORTED = 100

_THINGS = ("vault", "ledger", "signing server", "cold wallet", "backup tape", "payroll archive")
_TITLE = "Recovery details"

_QUERIES = statements("retrievals")


@dataclass(frozen=True, slots=True)
class PlantedCanary:
    """A planted memory.

    Attributes:
        source_id: The conversation that was planted.
        record_ids: Its memories; empty until the conversation is stored.
        retrieved_at: When somebody retrieved it first; None as long as nobody did, as are the others.
        role: ``user``, ``persona`` or ``third_party``.
    """

    source_id: UUID
    external_id: str
    planted_at: datetime
    record_ids: tuple[UUID, ...]
    retrieved_at: datetime | None
    operation: str | None
    role: str | None
    subject_id: str | None


def plant(context: Context, text: str | None = None) -> PlantedCanary:
    """Plant a conversation that alerts once when it is retrieved.

    Args:
        text: Its text; by default made-up recovery words, which no honest question asks for.

    Raises:
        ForbiddenError: The caller does not own the graph.
        InvalidInputError: The text cannot be stored.
    """
    claims = context.claims
    require_owner(claims)
    message = IncomingMessage(Role.USER, text or _made_up(), external_id="1", occurred_at=datetime.now(UTC))
    inbox = Inbox(context)
    with context.database.agent(claims) as tx:
        source_id, _ = inbox.open_source(
            tx, claims.user_id, SourceKind.CONVERSATION, external_id=str(uuid4()), title=_TITLE
        )
        inbox.append(tx, SourceKind.CONVERSATION, source_id, [message])
        inbox.end(tx, SourceKind.CONVERSATION, source_id)
        tx.execute(_QUERIES["plant"], {"source_id": source_id, "user_id": claims.user_id})
    return next(one for one in list_canaries(context.database, claims) if one.source_id == source_id)


def list_canaries(database: Database, claims: Claims) -> list[PlantedCanary]:
    """Return the canaries of a graph, oldest first.

    Raises:
        ForbiddenError: The caller does not own the graph.
    """
    require_owner(claims)
    with database.agent(claims) as tx:
        rows = tx.execute(_QUERIES["canaries"], {"user_id": claims.user_id}).fetchall()
    return [PlantedCanary(**{**row, "record_ids": tuple(row["record_ids"])}) for row in rows]


class RetrievedCanary(NamedTuple):
    """A canary that somebody retrieved."""

    source_id: UUID
    retrieved_at: datetime
    operation: str
    role: str


def retrieved_canaries(database: Database) -> list[RetrievedCanary]:
    """Return the canaries of all users that were retrieved, newest first, with ids and times only."""
    with database.pipeline() as tx:
        return rows_of(tx, _QUERIES["retrieved_canaries"], RetrievedCanary, {"limit": MOST_REPORTED})


def _made_up() -> str:
    words = " ".join(secrets.token_hex(3) for _ in range(6))
    return f"The recovery words of the {secrets.choice(_THINGS)} are: {words}."
