"""The third step, beside the second: structured keywords of each future record."""

from __future__ import annotations

from neurigraph_pipelines.ingestion import triggers
from neurigraph_pipelines.ingestion.records import Assigned, Described, Progress, RecordPlan, map_items
from neurigraph_pipelines.model import ItemFailure, Keywords
from neurigraph_pipelines.ports import Adapters
from neurigraph_pipelines.settings import Settings

STEP = "extract_keywords"
MAX_KEYWORDS = 64
"""In one field of one record; more would make every record match everything."""
MAX_KEYWORD_LENGTH = 120


def extract_keywords(
    adapters: Adapters, settings: Settings, assigned: Assigned, on_done: Progress | None = None
) -> Described:
    """Describe every record of a batch, several at once; a failure stays with its item."""

    def one(plan: RecordPlan) -> Keywords:
        segment = triggers.load(adapters.database, plan.ref)
        part = segment.within(plan.filing.first_message, plan.filing.last_message)
        found = adapters.language_model.extract_keywords(part)
        return Keywords(
            _bounded(found.entities), _bounded(found.topics), _bounded(found.dates), _bounded(found.relationships)
        )

    with triggers.held(adapters.database, settings, assigned.batch_id):
        results = map_items(
            STEP,
            one,
            assigned.plans,
            lambda plan: plan.ref.trigger_id,
            adapters.language_model.concurrency,
            on_done,
        )
    pairs = list(zip(assigned.plans, results, strict=True))
    return Described(
        {plan.record_id: result for plan, result in pairs if not isinstance(result, ItemFailure)},
        tuple(result for _, result in pairs if isinstance(result, ItemFailure)),
    )


def _bounded(words: tuple[str, ...]) -> tuple[str, ...]:
    kept = dict.fromkeys(" ".join(word.split())[:MAX_KEYWORD_LENGTH] for word in words)
    kept.pop("", None)
    return tuple(kept)[:MAX_KEYWORDS]
