"""One graph, what is told in it, and what is believed of it: facts are written as reading would write them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

from neurigraph_pipelines.knowledge import fact_lists as listing
from neurigraph_pipelines.knowledge.reconciling import Reconciled, reconcile_waiting
from neurigraph_pipelines.model import Claims
from neurigraph_pipelines.model.context import Context
from neurigraph_pipelines.text.statement_key import statement_key
from neurigraph_pipelines.wiring.installation import Installation
from resources.offline.fact_forms import read_fact
from tests.support.memories import converse, ingest, new_user, plain_context, rows, stored

BEGIN = datetime(2024, 1, 1, tzinfo=UTC)


class People:
    """One graph, what is told in it, and what is believed of it."""

    def __init__(self, here: Installation, setting: str = "auto") -> None:
        self.here = here
        self.user, self.claims = new_user(here)
        settings = here.settings.model_copy(
            update={"ingestion": here.settings.ingestion.model_copy(update={"reconciliation": setting})}
        )
        self.context: Context = plain_context(here).using(settings=settings)

    def record(self) -> tuple[UUID, UUID]:
        """Store a conversation; return its source and its record."""
        source_id = converse(self.here, self.claims, f"#Home Something {uuid4().hex}.", "An assistant's words.")
        (record,) = stored(ingest(self.context, self.user))
        return source_id, record.record_id

    def tell(self, record_id: UUID, statement: str, day: int, *, message: int = 1, confidence: float = 0.75) -> UUID:
        """Add a fact to a record, as reading it would."""
        read = read_fact(statement, statement, "en", is_dated=False)
        slot, moment, fact_id = read.slot, BEGIN + timedelta(days=day), uuid4()
        with self.here.database.pipeline() as tx:
            tx.execute(
                """INSERT INTO neurigraph.facts (fact_id, record_id, user_id, seq, first_message, last_message,
                statement, kind, stated_as, who, why, subject, predicate, object, occurred, confidence, importance,
                impact, extractor, statement_key)
                SELECT %s, %s, %s, count(*) + 1, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, tstzrange(%s, %s), %s, 0.5,
                    'medium', 'test', %s
                FROM neurigraph.facts WHERE record_id = %s""",
                [
                    fact_id, record_id, self.user.user_id, message, message, statement, read.kind, read.stated_as,
                    [slot.subject] if slot else ["Ana"], read.why, *((slot.subject, slot.predicate, slot.object) if
                    slot else (None, None, None)), moment, moment + timedelta(hours=1), confidence,
                    statement_key(statement), record_id,
                ],
            )  # fmt: skip
        return fact_id

    def reconcile(self) -> Reconciled:
        return reconcile_waiting(self.context, user_id=self.user.user_id)

    def rows(self, query: str) -> list[dict[str, Any]]:
        return rows(self.here, query, self.user.user_id)

    def chains(self) -> list[tuple[UUID, UUID, int]]:
        query = "SELECT fact_id, root_id, version FROM neurigraph.facts WHERE user_id = %s ORDER BY root_id, version"
        return [(row["fact_id"], row["root_id"], row["version"]) for row in self.rows(query)]

    def statuses(self, claims: Claims | None = None) -> dict[UUID, str]:
        found = listing.list_facts(self.here.listing(claims or self.claims, limit=100), listing.FactFilter())
        return {one.fact_id: one.status for one in found.items}

    def actions(self) -> list[dict[str, Any]]:
        return self.rows("SELECT * FROM neurigraph.actions WHERE user_id = %s")
