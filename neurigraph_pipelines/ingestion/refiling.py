"""Filing of stored memories again that a defect had left at the root, or without links."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from neurigraph_pipelines.graph.changes import node_and_below
from neurigraph_pipelines.graph.edges import Places
from neurigraph_pipelines.graph.history import pipeline_author
from neurigraph_pipelines.graph.locks import lock_graph_exclusive, lock_rows
from neurigraph_pipelines.graph.moving import transfer_records
from neurigraph_pipelines.graph.navigation import outline
from neurigraph_pipelines.graph.shell import rebuild_shell
from neurigraph_pipelines.graph.witnesses import Said, Witness, messages_with, named
from neurigraph_pipelines.ingestion.assign import assign_batch
from neurigraph_pipelines.ingestion.conditions import conditions_of
from neurigraph_pipelines.ingestion.graph_updates import update_graph
from neurigraph_pipelines.ingestion.note_records import pinned_filing
from neurigraph_pipelines.ingestion.persona_filing import may_enter_personas
from neurigraph_pipelines.ingestion.record_locations import locate
from neurigraph_pipelines.ingestion.records import OFFLINE
from neurigraph_pipelines.ingestion.subjects import all_said
from neurigraph_pipelines.model import Detector, Filing, ItemFailure, MentionRole, Segment
from neurigraph_pipelines.model.context import Context
from neurigraph_pipelines.model.errors import NeurigraphError, require_found
from neurigraph_pipelines.model.ports import Transaction


def refile(context: Context, record_id: UUID, segment: Segment, entities: Sequence[str]) -> None:
    """File a stored memory as a new one is filed, and write its links. A memory that a person has moved stays there.

    Segments that a persona sent stay where they are.

    Args:
        record_id: The memory.
        segment: Its messages.
        entities: Its entities.

    Raises:
        NeurigraphError: A defect keeps it from being filed again.
        NotFoundError: The memory no longer exists.
    """
    ref = segment.ref
    if ref.persona_id is not None:
        return
    filing = _filing_of(context, segment)
    with context.database.owner() as tx:
        slug = lock_graph_exclusive(tx, ref.user_id)
        location = require_found(locate(tx, record_id))
        filing = _allowed(tx, segment, filing)
        places = Places(tx, ref.user_id, slug, personas=may_enter_personas(ref))
        planned = (*filing.new_nodes, *filing.beside)
        node = places.reach(filing.path, planned)
        for one in filing.beside:
            places.reach(one.path, planned)
        source = node_and_below(tx, ref.user_id, location.node_id)[0]
        target = node_and_below(tx, ref.user_id, node.node_id)[0] if source.parent_node_id is None else source
        if target.node_id != source.node_id:
            lock_rows(tx, {source.schema_name: [record_id]}, [source.node_id, target.node_id])
            author = pipeline_author(context.language_model.name)
            transfer_records(tx, [record_id], source, target, author)
        detector = Detector.RULE if context.language_model.name == OFFLINE else Detector.MODEL
        witness = Witness(record_id, detector, messages_with(segment.messages))
        left_out = update_graph(
            tx, places, [(witness, filing)], lambda: _said(witness, target.node_id, segment, entities), ()
        )
        if left_out:
            raise NeurigraphError(f"it could not be linked again: {', '.join(left_out)}")
        for node_id in sorted({source.node_id, target.node_id}):
            rebuild_shell(tx, node_id, slug)


def _filing_of(context: Context, segment: Segment) -> Filing:
    """Return the filing of most of a segment's messages, with the links of all."""
    ref = segment.ref
    with context.database.pipeline() as tx:
        found = outline(tx, ref.user_id, context.embedder.model).without_personas()
        pinned = pinned_filing(tx, segment) if ref.note is not None and ref.note.pinned else None
    threshold = context.settings.ingestion.node_creation_confidence
    (answer,) = [pinned] if pinned else assign_batch([segment], {ref.user_id: found}, context.language_model, threshold)
    if isinstance(answer, ItemFailure):
        raise NeurigraphError(answer.error)
    if answer[0].left_out is not None:
        raise NeurigraphError(f"it could not be filed again: {answer[0].left_out}")
    widest = max(answer, key=lambda filing: filing.last_message - filing.first_message)
    return all_said(widest, answer)


def _allowed(tx: Transaction, segment: Segment, filing: Filing) -> Filing:
    """Return a filing without changes of the graph if its source is private or in quarantine."""
    ref = segment.ref
    part = (ref.source_id, segment.messages[0].seq, segment.messages[-1].seq, None)
    (found,) = conditions_of(tx, ref.user_id, [part])()
    if found.private or found.quarantines:
        return Filing(filing.path, filing.first_message, filing.last_message)
    return filing


def _said(witness: Witness, node_id: UUID, segment: Segment, entities: Sequence[str]) -> list[Said]:
    authors = [message.author for message in segment.messages if message.author]
    return [
        Said(witness, node_id=node_id, role=MentionRole.SUBJECT),
        *named(witness, authors, MentionRole.AUTHOR),
        *named(witness, entities, MentionRole.MENTION),
    ]
