"""The records that a quarantine meets, the log of quarantines, and previews. ``holding`` hides and shows memories."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from uuid import UUID

from psycopg.types.json import Jsonb

from neurigraph_pipelines.access.authentication import require_owner
from neurigraph_pipelines.database.asking import views_of
from neurigraph_pipelines.database.paging import NEWEST, Listing, Page
from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.model import Claims
from neurigraph_pipelines.model.errors import InvalidInputError, NotFoundError
from neurigraph_pipelines.model.ports import Database, Transaction
from neurigraph_pipelines.views.quarantines import Quarantine, QuarantinePreview

MAX_REASON = 500

_QUERIES = statements("quarantine")


@dataclass(frozen=True, slots=True)
class QuarantineRule:
    """Conditions: a quarantine holds messages that meet all that are set, and every record with such a message.

    Attributes:
        source_id: Of this conversation, event, upload or note.
        key_id: Handed in with this API key.
        persona_id: Handed in by this persona, with any of its keys.
        received_from: Received at this moment or later.
        received_until: Received before this moment.
    """

    source_id: UUID | None = None
    key_id: UUID | None = None
    persona_id: UUID | None = None
    received_from: datetime | None = None
    received_until: datetime | None = None


@dataclass(frozen=True, slots=True)
class MetRecord:
    """A record that meets a rule; ``messages`` counts its messages that meet the rule."""

    record_id: UUID
    node_id: UUID
    schema_name: str
    messages: int
    created_at: datetime
    quarantined: bool


def checked(tx: Transaction, claims: Claims, rule: QuarantineRule) -> QuarantineRule:
    """Check a rule that somebody states.

    Raises:
        InvalidInputError: It has no condition, or an empty span of time.
        NotFoundError: The owner has no such source, key or persona.
    """
    if rule == QuarantineRule():
        raise InvalidInputError("a quarantine needs a source, a key, a persona or a span of time: name one of them")
    if rule.received_from and rule.received_until and rule.received_from >= rule.received_until:
        raise InvalidInputError("the span of time ends before it begins: swap its ends")
    for name, wanted, query in (
        ("source", rule.source_id, _QUERIES["has_source"]),
        ("key", rule.key_id, _QUERIES["has_key"]),
        ("persona", rule.persona_id, _QUERIES["has_persona"]),
    ):
        values = {f"{name}_id": wanted, "user_id": claims.user_id}
        if wanted is not None and tx.execute(query, values).fetchone() is None:
            raise NotFoundError(f"there is no {name} {wanted}")
    return rule


def records_met(tx: Transaction, user_id: UUID, rule: QuarantineRule) -> list[MetRecord]:
    """Return the records of a user that a rule meets.

    Args:
        tx: A transaction of the owner role.
    """
    rows = tx.execute(_QUERIES["records_met"], {"rule": as_row(rule, user_id)})
    return [MetRecord(**row) for row in rows]


def as_row(rule: QuarantineRule, user_id: UUID) -> Jsonb:
    """Return a rule of a user as the JSON of a row of quarantines."""
    stated = {name: str(value) for name, value in asdict(rule).items() if value is not None}
    return Jsonb({**stated, "user_id": str(user_id)})


def preview(database: Database, claims: Claims, rule: QuarantineRule) -> QuarantinePreview:
    """Return the counts of a quarantine, without hiding anything.

    Raises:
        ForbiddenError: The caller does not own the graph.
        InvalidInputError, NotFoundError: As ``checked``.
    """
    require_owner(claims)
    with database.owner() as tx:
        records = records_met(tx, claims.user_id, checked(tx, claims, rule))
        revised = [
            row["record_id"] for row in tx.execute(_QUERIES["revisions_met"], {"rule": as_row(rule, claims.user_id)})
        ]
    return QuarantinePreview(
        record_count=len(records),
        message_count=sum(one.messages for one in records),
        node_count=len({one.node_id for one in records}),
        hidden_already=sum(one.quarantined for one in records),
        record_ids=[one.record_id for one in records],
        revision_count=len(revised),
        revised_record_ids=sorted(set(revised)),
    )


def page_of_quarantines(asked: Listing, *, with_released: bool = False) -> Page[Quarantine]:
    """Return a page of the quarantines of the caller's graph, newest first.

    Raises:
        ForbiddenError: The caller does not own the graph.
        InvalidInputError: The cursor is not one of this list.
    """
    require_owner(asked.claims)
    filters = {"with_released": with_released}

    def read(place: dict[str, object]) -> list[Quarantine]:
        with asked.database.agent(asked.claims) as tx:
            return _log(tx, asked.claims, {**filters, **place})

    return asked.by_time("quarantines", filters, read, lambda one: (one.created_at, one.quarantine_id))


def get_quarantine(database: Database, claims: Claims, quarantine_id: UUID) -> Quarantine:
    """Return one quarantine, in force or released.

    Raises:
        NotFoundError: There is none, or the caller does not own its graph.
    """
    with database.agent(claims) as tx:
        found = _log(tx, claims, {"quarantine_id": quarantine_id})
    if not found:
        raise NotFoundError(f"there is no quarantine {quarantine_id}")
    return found[0]


def _log(tx: Transaction, claims: Claims, wanted: Mapping[str, object]) -> list[Quarantine]:
    everything = {"quarantine_id": None, "with_released": True, "at": NEWEST[0], "id": NEWEST[1], "limit": 1}
    return views_of(tx, _QUERIES["quarantines"], Quarantine, {"user_id": claims.user_id, **everything, **wanted})
