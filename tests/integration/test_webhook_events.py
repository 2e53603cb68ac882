"""What raises events for webhooks, which webhooks want them, and what is never named to a receiver."""

from __future__ import annotations

import re
from uuid import UUID

import psycopg
import pytest

from neurigraph_pipelines.exchange.webhooks import subscriptions
from neurigraph_pipelines.exchange.webhooks.outbox import Outbox
from neurigraph_pipelines.graph.governance.proposals import Doubt, propose
from neurigraph_pipelines.graph.reshaping import merge_nodes, move_node, rename_node
from neurigraph_pipelines.inbox.privacy import set_privacy
from neurigraph_pipelines.ingestion.revision import Revision, revise, supersede
from neurigraph_pipelines.knowledge import reading, stating
from neurigraph_pipelines.knowledge.fact_values import FactState, FactWords
from neurigraph_pipelines.lifecycle.erasure.forget import forget
from neurigraph_pipelines.lifecycle.erasure.receipts import ErasureSubject, SubjectKind
from neurigraph_pipelines.lifecycle.quarantine.holding import quarantine, release
from neurigraph_pipelines.lifecycle.quarantine.rules import QuarantineRule
from neurigraph_pipelines.model import Privacy
from neurigraph_pipelines.model.context import Context
from neurigraph_pipelines.model.errors import (
    ConflictError,
    InvalidInputError,
)
from neurigraph_pipelines.model.webhooks import EVENTS
from neurigraph_pipelines.views.kinds import ActionKind
from neurigraph_pipelines.wiring.installation import Installation
from resources.webhook_sender import HttpWebhookSender
from tests.support.memories import converse, ingest, plain_context, rows
from tests.support.shared_graph import SharedGraph, new_shared_graph
from tests.support.webhooks import ELSEWHERE, local_outbox, names, raised


@pytest.fixture
def graph(shared_installation: Installation) -> SharedGraph:
    return new_shared_graph(shared_installation)


def listen(graph: SharedGraph, *events: str, path_glob: str | None = None, author: str | None = None) -> UUID:
    """Add a webhook; return its id."""
    outbox = local_outbox(graph.installation, graph.owners)
    return subscriptions.add(outbox, ELSEWHERE, events or ("*",), path_glob, author).webhook_id


def source_of(graph: SharedGraph, record_id: UUID) -> UUID:
    (row,) = rows(graph.installation, "SELECT source_id FROM neurigraph.record_index WHERE record_id = %s", record_id)
    return UUID(str(row["source_id"]))


def acting(graph: SharedGraph) -> Context:
    return plain_context(graph.installation).acting_for(graph.owners)


def test_life_of_a_record(graph: SharedGraph) -> None:
    webhook = listen(graph, "record.*")
    here = graph.installation
    converse(here, graph.owners, "#Family/Dave Dave sold the boat.", "I see.")
    ingest(plain_context(here), graph.owner)
    (stored,) = raised(here, webhook)
    assert stored["event"] == "record.stored"
    assert stored["node_id"] == graph.node("Family/Dave")
    assert stored["author"] == f"user:{graph.owner.user_id}"
    record, (other, _) = stored["record_id"], graph.record_of("Work")
    revise(acting(graph), record, Revision(title="The boat"))
    supersede(here.database, graph.owners, record, other)
    supersede(here.database, graph.owners, record, None)
    move_node(here.database, graph.owners, graph.node("Family/Dave"), graph.node("Work"))
    forget(acting(graph), ErasureSubject(SubjectKind.RECORD, record), through="test")
    assert names(here, webhook)[1:] == [
        "record.revised", "record.superseded", "record.restored", "record.forgotten",
    ]  # fmt: skip
    assert raised(here, webhook)[2]["other_id"] == other
    assert {event["record_id"] for event in raised(here, webhook)} == {record}


def test_life_of_a_node(graph: SharedGraph) -> None:
    here, webhook = graph.installation, listen(graph, "node.*", "record.moved")
    converse(here, graph.owners, "#Boats A boat.", "I see.")
    ingest(plain_context(here), graph.owner)
    node = graph.node("Boats")
    rename_node(here.database, graph.owners, node, "Ships")
    move_node(here.database, graph.owners, node, graph.node("Family"))
    merge_nodes(here.database, graph.owners, node, graph.node("Work"))
    seen = raised(here, webhook)
    assert [event["event"] for event in seen] == [
        "node.created", "node.renamed", "node.moved", "record.moved", "node.removed",
    ]  # fmt: skip
    assert [event["node_id"] for event in seen] == [node, node, node, graph.node("Work"), node]


def test_forgotten_node_names_its_records(graph: SharedGraph) -> None:
    here, webhook = graph.installation, listen(graph, path_glob="Family/Dave")
    record, _ = graph.record_of("Family/Dave")
    node = graph.node("Family/Dave")
    forget(acting(graph), ErasureSubject(SubjectKind.NODE, node), through="test")
    seen = [(event["event"], event.get("record_id"), event["node_id"]) for event in raised(here, webhook)]
    assert ("record.forgotten", record, node) in seen
    assert seen[-1] == ("node.removed", None, node)
    assert len(seen) == len(set(seen))


def test_life_of_a_fact(graph: SharedGraph) -> None:
    here, webhook = graph.installation, listen(graph, "fact.*")
    reading.read_waiting(plain_context(here), user_id=graph.owner.user_id)
    first = raised(here, webhook)
    assert {event["event"] for event in first} == {"fact.stated"}
    fact = first[0]["fact_id"]
    assert first[0]["record_id"]
    stating.confirm(acting(graph), fact)
    stating.retract(acting(graph), fact)
    stating.change_fact(acting(graph), first[1]["fact_id"], FactWords(), FactState(pinned=True))
    forget(acting(graph), ErasureSubject(SubjectKind.FACT, fact), through="test")
    later = raised(here, webhook)[len(first) :]
    assert [(event["event"], event["fact_id"]) for event in later] == [
        ("fact.confirmed", fact),
        ("fact.retracted", fact),
        ("fact.changed", first[1]["fact_id"]),
        ("fact.removed", fact),
    ]


def test_verdicts_and_versions_of_facts(graph: SharedGraph) -> None:
    here, webhook = graph.installation, listen(graph, "fact.disputed", "fact.superseded")
    reading.read_waiting(plain_context(here), user_id=graph.owner.user_id)
    facts = rows(here, "SELECT fact_id FROM neurigraph.facts WHERE user_id = %s ORDER BY fact_id", graph.owner.user_id)
    a, b, c = (row["fact_id"] for row in facts[:3])
    insert = """INSERT INTO neurigraph.fact_verdicts
        (later_id, earlier_id, user_id, verdict, confidence, reason, effect, judged_by)
    VALUES (%s, %s, %s, %s, 1, 'r', %s, 'test') RETURNING later_id"""
    rows(here, insert, a, b, graph.owner.user_id, "contradicts", "disputes")
    rows(here, insert, a, c, graph.owner.user_id, "updates", "supersedes")
    rows(here, insert, b, c, graph.owner.user_id, "same", "none")
    seen = [(event["event"], event["fact_id"], event["other_id"]) for event in raised(here, webhook)]
    assert seen == [("fact.disputed", b, a), ("fact.superseded", c, a)]


def test_actions_and_erasures(graph: SharedGraph) -> None:
    here, webhook = graph.installation, listen(graph, "action.*", "erasure.finished")
    record, _ = graph.record_of("Family/Dave")
    doubt = Doubt(ActionKind.ARCHIVE, graph.owner.user_id, "old", "tests", record_id=record)
    with here.database.owner() as tx:
        action = propose(tx, doubt).action_id
        tx.execute("UPDATE neurigraph.actions SET state = 'rejected', decided_at = now(), finished_at = now()")
    receipt = forget(acting(graph), ErasureSubject(SubjectKind.RECORD, record), through="test")
    seen = raised(here, webhook)
    assert [event["event"] for event in seen] == ["action.opened", "action.rejected", "erasure.finished"]
    assert {event["action_id"] for event in seen[:2]} == {action}
    assert seen[2]["erasure_id"] == receipt.erasure_id


def test_filters(graph: SharedGraph) -> None:
    here, persona = graph.installation, f"persona:{graph.persona_id}"
    graph.grant("Work/Marketing", writes=True)
    below = listen(graph, "record.stored", path_glob="fam*")
    full = listen(graph, "record.stored", path_glob=f"{graph.owner.slug}/Work/Marketing")
    exact = listen(graph, "record.stored", path_glob="Work/Market")
    percent = listen(graph, "record.stored", path_glob="%")
    hers = listen(graph, "record.stored", author=persona)
    revised = listen(graph, "record.revised")
    converse(here, graph.owners, "#Family/Dave Dave sold the boat.", "I see.")
    converse(here, graph.personas, "#Work/Marketing A poster.", "I see.")
    ingest(plain_context(here), graph.owner)
    assert [event["node_id"] for event in raised(here, below)] == [graph.node("Family/Dave")]
    assert len(raised(here, full)) <= 1
    assert [event["author"] for event in raised(here, hers)] == [persona]
    assert names(here, exact) == names(here, percent) == names(here, revised) == []


def test_private_records_are_not_named(graph: SharedGraph) -> None:
    here, webhook = graph.installation, listen(graph)
    source = converse(here, graph.owners, "#Family/Dave Dave sold the boat.", "I see.")
    ingest(plain_context(here), graph.owner)
    record = raised(here, webhook)[-1]["record_id"]
    open_record, _ = graph.record_of("Work")
    set_privacy(here.database, graph.owners, source, Privacy.PRIVATE)
    before = len(raised(here, webhook))
    revise(acting(graph), record, Revision(title="Secret"))
    supersede(here.database, graph.owners, open_record, record)
    reading.read_waiting(plain_context(here), user_id=graph.owner.user_id)
    forget(acting(graph), ErasureSubject(SubjectKind.RECORD, record), through="test")
    revise(acting(graph), open_record, Revision(title="Open"))
    seen = raised(here, webhook)[before:]
    assert str(record) not in str(seen)
    assert {"record.superseded", "record.revised", "fact.stated", "erasure.finished"} <= {e["event"] for e in seen}


def test_quarantine_raises_and_shows_nothing(graph: SharedGraph) -> None:
    here, webhook = graph.installation, listen(graph)
    record, _ = graph.record_of("Family/Dave")
    revise(acting(graph), record, Revision(title="Before"))

    def seen() -> list[str]:
        page = subscriptions.page_of_deliveries(here.listing(graph.owners), webhook)
        return [one.event for one in page.items]

    assert "record.revised" in seen()
    held = quarantine(acting(graph), QuarantineRule(source_id=source_of(graph, record)), "poison")
    assert "record.revised" not in seen()
    reading.read_waiting(plain_context(here), user_id=graph.owner.user_id)
    assert all(e.get("record_id") != record for e in raised(here, webhook) if e["event"].startswith("fact."))
    release(acting(graph), held.quarantine_id)
    assert "record.revised" in seen()


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"url": "http://hooks.example.com/"}, "https"),
        ({"url": "https://user:pass@hooks.example.com/"}, "a user"),
        ({"url": "https:///x"}, "name a host"),
        ({"url": "https://hooks.example.com/" + "x" * 2000}, "characters"),
        ({"events": ()}, "needs events"),
        ({"events": ("record.eaten",)}, "no event"),
        ({"events": ("%",)}, "no event"),
        ({"path_glob": ""}, "pattern"),
        ({"author": "mallory"}, "author"),
    ],
)
def test_wrong_webhooks_are_refused(graph: SharedGraph, fields: dict[str, object], error: str) -> None:
    with pytest.raises(InvalidInputError, match=error):
        subscriptions.add(local_outbox(graph.installation, graph.owners), **{"url": ELSEWHERE, **fields})  # type: ignore[arg-type]


def test_limits_of_an_installation(graph: SharedGraph) -> None:
    here = local_outbox(graph.installation, graph.owners)
    with pytest.raises(ConflictError, match="NEURIGRAPH_WEBHOOK_HOSTS"):
        subscriptions.add(graph.installation.webhooks.acting_for(graph.owners), ELSEWHERE)
    some = HttpWebhookSender(("*.example.com", "exact.test"), (), 1.0)
    allowed = Outbox(here.context, some, here.secret)
    for host in ("example.com", "badexample.com", "example.com.evil.test", "x.exact.test", "127.0.0.1"):
        with pytest.raises(InvalidInputError, match="not allowed"):
            subscriptions.add(allowed, f"https://{host}/")
    for host in ("a.b.example.com", "EXACT.test", "exact.test."):
        subscriptions.add(allowed, f"https://{host}/")
    for _ in range(subscriptions.MAX_WEBHOOKS - 3):
        subscriptions.add(here, ELSEWHERE)
    with pytest.raises(ConflictError, match="at most 20"):
        subscriptions.add(here, ELSEWHERE)


def test_events_hold_no_words(graph: SharedGraph) -> None:
    columns = rows(
        graph.installation,
        """SELECT column_name, data_type FROM information_schema.columns
        WHERE table_schema = 'neurigraph' AND table_name = 'webhook_events'""",
    )
    assert {row["column_name"] for row in columns if row["data_type"] == "text"} == {"event", "author"}
    listen(graph)
    for event, author in (("record.stored anything", None), ("record.stored", "user:Dave caught a trout")):
        with pytest.raises(psycopg.errors.CheckViolation), graph.installation.database.owner() as tx:
            tx.execute(
                "INSERT INTO neurigraph.webhook_events (user_id, event, author) VALUES (%s, %s, %s)",
                [graph.owner.user_id, event, author],
            )


def test_every_event_is_known(graph: SharedGraph) -> None:
    """The names that the database raises are those that a webhook can ask for."""
    (bodies,) = rows(
        graph.installation, "SELECT string_agg(prosrc, ' ') AS text FROM pg_catalog.pg_proc WHERE proname ^@ 'raise_'"
    )
    for name in EVENTS:
        kind, _, what = name.partition(".")
        found = re.search(rf"'{kind}\.", bodies["text"]) and (
            f"'{name}'" in bodies["text"] or f"'{what}'" in bodies["text"] or kind == "action"
        )
        assert found, name
