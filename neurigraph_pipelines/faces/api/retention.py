"""How long memories are kept, and the archive. Only the owner of a graph archives, restores and purges."""

from __future__ import annotations

from datetime import datetime, timedelta
from uuid import UUID

from fastapi import APIRouter
from pydantic import Field
from pydantic.config import JsonDict

from neurigraph_pipelines.access.authentication import require_visible
from neurigraph_pipelines.faces.api.authentication import Caller, InstallationDep, Owner
from neurigraph_pipelines.faces.api.idempotency import IsRepeated
from neurigraph_pipelines.faces.api.paging import Cursor, Limit
from neurigraph_pipelines.faces.api.preconditions import RecordGuard
from neurigraph_pipelines.faces.api.problems import documented
from neurigraph_pipelines.faces.api.requests import Form
from neurigraph_pipelines.lifecycle import archive, retention
from neurigraph_pipelines.lifecycle.erasure import purging
from neurigraph_pipelines.model import Tier
from neurigraph_pipelines.text.hygiene import utc
from neurigraph_pipelines.views import retention as views

router = APIRouter(tags=["retention"], responses=documented(401, 403, 404, 422, 503))

_THROUGH = "archive over HTTP"
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

    record_ids: list[UUID] = Field(min_length=1, max_length=archive.MAX_ARCHIVED)


class NewArchived(Records):
    """Memories to archive."""

    reason: str = Field(description="Why, for the list of the archive.", json_schema_extra=_REASON)


class NewPurge(Form):
    """The memories of the archive to forget."""

    older_than_days: float = Field(ge=0, le=_MAX_DAYS, description="Days that a memory has been in the archive.")
    dry_run: bool = Field(default=False, description="Only count.")


@router.get("/records/{record_id}/retention")
def shown(record_id: UUID, caller: Caller, installation: InstallationDep) -> views.Retention:
    """Return how long a memory is meant to be kept, and how often it was read."""
    return retention.retention_of(installation.database, caller, [record_id]).get(record_id, retention.KEPT)


@router.put("/records/{record_id}/retention", responses=documented(412))
def keep(
    record_id: UUID,
    body: NewTier,
    caller: Caller,
    installation: InstallationDep,
    guard: RecordGuard,
) -> views.Retention:
    """Set how long a memory is kept: `short`, `mid` or `long`. Others than the owner only lengthen it."""
    return retention.set_tier(
        installation.acting_for(caller),
        record_id,
        body.tier,
        expires_at=utc(body.expires_at) if body.expires_at is not None else None,
        reason=body.reason,
        guard=guard,
    )


@router.post("/records/{record_id}/promote", responses=documented(409, 412))
def promote(
    record_id: UUID, caller: Caller, installation: InstallationDep, guard: RecordGuard, is_repeated: IsRepeated
) -> views.Retention:
    """Move a memory to the next tier: `short`, `mid`, `long`."""
    if is_repeated:
        return shown(record_id, caller, installation)
    return retention.promote(installation.acting_for(caller), record_id, guard=guard)


@router.get("/archive")
def list_archive(
    caller: Owner, installation: InstallationDep, limit: Limit = 50, cursor: Cursor = None
) -> views.Archive:
    """List the archive, the last archived first."""
    found = archive.page_of_archive(installation.database, installation.cursors, caller, limit=limit, cursor=cursor)
    return found.into(views.Archive)


@router.post("/archive", responses=documented(413))
def add(body: NewArchived, caller: Owner, installation: InstallationDep) -> views.ArchiveChange:
    """Archive memories: default reads leave them out. Returns those that were not in the archive before."""
    for record_id in body.record_ids:
        require_visible(installation.database, caller, "kept record", record_id)
    done = archive.archive(installation.acting_for(caller), body.record_ids, body.reason)
    return views.ArchiveChange(record_ids=done)


@router.post("/archive/restore", responses=documented(413))
def restore(body: Records, caller: Owner, installation: InstallationDep) -> views.ArchiveChange:
    """Bring memories back from the archive with the tiers that they had."""
    done = archive.restore(installation.acting_for(caller), body.record_ids)
    return views.ArchiveChange(record_ids=done)


@router.post("/archive/purge", responses=documented(413))
def purge(body: NewPurge, caller: Owner, installation: InstallationDep) -> views.Purge:
    """Forget memories that have been in the archive for so many days, for good: each with a receipt."""
    age = timedelta(days=body.older_than_days)
    return purging.purge(installation.acting_for(caller), age, through=_THROUGH, dry_run=body.dry_run)
