"""Digests as callers see them: lists, one with its text, and removing one. ``digesting`` makes them.

Row-level security shows a digest only to those who see all that it covers.
"""

from __future__ import annotations

from collections.abc import Mapping
from uuid import UUID

from neurigraph_pipelines.access.authentication import require_owner, require_visible
from neurigraph_pipelines.database.asking import ask_views
from neurigraph_pipelines.database.paging import NEWEST, Listing, Page
from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.model import Claims
from neurigraph_pipelines.model.errors import require_found
from neurigraph_pipelines.model.ports import Database
from neurigraph_pipelines.views.digests import Digest

_QUERIES = statements("digests")
_ALL: Mapping[str, object] = {"digest_id": None, "node_id": None, "record_id": None, "days": None}


def page_of_digests(
    asked: Listing,
    *,
    node_id: UUID | None = None,
    record_id: UUID | None = None,
    days: int | None = None,
) -> Page[Digest]:
    """Return a page of the digests that the caller sees, the last made first.

    Args:
        node_id: Only windows of this node.
        record_id: Only those that cover this record.
        days: Only windows of this length.

    Raises:
        NotFoundError: The node or the record does not exist, or the caller does not see it.
        InvalidInputError: The cursor is not one of this list.
    """
    for kind, identifier in (("node", node_id), ("record", record_id)):
        if identifier is not None:
            require_visible(asked.database, asked.claims, kind, identifier)
    filters = {"node_id": node_id, "record_id": record_id, "days": days}
    values = {**_ALL, "user_id": asked.claims.user_id}
    return asked.views("digests", filters, _QUERIES["list"], Digest, lambda one: (one.made_at, one.digest_id), **values)


def get_digest(database: Database, claims: Claims, digest_id: UUID) -> Digest:
    """Return a digest.

    Raises:
        NotFoundError: There is none, or the caller does not see all that it covers.
    """
    require_visible(database, claims, "digest", digest_id)
    values = {**_ALL, "digest_id": digest_id, "user_id": claims.user_id, "at": NEWEST[0], "id": NEWEST[1], "limit": 1}
    found = ask_views(database, claims, _QUERIES["list"], Digest, values)
    return require_found(next(iter(found), None))


def remove_digest(database: Database, claims: Claims, digest_id: UUID, *, dry_run: bool = False) -> Digest:
    """Remove a digest and return it, as the owner. One of a window is made again, if digests are switched on.

    Raises:
        NotFoundError: There is none, or the caller does not see it.
        ForbiddenError: The caller is not the owner.
    """
    found = get_digest(database, claims, digest_id)
    require_owner(claims)
    if not dry_run:
        with database.agent(claims) as tx:
            tx.execute(_QUERIES["delete"], {"digest_id": digest_id})
    return found


def faulty_digests(database: Database) -> list[UUID]:
    """Return the digests that cover nothing, or records that are not current or more private than the digest."""
    with database.pipeline() as tx:
        return [row["id"] for row in tx.execute(_QUERIES["faulty"], {"node_id": None})]
