"""Records whose objects are stored, and their rows: the values that ``record_rows`` takes and returns."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from neurigraph_pipelines.graph.shell import Addition
from neurigraph_pipelines.graph.witnesses import Witness
from neurigraph_pipelines.inbox.stored_files import StoredFile
from neurigraph_pipelines.ingestion.conditions import Conditions
from neurigraph_pipelines.ingestion.records import Committed, RecordPlan
from neurigraph_pipelines.model import Segment


@dataclass(frozen=True, slots=True)
class WrittenRecord:
    """One record whose objects are stored, ready for its rows.

    Attributes:
        part: Its part of the segment.
        files: The original of an upload, if it has one, and the transcript last.
        private: Whether its source is private.
        quarantines: The quarantines in force that it meets.
        known: The record with the same content that is stored already.
        created_at: When its text is stored, or was, if ``known`` has it or it is a part of a record of before.
    """

    plan: RecordPlan
    part: Segment
    files: tuple[StoredFile, ...]
    private: bool = False
    quarantines: tuple[UUID, ...] = ()
    known: UUID | None = None
    created_at: datetime | None = None

    @property
    def content_hash(self) -> bytes:
        """The digest of the transcript's text, which identifies a segment of a source."""
        return self.files[-1].content_sha256

    @property
    def main_file(self) -> StoredFile:
        """The file that opening the record shows: the original if there is one."""
        return self.files[0]

    def under(self, conditions: Conditions) -> WrittenRecord:
        """Return the record as it may be stored. One in quarantine changes nothing of the graph."""
        met = tuple(conditions.quarantines)
        item = self.as_private() if conditions.private else self
        created_at = self.created_at or conditions.created_at
        item = replace(item, known=conditions.record_id, created_at=created_at)
        return replace(item.as_private(), quarantines=met) if met else item

    def as_private(self) -> WrittenRecord:
        """Return the record without changes to the graph: no nodes, edges, ends of edges, aliases or candidates."""
        filing = replace(self.plan.filing, new_nodes=(), beside=(), edges=(), aliases=(), candidates=(), endings=())
        return replace(self, plan=replace(self.plan, filing=filing), private=True)


@dataclass(frozen=True, slots=True)
class Inserted:
    """The rows of one record.

    Attributes:
        written: The record whose rows these are.
        node_id: The node that it is filed at.
        addition: The values that it adds to the shell of the node; None if it was stored already or is in quarantine.
        witness: The record as evidence; None if it was stored already.
    """

    written: WrittenRecord
    committed: Committed
    node_id: UUID
    addition: Addition | None = None
    witness: Witness | None = None
