"""The second step: a summary of each planned record.

The language model writes the summary; this module checks that it is usable.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from itertools import islice
from uuid import UUID

from neurigraph_pipelines.ingestion.distinct_titles import shortened
from neurigraph_pipelines.ingestion.map_records import map_records
from neurigraph_pipelines.ingestion.records import Assigned, Progress, Summarized
from neurigraph_pipelines.model import Segment, SegmentRef, Summary
from neurigraph_pipelines.model.context import Context
from neurigraph_pipelines.model.enriching import enriched
from neurigraph_pipelines.model.errors import ProviderError
from neurigraph_pipelines.model.measuring import measured
from neurigraph_pipelines.model.ports import LanguageModel
from neurigraph_pipelines.text.hygiene import storable

STEP = "summarize"

_MAX_FIRST_CHARACTERS = 4_000
"""Most characters of a summary that consists of first words; some languages write without spaces."""


@measured("ingestion.summarize")
def summarize(context: Context, assigned: Assigned, on_done: Progress | None = None) -> Summarized:
    """Summarise every record of a batch, in parallel; failures are per item."""
    words = context.settings.ingestion.summary_words

    model, wants_facts = context.language_model, context.settings.ingestion.facts

    def work(part: Segment, _: UUID) -> Summary:
        return _usable(model, part, model.read(part, words) if wants_facts else model.summarize(part, words))

    return Summarized(*map_records(STEP, work, partial(first_words, words=words), context, assigned, on_done))


def summary_of(model: LanguageModel, part: Segment, words: int) -> Summary:
    """Return the summary of one record, given its part of a segment.

    Raises:
        ProviderError: The model returned an empty summary.
    """
    return _usable(model, part, model.summarize(part, words))


def _usable(model: LanguageModel, part: Segment, made: Summary) -> Summary:
    summary = storable(made)
    if not summary.text.strip():
        raise ProviderError(f"{model.name} returned an empty summary")
    return replace(summary, title=_title(summary.title, part.ref), text=summary.text.strip())


def first_words(part: Segment, words: int) -> Summary:
    """Return the title of the source and the first words that were said, in place of a summary."""
    said = (word for message in part.messages for word in message.content[:_MAX_FIRST_CHARACTERS].split())
    title = enriched("title", lambda: _title("", part.ref), lambda: _untitled(part.ref))
    return Summary(title, " ".join(islice(said, words))[:_MAX_FIRST_CHARACTERS].strip() or title)


def _title(proposed: str, ref: SegmentRef) -> str:
    given = ref.title if ref.note is not None else None  # the title that somebody gave a note stays
    title = given or " ".join(proposed.split()) or (ref.title or "").strip() or _untitled(ref)
    return shortened(title)


def _untitled(ref: SegmentRef) -> str:
    return f"Untitled {ref.source_kind.value}"
