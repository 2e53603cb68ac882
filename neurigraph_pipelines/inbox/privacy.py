"""Privacy and further spaces of a source (conversation, event, upload or note), for everything stored from it.

The database enforces them from the next statement on (sql/tables/sources.sql).
"""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from neurigraph_pipelines.access.authentication import require_author
from neurigraph_pipelines.access.guards import FREE, Guard
from neurigraph_pipelines.access.short_ids import id_of, may_begin
from neurigraph_pipelines.access.spaces import NO_SPACE
from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.graph.locks import lock_graph_exclusive
from neurigraph_pipelines.graph.shell import rebuild_followers
from neurigraph_pipelines.graph.witnesses import Followers, followers_of
from neurigraph_pipelines.model import Claims, Privacy, SourceKind
from neurigraph_pipelines.model.errors import ConflictError, NotFoundError
from neurigraph_pipelines.model.ports import Database, Transaction
from neurigraph_pipelines.text.container_tags import checked_tags

_QUERIES = statements("inbox")
_SPACES = statements("spaces")


def set_privacy(
    database: Database,
    claims: Claims,
    source_id: UUID,
    privacy: Privacy,
    kind: SourceKind | None = None,
    *,
    guard: Guard = FREE,
) -> None:
    """Make a source private, or share it again; of an uploaded export, its conversations too. Idempotent.

    Rebuilds the shells that follow from its records, without or with their keywords and summaries. Edges, mentions and
    names that only its records state are hidden with them. Nodes that were made for it while it was shared stay,
    without their definition.

    Args:
        claims: The graph owner's, or those of the member of an organization that handed the source in.
        kind: Only find a source of this kind.
        guard: Called with the graph locked, and before the commit.

    Raises:
        NotFoundError: No such source, or it is another member's.
        ForbiddenError: The caller is neither the owner nor a member.
    """
    member_id = require_author(database, claims)
    values = {
        "source_id": source_id,
        "user_id": claims.user_id,
        "privacy": privacy.value,
        "kind": kind,
        "member_id": member_id,
    }
    with database.pipeline() as tx:
        slug = lock_graph_exclusive(tx, claims.user_id)
        guard.admit(tx)
        rows = tx.execute(_QUERIES["set_privacy"], values).fetchall()
        if not rows:
            raise NotFoundError
        guard.note_result(tx)
        changed = [row["source_id"] for row in rows if row["privacy"] != privacy]
        if not changed:
            return
        changes = {"user_id": claims.user_id, "source_ids": changed}
        _rebuild(tx, slug, privacy, changes)


def _rebuild(tx: Transaction, slug: str, privacy: Privacy, changes: dict[str, object]) -> None:
    """Rebuild the shells that follow from the records of some sources."""
    records = tx.execute(_QUERIES["records_of_sources"], changes).fetchall()
    followers = followers_of(tx, [one["record_id"] for one in records])
    if privacy is Privacy.SHARED:
        followers = Followers(followers.node_ids)
    rebuild_followers(tx, followers, slug, keep_defined=True)


def find_source(database: Database, claims: Claims, name: str) -> UUID:
    """Return the source with an id, its beginning, or that external id.

    Raises:
        NotFoundError: No source has it.
        ConflictError: Several sources have it.
    """
    with database.agent(claims) as tx:
        found = tx.execute(_QUERIES["sources_by_external_id"], {"user_id": claims.user_id, "name": name}).fetchall()
    if not found:
        if may_begin(name):
            return id_of(database, claims, "source", name)
        raise NotFoundError(f"there is no conversation, event, upload or note {name!r}")
    if len(found) > 1:
        kinds = ", ".join(f"{row['kind']} {row['source_id']}" for row in found)
        raise ConflictError(f"{name!r} is the id of several ({kinds}): name one of them")
    source_id: UUID = found[0]["source_id"]
    return source_id


def put_into_spaces(tx: Transaction, claims: Claims, container_tags: Sequence[str], *source_ids: UUID) -> None:
    """Put uploads that are sent again into spaces, with all that was read from them. A new tag makes its space.

    Raises:
        NotFoundError: The caller may not name spaces.
        InvalidInputError: A container tag is not well-formed.
    """
    if claims.role != "user":
        raise NotFoundError(NO_SPACE)
    values = {"user_id": claims.user_id, "container_tags": list(checked_tags(container_tags))}
    tx.execute(_SPACES["make_missing"], values)
    tx.execute(_SPACES["add_uploads"], {**values, "source_ids": list(source_ids)})
