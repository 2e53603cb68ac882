"""States of facts: stated by hand, versions, decisions, restatements, forgetting, and who sees which of it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import dagster as dg
import httpx
import psycopg
import pytest

from neurigraph_pipelines.access import spaces
from neurigraph_pipelines.access.authentication import issue_api_key
from neurigraph_pipelines.defs.knowledge.fact_assets import ReadAgainConfig, checks, record_facts
from neurigraph_pipelines.defs.shared.installation import InstallationResource
from neurigraph_pipelines.exchange import sharing
from neurigraph_pipelines.exchange.sharing import Subject
from neurigraph_pipelines.faces.cli import entry
from neurigraph_pipelines.inbox.privacy import set_privacy
from neurigraph_pipelines.knowledge import forgetting, reading
from neurigraph_pipelines.lifecycle.verification import verify
from neurigraph_pipelines.model import Privacy, SubjectType
from neurigraph_pipelines.settings import Settings
from neurigraph_pipelines.wiring.installation import Installation
from tests.support.api_calls import assert_problem
from tests.support.api_server import serving
from tests.support.command_line import describe
from tests.support.fact_calls import Facts
from tests.support.graphs import new_graph
from tests.support.memories import converse, plain_context, rows
from tests.support.vectors import day_of_records


@pytest.fixture(scope="module")
def client(shared_installation: Installation) -> Iterator[httpx.Client]:
    with serving(shared_installation) as address, httpx.Client(base_url=f"{address}/v1", timeout=60) as client:
        yield client


@pytest.fixture
def owner(shared_installation: Installation, client: httpx.Client) -> Facts:
    graph = new_graph(shared_installation)
    return Facts(client, graph, issue_api_key(shared_installation.database, graph.user.user_id))


def no_faults(facts: Facts) -> bool:
    return verify(facts.graph.here.context, user_id=facts.graph.user.user_id, read=False).findings == []


def test_note_that_supersedes_another_supersedes_its_facts(owner: Facts) -> None:
    def write(text: str, **fields: Any) -> Any:
        answer = owner.client.post("/notes", headers=owner.headers, json={"content": text, **fields})
        assert answer.status_code == 202, answer.text
        owner.read()
        return answer.json()

    first = write("Bob's boat lies in the harbour of Porto.", path="Boats", title="Berth")
    write("Bob's boat lies in the harbour of Faro.", path="Boats", title="Berth", on_conflict="supersede")
    assert owner.listed(superseded=True) == ["Bob's boat lies in the harbour of Porto."]
    assert owner.listed(superseded=False) == ["Bob's boat lies in the harbour of Faro."]
    other = write("Bob's boat costs 300 euros a month.", path="Boats")
    later = write("Bob's boat costs 400 euros a month.", path="Money", replaces=other["note_id"])
    assert later["replaces"] == other["note_id"]
    assert "Bob's boat costs 300 euros a month." not in owner.listed(superseded=False)
    (old,) = [one for one in owner.call("GET", "", params={"superseded": True})["facts"] if "300" in one["statement"]]
    assert (old["status"], old["received_through"]) == ("superseded", "api")
    stranger = new_graph(owner.graph.here)
    key = issue_api_key(stranger.here.database, stranger.user.user_id)
    body = {"content": "A stranger replaces it.", "replaces": first["note_id"]}
    assert_problem(owner.client.post("/notes", headers={"Authorization": f"Bearer {key}"}, json=body), 404)
    assert no_faults(owner)


def three_versions(owner: Facts) -> tuple[str, str, str]:
    """State a fact, change it, change it back, and give the ids of its versions."""
    body = {"statement": "Ana works at Lumen.", "path": "Family/Ana", "who": ["Ana"], "tags": ["job"]}
    stated = owner.call("POST", "", 202, json=body)
    first = stated["fact_id"]
    assert_problem(owner.client.get(f"/facts/{first}", headers=owner.headers), 404)
    owner.read()
    assert owner.call("POST", "", 200, json=body) == {**stated, "created": False}
    found = owner.get(first)
    assert (found["status"], found["version"], found["is_latest"], found["confidence"]) == ("active", 1, True, 1.0)
    assert (found["node_path"].partition("/")[2], found["extractor"], found["source_count"]) == (
        "Family/Ana",
        "stated",
        1,
    )
    (said,) = found["said_in"]
    assert (said["record_id"], said["received_through"], said["source_id"]) == (
        found["record_id"], "api", stated["note_id"],
    )  # fmt: skip
    assert [(one["message"], one["role"]) for one in said["messages"]] == [(1, "user")]

    second = owner.change(first, statement="Ana works at Northwind.", occurred_from="2025-03-01T00:00:00Z")
    too_early = {"occurred_until": "2025-02-01T00:00:00Z"}
    assert_problem(owner.client.patch(f"/facts/{second}", json=too_early, headers=owner.headers), 422)
    third = owner.change(first, statement="Ana works at Lumen.")  # a third version, not a cycle
    assert owner.current_memories() == ["Ana works at Lumen."], "of the third, whichever version it was written after"
    assert owner.chain(first) == [("Lumen.", 1, "superseded"), ("Northwind.", 2, "superseded"), ("Lumen.", 3, "active")]
    before = owner.get(first)
    assert (before["superseded_by"], before["root_id"], before["canonical_id"]) == (second, first, first)
    assert owner.get(third)["who"] == ["Ana"]
    assert owner.get(third)["source_count"] == 2
    assert owner.listed(superseded=False, status="active") == ["Ana works at Lumen."]
    return first, second, third


def test_facts_are_stated_changed_and_taken_back(owner: Facts) -> None:
    first, second, third = three_versions(owner)
    changed = owner.call("PATCH", f"/{third}", json={"pinned": True, "tags": ["new"], "metadata": {"from": "a card"}})
    assert (changed["pinned"], changed["tags"], changed["metadata"]) == (True, ["new"], {"from": "a card"})
    assert owner.listed(tags="new") == ["Ana works at Lumen."]
    for wrong in ({"metadata": {"deep": {"er": 1}}}, {"metadata": {"long": "x" * 17_000}}, {"subject": "Ana"}, {}):
        assert_problem(owner.client.patch(f"/facts/{third}", json=wrong, headers=owner.headers), 422)
    owner.call("POST", f"/{third}/retract", 204)
    assert owner.chain(first) == [
        ("Lumen.", 1, "superseded"),
        ("Northwind.", 2, "active"),
        ("Lumen.", 3, "archived"),
    ]
    assert owner.get(second)["is_latest"] is True
    assert owner.current_memories() == ["Ana works at Lumen.", "Ana works at Northwind."], "of 2 again, and of 3"
    assert owner.listed(status="archived") == ["Ana works at Lumen."]
    owner.call("POST", f"/{third}/confirm", 204)
    assert owner.chain(first)[1] == ("Northwind.", 2, "superseded")
    assert owner.current_memories() == ["Ana works at Lumen."]
    changes = owner.call("GET", f"/{third}/history")["changes"]
    assert [one["operation"] for one in changes] == ["confirm", "retract", "change"]
    assert changes[1]["before"] == {"status": "active"}
    assert changes[0]["authored_by"] == f"user:{owner.graph.user.user_id}"

    preview = owner.call("DELETE", f"/{second}", params={"dry_run": True})
    assert (preview["subject_kind"], preview["record_count"]) == ("fact", 1)
    receipt = owner.call("DELETE", f"/{second}")
    assert (receipt["erased"]["facts"], receipt["erased"]["records"]) == (1, 1)
    assert owner.call("DELETE", f"/{second}") == receipt
    assert owner.chain(third) == [("Lumen.", 1, "superseded"), ("Lumen.", 2, "active")]
    assert owner.get(first)["superseded_by"] == third
    assert no_faults(owner)


def test_next_version_is_in_the_spaces_of_the_one_before(owner: Facts) -> None:
    database, claims = owner.graph.here.database, owner.graph.claims
    stated = owner.call("POST", "", 202, json={"statement": "Ana's boat lies in Porto."})
    owner.read()
    space = spaces.add_space(owner.graph.here.acting_for(claims), "boats")
    spaces.add_sources(database, claims, space.space_id, [UUID(stated["note_id"])])
    owner.change(stated["fact_id"], statement="Ana's boat lies in Faro.")
    shown = {
        one["statement"]: one["status"] for one in owner.call("GET", "", params={"container_tags": "boats"})["facts"]
    }
    assert shown == {"Ana's boat lies in Porto.": "superseded", "Ana's boat lies in Faro.": "active"}


def test_unknown_memories_are_not_read(
    owner: Facts, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    describe(owner.graph.here.settings, monkeypatch)
    assert entry.run(["admin", "refact", str(uuid4()), "--dry-run", "--json"]) == 3
    assert "does not exist" in capsys.readouterr().err
    assert entry.run(["admin", "refact", "deadbeef", "--dry-run", "--json"]) == 3, "the operator shortens ids, too"
    assert "there is no record deadbeef" in capsys.readouterr().err


def test_read_facts_keep_what_people_decided(owner: Facts) -> None:
    context, graph = plain_context(owner.graph.here), owner.graph
    (record_id,) = graph.remember("#Boats The keel needs bolts.")
    converse(graph.here, graph.claims, "#Boats The mast is of oak.", "The sail is white.", "The oar is gone.")
    owner.read()
    ids = {one["statement"]: one["fact_id"] for one in owner.call("GET", "")["facts"]}
    keel, sail, oar = ids["#Boats The keel needs bolts."], ids["The sail is white."], ids["The oar is gone."]
    second = owner.change(keel, statement="The keel needs nails.")
    assert owner.get(second)["node_path"] == owner.get(keel)["node_path"]
    owner.call("PATCH", f"/{sail}", json={"tags": ["boats"]})
    receipt = owner.call("DELETE", f"/{oar}")
    assert receipt["erased"] == {"facts": 1}

    class Terse(type(context.language_model)):  # type: ignore[misc]
        def extract_facts(self, segment: Any, kept: Any = None) -> Any:
            return [one for one in super().extract_facts(segment) if "sail" not in one.statement]

    chosen = reading.choose_days(context, None, datetime.now(UTC) + timedelta(days=1), graph.user.user_id, again=True)
    reading.read_again(context.using(language_model=Terse()), chosen)
    assert {one["fact_id"] for one in owner.call("GET", "")["facts"]} == {*ids.values(), second} - {oar}
    assert owner.get(sail)["tags"] == ["boats"]
    assert owner.get(keel)["superseded_by"] == second
    owner.call("DELETE", f"/{keel}")
    assert (owner.get(second)["version"], owner.get(second)["root_id"]) == (1, second)
    assert rows(graph.here, "SELECT FROM neurigraph.facts WHERE record_id = %s", record_id) == []
    assert no_faults(owner)


def test_restatements_in_any_order_have_one_canonical(shared_installation: Installation, client: httpx.Client) -> None:
    said = [("early", 2020), ("later", 2021), ("last", 2022)]
    for order in (said, said[::-1]):
        graph = new_graph(shared_installation)
        facts = Facts(client, graph, issue_api_key(shared_installation.database, graph.user.user_id))
        sources: dict[UUID, str] = {}
        for name, year in order:
            moment = datetime(year, 5, 1, tzinfo=UTC)
            source = converse(graph.here, graph.claims, "#Boats The keel is of OAK.")
            sources[source] = name
            with graph.here.database.owner() as tx:
                tx.execute("UPDATE neurigraph.messages SET occurred_at = %s WHERE source_id = %s", [moment, source])
            facts.read()
        found = facts.call("GET", "")["facts"]
        assert {one["source_count"] for one in found} == {3}
        places = {one["fact_id"]: sources[UUID(one["source_id"])] for one in found}
        assert {places[one["canonical_id"]] for one in found} == {"early"}
        (early,) = [source for source, name in sources.items() if name == "early"]
        set_privacy(graph.here.database, graph.claims, early, Privacy.PRIVATE)
        assert {places[one["canonical_id"]] for one in facts.call("GET", "")["facts"]} == {"later"}
        sharing.grant(
            graph.here.database, graph.claims, Subject(SubjectType.THIRD_PARTY, "friend"), graph.node("Boats")
        )
        _, key = sharing.issue_key(
            graph.here.database, graph.claims, subject=Subject(SubjectType.THIRD_PARTY, "friend")
        )
        friend = Facts(client, graph, key)
        assert {one["source_count"] for one in friend.call("GET", "")["facts"]} == {2}
        break_after = next(one for one in found if places[one["fact_id"]] == "early")
        assert_problem(client.get(f"/facts/{break_after['fact_id']}", headers=friend.headers), 404)


def test_others_see_versions_and_states_that_they_may(owner: Facts) -> None:
    graph, database = owner.graph, owner.graph.here.database
    first = owner.state("Ana lives in Oslo.", path="Family/Ana")
    second = owner.change(first, statement="Ana lives in Rome.")
    subject = Subject(SubjectType.THIRD_PARTY, "friend")
    sharing.grant(database, graph.claims, subject, graph.node("Family/Ana"))
    friend = Facts(owner.client, graph, sharing.issue_key(database, graph.claims, subject=subject)[1])
    assert friend.chain(first) == [("Oslo.", 1, "superseded"), ("Rome.", 2, "active")]
    owner.call("PATCH", f"/{second}", json={"pinned": True})
    assert len(owner.call("GET", f"/{second}/history")["changes"]) == 1
    assert friend.call("GET", f"/{second}/history")["changes"] == []
    for method, path, body in (
        ("PATCH", f"/{second}", {"pinned": True}),
        ("PATCH", f"/{second}", {"statement": "Ana lives in Paris."}),
        ("POST", f"/{second}/retract", None),
        ("POST", f"/{second}/confirm", None),
        ("POST", "", {"statement": "Ana lives in Paris."}),
    ):
        assert_problem(owner.client.request(method, f"/facts{path}", json=body, headers=friend.headers), 403)
    assert_problem(owner.client.delete(f"/facts/{second}", headers=friend.headers), 404)
    (source,) = rows(graph.here, "SELECT source_id FROM neurigraph.notes WHERE follows = %s", UUID(first))
    set_privacy(database, graph.claims, source["source_id"], Privacy.PRIVATE)
    assert [one[:2] for one in friend.chain(first)] == [("Oslo.", 1)]
    assert (friend.get(first)["superseded_by"], friend.get(first)["is_latest"]) == (None, True)
    assert_problem(owner.client.get(f"/facts/{second}", headers=friend.headers), 404)
    third = owner.change(second, statement="Ana lives in Bonn.")
    assert owner.get(third)["said_in"][0]["is_private"] is True
    with pytest.raises(psycopg.errors.CheckViolation), database.owner() as tx:
        tx.execute("UPDATE neurigraph.facts SET version = 5 WHERE fact_id = %s", [third])
    with pytest.raises(psycopg.errors.NotNullViolation), database.owner() as tx:
        tx.execute("UPDATE neurigraph.facts SET pinned = NOT pinned WHERE fact_id = %s", [third])


def test_forgotten_facts_hide_at_once_and_go_later(owner: Facts) -> None:
    graph, context = owner.graph, plain_context(owner.graph.here)
    graph.remember("#Boats The keel needs bolts.")
    owner.read()
    (fact,) = owner.call("GET", "")["facts"]
    note = owner.state("The mast is of oak.", path="Boats")
    subject = Subject(SubjectType.THIRD_PARTY, "friend")
    sharing.grant(graph.here.database, graph.claims, subject, graph.node("Boats"))
    friend = Facts(owner.client, graph, sharing.issue_key(graph.here.database, graph.claims, subject=subject)[1])
    assert friend.listed() == owner.listed() == ["#Boats The keel needs bolts.", "The mast is of oak."]
    past = (datetime.now(UTC) - timedelta(seconds=1)).isoformat()
    for one in (fact["fact_id"], note):
        owner.call("PATCH", f"/{one}", json={"forget_after": past})
        assert_problem(owner.client.get(f"/facts/{one}", headers=friend.headers), 404)
    assert friend.listed() == owner.listed() == []
    assert owner.listed(forgotten=True) == ["#Boats The keel needs bolts.", "The mast is of oak."]
    assert friend.listed(forgotten=True) == []
    assert forgetting.sweep(context).hidden >= 2
    assert forgetting.sweep(context).hidden == 0
    owner.call("PATCH", f"/{note}", json={"forget_after": None})  # taken back
    assert friend.listed() == ["The mast is of oak."]
    owner.call("PATCH", f"/{note}", json={"forget_after": past})
    forgetting.sweep(context)
    with graph.here.database.owner() as tx:
        tx.execute("SELECT set_config('neurigraph.author', 'a test', true)")
        tx.execute(
            "UPDATE neurigraph.facts SET forgotten_at = now() - interval '31 days' WHERE user_id = %s",
            [graph.user.user_id],
        )
    done = forgetting.sweep(context)
    assert (done.erased, done.failed) == (2, [])
    assert owner.listed(forgotten=True) == []
    receipts = owner.client.get("/erasures", headers=owner.headers).json()["erasures"]
    assert [(one["subject_kind"], one["requested_through"]) for one in receipts] == [("fact", "forget_after")] * 2
    assert no_faults(owner)


def test_checks_find_faulty_facts(
    settings: Settings, installation: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    describe(settings, monkeypatch)
    graph = new_graph(installation)
    graph.remember("#Boats I moved to Porto on 3 March because the rent in Lisbon was 1,450 euros a month.")

    def passed() -> dict[str, bool]:
        result = dg.materialize(
            [record_facts, *checks],
            partition_key=day_of_records(installation),
            run_config=dg.RunConfig({"record_facts": ReadAgainConfig(again=False)}),
            resources={"installation": InstallationResource()},
        )
        return {one.check_name: one.passed for one in result.get_asset_check_evaluations()}

    names = ("every_fact_cites_its_record", "fact_share_is_bounded", "one_latest_per_chain")
    assert passed() == dict.fromkeys(names, True)
    with psycopg.connect(installation.administrator_url) as connection:
        connection.execute("SET session_replication_role = replica")  # without triggers
        done = connection.execute(
            "UPDATE neurigraph.facts SET last_message = 99, version = 3, root_id = gen_random_uuid(), "
            "statement = repeat('word ', 200)"
        )
        assert done.rowcount == 2  # the move, and its reason
    assert passed() == dict.fromkeys(names, False)
    assert len(verify(installation.context, user_id=graph.user.user_id, read=False).findings) == 5
