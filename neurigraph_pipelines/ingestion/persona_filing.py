"""What a persona hands in is filed where it may write, whatever a model says of it.

Nothing else of the graph is touched: no node is made, no edge, no other name. Which nodes a persona may write to is
decided in the database; it is asked again when the record is committed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from neurigraph_pipelines.errors import ForbiddenError
from neurigraph_pipelines.graph.naming import name_key
from neurigraph_pipelines.ingestion.assign import STEP, assign_batch
from neurigraph_pipelines.ingestion.records import failure_of
from neurigraph_pipelines.model import Filing, ItemFailure, Outline, Segment
from neurigraph_pipelines.ports import LanguageModel, Transaction
from neurigraph_pipelines.statements import statements

_NOWHERE = "the persona that handed this in may not write to any node: grant it one, then replay this"
_QUERIES = statements("access")


@dataclass(frozen=True, slots=True)
class Writable:
    """The nodes that a persona may write to, by names from layer 1 down; its own comes first, if it is among them."""

    paths: tuple[tuple[str, ...], ...]

    def outline(self, outline: Outline) -> Outline:
        """Of an outline the nodes that may be written to; a model need not know of others."""
        open_to_it = {_key(path) for path in self.paths}
        return Outline(nodes=tuple(node for node in outline.nodes if _key(node.path) in open_to_it))

    def confined(self, filing: Filing) -> Filing:
        """The filing at the deepest node on its way that may be written to, else at the first of all."""
        known = {_key(path): path for path in self.paths}
        wanted = _key(filing.path)
        ends = (known.get(wanted[:depth]) for depth in range(len(wanted), -1, -1))
        path = next((end for end in ends if end is not None), self.paths[0])
        return Filing(path, filing.first_message, filing.last_message)


def writable(tx: Transaction, persona_id: UUID) -> Writable:
    """Where a persona may write, at this moment.

    Args:
        tx: Of the pipeline.
    """
    return Writable(tuple(tuple(row["names"][1:]) for row in tx.execute(_QUERIES["writable"], {"persona": persona_id})))


def assign_confined(
    segment: Segment, outline: Outline, where: Writable, model: LanguageModel
) -> list[Filing] | ItemFailure:
    """File a segment of a persona, as ``assign_batch`` files a user's, but only where the persona may write."""
    if not where.paths:
        return failure_of(segment.ref.trigger_id, STEP, ForbiddenError(_NOWHERE))
    (answer,) = assign_batch([segment], {segment.ref.user_id: where.outline(outline)}, model, math.inf)
    return answer if isinstance(answer, ItemFailure) else [where.confined(filing) for filing in answer]


def require_writable(tx: Transaction, persona_id: UUID, node_id: UUID) -> None:
    """Make sure that a persona may still write to a node, now that something of it is stored there.

    Raises:
        ForbiddenError: It may not any more.
    """
    row = tx.execute(_QUERIES["persona_may_write"], {"persona": persona_id, "node_id": node_id}).fetchone()
    if row is None or not row["may"]:
        raise ForbiddenError("the persona that handed this in may not write there any more: replay to file it anew")


def _key(path: Sequence[str]) -> tuple[str, ...]:
    return tuple(map(name_key, path))
