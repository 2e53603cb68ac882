"""The second step: a summary of each future record.

Which words a summary is made of is the language model's affair; this checks that it is usable.
"""

from __future__ import annotations

from neurigraph_pipelines.errors import ProviderError
from neurigraph_pipelines.ingestion.each_record import each_record
from neurigraph_pipelines.ingestion.records import Assigned, Progress, RecordPlan, Summarized
from neurigraph_pipelines.model import Segment, Summary
from neurigraph_pipelines.ports import Adapters
from neurigraph_pipelines.settings import Settings

STEP = "summarize"
MAX_TITLE_LENGTH = 200


def summarize(
    adapters: Adapters, settings: Settings, assigned: Assigned, on_done: Progress | None = None
) -> Summarized:
    """Summarise every record of a batch, several at once; a failure stays with its item."""

    def summary_of(plan: RecordPlan, part: Segment) -> Summary:
        summary = adapters.language_model.summarize(part, settings.summary_words)
        if not summary.text.strip():
            raise ProviderError(f"{adapters.language_model.name} gave an empty summary")
        return Summary(_title(summary.title, plan), summary.text.strip())

    return Summarized(*each_record(STEP, summary_of, adapters, settings, assigned, on_done))


def _title(proposed: str, plan: RecordPlan) -> str:
    title = " ".join(proposed.split()) or (plan.ref.title or "").strip() or f"Untitled {plan.ref.source_kind.value}"
    return title if len(title) <= MAX_TITLE_LENGTH else title[: MAX_TITLE_LENGTH - 1].rstrip() + "…"
