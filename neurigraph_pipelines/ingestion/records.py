"""Values that the steps of the ingestion job exchange: references and small results, never transcripts.

A step takes these values, loads the text it needs, and returns such values, with failures in a separate list.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING
from uuid import UUID, uuid5

from neurigraph_pipelines.model import Filing, ItemFailure, Keywords, SegmentRef, Summary
from neurigraph_pipelines.model.errors import AccountError, NeurigraphError, RefusedError, StorageError, TransientError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

OFFLINE = "offline"
"""The name of the language model whose rules read records without a provider."""

_RECORD_NAMESPACE = UUID("6a0f6c1e-2f0b-5d5e-9a44-6d1f6b1f7a10")

Progress = Callable[[int], None]
"""Callback with the number of items just finished."""


@dataclass(frozen=True, slots=True)
class RecordPlan:
    """One future record: a part of a segment and its filing. ``part`` counts from 0 within its segment.

    ``given_id`` is the id of a part of a stored record.
    """

    ref: SegmentRef
    part: int
    filing: Filing
    given_id: UUID | None = None

    @property
    def record_id(self) -> UUID:
        """The id, derived from the trigger and the part, so that a repeated attempt writes the same record."""
        return self.given_id or uuid5(_RECORD_NAMESPACE, f"{self.ref.trigger_id}:{self.part}")

    @property
    def messages(self) -> tuple[int, int]:
        """The numbers of the first and last message."""
        return self.filing.first_message, self.filing.last_message


@dataclass(frozen=True, slots=True)
class Assigned:
    """The result of ``assign_nodes``: the planned records, the failures, and the seconds by trigger."""

    batch_id: UUID
    plans: tuple[RecordPlan, ...] = ()
    failures: tuple[ItemFailure, ...] = ()
    seconds: dict[UUID, float] = field(default_factory=dict, compare=False)


@dataclass(frozen=True, slots=True)
class Summarized:
    """Summaries by record, the seconds by trigger, and by record the enrichments that a defect left out."""

    summaries: dict[UUID, Summary] = field(default_factory=dict)
    failures: tuple[ItemFailure, ...] = ()
    seconds: dict[UUID, float] = field(default_factory=dict, compare=False)
    left_out: dict[UUID, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Described:
    """Keywords by record, the seconds by trigger, and by record the enrichments that a defect left out."""

    keywords: dict[UUID, Keywords] = field(default_factory=dict)
    failures: tuple[ItemFailure, ...] = ()
    seconds: dict[UUID, float] = field(default_factory=dict, compare=False)
    left_out: dict[UUID, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Vectors:
    """The vectors of one record.

    Attributes:
        summary: ``(RECORD_DIMENSIONS,)`` float32 of unit length.
        passages: ``(passages, PASSAGE_DIMENSIONS)`` float16, in order of passage, each behind the text before it.
    """

    summary: NDArray[np.float32]
    passages: NDArray[np.float16]


@dataclass(frozen=True, slots=True)
class MadeSegment:
    """The search segment of a record without its vectors, and the language of its messages.

    Attributes:
        language: The stemmer of most messages.
        messages: The numbers of the messages that it was made of.
        columns: Those of ``neurigraph.segments``; None without passages.
        left_out: The enrichments that a defect kept from being made.
    """

    language: str
    messages: tuple[int, ...]
    columns: Mapping[str, object] | None
    left_out: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Embedded:
    """Segments and vectors by record, and the seconds of the step; one without vectors is committed as pending."""

    model: str
    segments: dict[UUID, MadeSegment] = field(default_factory=dict)
    vectors: dict[UUID, Vectors] = field(default_factory=dict)
    pending: tuple[tuple[UUID, str], ...] = ()
    failures: tuple[ItemFailure, ...] = ()
    seconds: float = field(default=0.0, compare=False)


@dataclass(frozen=True, slots=True)
class Committed:
    """One stored record, for tables and logs.

    Attributes:
        left_out: The enrichments that a defect kept from being made.
    """

    record_id: UUID
    trigger_id: UUID
    node_path: str
    title: str
    passages: int
    pending_embedding: bool
    created_at: datetime
    already_stored: bool = False
    left_out: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class BatchResult:
    """The result of a batch.

    Attributes:
        returned: Failures with the new state of their segment: back in the queue, or failed for good.
        seconds: Seconds of the last step by trigger.
    """

    batch_id: UUID
    stored: tuple[Committed, ...] = ()
    returned: tuple[tuple[ItemFailure, str], ...] = ()
    seconds: dict[UUID, float] = field(default_factory=dict, compare=False)


def failure_of(trigger_id: UUID, step: str, error: Exception) -> ItemFailure:
    """Convert an error into an item failure; the class of the error decides whether a retry may help."""
    if isinstance(error, TransientError):
        return ItemFailure(trigger_id, step, str(error), transient=True, retry_after=error.retry_after)
    if isinstance(error, AccountError):  # a refusal that may be about the content uses up attempts like any other
        return ItemFailure(trigger_id, step, str(error), transient=isinstance(error, RefusedError), account=True)
    if isinstance(error, StorageError):  # a full disk may have room later
        return ItemFailure(trigger_id, step, str(error), transient=True)
    if isinstance(error, NeurigraphError):
        return ItemFailure(trigger_id, step, str(error), transient=False)
    # An unexpected error may be transient; the number of attempts is bounded either way.
    return ItemFailure(trigger_id, step, f"{type(error).__name__}: {error}", transient=True)


def failed_triggers(*steps: Iterable[ItemFailure]) -> dict[UUID, ItemFailure]:
    """Return the first failure of each trigger over several steps."""
    failed: dict[UUID, ItemFailure] = {}
    for failures in steps:
        for failure in failures:
            failed.setdefault(failure.trigger_id, failure)
    return failed
