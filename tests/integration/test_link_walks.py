"""What becomes of the lists of links when what they join is moved, hidden, superseded, forgotten or restored."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from neurigraph_pipelines.exchange import sharing
from neurigraph_pipelines.graph.moving import Split, move_records, split_node
from neurigraph_pipelines.graph.reshaping import merge_nodes
from neurigraph_pipelines.inbox.privacy import set_privacy
from neurigraph_pipelines.knowledge import link_lists as listing
from neurigraph_pipelines.knowledge import signing
from neurigraph_pipelines.knowledge.link_lists import LinkFilter
from neurigraph_pipelines.knowledge.linking import decide_link, end_link, sign_ending, sign_link, state_link
from neurigraph_pipelines.lifecycle.erasure.receipts import SubjectKind
from neurigraph_pipelines.lifecycle.quarantine.holding import quarantine, release
from neurigraph_pipelines.lifecycle.quarantine.rules import QuarantineRule
from neurigraph_pipelines.model import Claims, GrantType, NodeType, Privacy, SubjectType
from neurigraph_pipelines.model.errors import ConflictError, ForbiddenError, NotFoundError
from neurigraph_pipelines.model.links import LinkEnd, StatedLink
from neurigraph_pipelines.views.kinds import EndKind, LinkVerdict
from neurigraph_pipelines.wiring.installation import Installation
from tests.support.erasures import erase
from tests.support.exported_user import export, restore
from tests.support.graphs import Graph, new_graph
from tests.support.linked_facts import plant_fact
from tests.support.memories import rows
from tests.support.told_people import People


class Links:
    """A graph with two memories of one fact each, and the links between them."""

    def __init__(self, here: Installation) -> None:
        self.here = here
        self.graph: Graph = new_graph(here)
        self.context = here.acting_for(self.graph.claims)
        self.records = self.graph.remember("#Work/Office It was too small.", "#Work/Move We moved.")
        self.small = plant_fact(here, self.records[0], "The office was small.")
        self.moved = plant_fact(here, self.records[1], "We moved.")
        self.cause = self.state(LinkEnd.fact(self.moved), "caused_by", LinkEnd.fact(self.small))
        self.state(LinkEnd.record(self.records[1]), "part_of", LinkEnd.record(self.records[0]))
        self.state(LinkEnd.fact(self.moved), "owned_by", LinkEnd(EndKind.NODE, self.graph.node("Work/Office")))
        self.state(LinkEnd.fact(self.moved), "mentioned_in", LinkEnd(EndKind.SOURCE, self.source(0)))

    def state(self, start: LinkEnd, relation: str, end: LinkEnd) -> UUID:
        return state_link(self.context, StatedLink(start, end, relation)).link_id

    def source(self, number: int) -> UUID:
        query = "SELECT source_id AS id FROM neurigraph.record_index WHERE record_id = %s"
        (row,) = rows(self.here, query, self.records[number])
        source_id: UUID = row["id"]
        return source_id

    def seen(self, claims: Claims | None = None, record: int = 1) -> list[str]:
        """The relations of a memory's links that somebody sees, and of a page with room for just those."""
        return listed(self.here, claims or self.graph.claims, record_id=self.records[record])

    def persona(self, *paths: str, grant: GrantType = GrantType.READ) -> Claims:
        database, owner = self.here.database, self.graph.claims
        made = sharing.add_node(
            database, owner, self.graph.user.root_node_id, f"P{uuid4().hex[:8]}", node_type=NodeType.PERSONA
        )
        for path in paths:
            subject = sharing.Subject(SubjectType.PERSONA, str(made))
            sharing.grant(database, owner, subject, self.graph.node(path), grant)
        return Claims(sub=str(made), role="persona", user_id=owner.user_id)


ALL = ["caused_by", "mentioned_in", "owned_by", "part_of"]


def listed(here: Installation, claims: Claims, **of: Any) -> list[str]:
    found = listing.list_links(here.listing(claims, limit=200), LinkFilter(**of))
    return sorted(one.relation for one in found.items)


@pytest.fixture
def links(shared_installation: Installation) -> Links:
    return Links(shared_installation)


def test_links_follow_moves_splits_and_merges(links: Links) -> None:
    graph = links.graph
    assert links.seen() == ALL
    move_records(links.here.database, graph.claims, [links.records[1]], graph.node("Work"))
    assert links.seen() == ALL
    split_node(links.here.database, graph.claims, graph.node("Work"), Split(name="Part", record_ids=[links.records[1]]))
    assert links.seen() == ALL
    merge_nodes(links.here.database, graph.claims, graph.node("Work/Office"), graph.node("Work/Part"))
    assert links.seen() == ALL
    found = listing.list_links(links.here.listing(graph.claims), LinkFilter(fact_id=links.moved))
    (to_node,) = [one for one in found.items if one.to_kind == "node"]
    assert str(to_node.to_text).endswith("Work/Part")
    assert links.seen(record=0) == ["caused_by", "part_of"]


def test_a_link_is_seen_with_both_ends(links: Links) -> None:
    both, one_end = links.persona("Work/Office", "Work/Move"), links.persona("Work/Move")
    assert links.seen(both) == ALL
    assert links.seen(one_end) == []
    with pytest.raises(NotFoundError):
        listing.link(links.here.database, one_end, links.cause)
    assert listing.link(links.here.database, both, links.cause).reason is None
    assert links.seen(new_graph(links.here).claims) == []
    # Pages of who sees less say nothing of more: no cursor after the last link that is seen.
    page = listing.list_links(links.here.listing(both, limit=4), LinkFilter(record_id=links.records[1]))
    assert (len(page.items), page.next_cursor) == (4, None)

    set_privacy(links.here.database, links.graph.claims, links.source(0), Privacy.PRIVATE)
    assert (links.seen(both), links.seen()) == (["owned_by"], ALL)


def test_quarantined_links_are_hidden_until_released(links: Links) -> None:
    held = quarantine(links.context, QuarantineRule(source_id=links.source(0)), "poison")
    assert set(links.seen()) <= {"owned_by", "mentioned_in"}
    assert links.seen(record=0) == []
    release(links.context, held.quarantine_id)
    assert links.seen() == ALL


def test_forgetting_an_end_forgets_its_links(links: Links) -> None:
    erase(links.here, links.graph.claims, SubjectKind.FACT, links.small)
    assert links.seen() == ["mentioned_in", "owned_by", "part_of"]
    erase(links.here, links.graph.claims, SubjectKind.RECORD, links.records[0])
    assert "part_of" not in links.seen()
    with pytest.raises(NotFoundError):
        listing.link(links.here.database, links.graph.claims, links.cause)


def test_only_writers_at_the_start_decide(links: Links) -> None:
    reader, writer = (
        links.persona("Work/Office", "Work/Move", grant=one) for one in (GrantType.READ, GrantType.READ_WRITE)
    )
    elsewhere = links.persona("Work/Office", grant=GrantType.READ_WRITE)
    for claims, error in ((reader, ForbiddenError), (elsewhere, NotFoundError)):
        context = links.here.acting_for(claims)
        with pytest.raises(error):
            decide_link(context, links.cause, LinkVerdict.REJECTED)
        with pytest.raises(error):
            end_link(context, links.cause)
        with pytest.raises(error):
            state_link(context, StatedLink(LinkEnd.fact(links.moved), LinkEnd.fact(links.small), "supports"))
    assert links.seen() == ALL
    context = links.here.acting_for(writer)
    state_link(context, StatedLink(LinkEnd.fact(links.moved), LinkEnd.fact(links.small), "supports"))
    decide_link(context, links.cause, LinkVerdict.REJECTED)
    assert links.seen() == sorted({*ALL, "supports"} - {"caused_by"})


def test_verdicts_and_versions_are_links(shared_installation: Installation) -> None:
    people = People(shared_installation)
    here, claims, context = people.here, people.claims, shared_installation.acting_for(people.claims)
    _, record = people.record()
    porto = people.tell(record, "Ana lives in Porto.", 0)
    people.reconcile()
    lisbon = people.tell(record, "Ana now lives in Lisbon.", 9)
    people.reconcile()
    (version,) = listing.list_links(here.listing(claims), LinkFilter(fact_id=porto)).items
    assert (version.computed_from, version.link_id, version.from_id) == ("versions", None, lisbon)
    assert (version.backward, version.direction) == ("was replaced by", "in")

    plant_verdict(people, lisbon, porto, "elaborates", "none")
    assert listed(here, claims, fact_id=lisbon) == ["elaborates", "supersedes"]
    (found,) = listing.list_links(here.listing(claims), LinkFilter(record_id=record, relation="elaborates")).items
    assert found.link_id is not None
    assert (found.computed_from, found.reason, found.verdict) == ("verdict", "planted", "unverified")
    decide_link(context, found.link_id, LinkVerdict.CONFIRMED)
    assert listing.link(here.database, claims, found.link_id).verdict == "confirmed"
    decide_link(context, found.link_id, LinkVerdict.REJECTED)
    assert listed(here, claims, fact_id=lisbon) == ["supersedes"]
    assert listed(here, claims, fact_id=lisbon, with_ended=True) == ["elaborates", "supersedes"]
    decide_link(context, found.link_id, LinkVerdict.CONFIRMED)
    with pytest.raises(ConflictError):
        end_link(context, found.link_id)


def test_rejecting_a_verdict_takes_its_effect_back(shared_installation: Installation) -> None:
    people = People(shared_installation)
    here, claims, context = people.here, people.claims, shared_installation.acting_for(people.claims)
    _, record = people.record()
    first = people.tell(record, "Ana is allergic to nuts.", 0)
    second = people.tell(record, "Ana is not allergic to nuts.", 0)
    plant_verdict(people, second, first, "contradicts", "disputes")
    assert set(people.statuses().values()) == {"disputed"}
    (found,) = listing.list_links(here.listing(claims), LinkFilter(fact_id=first)).items
    assert found.link_id is not None
    assert (found.relation, found.bidirectional) == ("contradicts", True)
    decide_link(context, found.link_id, LinkVerdict.REJECTED)
    assert set(people.statuses().values()) == {"active"}
    with pytest.raises(ConflictError):
        decide_link(context, found.link_id, LinkVerdict.CONFIRMED)


def test_others_neither_decide_about_verdicts_nor_read_their_words(shared_installation: Installation) -> None:
    people = People(shared_installation)
    here = people.here
    _, record = people.record()
    first, second = people.tell(record, "Ana likes tea.", 0), people.tell(record, "Ana drinks tea.", 1)
    plant_verdict(people, second, first, "supports", "none")
    persona = sharing.add_node(
        here.database, people.claims, people.user.root_node_id, "Butler", node_type=NodeType.PERSONA
    )
    (row,) = people.rows("SELECT node_id FROM neurigraph.graph_index WHERE user_id = %s AND node_name = 'Home'")
    subject = sharing.Subject(SubjectType.PERSONA, str(persona))
    sharing.grant(here.database, people.claims, subject, row["node_id"], GrantType.READ_WRITE)
    butler = Claims(sub=str(persona), role="persona", user_id=people.user.user_id)
    for claims, reason in ((butler, "it makes the other one more likely"), (people.claims, "planted")):
        (found,) = listing.list_links(here.listing(claims), LinkFilter(fact_id=first)).items
        assert found.reason == reason
    assert found.link_id is not None
    with pytest.raises(ForbiddenError):
        decide_link(here.acting_for(butler), found.link_id, LinkVerdict.REJECTED)
    with pytest.raises(NotFoundError):
        decide_link(here.acting_for(new_graph(here).claims), found.link_id, LinkVerdict.REJECTED)
    decide_link(here.acting_for(people.claims), found.link_id, LinkVerdict.REJECTED)
    assert listed(here, butler, fact_id=first) == []


def plant_verdict(people: People, later: UUID, earlier: UUID, verdict: str, effect: str) -> None:
    """Judge two facts, instead of what was judged before."""
    with people.here.database.pipeline() as tx:
        tx.execute(
            """INSERT INTO neurigraph.fact_verdicts (
                later_id, earlier_id, user_id, verdict, confidence, reason, effect, judged_by
            ) VALUES (%s, %s, %s, %s, 0.85, 'planted', %s, 'a model')
            ON CONFLICT (later_id, earlier_id) DO UPDATE SET
                verdict = excluded.verdict, reason = 'planted', effect = excluded.effect, entered = NULL""",
            [later, earlier, people.user.user_id, verdict, effect],
        )


def _signed(links: Links) -> UUID:
    """State a link and end it, both signed, and return its id."""
    private, since, until = (
        Ed25519PrivateKey.generate(),
        datetime(2026, 5, 1, tzinfo=UTC),
        datetime(2026, 6, 1, tzinfo=UTC),
    )
    signing.register_key(links.context, private.public_key().public_bytes_raw())
    said = StatedLink(LinkEnd.fact(links.moved), LinkEnd.fact(links.small), "supports", valid_from=since)
    signed = state_link(links.context, said, signature=sign_link(links.context, said, private)).link_id
    end_link(links.context, signed, until, sign_ending(links.context, signed, until, private))
    shown = listing.link(links.here.database, links.graph.claims, signed)
    assert (shown.attest, shown.end_attest) == ("self", "self")
    return signed


def test_links_and_signatures_after_a_restore(links: Links, tmp_path: Path) -> None:
    signed = _signed(links)
    export(links.here, links.graph.user, tmp_path / "export")
    erase(links.here, links.graph.claims, SubjectKind.USER, links.graph.user.user_id)
    claims = Claims.of_user(restore(links.here, tmp_path / "export", links.graph.user.slug).user_id)
    assert listed(links.here, claims, record_id=links.records[1], with_ended=True) == sorted([*ALL, "supports"])
    after = listing.link(links.here.database, claims, signed)
    assert (after.attest, after.end_attest) == ("self", "self")


def test_signatures_do_not_cover_other_ids(links: Links, tmp_path: Path) -> None:
    signed = _signed(links)
    export(links.here, links.graph.user, tmp_path / "export")
    erase(links.here, links.graph.claims, SubjectKind.USER, links.graph.user.user_id)
    (record_id,) = new_graph(links.here).remember("#Work A fact of somebody else.")
    taken = plant_fact(links.here, record_id, "This fact has the id of another one.")
    with links.here.database.owner() as tx:
        query = "UPDATE neurigraph.facts SET fact_id = %s, root_id = %s WHERE fact_id = %s"
        tx.execute(query, [links.moved, links.moved, taken])
    claims = Claims.of_user(restore(links.here, tmp_path / "export", links.graph.user.slug).user_id)
    after = listing.link(links.here.database, claims, signed)
    assert (after.relation, after.from_id == links.moved, after.from_text) == ("supports", False, "We moved.")
    assert (after.attest, after.end_attest) == ("unsigned", "unsigned")
