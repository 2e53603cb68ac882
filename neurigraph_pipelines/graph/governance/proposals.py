"""Proposing actions: doubts of the pipeline go to a person, not into the data.

Any room may propose; ``deciding`` carries out approved actions.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime, timedelta
from uuid import UUID

from psycopg.types.json import Jsonb

from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.model.errors import require_found
from neurigraph_pipelines.model.ports import Transaction
from neurigraph_pipelines.views.kinds import ActionKind, ActionState

_QUERIES = statements("actions")


@dataclass(frozen=True, slots=True)
class Doubt:
    """Something that a job does not decide by itself.

    Attributes:
        reason: A word of a closed vocabulary, such as ``contradiction``: never remembered text.
        job: The job that doubts, such as ``belief``.
        fact_id: Its subject: a fact, or else a record or a node.
        other_fact_id: The other fact, record or node: what the first one is superseded by, contradicts, is linked to or
            is merged into.
        details: Numbers, booleans and single words, such as ``relation`` and ``confidence``.
        hours: How long it stays open; None for as long as the setting says.
    """

    kind: ActionKind
    user_id: UUID
    reason: str
    job: str
    fact_id: UUID | None = None
    record_id: UUID | None = None
    node_id: UUID | None = None
    other_fact_id: UUID | None = None
    other_record_id: UUID | None = None
    other_node_id: UUID | None = None
    details: Mapping[str, str | float | bool | None] = field(default_factory=dict)
    hours: float | None = None


@dataclass(frozen=True, slots=True)
class Proposed:
    """An action in the queue.

    Attributes:
        created: False if the same was proposed before, and is open or was decided.
    """

    action_id: UUID
    state: ActionState
    created: bool


def propose(tx: Transaction, doubt: Doubt) -> Proposed:
    """Put a doubt in the queue. The same doubt stands once, and one that was decided is not asked again.

    Args:
        tx: A transaction of the pipeline or of the owner of the tables; the action is there once it commits.

    Raises:
        NotFoundError: Its subject is gone, or belongs to another user.
    """
    expires_at = None if doubt.hours is None else datetime.now(UTC) + timedelta(hours=doubt.hours)
    proposed = {**asdict(doubt), "origin": "doubt", "expires_at": expires_at}
    row = require_found(
        tx.execute(_QUERIES["propose"], {"proposed": Jsonb(_plain(proposed))}).fetchone(), "what this is about is gone"
    )
    return Proposed(row["action_id"], ActionState(row["state"]), row["created"])


def _plain(values: Mapping[str, object]) -> dict[str, object]:
    return {name: str(value) if isinstance(value, UUID | datetime) else value for name, value in values.items()}
