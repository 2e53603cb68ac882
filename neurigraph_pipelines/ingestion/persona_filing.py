"""Filing of segments that a persona sent: only into nodes that the persona may write to; and who is filed at personas.

Creates no nodes, edges or aliases. The database decides which nodes a persona may write to; the commit checks again.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.graph.naming import name_key
from neurigraph_pipelines.ingestion.assign import STEP, Limit, assign_batch
from neurigraph_pipelines.ingestion.records import failure_of
from neurigraph_pipelines.model import Filing, ItemFailure, Outline, Segment, SegmentRef
from neurigraph_pipelines.model.errors import ForbiddenError
from neurigraph_pipelines.model.ports import LanguageModel, Transaction

_NOT_WRITABLE = "the persona that sent this may not write to any node: grant it one, then replay this"
_QUERIES = statements("access")


@dataclass(frozen=True, slots=True)
class WritableNodes:
    """Paths of the nodes that a persona may write to, from layer 1 down; its own node comes first if it is one."""

    paths: tuple[tuple[str, ...], ...]

    def outline(self, outline: Outline) -> Outline:
        """Return the writable nodes of an outline; the model does not see the others."""
        writable = {_key(path) for path in self.paths}
        return Outline(nodes=tuple(node for node in outline.nodes if _key(node.path) in writable))

    def restrict(self, filing: Filing) -> Filing:
        """Move a filing to the deepest writable node on its path, else to the persona's first node."""
        known = {_key(path): path for path in self.paths}
        wanted = _key(filing.path)
        ends = (known.get(wanted[:depth]) for depth in range(len(wanted), -1, -1))
        path = next((end for end in ends if end is not None), self.paths[0])
        return Filing(path, filing.first_message, filing.last_message, left_out=filing.left_out)


def writable_nodes(tx: Transaction, persona_id: UUID) -> WritableNodes:
    """Return the nodes that a persona may write to now.

    Args:
        tx: A transaction of the pipeline.
    """
    rows = tx.execute(_QUERIES["writable"], {"persona": persona_id})
    return WritableNodes(tuple(tuple(row["names"][1:]) for row in rows))


def assign_for_persona(
    segment: Segment, outline: Outline, nodes: WritableNodes, model: LanguageModel, limited: Limit
) -> list[Filing] | ItemFailure:
    """File a persona's segment as ``assign_batch`` files a user's, but only into writable nodes."""
    if not nodes.paths:
        return failure_of(segment.ref.trigger_id, STEP, ForbiddenError(_NOT_WRITABLE))
    (answer,) = assign_batch([segment], {segment.ref.user_id: nodes.outline(outline)}, model, math.inf, limited=limited)
    return answer if isinstance(answer, ItemFailure) else [nodes.restrict(filing) for filing in answer]


def may_enter_personas(ref: SegmentRef) -> bool:
    """Return whether a segment may be filed at or below a persona: it is a persona's, or somebody named its node.

    What others say never enters by its words or a model's answer, since a persona's keys read what lies there.
    """
    return ref.persona_id is not None or (ref.note is not None and ref.note.pinned)


def require_writable(tx: Transaction, persona_id: UUID, node_id: UUID) -> None:
    """Check at commit time that a persona may still write to a node.

    Raises:
        ForbiddenError: The persona may no longer write to it.
    """
    row = tx.execute(_QUERIES["persona_may_write"], {"persona": persona_id, "node_id": node_id}).fetchone()
    if row is None or not row["may"]:
        raise ForbiddenError("the persona that sent this may no longer write there: replay to file it again")


def _key(path: Sequence[str]) -> tuple[str, ...]:
    return tuple(map(name_key, path))
