"""The third step: structured keywords of each planned record."""

from __future__ import annotations

from dataclasses import replace
from uuid import UUID

from neurigraph_pipelines.ingestion.map_records import map_records
from neurigraph_pipelines.ingestion.records import Assigned, Described, Progress, Summarized
from neurigraph_pipelines.model import KEYWORD_COLUMNS, Keywords, Segment
from neurigraph_pipelines.model.context import Context
from neurigraph_pipelines.model.enriching import enriched
from neurigraph_pipelines.model.limits import MAX_KEYWORD_LENGTH, MAX_KEYWORDS
from neurigraph_pipelines.model.measuring import measured
from neurigraph_pipelines.model.ports import LanguageModel
from neurigraph_pipelines.text.hygiene import storable

STEP = "extract_keywords"


@measured("ingestion.extract_keywords")
def extract_keywords(
    context: Context, assigned: Assigned, summarized: Summarized, on_done: Progress | None = None
) -> Described:
    """Extract the keywords of every record of a batch that its summary did not bring, in parallel.

    Failures are per item.
    """

    def work(part: Segment, record_id: UUID) -> Keywords:
        summary = summarized.summaries.get(record_id)
        if summary is not None and summary.also is not None:
            return _with_tags(summary.also.keywords, part)
        return keywords_of(context.language_model, part)

    return Described(*map_records(STEP, work, _tags_alone, context, assigned, on_done))


def keywords_of(model: LanguageModel, part: Segment) -> Keywords:
    """Return the keywords of one record, given its part of a segment. A note's tags come first among its topics."""
    return _with_tags(storable(model.extract_keywords(part)), part)


def _with_tags(found: Keywords, part: Segment) -> Keywords:
    if part.ref.note is not None and part.ref.note.tags:
        tags = part.ref.note.tags
        known = {tag.casefold() for tag in tags}
        found = replace(found, topics=(*tags, *(topic for topic in found.topics if topic.casefold() not in known)))
    return Keywords(**{name: _bounded(getattr(found, name)) for name in KEYWORD_COLUMNS})


def _tags_alone(part: Segment) -> Keywords:
    return enriched("tags", lambda: _with_tags(Keywords(), part), Keywords)


def _bounded(words: tuple[str, ...]) -> tuple[str, ...]:
    kept = dict.fromkeys(" ".join(word.split())[:MAX_KEYWORD_LENGTH] for word in words)
    kept.pop("", None)
    return tuple(kept)[:MAX_KEYWORDS]
