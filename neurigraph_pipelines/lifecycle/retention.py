"""Tiers: how long records are meant to be kept, and promotion to the next tier.

A record without a row is kept for good. ``archive`` puts records away when their time is over.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from uuid import UUID

from psycopg.rows import DictRow

from neurigraph_pipelines.access.guards import FREE, Guard
from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.graph.history import append_delta, author_of, authored
from neurigraph_pipelines.graph.locks import lock_graph_shared
from neurigraph_pipelines.model import Claims, Tier
from neurigraph_pipelines.model.context import Context
from neurigraph_pipelines.model.errors import ForbiddenError, InvalidInputError, NotFoundError, require_found
from neurigraph_pipelines.model.ports import Database, Transaction
from neurigraph_pipelines.settings import Settings
from neurigraph_pipelines.views.retention import Retention

MAX_REASON = 500
ASKED_FOR = "its writer asked for it"
"""The reason of a tier that a source was handed in with."""

STANDARD = "the standard of its node"
"""The reason of a tier that a standard says."""

_BY_HAND = "set by hand"
_OFTEN_READ = "read 5 times on 2 days"
_HOUR, _DAY = 3_600.0, 86_400.0
_QUERIES, _HISTORY = statements("retention"), statements("history")


KEPT = Retention(tier=Tier.LONG, expires_at=None, expiry_reason=None, access_count=None, access_days=None)
"""The retention of a record without a row."""


def lifetime_of(settings: Settings, tier: Tier) -> float | None:
    """Return the seconds that a record of a tier is kept after an access; None for good."""
    lifecycle = settings.lifecycle
    return {Tier.SHORT: lifecycle.short_tier_hours * _HOUR, Tier.MID: lifecycle.mid_tier_days * _DAY}.get(tier)


def retention_of(database: Database, claims: Claims, record_ids: Sequence[UUID]) -> dict[UUID, Retention]:
    """Return the retention of the records that the caller sees and that are not simply kept for good."""
    rows = database.ask(claims, _QUERIES["of_records"], {"record_ids": list(record_ids)}) if record_ids else []
    return {row["record_id"]: Retention.model_validate(row) for row in rows}


def set_tier_of_source(tx: Transaction, settings: Settings, record_id: UUID, tier: Tier) -> None:
    """Give a record that was just stored the tier that its source was handed in with."""
    values = {"record_id": record_id, "tier": tier, "expires_at": None, "reason": ASKED_FOR}
    tx.execute(_QUERIES["set_tier"], {**values, "seconds": lifetime_of(settings, tier)})


def set_tiers_of_standards(tx: Transaction, settings: Settings, user_id: UUID, record_ids: Sequence[UUID]) -> None:
    """Give records that were just stored, and whose source asked for nothing, the tier of their node's standard.

    A standard with a time and no tier means the tier mid, with that time instead of the tier's. The tier long never
    expires. What is set later changes no record that is there, so no standard shortens a life.
    """
    values = {"record_ids": list(record_ids), "user_id": user_id}
    for row in tx.execute(_QUERIES["standards_for"], values).fetchall():
        tier = Tier(row["tier"] or Tier.MID)
        seconds = None if tier is Tier.LONG else row["ttl_seconds"] or lifetime_of(settings, tier)
        kept = {"record_id": row["record_id"], "tier": tier, "expires_at": None, "reason": STANDARD}
        tx.execute(_QUERIES["set_tier"], {**kept, "seconds": seconds})


def set_tier(
    context: Context,
    record_id: UUID,
    tier: Tier,
    *,
    expires_at: datetime | None = None,
    reason: str | None = None,
    guard: Guard = FREE,
) -> Retention:
    """Give a record a tier, from now on. Only the owner shortens a life.

    Args:
        expires_at: When it expires, if not by the lifetime of the tier.
        reason: Why, for the owner.

    Raises:
        InvalidInputError: The expiry is over, or the tier long has none; or the reason is too long.
        NotFoundError: There is no such record, or the caller does not see it.
        ForbiddenError: The caller may read but not change it, or may not shorten its life.
    """
    reason = (reason or "").strip() or _BY_HAND
    if len(reason) > MAX_REASON:
        raise InvalidInputError(f"the reason has {len(reason):,} characters and the limit is {MAX_REASON}: shorten it")
    if expires_at is not None and tier is Tier.LONG:
        raise InvalidInputError("the tier long never expires: choose short or mid, or give no expiry")
    if expires_at is not None and expires_at <= datetime.now(UTC):
        raise InvalidInputError(f"{expires_at.isoformat()} is over: give a later expiry, or archive the memory")
    claims = context.claims
    user_id = _require_write(context, record_id)
    with context.database.pipeline() as tx:
        lock_graph_shared(tx, user_id)
        guard.admit(tx)
        authored(tx, author_of(claims), claims)
        before = tx.execute(_QUERIES["lock"], {"record_id": record_id}).fetchone()
        before = before or {"tier": Tier.LONG, "expires_at": None}
        values = {"record_id": record_id, "tier": tier, "expires_at": expires_at, "reason": reason}
        after = require_found(
            tx.execute(_QUERIES["set_tier"], {**values, "seconds": lifetime_of(context.settings, tier)}).fetchone()
        )
        if claims.role != "user" and _is_shorter(after["expires_at"], before["expires_at"]):
            raise ForbiddenError("only the owner of the graph shortens the life of a memory: choose a longer tier")
        append_delta(tx, record_id, _plain(before), _plain(after), author_of(claims), operation="keep")
        guard.note_result(tx)
    return _now(context, record_id)


def promote(context: Context, record_id: UUID, *, reason: str = _BY_HAND, guard: Guard = FREE) -> Retention:
    """Move a record to the next tier: short, mid, long. Nothing changes for one that is kept for good.

    Raises:
        NotFoundError: There is no such record, or the caller does not see it.
        ForbiddenError: The caller may read but not change it.
    """
    user_id = _require_write(context, record_id)
    with context.database.pipeline() as tx:
        lock_graph_shared(tx, user_id)
        guard.admit(tx)
        authored(tx, author_of(context.claims), context.claims)
        promote_records(tx, context.settings, [record_id], author_of(context.claims), reason, is_by_hand=True)
        guard.note_result(tx)
    return _now(context, record_id)


def promote_records(
    tx: Transaction,
    settings: Settings,
    record_ids: Sequence[UUID],
    author: str,
    reason: str = _OFTEN_READ,
    *,
    is_by_hand: bool = False,
) -> int:
    """Move records to the next tier, each with a delta, and return how many; never to an earlier expiry.

    Args:
        is_by_hand: Whether they may have been read too rarely.
    """
    values = {"record_ids": list(record_ids), "mid_seconds": lifetime_of(settings, Tier.MID)}
    by = {"author": author, "reason": reason, "is_by_hand": is_by_hand}
    return len(tx.execute(_QUERIES["promote"], {**values, **by}).fetchall())


def _require_write(context: Context, record_id: UUID) -> UUID:
    """Return the owner of a record that the caller may change."""
    found = context.database.ask(context.claims, _HISTORY["writable"], {"record_id": record_id})
    if not found:
        raise NotFoundError
    if not found[0]["writable"]:
        raise ForbiddenError("this key may read but not change this memory: ask its owner for write access")
    user_id: UUID = found[0]["user_id"]
    return user_id


def _is_shorter(expiry: datetime | None, before: datetime | None) -> bool:
    return expiry is not None and (before is None or expiry < before)


def _plain(row: DictRow) -> dict[str, str | None]:
    return {"tier": row["tier"], "expires_at": row["expires_at"] and row["expires_at"].isoformat()}


def _now(context: Context, record_id: UUID) -> Retention:
    return retention_of(context.database, context.claims, [record_id]).get(record_id, KEPT)
