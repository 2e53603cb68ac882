"""How notes are stored: pinned ones at their node, and each version superseding the one before.

Steps of the ingestion job call this for the segments of notes. ``notes`` writes notes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from uuid import UUID

from psycopg import sql

from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.graph.history import authored
from neurigraph_pipelines.graph.provisioning import NodeRef, resolve_node
from neurigraph_pipelines.inbox.imports.vault import BASIC_MEMORY
from neurigraph_pipelines.inbox.note_links import LINK_RELATION, NoteIndex, NoteLink, links_in, parts_of, wanted_parts
from neurigraph_pipelines.inbox.source_versions import author_of, supersede
from neurigraph_pipelines.inbox.vaults import form_of
from neurigraph_pipelines.ingestion.assign import STEP
from neurigraph_pipelines.ingestion.records import failure_of
from neurigraph_pipelines.model import Filing, ItemFailure, PlannedAlias, PlannedEdge, Segment, SegmentRef
from neurigraph_pipelines.model.enriching import enriched
from neurigraph_pipelines.model.errors import ConflictError
from neurigraph_pipelines.model.ports import Transaction
from neurigraph_pipelines.text.front_matter import front_matter

_QUERIES = statements("notes")
_UNPINNED = "the node that this note was pinned to no longer exists: write the note again, to another node"


def pinned_filing(tx: Transaction, segment: Segment) -> list[Filing] | ItemFailure:
    """File a pinned note at its node: no model is asked. The links of a note of a vault become edges."""
    ref = segment.ref
    try:
        node = pinned_node(tx, ref)
    except ConflictError as error:
        return failure_of(ref.trigger_id, STEP, error)
    filing = Filing(node.names if node is not None else (), ref.first_message, ref.last_message)
    form = form_of(ref.source_external_id)
    if node is None or form is None:  # only the links of notes of a vault become edges
        return [filing]
    left_out: list[str] = []
    linked = enriched("links", lambda: _with_links(tx, node, filing, segment, form), lambda: filing, left_out)
    return [replace(linked, left_out=left_out[0] if left_out else None)]


def _with_links(tx: Transaction, node: NodeRef, filing: Filing, segment: Segment, form: str) -> Filing:
    text = "\n".join(message.content for message in segment.messages)
    aliases = tuple(PlannedAlias(node.names, alias) for alias in front_matter(text).aliases)
    return replace(filing, edges=_linked(tx, node, links_in(text, has_relations=form == BASIC_MEMORY)), aliases=aliases)


def _linked(tx: Transaction, node: NodeRef, links: Sequence[NoteLink]) -> tuple[PlannedEdge, ...]:
    """Return the edges from the node of a note to those of the notes that it links to."""
    origin = parts_of(node.names[1:])
    wanted = [parts for link in links if (parts := wanted_parts(link, origin)) is not None]
    if not wanted or not origin:
        return ()
    values = {"node_id": node.node_id, "keys": list({parts[-1] for parts in wanted})}
    paths = {
        parts_of([*row["names"][1:-1], row["called"]]): tuple(row["names"])
        for row in tx.execute(_QUERIES["named_beside"], values)
    }
    index = NoteIndex(paths)
    named = [(link, paths[parts]) for link in links if (parts := index.find(link, origin)) is not None]
    found = dict.fromkeys((path, link.relation) for link, path in named if path != node.names)
    related = {path for path, relation in found if relation != LINK_RELATION}
    return tuple(
        PlannedEdge(node.names, path, relation)
        for path, relation in found
        if relation != LINK_RELATION or path not in related
    )


def pinned_node(tx: Transaction, ref: SegmentRef) -> NodeRef | None:
    """Return the node that a segment is pinned to; None for a segment that is not.

    Args:
        tx: A transaction of the pipeline.

    Raises:
        ConflictError: The node was removed.
    """
    if ref.note is None or not ref.note.pinned:
        return None
    row = tx.execute(_QUERIES["pin"], {"source_id": ref.source_id, "message": ref.first_message}).fetchone()
    node = resolve_node(tx, row["node_id"]) if row is not None and row["node_id"] is not None else None
    if node is None:
        raise ConflictError(_UNPINNED)
    return node


def settle_versions(tx: Transaction, ref: SegmentRef, record_id: UUID, *, facts: bool) -> None:
    """Mark the memories that a new record of a note replaces, or the record itself if a later one is stored already.

    Versions can be stored in any order, since each segment is retried on its own. A memory that something else has
    superseded meanwhile stays as it is.

    Args:
        tx: The transaction of the commit, which has locked the graph shared.
        ref: The segment of the note.
        record_id: The new record.
        facts: Whether it will be read for facts. Then that supersedes the memory of the version of a fact before.
    """
    authored(tx, author_of(ref))
    found = tx.execute(
        _QUERIES["other_versions"],
        {
            "user_id": ref.user_id,
            "source_id": ref.source_id,
            "message": ref.first_message,
            "record_id": record_id,
            "facts": facts,
        },
    ).fetchall()
    later: list[tuple[tuple[int, int], UUID]] = []
    own_schema = None
    for row in found:
        schema = sql.Identifier(row["schema_name"])
        state = tx.execute(_QUERIES["version"].format(schema=schema), {"record_id": row["record_id"]}).fetchone()
        if state is None:
            continue
        if row["record_id"] == record_id:
            own_schema = schema
            continue
        turn = (row["turn"], state["first_message"])
        if turn > (0, ref.first_message):
            later.append((turn, row["record_id"]))
        elif state["superseded_by"] is None:
            supersede(tx, schema, row["record_id"], record_id)
    if later and own_schema is not None:
        supersede(tx, own_schema, record_id, max(later)[1])
