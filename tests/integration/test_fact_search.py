"""Facts in search: found beside memories, behind the same gates, and kept no longer than they are true."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from uuid import UUID

import httpx
import pytest

from neurigraph_pipelines.access.authentication import issue_api_key
from neurigraph_pipelines.exchange import sharing
from neurigraph_pipelines.inbox.privacy import set_privacy
from neurigraph_pipelines.knowledge import reading, stating
from neurigraph_pipelines.lifecycle.erasure.forget import forget
from neurigraph_pipelines.lifecycle.erasure.receipts import ErasureSubject, SubjectKind
from neurigraph_pipelines.lifecycle.quarantine.holding import quarantine
from neurigraph_pipelines.lifecycle.quarantine.rules import QuarantineRule
from neurigraph_pipelines.model import Claims, NodeType, Privacy, SubjectType
from neurigraph_pipelines.retrieval.query.question import Question
from neurigraph_pipelines.retrieval.query.search import search
from neurigraph_pipelines.wiring.installation import Installation
from tests.support.api_server import serving
from tests.support.memories import WordEmbedder, converse, explained, ingest, new_user, plain_context

KEEL, MAST, SOUP = "#Boats The keel needs 12 bolts.", "#Boats The mast is of oak.", "#Food Oak soup is bad."


@pytest.fixture(scope="module")
def client(shared_installation: Installation) -> Iterator[httpx.Client]:
    with serving(shared_installation) as address, httpx.Client(base_url=f"{address}/v1", timeout=60) as client:
        yield client


def statements_found(here: Installation, claims: Claims, query: str = "Which oak is it?") -> list[str]:
    """Return the facts that a search finds, with warm caches and without any."""
    context = here.acting_for(claims).using(embedder=WordEmbedder())
    without = context.using(settings=here.settings.changed(answer_cache_entries=0, layer_cache_mb=0))
    question = Question(query, include_facts=True)
    found = search(context, question).facts
    assert found == search(context, question).facts == search(without, question).facts
    assert found is not None
    return [fact.statement for fact in found]


def test_facts_are_found_behind_the_gates(here: Installation, client: httpx.Client) -> None:
    user, claims = new_user(here)
    context = plain_context(here)
    boats = converse(here, claims, KEEL, MAST)
    converse(here, claims, SOUP)
    ingest(context, user)
    assert statements_found(here, claims) == [], "nothing is read yet"
    reading.read_waiting(context, user_id=user.user_id)
    assert sorted(statements_found(here, claims)[:2]) == sorted([MAST, SOUP]), "what was read is seen at once"
    owner = {"Authorization": f"Bearer {issue_api_key(here.database, user.user_id)}"}

    def ask(headers: dict[str, str], **more: Any) -> dict[str, Any]:
        answer = client.post("/search", headers=headers, json={"query": "Which oak is it?", **more})
        assert answer.status_code == 200, answer.text
        body: dict[str, Any] = answer.json()
        return body

    assert not {"facts", "rationale"} & ask(owner).keys()
    found = ask(owner, include=["facts"], limit=1)["facts"]
    assert len(found) == 1
    assert found[0].keys() >= {"fact_id", "statement", "record_id", "first_message", "node_path", "score"}
    assert [one["statement"] for one in ask(owner, include=["facts"], speaker="nobody")["facts"]] == []
    persona = sharing.add_node(here.database, claims, user.root_node_id, "Butler", node_type=NodeType.PERSONA)
    _, key = sharing.issue_key(here.database, claims, subject=sharing.Subject(SubjectType.PERSONA, str(persona)))
    butler = {"Authorization": f"Bearer {key}"}
    as_butler = Claims(str(persona), "persona", user.user_id)
    assert ask(butler, include=["facts"])["facts"] == []
    listed = client.get("/facts", headers=owner).json()["facts"]
    node_id = UUID(next(one["node_id"] for one in listed if one["statement"] == MAST))
    keel = UUID(next(one["fact_id"] for one in listed if one["statement"] == KEEL))
    assert KEEL in statements_found(here, claims, "the keel")
    stating.retract(here.acting_for(claims), keel)
    assert KEEL not in statements_found(here, claims, "the keel"), "what was taken back is not found"
    stating.confirm(here.acting_for(claims), keel)
    assert KEEL in statements_found(here, claims, "the keel")
    sharing.grant(here.database, claims, sharing.Subject(SubjectType.PERSONA, str(persona)), node_id)
    assert statements_found(here, as_butler)[0] == MAST
    assert SOUP not in statements_found(here, as_butler)
    set_privacy(here.database, claims, boats, Privacy.PRIVATE)
    assert statements_found(here, as_butler) == []
    assert MAST in statements_found(here, claims)
    set_privacy(here.database, claims, boats, Privacy.SHARED)
    quarantine(here.acting_for(claims), QuarantineRule(source_id=boats), "a test")
    assert statements_found(here, claims) == [SOUP]
    assert statements_found(here, as_butler) == []
    record_id = next(UUID(one["record_id"]) for one in listed if one["statement"] == SOUP)
    forget(here.acting_for(claims), ErasureSubject(SubjectKind.RECORD, record_id), through="test")
    assert statements_found(here, claims) == []


def test_restatements_collapse_and_are_known_before_writing(here: Installation, client: httpx.Client) -> None:
    user, claims = new_user(here)
    context = plain_context(here)
    for text in (MAST, MAST.upper(), MAST):
        converse(here, claims, text, "Good.", text, "Fine.", text.rstrip("."))
    converse(here, claims, "#Food The oak soup needs 12 onions.")
    converse(here, claims, "#Food The best recipe came from Clara in the spring.")
    pine = "#Boats The mast is of oak and no pine."
    hidden = converse(here, claims, pine)
    ingest(context, user)
    reading.read_waiting(context, user_id=user.user_id)
    owner = {"Authorization": f"Bearer {issue_api_key(here.database, user.user_id)}"}

    def call(path: str, headers: dict[str, str] = owner, **body: Any) -> dict[str, Any]:
        answer = client.post(path, headers=headers, json=body)
        assert answer.status_code == 200, answer.text
        found: dict[str, Any] = answer.json()
        return found

    found = call("/search", query="Is the mast of oak?", include=["facts"], limit=3)["facts"]
    assert len({one["canonical_id"] for one in found}) == len(found) == 3, "nobody takes two places by saying it again"
    (mast,) = [one for one in found if one["statement"].lower().rstrip(".") == MAST.lower().rstrip(".")]
    assert mast["source_count"] == 3 <= mast["said_count"]
    assert mast["last_said_at"] >= mast["said_at"]
    known = call("/duplicates", text="#boats the mast is of oak")
    assert (known["facts"][0]["score"], known["facts"][0]["canonical_id"]) == (1.0, mast["canonical_id"])
    assert {one["restated"] for one in known["messages"]} == {9}
    near = call("/duplicates", text="The oak soup needs 12 big onions")["facts"]
    assert [one["statement"] for one in near] == ["#Food The oak soup needs 12 onions."]
    assert known["threshold"] <= near[0]["score"] < 1
    (recipe,) = call("/duplicates", text="In the spring the best recipe came from Clara")["facts"]
    assert recipe["statement"] == "#Food The best recipe came from Clara in the spring."
    nothing = {"facts": [], "messages": [], "threshold": 0.5}
    for other in (
        "The oak soup needs 13 big onions",
        "The oak soup never needs 12 big onions",
        "The best recipe came from Dave in the spring",
        "Something else",
    ):
        assert call("/duplicates", text=other) == nothing, other
    stranger, _ = new_user(here)
    assert (
        call("/duplicates", {"Authorization": f"Bearer {issue_api_key(here.database, stranger.user_id)}"}, text=MAST)
        == nothing
    )
    persona = sharing.add_node(here.database, claims, user.root_node_id, "Cook", node_type=NodeType.PERSONA)
    subject = sharing.Subject(SubjectType.PERSONA, str(persona))
    cook = {"Authorization": f"Bearer {sharing.issue_key(here.database, claims, subject=subject)[1]}"}
    assert call("/duplicates", cook, text=pine) == nothing
    sharing.grant(here.database, claims, subject, UUID(mast["node_id"]))
    assert call("/duplicates", cook, text=pine)["facts"][0]["score"] == 1
    set_privacy(here.database, claims, hidden, Privacy.PRIVATE)
    assert all(one["statement"] != pine for one in call("/duplicates", cook, text=pine)["facts"])
    assert call("/duplicates", text=pine)["facts"][0]["score"] == 1
    assert client.post("/duplicates", headers=owner, json={"text": ""}).status_code == 422


def test_lending_and_its_rationale(here: Installation) -> None:
    user, claims = new_user(here)
    context = plain_context(here)
    converse(here, claims, "#Family/Ana Ana came.")
    ingest(context, user)
    converse(here, claims, "#Boats @Ana:sister The keel needs 12 bolts.", "#Boats The mast is of oak.")
    ingest(context, user)
    reading.read_waiting(context, user_id=user.user_id)
    acting = here.acting_for(claims).using(embedder=WordEmbedder())
    lending = acting.using(settings=here.settings.changed(fact_lending=True))
    question = Question("How many bolts does Ana say the keel needs?", explain=True, include_facts=True)
    plain, lent = search(acting, question), search(lending, question)
    assert "fact" not in explained(plain.messages[0])
    added = explained(lent.messages[0])["fact"]
    assert 0 < added <= 0.1, "what a fact lends is bounded"
    assert lent.messages[0].score == pytest.approx(plain.messages[0].score + added)
    assert plain.rationale is not None
    assert plain.rationale.facts == []
    assert lent.rationale is not None
    assert lent.facts is not None
    assert (lent.rationale.facts[0].fact_id, lent.rationale.facts[0].lent) == (lent.facts[0].fact_id, round(added, 6))
    names = {name.node_path: name.match for name in lent.rationale.names}
    assert names[f"{user.slug}/Family/Ana"] == "exact"
    edge = next(one for one in lent.rationale.edges if one.relation == "sister")
    assert (edge.from_node_path, edge.to_node_path) == (f"{user.slug}/Boats", f"{user.slug}/Family/Ana")
    assert edge.evidence[0].stance == "asserts"
    assert edge.evidence[0].record_id == next(
        hit.record_id for hit in lent.hits if hit.node_path == f"{user.slug}/Boats"
    )
