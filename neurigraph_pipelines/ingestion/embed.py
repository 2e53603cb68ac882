"""The fourth step: the search segments of records, and the vectors of summaries and passages.

Converts the embedder's vectors to the widths of the columns. If the provider is down, or the work would take minutes,
records are committed as pending, without vectors; ``healing`` computes them later.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import partial
from itertools import accumulate, chain, groupby, islice
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from neurigraph_pipelines.graph.voices import voices_of
from neurigraph_pipelines.inbox import triggers
from neurigraph_pipelines.ingestion.map_records import part_of
from neurigraph_pipelines.ingestion.passage_words import made_segment
from neurigraph_pipelines.ingestion.records import (
    Assigned,
    Embedded,
    MadeSegment,
    Progress,
    RecordPlan,
    Summarized,
    Vectors,
    failed_triggers,
    failure_of,
)
from neurigraph_pipelines.ingestion.time_limits import time_limit, unlimited
from neurigraph_pipelines.model import PASSAGE_DIMENSIONS, ItemFailure
from neurigraph_pipelines.model.context import Context
from neurigraph_pipelines.model.errors import TransientError
from neurigraph_pipelines.model.measuring import measured
from neurigraph_pipelines.model.ports import Embedder
from neurigraph_pipelines.text.disguises import undisguised
from neurigraph_pipelines.text.in_context import in_context
from neurigraph_pipelines.text.transcript import Passage, transcript_writer
from neurigraph_pipelines.text.vectors import to_passage_vectors, to_record_vector

STEP = "embed"
Limit = Callable[[int], AbstractContextManager[None]]

_CHARACTERS_OF_A_TOKEN = 4
_TEXTS_AT_ONCE = 4_096
"""Texts in one group: enough for full embedder batches. Their vectors take 25 MB at 1,536 dimensions."""


@dataclass(frozen=True, slots=True)
class TextsToEmbed:
    """The texts to embed for one record: its summary, and its passages in order, each behind those before it.

    Iteration builds the texts one by one; only the passages stay in memory.
    """

    record_id: UUID
    summary: str
    passages: Sequence[Passage]

    def __len__(self) -> int:
        return 1 + len(self.passages)

    @property
    def tokens(self) -> int:
        """About how many tokens its passages have."""
        return sum(len(passage.text) for passage in self.passages) // _CHARACTERS_OF_A_TOKEN

    def __iter__(self) -> Iterator[str]:
        yield self.summary
        said = [(undisguised(one.message.speaker), undisguised(one.text)) for one in self.passages]
        yield from (in_context(*one, said[max(0, index - 2) : index]) for index, one in enumerate(said))


@measured("ingestion.embed")
def embed(
    context: Context,
    assigned: Assigned,
    summarized: Summarized,
    on_done: Progress | None = None,
) -> Embedded:
    """Make the segment of every summarised record of a batch, and embed it; one whose embedding failed is pending.

    With a local embedder, which may take minutes for them, the records of large segments are pending too.
    """
    failed = failed_triggers(assigned.failures, summarized.failures)
    plans = [plan for plan in assigned.plans if plan.ref.trigger_id not in failed]
    most = math.inf if context.embedder.is_remote else context.settings.ingestion.large_segment_tokens
    embedded = Embedded(context.embedder.model)
    pending = [
        (plan.record_id, "its segment is large: its vectors follow") for plan in plans if plan.ref.token_count > most
    ]
    failures: list[ItemFailure] = []
    started = time.monotonic()
    with triggers.keep_lease(context, assigned.batch_id):
        texts = _texts(context, plans, summarized, embedded.segments, failures)
        now = (one for plan, one in texts if plan.ref.token_count <= most)
        for found in embed_texts(context.embedder, now, partial(time_limit, context.settings, STEP)):
            embedded.vectors.update((record_id, result) for record_id, result in found if isinstance(result, Vectors))
            pending.extend((record_id, str(result)) for record_id, result in found if isinstance(result, Exception))
            if on_done is not None:
                on_done(len(found))
    seconds = time.monotonic() - started
    return replace(embedded, pending=tuple(pending), failures=tuple(failures), seconds=seconds)


def embed_texts(
    embedder: Embedder, items: Iterable[TextsToEmbed], limited: Limit = unlimited
) -> Iterator[list[tuple[UUID, Vectors | Exception]]]:
    """Yield groups of records, each record with its vectors or the error.

    A provider that is down fails all records of a group with ``TransientError``. A text that it rejects, or that takes
    too long, fails only its own record.

    Args:
        embedder: Computes the vectors.
        items: The records.
        limited: Returns a context manager that ends the work on so many tokens if it takes too long.
    """
    return (_embed_group(embedder, group, limited) for group in _groups(items))


def _texts(
    context: Context,
    plans: Sequence[RecordPlan],
    summarized: Summarized,
    made: dict[UUID, MadeSegment],
    failures: list[ItemFailure],
) -> Iterator[tuple[RecordPlan, TextsToEmbed]]:
    """Yield the texts of each record, and make its segment before."""
    writer, settings = transcript_writer(context), context.settings
    segments = [list(own) for _, own in groupby(plans, lambda plan: plan.ref.trigger_id)]
    loaded = triggers.load_each(context.database, (own[0].ref for own in segments))
    for own, load in zip(segments, loaded, strict=True):
        for plan in own:
            ref = plan.ref
            try:
                with time_limit(settings, STEP, ref.token_count):
                    whole = load()
                    part = part_of(whole, plan)
                    passages = list(writer.passages(part)) if settings.ingestion.passages else []
                    voices = voices_of(whole.messages, ref.source_kind, ref.user_slug)
                    made[plan.record_id] = made_segment(part, passages, voices, settings.language)
                summary = summarized.summaries[plan.record_id].text
            except Exception as error:  # one bad item must not fail the others
                failures.append(failure_of(ref.trigger_id, STEP, error))
                continue
            yield plan, TextsToEmbed(plan.record_id, summary, passages)


def _groups(items: Iterable[TextsToEmbed]) -> Iterator[list[TextsToEmbed]]:
    """Group records up to a bounded number of texts, because providers and the local model prefer full batches."""
    group: list[TextsToEmbed] = []
    size = 0
    for texts in items:
        if group and size + len(texts) > _TEXTS_AT_ONCE:
            yield group
            group, size = [], 0
        group.append(texts)
        size += len(texts)
    if group:
        yield group


def _embed_group(
    embedder: Embedder, group: Sequence[TextsToEmbed], limited: Limit
) -> list[tuple[UUID, Vectors | Exception]]:
    try:
        with limited(sum(texts.tokens for texts in group)):
            return [(texts.record_id, found) for texts, found in zip(group, _vectors(embedder, group), strict=True)]
    except Exception as error:  # one bad text must not leave the other records without vectors
        if len(group) == 1 or isinstance(error, TransientError):
            return [(texts.record_id, error) for texts in group]
        half = len(group) // 2
        return [*_embed_group(embedder, group[:half], limited), *_embed_group(embedder, group[half:], limited)]


def _vectors(embedder: Embedder, group: Sequence[TextsToEmbed]) -> Iterator[Vectors]:
    """Yield the vectors of each record, converted piece by piece: a model's own may be six times as large."""
    begins = list(accumulate(map(len, group), initial=0))
    summaries: dict[int, NDArray[np.float32]] = {}
    passages = np.empty((begins.pop(), PASSAGE_DIMENSIONS), np.float16)
    texts, done = chain.from_iterable(group), 0
    while piece := list(islice(texts, _TEXTS_AT_ONCE)):
        distinct = {text: row for row, text in enumerate(dict.fromkeys(piece))}  # short messages repeat
        found = embedder.embed(list(distinct))[[distinct[text] for text in piece]]
        end = done + len(piece)
        passages[done:end] = to_passage_vectors(found, embedder.prefix_trained)
        summaries.update((begin, to_record_vector(found[begin - done])) for begin in begins if done <= begin < end)
        done = end
    for record, begin in zip(group, begins, strict=True):
        first = begin + 1
        yield Vectors(summaries[begin], passages[first : first + len(record.passages)])
