"""Reading a memory again and comparing its facts at the same time: one waits for the other, and neither is aborted."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import psycopg

from neurigraph_pipelines.knowledge.reading import read_again, read_waiting
from neurigraph_pipelines.knowledge.reconciling import reconcile_waiting
from neurigraph_pipelines.model import Segment
from neurigraph_pipelines.model.facts import ReadFact
from neurigraph_pipelines.model.ports import KeptFacts
from neurigraph_pipelines.wiring.installation import Installation
from tests.support.locks import wait_until_locked
from tests.support.memories import converse, ingest, new_user, plain_context, rows, stored
from tests.support.pausing_facts import FormsModel


class _SecondReading(FormsModel):
    """Finds one fact more, so that the memory is to be compared again."""

    def extract_facts(self, segment: Segment, kept: KeptFacts | None = None) -> list[ReadFact]:
        found = super().extract_facts(segment, kept)
        return [*found, replace(found[0], statement=f"Somebody says: {found[0].statement}", slot=None)]


def test_reader_and_reconciler_of_one_memory_take_turns(here: Installation) -> None:
    user, claims = new_user(here)
    context = plain_context(here).using(language_model=FormsModel())
    for number, statement in enumerate(("Ana lives in Porto.", "Ana now lives in Lisbon.")):
        converse(here, claims, statement, first=1 + 60 * number)
        (record,) = stored(ingest(context, user))
        assert read_waiting(context, user_id=user.user_id).facts == 1
        if number == 0:  # so that only the memory that is read again waits to be compared
            reconcile_waiting(context, user_id=user.user_id)
    with psycopg.connect(here.administrator_url) as held, ThreadPoolExecutor(2) as pool:
        held.execute("SELECT FROM neurigraph.facts WHERE record_id = %s FOR UPDATE", [record.record_id])
        again = context.using(language_model=_SecondReading())
        reading = pool.submit(read_again, again, [record.record_id])
        wait_until_locked(here, 1, "neurigraph_pipeline")
        comparing = pool.submit(reconcile_waiting, context, user_id=user.user_id)
        wait_until_locked(here, 2, "neurigraph_pipeline")
        held.rollback()
        assert (reading.result().facts, reading.result().failed) == (2, [])
        assert comparing.result().failed == []
    assert reconcile_waiting(context, user_id=user.user_id).failed == []
    (verdict,) = rows(here, "SELECT effect FROM neurigraph.fact_verdicts WHERE user_id = %s", user.user_id)
    assert verdict["effect"] == "flagged"
    assert len(rows(here, "SELECT FROM neurigraph.facts WHERE user_id = %s", user.user_id)) == 3
