"""Windows of a waiting record that a model has read: kept until all are, so that a crash costs one window.

The rows belong to the wait of the record. They go when its facts are written, and when the record is forgotten.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from neurigraph_pipelines.graph.locks import lock_graph_shared
from neurigraph_pipelines.ingestion.read_windows import keep_window, read_windows
from neurigraph_pipelines.ingestion.waiting_records import Leased
from neurigraph_pipelines.knowledge.grounding import Said, most_important
from neurigraph_pipelines.knowledge.writing import forgotten_statements
from neurigraph_pipelines.model.context import Context
from neurigraph_pipelines.model.facts import ReadFact, bounds
from neurigraph_pipelines.text.statement_key import statement_key


class KeptWindows:
    """Implements ``ports.KeptFacts`` for one record, as long as its lease holds.

    Attributes:
        dropped: How many facts were left out of the windows that were read now.
    """

    def __init__(self, context: Context, leased: Leased, said: Said) -> None:
        self._context, self._leased, self._said = context, leased, said
        self.dropped = 0

    @cached_property
    def _known(self) -> dict[bytes, list[ReadFact]]:
        with self._context.database.pipeline() as tx:
            return read_windows(tx, self._leased.record_id)

    def find(self, digest: bytes) -> list[ReadFact] | None:
        """Return the facts of a window; None if it was not read."""
        return self._known.get(digest)

    def keep(self, digest: bytes, facts: Sequence[ReadFact], words: int, tokens: int) -> list[ReadFact]:
        """Write the facts of a window that stand in the messages, the most important within the bounds of its size."""
        kept = most_important([fact for fact in facts if self._said.grounds(fact)], *bounds(words, tokens))
        self.dropped += len(facts) - len(kept)
        with self._context.database.pipeline() as tx:
            lock_graph_shared(tx, self._leased.user_id)  # so that nobody forgets one of these statements meanwhile
            forgotten = forgotten_statements(tx, self._leased.record_id)
            left = [fact for fact in kept if statement_key(fact.statement) not in forgotten]
            keep_window(tx, self._leased.record_id, self._leased.attempts, digest, left)
        return left
