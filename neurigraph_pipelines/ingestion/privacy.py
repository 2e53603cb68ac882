"""Who may know of a conversation, an event or an upload: said once for all that came from it, at any time.

What is hidden from whom is decided in the database (sql/routines/privacy.sql), from the next statement on.
"""

from __future__ import annotations

from uuid import UUID

from neurigraph_pipelines.access import require_owner
from neurigraph_pipelines.errors import ConflictError, NotFoundError
from neurigraph_pipelines.graph.locks import lock_graph_exclusive
from neurigraph_pipelines.graph.provisioning import upgrade_node
from neurigraph_pipelines.graph.shell import rebuild_shell
from neurigraph_pipelines.model import Claims, Privacy, SourceKind
from neurigraph_pipelines.ports import Database
from neurigraph_pipelines.statements import statements

_QUERIES = statements("inbox")


def set_privacy(
    database: Database, claims: Claims, source_id: UUID, privacy: Privacy, kind: SourceKind | None = None
) -> None:
    """Make a source private, or share it again; saying it twice changes nothing.

    What its memories lent to the shells of their nodes, keywords and summaries, is taken back or lent again. Nodes and
    edges that were made of it while it was shared stay.

    Args:
        claims: Of the owner of the graph; nobody else decides about privacy.
        kind: Only a source of this kind is meant.

    Raises:
        NotFoundError: No such source.
        ForbiddenError: Whoever asks is not the owner.
    """
    require_owner(claims)
    values = {"source_id": source_id, "user_id": claims.user_id, "privacy": privacy.value, "kind": kind}
    with database.pipeline() as tx:
        slug = lock_graph_exclusive(tx, claims.user_id)
        row = tx.execute(_QUERIES["set_privacy"], values).fetchone()
        if row is None:
            raise NotFoundError
        if row["privacy"] == privacy:
            return
        source = f"{row['kind']}:{source_id}"
        nodes = tx.execute(_QUERIES["nodes_of_source"], {"user_id": claims.user_id, "source": source}).fetchall()
        for node in nodes:
            # The policies of older nodes know nothing of privacy.
            upgrade_node(tx, node["node_id"], node["schema_name"])
            rebuild_shell(tx, node["node_id"], slug)


def source_called(database: Database, claims: Claims, name: str) -> UUID:
    """The source of that id, or of that id in the program that it came from.

    Raises:
        NotFoundError: There is none.
        ConflictError: Several of them are called so.
    """
    with database.agent(claims) as tx:
        found = tx.execute(_QUERIES["sources_called"], {"user_id": claims.user_id, "name": name}).fetchall()
    if not found:
        raise NotFoundError(f"there is no conversation, event or upload {name!r}")
    if len(found) > 1:
        kinds = ", ".join(f"{row['kind']} {row['source_id']}" for row in found)
        raise ConflictError(f"{name!r} is the id of several ({kinds}): name one of them")
    source_id: UUID = found[0]["source_id"]
    return source_id
