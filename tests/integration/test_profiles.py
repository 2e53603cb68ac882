"""Profiles of nodes: what they say, whom they say it to, and what becomes of them when their records change."""

from __future__ import annotations

from uuid import UUID

import pytest

from neurigraph_pipelines.exchange import sharing
from neurigraph_pipelines.exchange.sharing import Subject
from neurigraph_pipelines.graph.moving import move_records
from neurigraph_pipelines.graph.profile_building import rebuild_profiles
from neurigraph_pipelines.graph.profiles import profile_of
from neurigraph_pipelines.inbox.privacy import set_privacy
from neurigraph_pipelines.ingestion.revision import Revision, revise, supersede
from neurigraph_pipelines.lifecycle.quarantine.holding import quarantine, release
from neurigraph_pipelines.lifecycle.quarantine.rules import QuarantineRule
from neurigraph_pipelines.lifecycle.verification import Fault, verify
from neurigraph_pipelines.model import Claims, Privacy, SubjectType
from neurigraph_pipelines.model.errors import NotFoundError
from neurigraph_pipelines.views.graph import Profile
from neurigraph_pipelines.wiring.installation import Installation
from tests.support.erasures import RECORD, erase
from tests.support.graphs import new_graph
from tests.support.memories import plain_context, rows

BOATS = [f"#Hobbies We sail with Orrin in boat number {number}." for number in range(6)]
BREAD = [f"#Hobbies They bake rye bread like Marta, loaf {number}." for number in range(3)]


class Node:
    """The profiles of one node, as its owner and a friend see them."""

    def __init__(self, here: Installation) -> None:
        self.graph = new_graph(here)
        self.here, self.owner = here, self.graph.claims
        self.records = self.graph.remember(*BOATS, *BREAD)
        self.node_id = self.graph.node("Hobbies")
        sharing.grant(here.database, self.owner, Subject(SubjectType.THIRD_PARTY, "friend"), self.node_id)
        self.friend = Claims("friend", "third_party", self.graph.user.user_id)

    def rebuild(self) -> tuple[int, int]:
        """Rebuild what is due; return the numbers of profiles that were written and removed."""
        done = rebuild_profiles(self.here.database, user_id=self.graph.user.user_id)
        return done.profiles, done.removed

    def seen(self, claims: Claims) -> Profile | None:
        return profile_of(self.here.database, claims, self.node_id).profile

    def shared(self) -> Profile:
        profile = self.seen(self.friend)
        assert profile is not None
        return profile

    def own(self) -> Profile:
        profile = self.seen(self.owner)
        assert profile is not None
        return profile

    def source(self, record_id: UUID) -> UUID:
        (row,) = rows(self.here, "SELECT source_id FROM neurigraph.record_index WHERE record_id = %s", record_id)
        return UUID(str(row["source_id"]))

    def remember_private(self, text: str) -> UUID:
        (record_id,) = self.graph.remember(text)
        set_privacy(self.here.database, self.owner, self.source(record_id), Privacy.PRIVATE)
        return record_id


@pytest.fixture
def node(shared_installation: Installation) -> Node:
    return Node(shared_installation)


def test_profile_tells_what_records_gather_around(node: Node) -> None:
    assert node.seen(node.owner) is None
    assert node.rebuild() == (1, 0)
    profile = node.own()
    assert (profile.record_count, profile.sampled, profile.embedded, profile.is_stale) == (9, 9, 9, False)
    weights = {each.word: each.weight for each in profile.descriptors}
    assert weights["testing"] == 1
    assert weights["Orrin"] == pytest.approx(6 / 9, abs=1e-3)
    assert "Hobbies" not in weights, "a node's own name does not describe it"
    boats, bread = profile.centroids
    assert profile.drift is not None
    assert (boats.record_count, bread.record_count) == (6, 3)
    assert boats.share + bread.share == pytest.approx(1, abs=1e-3)
    assert "Orrin" in boats.descriptors
    assert "Marta" in bread.descriptors
    assert boats.record_id in node.records[:6]
    assert (profile.drift.recent_records, profile.drift.baseline_records) == (2, 7)
    assert 0 < profile.drift.distance < 1
    assert node.rebuild() == (0, 0), "nothing changed"
    assert node.own() == profile
    # Made once more from nothing, it is the same.
    with node.here.database.pipeline() as tx:
        tx.execute("DELETE FROM neurigraph.profiles WHERE user_id = %s", [node.graph.user.user_id])
    assert node.rebuild() == (1, 0)
    assert node.own().model_copy(update={"rebuilt_at": profile.rebuilt_at}) == profile


def test_profile_is_gone_or_stale_with_a_change(node: Node) -> None:
    here, owner, records = node.here, node.owner, node.records
    node.graph.remember("#Family Hello.")
    node.rebuild()
    (added,) = node.graph.remember("#Hobbies Later they carve with Bruno.")
    assert (node.own().is_stale, node.own().record_count) == (True, 9)
    node.rebuild()
    supersede(here.database, owner, records[0], added)
    assert node.own().is_stale
    node.rebuild()
    assert (node.own().is_stale, node.own().record_count) == (False, 9)

    def gone() -> None:
        assert node.seen(owner) is None
        assert node.seen(node.friend) is None
        assert node.rebuild()[0] >= 1
        assert node.seen(owner) is not None

    context = plain_context(here).acting_for(owner)
    revise(context, records[1], Revision(entities=["Nobody"]))
    gone()
    move_records(here.database, owner, [records[2]], node.graph.node("Family"))
    gone()
    held = quarantine(context, QuarantineRule(source_id=node.source(records[3])), "a test")
    gone()
    release(context, held.quarantine_id)
    assert node.own().is_stale
    node.rebuild()
    set_privacy(here.database, owner, node.source(records[4]), Privacy.PRIVATE)
    gone()
    erase(here, owner, RECORD, records[5])
    gone()
    node.graph.check()


def test_private_records_show_in_the_owners_profile_only(node: Node) -> None:
    secret = node.remember_private("#Hobbies Zanzibar with Quentin.")
    node.remember_private("#Hobbies More with Quentin.")
    node.rebuild()
    before = node.shared()
    assert (before.record_count, node.own().record_count) == (9, 11)
    assert "Quentin" in str(node.own())
    assert "Quentin" not in str(before)
    # Nothing that happens to private records changes what others see, not even when it was rebuilt.
    revise(plain_context(node.here).acting_for(node.owner), secret, Revision(entities=["Rupert"]))
    assert node.own().is_stale, "the owner reads the profile of shared records until the next night"
    assert "Quentin" not in str(node.own())
    assert node.shared() == before
    node.rebuild()
    erase(node.here, node.owner, RECORD, secret)
    node.rebuild()
    assert node.own().record_count == 10
    assert node.shared() == before
    with node.here.database.agent(node.friend) as tx:
        assert [row["covers"] for row in tx.execute("SELECT covers FROM neurigraph.profiles").fetchall()] == ["shared"]
    stranger = Claims("stranger", "third_party", node.graph.user.user_id)
    with pytest.raises(NotFoundError):
        profile_of(node.here.database, stranger, node.node_id)


def test_verification_finds_and_repairs_a_wrong_profile(node: Node) -> None:
    node.rebuild()
    with node.here.database.pipeline() as tx:
        tx.execute(
            "UPDATE neurigraph.profiles SET descriptors = array_replace(descriptors, 'Orrin', 'Nobody') "
            "WHERE user_id = %s",
            [node.graph.user.user_id],
        )
    found = verify(node.here.context, user_id=node.graph.user.user_id, repair=True)
    assert [(one.fault, one.subject, one.repaired) for one in found.findings] == [(Fault.PROFILE, node.node_id, True)]
    node.rebuild()
    assert "Nobody" not in str(node.own())
    node.graph.check()
