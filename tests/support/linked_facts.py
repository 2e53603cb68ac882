"""Facts planted in a graph, and links between them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID, uuid4

from neurigraph_pipelines.knowledge.links import record_links
from neurigraph_pipelines.model import Detector
from neurigraph_pipelines.model.links import LinkEnd, StatedLink
from neurigraph_pipelines.text.statement_key import statement_key
from neurigraph_pipelines.wiring.installation import Installation
from tests.support.memories import rows


def plant_fact(
    here: Installation,
    record_id: UUID,
    statement: str,
    *,
    who: Sequence[str] = (),
    occurred: tuple[datetime | None, datetime | None] | None = None,
    impact: str = "medium",
) -> UUID:
    """Let a record state a fact."""
    fact_id = uuid4()
    with here.database.owner() as tx:
        tx.execute(
            """INSERT INTO neurigraph.facts (
                fact_id, record_id, user_id, seq, first_message, last_message, statement, kind, stated_as, who,
                occurred, confidence, importance, impact, extractor,
                statement_key
            )
            SELECT %(fact)s, r.record_id, r.user_id,
                (SELECT coalesce(max(f.seq), 0) + 1 FROM neurigraph.facts AS f WHERE f.record_id = r.record_id),
                1, 1, %(statement)s, 'state', 'statement', %(who)s,
                CASE WHEN %(dated)s THEN tstzrange(%(since)s, %(until)s) END, 0.6, 0.5, %(impact)s, 'planted',
                %(key)s
            FROM neurigraph.record_index AS r WHERE r.record_id = %(record)s""",
            {
                "fact": fact_id,
                "record": record_id,
                "statement": statement,
                "key": statement_key(statement),
                "who": list(who),
                "dated": occurred is not None,
                "since": occurred[0] if occurred else None,
                "until": occurred[1] if occurred else None,
                "impact": impact,
            },
        )
    return fact_id


def inferred(start: LinkEnd | UUID, end: LinkEnd | UUID, relation: str, **fields: Any) -> StatedLink:
    """Return a link as a rule finds it; bare ids are facts."""
    ends = [one if isinstance(one, LinkEnd) else LinkEnd.fact(one) for one in (start, end)]
    said: dict[str, Any] = {
        "observed_by": "rule:test",
        "detected_by": Detector.RULE,
        "confidence": 0.6,
        "strength": 0.6,
    }
    return StatedLink(ends[0], ends[1], relation, **(said | fields))


def link(here: Installation, user_id: UUID, *links: StatedLink) -> list[UUID]:
    """Record inferred links."""
    with here.database.pipeline() as tx:
        return record_links(tx, user_id, links)


def links_of(here: Installation, user_id: UUID) -> list[dict[str, Any]]:
    """Return all links of a user, as the owner of the tables sees them."""
    return rows(here, "SELECT * FROM neurigraph.links WHERE user_id = %s ORDER BY created_at, link_id", user_id)


def chain(here: Installation, *fact_ids: UUID) -> None:
    """Make facts versions of each other, the first one first."""
    with here.database.owner() as tx:
        for version, fact_id in enumerate(fact_ids, 1):
            tx.execute(
                "UPDATE neurigraph.facts SET root_id = %s, version = %s WHERE fact_id = %s",
                [fact_ids[0], version, fact_id],
            )


def judge(
    here: Installation, later: UUID, earlier: UUID, verdict: str, *, effect: str = "none", undone: bool = False
) -> None:
    """Write a verdict on a pair of facts."""
    with here.database.owner() as tx:
        tx.execute(
            """INSERT INTO neurigraph.fact_verdicts (
                later_id, earlier_id, user_id, verdict, confidence, reason, effect, judged_by, undone_at, undone_by
            )
            SELECT %(later)s, f.fact_id, f.user_id, %(verdict)s, 0.9, 'a test', %(effect)s, 'test',
                CASE WHEN %(undone)s THEN now() END, CASE WHEN %(undone)s THEN 'a test' END
            FROM neurigraph.facts AS f WHERE f.fact_id = %(earlier)s""",
            {"later": later, "earlier": earlier, "verdict": verdict, "effect": effect, "undone": undone},
        )
