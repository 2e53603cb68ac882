"""Links that people state move belief as verdicts do, until they are ended, rejected or their key is revoked."""

from __future__ import annotations

from uuid import UUID

import pytest

from neurigraph_pipelines.knowledge import belief_lists as beliefs
from neurigraph_pipelines.knowledge.linking import decide_link, end_link, state_link
from neurigraph_pipelines.knowledge.stating import retract
from neurigraph_pipelines.model.links import LinkEnd, StatedLink
from neurigraph_pipelines.views.kinds import LinkVerdict
from neurigraph_pipelines.wiring.installation import Installation
from tests.support.told_people import People


@pytest.fixture
def people(shared_installation: Installation) -> People:
    return People(shared_installation)


def believed(people: People, fact_id: UUID) -> float:
    found = beliefs.belief(people.here.database, people.claims, fact_id).belief
    assert isinstance(found, float)
    return found


@pytest.mark.parametrize(
    ("relation", "first", "second"),
    [
        ("depends_on", 0.5625, 0.75),  # 0.75 · (1 − 1 · (1 − 0.75))
        ("contradicts", 0.375, 0.375),  # a dispute leaves half
        ("duplicates", 0.9375, 0.9375),  # 1 − 0.25 · 0.25: two sources
        ("supports", 0.75, 0.75),
        ("caused_by", 0.75, 0.75),
    ],
)
def test_stated_links_move_belief(people: People, relation: str, first: float, second: float) -> None:
    owner = people.context.acting_for(people.claims)
    start, end = (
        people.tell(people.record()[1], said, 1) for said in ("The mill turns today.", "Rain fell on the hill.")
    )
    written = state_link(owner, StatedLink(LinkEnd.fact(start), LinkEnd.fact(end), relation))
    assert [believed(people, one) for one in (start, end)] == [first, second]
    decide_link(owner, written.link_id, LinkVerdict.REJECTED)
    assert [believed(people, one) for one in (start, end)] == [0.75, 0.75]
    decide_link(owner, written.link_id, LinkVerdict.CONFIRMED)
    assert [believed(people, one) for one in (start, end)] == [first, second]
    end_link(owner, written.link_id)
    assert [believed(people, one) for one in (start, end)] == [0.75, 0.75]


def test_belief_falls_along_stated_links(people: People) -> None:
    owner = people.context.acting_for(people.claims)
    rain, mill, bread, snow = (
        people.tell(people.record()[1], said, 1)
        for said in ("Rain fell on the hill.", "The mill turns today.", "Bread is cheap.", "Snow fell on the hill.")
    )
    for start, end in ((mill, rain), (bread, mill)):
        state_link(owner, StatedLink(LinkEnd.fact(start), LinkEnd.fact(end), "depends_on"))
    assert believed(people, bread) == round(0.75**3, 4)
    state_link(owner, StatedLink(LinkEnd.fact(snow), LinkEnd.fact(rain), "contradicts"))
    asked = {row["fact_id"] for row in people.actions() if row["reason"] == "belief_fell"}
    assert asked == {mill, bread}
    retract(owner, rain)
    assert (believed(people, bread), believed(people, snow)) == (0.0, 0.75)
