"""Links from memories to the sources whose addresses their messages name."""

from __future__ import annotations

from uuid import UUID

import pytest

from neurigraph_pipelines.inbox.notes import IncomingNote, write_note
from neurigraph_pipelines.inbox.privacy import set_privacy
from neurigraph_pipelines.knowledge import linking, reading
from neurigraph_pipelines.knowledge.references import addresses_in
from neurigraph_pipelines.lifecycle.erasure.forget import forget
from neurigraph_pipelines.lifecycle.erasure.receipts import ErasureSubject, SubjectKind
from neurigraph_pipelines.model import Claims, Privacy
from neurigraph_pipelines.model.sources import SourceDetails
from neurigraph_pipelines.views.kinds import LinkVerdict
from neurigraph_pipelines.wiring.installation import Installation
from tests.support.graphs import Graph, new_graph
from tests.support.linked_facts import links_of
from tests.support.memories import ingest, plain_context

PAGE = "https://example.com/boats"


@pytest.fixture
def graph(shared_installation: Installation) -> Graph:
    return new_graph(shared_installation)


def write_page(graph: Graph, url: str = PAGE) -> UUID:
    note = IncomingNote("Boats need tar.", path="Work/Move", details=SourceDetails("web", url=url))
    written = write_note(graph.here.acting_for(graph.claims), note)
    ingest(plain_context(graph.here), graph.user)
    return written.note_id


def references(graph: Graph) -> list[tuple[UUID, UUID, list[int]]]:
    found = [row for row in links_of(graph.here, graph.user.user_id) if row["relation"] == "references"]
    return [(row["from_record_id"], row["to_source_id"], row["messages"]) for row in found]


def read(graph: Graph, record: UUID) -> None:
    reading.read_again(plain_context(graph.here), [record])


@pytest.mark.parametrize("said", [f"See {PAGE}.", f"({PAGE}/)", f"{PAGE}#tar, then go.", f"[boats]({PAGE})"])
def test_memory_refers_to_the_source_whose_address_it_names(graph: Graph, said: str) -> None:
    page = write_page(graph)
    write_page(graph, "https://example.com/other")
    (record,) = graph.remember(f"#Work/Move Bob tars boats. {said}")
    for _ in range(2):  # reading again keeps it
        read(graph, record)
        assert references(graph) == [(record, page, [1])]


def test_rejected_reference_stays_rejected(graph: Graph) -> None:
    write_page(graph)
    (record,) = graph.remember(f"#Work/Move Bob read {PAGE} twice.")
    read(graph, record)
    (link,) = [row for row in links_of(graph.here, graph.user.user_id) if row["relation"] == "references"]
    linking.decide_link(graph.here.acting_for(graph.claims), link["link_id"], LinkVerdict.REJECTED)
    read(graph, record)
    assert [row["verdict"] for row in links_of(graph.here, graph.user.user_id)] == ["rejected"]


def test_reference_goes_with_its_source(graph: Graph) -> None:
    page = write_page(graph)
    (record,) = graph.remember(f"#Work/Move Bob read {PAGE} twice.")
    read(graph, record)
    (of_page,) = graph.records.keys() - {record}
    forget(graph.here.acting_for(graph.claims), ErasureSubject(SubjectKind.RECORD, of_page), through="tests")
    assert page
    assert references(graph) == []


def test_private_source_is_no_end_for_others(graph: Graph) -> None:
    page = write_page(graph)
    (record,) = graph.remember(f"#Work/Move Bob read {PAGE} twice.")
    read(graph, record)
    database = graph.here.database
    node = graph.node("Work/Move")
    with database.owner() as tx:
        tx.execute(
            "INSERT INTO neurigraph.permission_grants (user_id, subject_id, subject_type, target_node_id, grant_type, "
            "grantor_user_id) VALUES (%s, 'gmail', 'third_party', %s, 'read', %s)",
            [graph.user.user_id, node, graph.user.user_id],
        )
    third_party = Claims("gmail", "third_party", graph.user.user_id)

    def seen() -> int:
        with database.agent(third_party) as tx:
            return len(tx.execute("SELECT FROM neurigraph.links").fetchall())

    assert seen() == 1
    set_privacy(database, graph.claims, page, Privacy.PRIVATE)
    assert seen() == 0


def test_addresses_end_where_their_sentence_goes_on() -> None:
    text = "At http://a.test/x_(y), (https://b.test/z) and <https://c.test>; not ftp://d.test or https://."
    assert list(addresses_in(text)) == ["http://a.test/x_(y)", "https://b.test/z", "https://c.test"]
    assert list(addresses_in("https://a.test/" + ")" * 100_000)) == []
