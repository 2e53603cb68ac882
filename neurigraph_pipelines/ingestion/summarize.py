"""The second step: a summary of each planned record.

The language model writes the summary; this module checks that it is usable.
"""

from __future__ import annotations

from neurigraph_pipelines.context import Context
from neurigraph_pipelines.errors import ProviderError
from neurigraph_pipelines.ingestion.distinct_titles import shortened
from neurigraph_pipelines.ingestion.map_records import map_records
from neurigraph_pipelines.ingestion.records import Assigned, Progress, RecordPlan, Summarized
from neurigraph_pipelines.measuring import measured
from neurigraph_pipelines.model import Segment, SegmentRef, Summary
from neurigraph_pipelines.ports import LanguageModel

STEP = "summarize"


@measured("ingestion.summarize")
def summarize(context: Context, assigned: Assigned, on_done: Progress | None = None) -> Summarized:
    """Summarise every record of a batch, in parallel; failures are per item."""

    def work(_: RecordPlan, part: Segment) -> Summary:
        return summary_of(context.language_model, part, context.settings.ingestion.summary_words)

    return Summarized(*map_records(STEP, work, context, assigned, on_done))


def summary_of(model: LanguageModel, part: Segment, words: int) -> Summary:
    """Return the summary of one record, given its part of a segment.

    Raises:
        ProviderError: The model returned an empty summary.
    """
    summary = model.summarize(part, words)
    if not summary.text.strip():
        raise ProviderError(f"{model.name} returned an empty summary")
    return Summary(_title(summary.title, part.ref), summary.text.strip())


def _title(proposed: str, ref: SegmentRef) -> str:
    given = ref.title if ref.note is not None else None  # the title that somebody gave a note stays
    title = given or " ".join(proposed.split()) or (ref.title or "").strip() or f"Untitled {ref.source_kind.value}"
    return shortened(title)
