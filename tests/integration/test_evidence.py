"""Evidence: what follows from it equals a computation from scratch, whatever changes, and each sees only their own."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from neurigraph_pipelines.exchange import sharing
from neurigraph_pipelines.exchange.sharing import Subject
from neurigraph_pipelines.graph.aliases import give_alias, remove_alias
from neurigraph_pipelines.graph.mention_lists import edge_of, page_of_aliases, page_of_evidence, page_of_mentions
from neurigraph_pipelines.graph.navigation import shell
from neurigraph_pipelines.inbox.privacy import set_privacy
from neurigraph_pipelines.lifecycle.verification import verify
from neurigraph_pipelines.model import AliasType, Claims, MentionRole, Privacy, SubjectType
from neurigraph_pipelines.model.errors import ConflictError, ForbiddenError, InvalidInputError, NotFoundError
from neurigraph_pipelines.wiring.installation import Installation
from tests.support.erasures import RECORD, USER, erase
from tests.support.evidence_story import EDGES_OF_USER, Change, Story, say_at, state
from tests.support.evidence_sums import stored_sums
from tests.support.exported_user import export, restore
from tests.support.graphs import Graph, new_graph
from tests.support.memories import START, rows

KINDS = "commit commit privacy supersede move quarantine forget merge split revise fact fact".split()
steps = st.lists(
    st.tuples(st.sampled_from(KINDS), st.integers(0, 9), st.integers(0, 9), st.integers(0, 1)), min_size=4, max_size=8
)


@settings(
    max_examples=4,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    database=None,
    derandomize=True,
)
@given(changes=steps)
@example(changes=[("supersede", 3, 5, 0)])  # of the edge that the first step made
@pytest.mark.slow
def test_any_changes_leave_sums_of_evidence(
    shared_installation: Installation,
    tmp_path_factory: pytest.TempPathFactory,
    changes: list[Change],
) -> None:
    here = shared_installation
    story = Story(here)
    for kind, one, other, label in (("commit", 0, 1, 0), ("commit", 2, 1, 0), ("commit", 1, 2, 1), ("fact", 1, 3, 0)):
        story.step(kind, one, other, label)
    for change in changes:
        story.step(*change)
        story.step("end", *change[1:])
        story.check()
    for memory in [one for one in story.memories if one.hidden]:
        story.hide(memory)
    story.check()
    folder: Path = tmp_path_factory.mktemp("export") / "export"
    before = stored_sums(here, story.graph.user.user_id)
    export(here, story.graph.user, folder)
    erase(here, story.claims, USER, story.graph.user.user_id)
    restore(here, folder, story.graph.user.slug)
    assert stored_sums(here, story.graph.user.user_id) == before
    story.check()
    for kind in ("commit", "fact"):
        story.step(kind, 1, 3, 0)
        story.check()
    erase(here, story.claims, USER, story.graph.user.user_id)


# Reading evidence, and other names


@pytest.fixture(scope="module")
def graph(shared_installation: Installation) -> Graph:
    return new_graph(shared_installation)


def test_evidence_is_read_and_names_are_given(graph: Graph) -> None:
    here, claims = graph.here, graph.claims
    graph.remember("#Family/Ana Ana sings.")
    (first,) = graph.remember("#Work/Dave Hello. @Ana:wife")
    graph.remember("#Work/Dave Ana again. @Ana:wife")
    ana, database = graph.node("Family/Ana"), here.database
    with database.agent(claims) as tx:
        (edge,) = shell(tx, ana).edges
    assert (edge.evidence_count, edge.unproven_count) == (2, 0)
    found = edge_of(database, claims, edge.edge_id)
    assert (found.from_name, found.to_name, found.relation, found.valid) == ("Dave", "Ana", "wife", "{(,)}")
    page = page_of_evidence(here.listing(claims, limit=1), edge.edge_id)
    assert str(page.items[0].title).startswith("#Work/Dave Ana again.")
    assert page.items[0].messages == [1]
    rest = page_of_evidence(here.listing(claims, cursor=page.next_cursor), edge.edge_id)
    assert [(one.record_id, one.proven, one.stance) for one in rest.items] == [(first, True, "asserts")]
    spoken = page_of_mentions(here.listing(claims), ana, MentionRole.MENTION)
    assert {str(one.title).partition(" ")[0] for one in spoken.items} == {"#Work/Dave", "#Family/Ana"}

    give_alias(database, claims, ana, AliasType.EMAIL, "Ana@example.org", verified=True)
    give_alias(database, claims, ana, AliasType.EMAIL, "ana@EXAMPLE.org", verified=True)
    give_alias(database, claims, ana, AliasType.NAME, "Anita")
    assert graph.shell("Family/Ana")["aliases"] == ["ana@EXAMPLE.org", "Anita"]
    (known,) = page_of_aliases(here.listing(claims), value="ANA@example.org").items
    assert (known.node_id, known.type, known.verified) == (ana, "email", True)
    with pytest.raises(ConflictError, match="another node"):
        give_alias(database, claims, graph.node("Work/Dave"), AliasType.EMAIL, "ana@example.org")
    for kind, wrong in ((AliasType.EMAIL, "not an email"), (AliasType.PHONE, "call me"), (AliasType.URL, "ana.org")):
        with pytest.raises(InvalidInputError, match="external"):
            give_alias(database, claims, ana, kind, wrong)
    graph.remember("#Notes Anita called.")
    (said,) = (one for one in page_of_mentions(here.listing(claims), ana).items if one.alias)
    assert (said.alias, said.role, str(said.node_path).partition("/")[2]) == ("Anita", "mention", "Notes")
    assert remove_alias(database, claims, ana, "anita") == 1
    with pytest.raises(NotFoundError):
        remove_alias(database, claims, ana, "anita")
    graph.check()


def test_one_exclusive_relation_holds_at_a_time(shared_installation: Installation) -> None:
    graph = new_graph(shared_installation)
    here, claims, database = graph.here, graph.claims, graph.here.database
    graph.remember("#Work/Ana Ana.", "#Work/Dave Dave.", "#Work/Eve Eve.")
    days = [START + timedelta(days=number) for number in range(5)]
    texts = ("#Work/Dave One. @Ana:reports_to", "#Work/Dave Two. @Eve:reports_to", "#Work/Dave Three. @Ana:reports_to")
    first, second, third = graph.remember(*texts)
    for record_id, day in zip((third, first, second), (days[3], days[1], days[2]), strict=True):
        say_at(here, record_id, day)

    def edge(to: str) -> dict[str, Any]:
        query = EDGES_OF_USER.replace("WHERE", "WHERE relation = 'reports to' AND to_node_id = %s AND")
        (found,) = rows(here, query, graph.node(to), graph.user.user_id)
        return found

    def times(to: str) -> list[tuple[datetime | None, datetime | None]]:
        return [(span.lower, span.upper) for span in edge(to)["valid"]]

    ana = edge("Work/Ana")
    assert times("Work/Ana") == [(None, days[1 + 1]), (days[3], None)]
    assert times("Work/Eve") == [(days[2], days[3])]
    # What a rule or a person asserted is ended by neither a model's end nor a model's later assertion.
    with here.database.owner() as tx:
        tx.execute("UPDATE neurigraph.edge_evidence SET detected_by = 'rule' WHERE record_id = %s", [first])
    assert times("Work/Ana") == [(None, None)]
    state(here, ana, second, 0, days[1])
    assert times("Work/Ana") == [(None, None)]
    state(here, ana, second, 4, days[4])
    assert times("Work/Ana") == [(None, days[4])]
    assert times("Work/Eve") == [(days[2], days[3])]
    # What is hidden or gone ends nothing, also when the edge goes with it.
    erase(here, claims, RECORD, third)
    assert times("Work/Eve") == [(days[2], None)]
    erase(here, claims, RECORD, first)
    assert times("Work/Eve") == [(None, None)]
    # Read from the other end, and a circle of a relation that has none.
    assert verify(here.context, user_id=graph.user.user_id, read=False).findings == []
    found = edge_of(database, claims, edge("Work/Eve")["edge_id"])
    assert (found.inverse, found.is_circular) == ("manages", False)
    graph.remember("#Work/Eve Four. @Dave:reports_to")
    assert edge_of(database, claims, edge("Work/Eve")["edge_id"]).is_circular


def test_others_see_evidence_that_is_open_to_them(graph: Graph) -> None:
    here, claims, database = graph.here, graph.claims, graph.here.database
    graph.remember("#Work/Dave Dave works.", "#Family/Ana Ana sings.")
    shown, private = graph.remember(
        "#Circle/Gil Gil fishes. @Dave:boss @Ana:rival", "#Circle/Gil Gil rests. @Dave:boss"
    )
    (closed,) = graph.remember("#Elsewhere/Hidden Gil. @Gil:friend")
    gil, dave = graph.node("Circle/Gil"), graph.node("Work/Dave")
    for node_id in (gil, dave):
        sharing.grant(database, claims, Subject(SubjectType.THIRD_PARTY, "guest"), node_id)
    guest = Claims("guest", "third_party", graph.user.user_id)
    give_alias(database, claims, gil, AliasType.NAME, "Gilbert")

    def boss() -> dict[str, Any]:
        with database.agent(guest) as tx:
            edges = shell(tx, gil).edges
        return {edge.relation: (edge.evidence_count, edge.edge_id) for edge in edges}

    assert [(label, count) for label, (count, _) in boss().items()] == [("boss", 2)], "not what closed nodes say"
    edge_id = boss()["boss"][1]
    sources = {
        row["record_id"]: row["source_id"]
        for row in rows(here, "SELECT record_id, source_id FROM neurigraph.record_index")
    }
    with database.agent(guest) as tx:
        told = tx.execute("SELECT DISTINCT relation FROM neurigraph.edge_evidence").fetchall()
    assert told == [{"relation": "boss"}], "an edge names both its ends"
    set_privacy(database, claims, sources[private], Privacy.PRIVATE)
    assert boss()["boss"][0] == 1
    assert edge_of(database, claims, edge_id).evidence_count == 2
    assert edge_of(database, guest, edge_id).strength < edge_of(database, claims, edge_id).strength
    assert [one.record_id for one in page_of_evidence(here.listing(guest), edge_id).items] == [shown]
    spoken = page_of_mentions(here.listing(guest), gil).items
    assert {one.record_id for one in spoken} == {shown}
    assert closed in {one.record_id for one in page_of_mentions(here.listing(claims), gil).items}
    set_privacy(database, claims, sources[shown], Privacy.PRIVATE)
    assert boss() == {}
    with pytest.raises(NotFoundError):
        edge_of(database, guest, edge_id)
    assert [one.value for one in page_of_aliases(here.listing(guest), value="Gilbert").items] == ["Gilbert"]
    with pytest.raises(ForbiddenError):
        give_alias(database, guest, gil, AliasType.NAME, "Gilly")
    with pytest.raises(NotFoundError):
        give_alias(database, guest, graph.node("Elsewhere"), AliasType.NAME, "Gilly")
