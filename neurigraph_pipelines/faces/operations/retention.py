"""How long memories are kept, and the archive. Only the owner of a graph archives, restores and purges."""

from __future__ import annotations

from datetime import datetime, timedelta
from uuid import UUID

from pydantic import Field
from pydantic.config import JsonDict

from neurigraph_pipelines.access.authentication import require_visible
from neurigraph_pipelines.faces.operations.call import Call, Who
from neurigraph_pipelines.faces.operations.forms import Cursor, Limit
from neurigraph_pipelines.faces.operations.registry import OperationGroup
from neurigraph_pipelines.lifecycle import archive, retention
from neurigraph_pipelines.lifecycle.erasure import purging
from neurigraph_pipelines.model import Tier
from neurigraph_pipelines.text.hygiene import utc
from neurigraph_pipelines.views import retention as views
from neurigraph_pipelines.views.base import Form

operation = OperationGroup("retention")

_REASON: JsonDict = {"minLength": 1, "maxLength": retention.MAX_REASON}
_MAX_DAYS = 36_500


class NewTier(Form):
    """How long a memory is to be kept from now on."""

    tier: Tier
    expires_at: datetime | None = Field(
        default=None, description="When it expires, if not by the lifetime of the tier; not with `long`."
    )
    reason: str | None = Field(default=None, description="Why, for the owner.", json_schema_extra=_REASON)


class Records(Form):
    """Some memories."""

    SEEN_LATER = ("record_ids",)  # they may be in the archive

    record_ids: list[UUID] = Field(min_length=1, max_length=archive.MAX_ARCHIVED)


class NewArchived(Records):
    """Memories to archive."""

    reason: str = Field(description="Why, for the list of the archive.", json_schema_extra=_REASON)


class NewPurge(Form):
    """The memories of the archive to forget."""

    older_than_days: float = Field(ge=0, le=_MAX_DAYS, description="Days that a memory has been in the archive.")
    dry_run: bool = Field(default=False, description="Only count.")


@operation("GET /records/{record_id}/retention", "memory retention")
def shown(call: Call, record_id: UUID) -> views.Retention:
    """Return how long a memory is meant to be kept, and how often it was read."""
    return call.do(retention.retention_of, [record_id]).get(record_id, retention.KEPT)


@operation("PUT /records/{record_id}/retention", "memory keep", guarded="record_id")
def keep(call: Call, record_id: UUID, body: NewTier) -> views.Retention:
    """Set how long a memory is kept: `short`, `mid` or `long`. Others than the owner only lengthen it."""
    return retention.set_tier(
        call.context,
        record_id,
        body.tier,
        expires_at=utc(body.expires_at) if body.expires_at is not None else None,
        reason=body.reason,
        guard=call.once,
    )


@operation("POST /records/{record_id}/promote", "memory promote", refusals=(409,), guarded="record_id")
def promote(call: Call, record_id: UUID) -> views.Retention:
    """Move a memory to the next tier: `short`, `mid`, `long`."""
    if call.is_repeated:
        return shown(call, record_id)
    return retention.promote(call.context, record_id, guard=call.once)


@operation("GET /archive", "memory archive list", who=Who.OWNER)
def list_archive(call: Call, limit: Limit = 50, cursor: Cursor = None) -> views.Archive:
    """List the archive, the last archived first."""
    return call.page(views.Archive, archive.page_of_archive, limit=limit, cursor=cursor)


@operation("POST /archive", "memory archive add", who=Who.OWNER, options={"reason": "--reason"})
def add(call: Call, body: NewArchived) -> views.ArchiveChange:
    """Archive memories: default reads leave them out. Returns the memories that were not in the archive before."""
    for record_id in body.record_ids:
        call.do(require_visible, "kept record", record_id)
    done = archive.archive(call.context, body.record_ids, body.reason)
    return views.ArchiveChange(record_ids=done)


@operation("POST /archive/restore", "memory archive restore", who=Who.OWNER)
def restore(call: Call, body: Records) -> views.ArchiveChange:
    """Bring memories back from the archive with the tiers that they had."""
    done = archive.restore(call.context, body.record_ids)
    return views.ArchiveChange(record_ids=done)


@operation(
    "POST /archive/purge",
    "memory archive purge",
    destroys=True,
    who=Who.OWNER,
    options={"older_than_days": "--older-than"},
)
def purge(call: Call, body: NewPurge) -> views.Purge:
    """Forget memories that have been in the archive for so many days, for good: each with a receipt."""
    age = timedelta(days=body.older_than_days)
    return purging.purge(call.context, age, through=f"archive over {call.door}", dry_run=body.dry_run)
