"""A run that stores what is due, reads it for facts and compares them, and stops at a chosen moment, for tests to kill.

Run as ``python -m tests.support.pausing_facts URL SECRET OBJECTS USER_ID MOMENT OCCURRENCE``; prints ``paused`` when it
gets there. The adapters are the real ones behind wrappers that implement the same ports.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from uuid import UUID

from neurigraph_pipelines.database.secret import Secret
from neurigraph_pipelines.ingestion.batch import run_due
from neurigraph_pipelines.knowledge.reading import read_waiting
from neurigraph_pipelines.knowledge.reconciling import reconcile_waiting
from neurigraph_pipelines.model import Segment
from neurigraph_pipelines.model.context import Context
from neurigraph_pipelines.model.facts import ReadFact
from neurigraph_pipelines.model.ports import Database, KeptFacts
from neurigraph_pipelines.model.verdicts import Judgement, Pair
from neurigraph_pipelines.settings import Settings
from resources.offline.fact_forms import read_fact
from resources.postgres.database import PostgresDatabase
from resources.storage.local import LocalObjectStore
from resources.tokens.tokenizer import EstimatedCounter
from tests.support.memories import PlainModel, WordEmbedder
from tests.support.pausing_run import LEASE_SECONDS, Moments, PausingDatabase

TABLES = {
    "storing": "neurigraph.delta_log",
    "waiting": "neurigraph.pending_facts",
    "writing": "neurigraph.facts",
    "due": "neurigraph.pending_verdicts",
    "judged": "neurigraph.fact_verdicts",
}
"""The table whose writing transactions are each a moment. Later tables are written in transactions of earlier ones."""

MOMENTS = (
    ("storing: transaction open", 1),
    ("storing: transaction committed", 1),
    ("waiting: transaction committed", 2),  # the lease; the first is the commit of the record
    ("extracting", 1),
    ("writing: transaction open", 1),
    ("writing: transaction committed", 1),
    ("due: transaction committed", 2),  # the lease; the first is the writing of the facts
    ("judging", 1),
    ("before effects", 1),
    ("judged: transaction open", 1),
    ("judged: transaction committed", 1),
)


class FormsModel(PlainModel):
    """Reads each message as a fact with the slot that its form has."""

    def extract_facts(self, segment: Segment, kept: KeptFacts | None = None) -> list[ReadFact]:
        found = []
        for message in segment.messages:
            read = read_fact(message.content, message.content, "en", is_dated=False)
            fact = ReadFact(message.content, message.seq, message.seq, "Ana", read.kind, read.stated_as, slot=read.slot)
            found.append(fact)
        return found


class _PausingModel(FormsModel):
    def __init__(self, moments: Moments) -> None:
        super().__init__()
        self._moments = moments

    def extract_facts(self, segment: Segment, kept: KeptFacts | None = None) -> list[ReadFact]:
        self._moments.come("extracting")
        return super().extract_facts(segment)

    def judge(self, pairs: Sequence[Pair]) -> list[Judgement]:
        self._moments.come("judging")
        return super().judge(pairs)


class _Part(Moments):
    """The moments of one table."""

    def __init__(self, moments: Moments, name: str) -> None:
        self._moments, self._name = moments, name

    def come(self, moment: str) -> None:
        self._moments.come(f"{self._name}: {moment}")


def main() -> None:
    url, secret, objects, user_id, moment, occurrence = sys.argv[1:]
    moments = Moments(moment, int(occurrence))
    database: Database = PostgresDatabase(url, Secret(secret))
    for name, table in TABLES.items():
        database = PausingDatabase(database, _Part(moments, name), table)
    parts = SimpleNamespace(
        settings=Settings.model_validate({}).changed(claim_lease_seconds=LEASE_SECONDS, reconciliation="auto"),
        database=database,
        objects=LocalObjectStore(Path(objects)),
        language_model=_PausingModel(moments),
        embedder=WordEmbedder(),
        tokens=EstimatedCounter(),
    )
    context, user = Context(parts), UUID(user_id)
    for _ in run_due(context, "to be killed", user):
        pass
    read_waiting(context, user_id=user)
    reconcile_waiting(context, user_id=user, before_effects=lambda: moments.come("before effects"))


if __name__ == "__main__":
    main()
