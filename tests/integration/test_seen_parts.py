"""Parts of nodes in memory, for callers from whom sources are hidden: kept, shared, and always what the caller sees."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from uuid import UUID, uuid4

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from neurigraph_pipelines.access import spaces
from neurigraph_pipelines.exchange import sharing
from neurigraph_pipelines.graph import navigation
from neurigraph_pipelines.graph.provisioning import User
from neurigraph_pipelines.graph.record_lists import RecordFilter, list_records
from neurigraph_pipelines.inbox.privacy import set_privacy
from neurigraph_pipelines.ingestion.revision import Revision, revise, supersede
from neurigraph_pipelines.lifecycle.erasure.forget import forget
from neurigraph_pipelines.lifecycle.erasure.receipts import ErasureSubject, SubjectKind
from neurigraph_pipelines.model import Claims, Privacy
from neurigraph_pipelines.model.errors import ConflictError, InvalidInputError, NotFoundError
from neurigraph_pipelines.retrieval.index.caches import caches_of
from neurigraph_pipelines.retrieval.query.question import Question
from neurigraph_pipelines.retrieval.query.search import search
from neurigraph_pipelines.views.kinds import SubjectType
from neurigraph_pipelines.wiring.installation import Installation
from tests.integration.test_spaces import GARDEN, KITCHEN, hand_in
from tests.support.memories import WordEmbedder, ingest, new_user, plain_context, rows, stored
from tests.support.organization import Company, found_company

pytestmark = pytest.mark.slow

QUERIES = ("rope kite", "boat", "cello", "renamed")
STEPS = ("garden", "kitchen", "nowhere", "add", "remove", "private", "shared", "revise", "supersede", "forget")


def found(here: Installation, claims: Claims, query: str, *, cached: bool = True) -> list[tuple[str, str, float]]:
    """Return the records that a question finds, with summary and score."""
    changes = {"answer_cache_entries": 0} if cached else {"answer_cache_entries": 0, "layer_cache_mb": 0}
    context = here.acting_for(claims).using(embedder=WordEmbedder(), settings=here.settings.changed(**changes))
    hits = search(context, Question(query, limit=50)).hits
    return sorted((str(hit.record_id), hit.summary, round(hit.score, 5)) for hit in hits)


@contextmanager
def reading(here: Installation, layers: int) -> Iterator[None]:
    """Fail unless so many layers are read meanwhile."""
    cache = caches_of(here.database).nodes
    before = cache.misses
    yield
    assert cache.misses - before == layers


def talk(here: Installation, user: User, name: str, text: str, *tags: str) -> UUID:
    """Store a conversation in one node and some spaces; return its record's id."""
    hand_in(here, Claims.of_user(user.user_id), name, f"#Boats {text}", "Aye.", tags=tags)
    (segment,) = stored(ingest(plain_context(here), user))
    return segment.record_id


def rename(here: Installation, owner: Claims, record: UUID, summary: str) -> None:
    """Revise a record."""
    revise(here.acting_for(owner).using(embedder=WordEmbedder()), record, Revision(title="Renamed", summary=summary))


def test_part_stays_in_memory_until_something_that_is_seen_changes(shared_installation: Installation) -> None:
    here = shared_installation
    user, owner = new_user(here)
    bound = owner.within([GARDEN])
    rope = talk(here, user, "first", "The rope is long.", GARDEN)
    talk(here, user, "second", "The kite is a secret.", KITCHEN)
    seen = found(here, bound, "rope kite", cached=False)
    assert [record for record, _, _ in seen] == [str(rope)]
    with reading(here, 1):
        assert found(here, bound, "rope kite") == seen
    with reading(here, 0):
        assert found(here, bound, "rope kite") == found(here, bound, "kite rope") == seen
        talk(here, user, "third", "Another secret kite.", KITCHEN)
        assert found(here, bound, "rope kite") == seen, "a hidden memory outdates nothing"
        assert found(here, bound, "rope kite") == seen
    with reading(here, 1):
        rename(here, owner, rope, "The rope is short.")
        seen = found(here, bound, "rope kite")
        assert [summary for _, summary, _ in seen] == ["The rope is short."]
    with reading(here, 1):
        assert len(found(here, owner, "rope kite")) == 3, "the whole node lies beside its part"
    with reading(here, 0):
        assert found(here, bound, "rope kite") == seen
    with reading(here, 1):
        kite = talk(here, user, "fourth", "A kite for all.", GARDEN)
        assert {record for record, _, _ in found(here, bound, "rope kite")} == {str(rope), str(kite)}


def test_members_who_see_the_same_share_a_part(shared_installation: Installation) -> None:
    company = found_company(shared_installation)
    here, people = company.installation, company.people
    ben, cleo = people["ben"].claims, people["cleo"].claims
    assert found(here, ben, "Volcano plan") != found(here, cleo, "Volcano plan"), "each has a private memory"
    assert found(here, ben, "Volcano plan") == found(here, ben, "Volcano plan", cached=False)
    hide_all(company)
    shown = found(here, ben, "Lighthouse")
    assert shown
    with reading(here, 0):
        assert found(here, cleo, "Lighthouse") == shown == found(here, ben, "Lighthouse")


def test_list_names_no_hidden_successor(shared_installation: Installation) -> None:
    here = shared_installation
    user, owner = new_user(here)
    rope = talk(here, user, "first", "The rope is long.", GARDEN)
    kite = talk(here, user, "second", "The kite is a secret.", KITCHEN)
    supersede(here.database, owner, rope, kite)
    wanted = RecordFilter()
    listed = {
        tags: list_records(here.listing(owner.within(tags)), wanted).items for tags in ((GARDEN,), (GARDEN, KITCHEN))
    }
    assert [row.superseded_by for row in listed[(GARDEN,)]] == [None]
    assert {row.superseded_by for row in listed[(GARDEN, KITCHEN)]} == {None, kite}


def hide_all(company: Company) -> None:
    """Make the private sources of all members the organization's own, so that none of them sees any."""
    with company.installation.database.owner() as tx:
        tx.execute(
            "UPDATE neurigraph.sources SET member_id = NULL WHERE user_id = %s AND privacy = 'private'",
            [company.organization_id],
        )


def step(here: Installation, user: User, how: str, one: int, other: int) -> None:
    """Make one change chosen by the numbers, if the graph allows it."""
    owner = Claims.of_user(user.user_id)
    known = rows(
        here,
        "SELECT i.record_id, i.source_id FROM neurigraph.record_index AS i "
        "WHERE i.user_id = %s ORDER BY i.created_at, i.record_id",
        user.user_id,
    )
    first, second = known[one % len(known)], known[other % len(known)]
    garden = spaces.get_space(here.database, owner, GARDEN).space_id
    if how in ("garden", "kitchen", "nowhere"):
        tags = {"garden": (GARDEN,), "kitchen": (KITCHEN,), "nowhere": ()}[how]
        talk(here, user, f"{how} {uuid4()}", f"Kite number {other} on a boat.", *tags)
    elif how in ("add", "remove"):
        change = spaces.add_sources if how == "add" else spaces.remove_sources
        change(here.database, owner, garden, [first["source_id"]])
    elif how in ("private", "shared"):
        set_privacy(here.database, owner, first["source_id"], Privacy(how))
    elif how == "revise":
        rename(here, owner, first["record_id"], f"A renamed cello, number {other}.")
    elif how == "supersede":
        supersede(here.database, owner, first["record_id"], second["record_id"])
    elif how == "forget" and len(known) > 1:
        forget(here.acting_for(owner), ErasureSubject(SubjectKind.RECORD, first["record_id"]), through="test")


@settings(
    max_examples=4,
    phases=[Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    deadline=None,
)
@given(steps=st.lists(st.tuples(st.sampled_from(STEPS), st.integers(0, 9), st.integers(0, 9)), min_size=4, max_size=10))
def test_any_change_is_seen_at_once(shared_installation: Installation, steps: list[tuple[str, int, int]]) -> None:
    here = shared_installation
    user, owner = new_user(here)
    talk(here, user, "first", "The rope of the boat is long.", GARDEN)
    talk(here, user, "second", "A cello on a boat.", KITCHEN)
    callers = [owner, owner.within([GARDEN]), owner.within([GARDEN, KITCHEN])]
    callers.append(Claims("reader", "third_party", user.user_id))
    with here.database.agent(owner) as tx:
        boats = navigation.find_node(tx, user.user_id, "Boats")
    sharing.grant(here.database, owner, sharing.Subject(SubjectType.THIRD_PARTY, "reader"), boats)
    for how, one, other in steps:
        with suppress(ConflictError, InvalidInputError, NotFoundError):
            step(here, user, how, one, other)
        for claims in callers:
            for query in QUERIES:
                assert found(here, claims, query) == found(here, claims, query, cached=False), (how, claims.role)
