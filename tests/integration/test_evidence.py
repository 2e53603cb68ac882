"""Evidence: what follows from it equals a computation from scratch, whatever changes, and each sees only their own."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from psycopg import sql

from neurigraph_pipelines import sharing
from neurigraph_pipelines.errors import ConflictError, ForbiddenError, NotFoundError
from neurigraph_pipelines.graph.aliases import give_alias, remove_alias
from neurigraph_pipelines.graph.moving import RecordFilter, move_records, split_node
from neurigraph_pipelines.graph.navigation import shell
from neurigraph_pipelines.graph.profile_building import rebuild_profiles
from neurigraph_pipelines.graph.profiles import find_profile
from neurigraph_pipelines.graph.reshaping import merge_nodes
from neurigraph_pipelines.ingestion.privacy import set_privacy
from neurigraph_pipelines.ingestion.revision import Revision, revise, supersede
from neurigraph_pipelines.knowledge.fact_values import FactState, FactWords
from neurigraph_pipelines.knowledge.reading import read_waiting
from neurigraph_pipelines.knowledge.stating import change_fact, confirm, retract
from neurigraph_pipelines.lifecycle.verification import verify
from neurigraph_pipelines.listing.evidence import edge_of, page_of_aliases, page_of_evidence, page_of_mentions
from neurigraph_pipelines.model import AliasType, Claims, MentionRole, Privacy, SubjectType
from neurigraph_pipelines.quarantine.holding import quarantine, release
from neurigraph_pipelines.quarantine.rules import Rule
from neurigraph_pipelines.sharing import Subject
from neurigraph_pipelines.wiring import Installation
from tests.support.erasures import FACT, RECORD, USER, erase
from tests.support.evidence_sums import stored_sums, sums_of_rows
from tests.support.exported_user import export, restore
from tests.support.fact_sums import computed, listed
from tests.support.graphs import Graph, new_graph
from tests.support.memories import START, ingest, plain_context, rows

PEOPLE = ("Family/Ana", "Family/Dave", "Work/Eve")
LABELS = ("sister", "reports to")
"""The second is exclusive: a person reports to one at a time."""

Edge = tuple[UUID, UUID, str]
Change = tuple[str, int, int, int]


@dataclass
class Memory:
    """A record, and what the edges should know of it."""

    record_id: UUID
    source_id: UUID
    stated: set[Edge] = field(default_factory=set)
    private: bool = False
    hidden: UUID | None = None
    superseded: bool = False


class Story:
    """A graph that changes step by step, beside a model of its edges."""

    def __init__(self, here: Installation) -> None:
        self.graph = new_graph(here)
        self.here, self.claims = here, self.graph.claims
        self.memories: list[Memory] = []
        for path in PEOPLE:
            self.commit(path, None, "")
        sharing.grant(
            here.database, self.claims, Subject(SubjectType.THIRD_PARTY, "friend"), self.graph.user.root_node_id
        )
        self.friend = Claims("friend", "third_party", self.graph.user.user_id)
        self.people = [self.graph.node(path) for path in PEOPLE]
        for node_id in self.people:
            sharing.grant(here.database, self.claims, Subject(SubjectType.THIRD_PARTY, "friend"), node_id)

    def commit(self, path: str, other: int | None, label: str) -> None:
        """Store a memory at a person that states a relation to another one."""
        name = PEOPLE[other].rpartition("/")[2] if other is not None else ""
        text = f"#{path} They met." + (f" @{name}:{label.replace(' ', '_')}" if name else "")
        (record_id,) = self.graph.remember(text)
        say_at(self.here, record_id, START + timedelta(days=7 * len(self.memories) % 5))
        (row,) = rows(self.here, "SELECT source, node_id FROM neurigraph.record_index WHERE record_id = %s", record_id)
        read_waiting(plain_context(self.here), user_id=self.graph.user.user_id)
        memory = Memory(record_id, UUID(row["source"].partition(":")[2]))
        if other is not None and self.people[other] != row["node_id"]:
            memory.stated.add((row["node_id"], self.people[other], label))
        self.memories.append(memory)

    def step(self, kind: str, one: int, other: int, label: int) -> None:
        memory = self.memories[one % len(self.memories)]
        second = self.memories[other % len(self.memories)]
        database = self.here.database
        if memory.hidden and kind in ("move", "split", "revise", "privacy"):
            return
        if kind == "commit":
            person, met = one % len(PEOPLE), other % len(PEOPLE)
            is_other = self.people[person] != self.people[met]
            self.commit(self.graph.paths[self.people[person]], met if is_other else None, LABELS[label])
        elif kind == "privacy":
            memory.private = not memory.private
            privacy = Privacy.PRIVATE if memory.private else Privacy.SHARED
            set_privacy(database, self.claims, memory.source_id, privacy)
        elif kind == "supersede" and memory is not second:
            self.supersede(memory, second)
        elif kind == "move":
            move_records(database, self.claims, [memory.record_id], self.people[other % len(PEOPLE)])
        elif kind == "quarantine":
            self.hide(memory)
        elif kind == "forget" and len(self.memories) > len(PEOPLE):
            self.forget(self.memories.pop(len(PEOPLE) + one % (len(self.memories) - len(PEOPLE))))
        elif kind == "merge" and len(set(self.people)) == len(PEOPLE):
            self.merge(one % len(PEOPLE), other % len(PEOPLE))
        elif kind == "split":
            self.split(memory, one)
        elif kind == "fact":
            self.decide(one, other)
        elif kind == "end":
            self.end(memory, one + other, other)
        elif kind == "revise":
            self.revise(memory, other % len(PEOPLE), LABELS[label])

    def end(self, memory: Memory, which: int, way: int) -> None:
        """Let a record, as a model or a rule read it, end or deny a relation that is known."""
        found = rows(self.here, EDGES_OF_USER, self.graph.user.user_id)
        if found:
            edge = found[which % len(found)]
            state(self.here, edge, memory.record_id, way, START + timedelta(days=which % 5))

    def supersede(self, memory: Memory, by: Memory) -> None:
        if memory.hidden or by.hidden:
            return
        wanted = None if memory.superseded else by.record_id
        try:
            supersede(self.here.database, self.claims, memory.record_id, wanted)
        except ConflictError:
            return
        memory.superseded = wanted is not None

    def hide(self, memory: Memory) -> None:
        context = plain_context(self.here).acting_for(self.claims)
        if memory.hidden is None:
            memory.hidden = quarantine(context, Rule(source_id=memory.source_id), "a test").quarantine_id
        else:
            release(context, memory.hidden)
            memory.hidden = None

    def forget(self, memory: Memory) -> None:
        erase(self.here, self.claims, RECORD, memory.record_id)
        for other in self.memories:  # what it had superseded is current again
            query = "SELECT superseded FROM neurigraph.record_index WHERE record_id = %s"
            other.superseded = rows(self.here, query, other.record_id)[0]["superseded"]

    def decide(self, one: int, way: int) -> None:
        """Give a fact that the owner sees another version, take it back, confirm it, or forget it."""
        context = plain_context(self.here).acting_for(self.claims)
        seen = sorted(listed(self.here, self.claims))
        if not seen:
            return
        fact_id = seen[one % len(seen)]
        if way % 5 == 0:
            retract(context, fact_id)
        elif way % 5 == 1:
            confirm(context, fact_id)
        elif way % 5 == 2 and listed(self.here, self.claims)[fact_id][1] == 1:
            erase(self.here, self.claims, FACT, fact_id)
        else:
            change_fact(context, fact_id, FactWords(f"They met {way} times."), FactState())
            ingest(context, self.graph.user)
            read_waiting(context, user_id=self.graph.user.user_id)

    def merge(self, gone: int, into: int) -> None:
        source, target = self.people[gone], self.people[into]
        if source == target:
            return
        merge_nodes(self.here.database, self.claims, source, target)
        self.people[gone] = target
        for memory in self.memories:
            ends = {source: target}
            led = {(ends.get(one, one), ends.get(other, other), label) for one, other, label in memory.stated}
            memory.stated = {edge for edge in led if edge[0] != edge[1]}

    def split(self, memory: Memory, number: int) -> None:
        (row,) = rows(self.here, "SELECT node_id FROM neurigraph.record_index WHERE record_id = %s", memory.record_id)
        wanted = RecordFilter([memory.record_id])
        try:
            split_node(self.here.database, self.claims, row["node_id"], f"Part {number}", wanted)
        except ConflictError:
            return

    def revise(self, memory: Memory, other: int, label: str) -> None:
        """State a relation of the record's node to a person by hand, or take it back."""
        (row,) = rows(self.here, "SELECT * FROM neurigraph.record_index WHERE record_id = %s", memory.record_id)
        target = self.people[other]
        (named,) = rows(self.here, "SELECT node_name FROM neurigraph.graph_index WHERE node_id = %s", target)
        context = plain_context(self.here).acting_for(self.claims)
        for relationships in ([f"{label}: {named['node_name']}"], []):
            revise(context, memory.record_id, Revision(relationships=relationships))
            stated = (row["node_id"], target, label)
            if relationships and not memory.private and row["node_id"] != target:
                memory.stated.add(stated)
            elif not relationships:
                memory.stated = {edge for edge in memory.stated if edge[1:] != stated[1:]}
            assert self.seen(self.claims) == self.expected(of_owner=True)

    def expected(self, *, of_owner: bool) -> Counter[Edge]:
        """Return how many records should state each edge."""
        counts: Counter[Edge] = Counter()
        nodes = set(self.people)
        for memory in self.memories:
            if memory.hidden is None and not memory.superseded and (of_owner or not memory.private):
                place = rows(
                    self.here, "SELECT node_id FROM neurigraph.record_index WHERE record_id = %s", memory.record_id
                )[0]["node_id"]
                if of_owner or place in nodes:
                    counts.update(edge for edge in memory.stated if of_owner or set(edge[:2]) <= nodes)
        return counts

    def seen(self, claims: Claims) -> Counter[Edge]:
        """Return the edges that a caller sees, with their counts, from the shells of all nodes."""
        found: dict[Edge, int] = {}
        with self.here.database.agent(claims) as tx:
            for row in tx.execute("SELECT node_id FROM neurigraph.graph_index").fetchall():
                for edge in shell(tx, row["node_id"])["edges"]:
                    if edge["direction"] == "out":
                        found[row["node_id"], edge["node_id"], edge["relation"]] = edge["evidence_count"]
        return Counter(found)

    def check(self) -> None:
        assert self.seen(self.claims) == self.expected(of_owner=True)
        assert self.seen(self.friend) == self.expected(of_owner=False)
        assert listed(self.here, self.claims) == computed(self.here, self.graph.user.user_id)
        assert listed(self.here, self.friend) == computed(self.here, self.graph.user.user_id, set(self.people))
        assert sums_of_rows(self.here, self.graph.user.user_id) == stored_sums(self.here, self.graph.user.user_id)
        assert verify(self.here.context, user_id=self.graph.user.user_id, read=False).findings == []
        # What the next change leaves of these profiles is verified after it.
        rebuild_profiles(self.here.database, user_id=self.graph.user.user_id)
        for claims in (self.claims, self.friend):
            assert profiles_seen(self.here, claims) == current_records(self.here, claims)


EDGES_OF_USER = "SELECT * FROM neurigraph.node_edges WHERE user_id = %s ORDER BY created_at, edge_id"


def say_at(here: Installation, record_id: UUID, time: datetime) -> None:
    """Set when a record was said."""
    (row,) = rows(
        here,
        "SELECT g.schema_name FROM neurigraph.record_index AS i "
        "INNER JOIN neurigraph.graph_index AS g ON i.node_id = g.node_id WHERE i.record_id = %s",
        record_id,
    )
    records = sql.Identifier(row["schema_name"], "metadata_records")
    with here.database.owner() as tx:
        tx.execute(sql.SQL("UPDATE {} SET occurred_at = %s WHERE record_id = %s").format(records), [time, record_id])


def state(here: Installation, edge: dict[str, Any], record_id: UUID, way: int, time: datetime) -> None:
    """Add that a record ends an edge at a time, or denies it from then on; as a model, a rule or a person says it."""
    stance, detector = ("ends", "denies")[way % 2], ("model", "rule", "person")[way % 3]
    stated = {
        **edge,
        "record_id": record_id,
        "stance": stance,
        "detected_by": detector,
        "weight": 0.8,
        "valid_from": time if stance == "denies" else None,
        "valid_until": time if stance == "ends" else None,
    }
    columns: tuple[str, ...] = ("user_id", "edge_id", "from_node_id", "to_node_id", "relation", "record_id")
    columns += ("stance", "detected_by")
    columns += ("weight", "valid_from", "valid_until")
    with here.database.pipeline() as tx:
        tx.execute(
            sql.SQL("INSERT INTO neurigraph.edge_evidence ({}) VALUES ({})").format(
                sql.SQL(", ").join(map(sql.Identifier, columns)), sql.SQL(", ").join(map(sql.Placeholder, columns))
            ),
            stated,
        )


def profiles_seen(here: Installation, claims: Claims) -> dict[UUID, int]:
    """Return how many records the profile of each node covers, for a caller."""
    with here.database.agent(claims) as tx:
        nodes = [row["node_id"] for row in tx.execute("SELECT node_id FROM neurigraph.graph_index").fetchall()]
        found = {node_id: find_profile(tx, node_id) for node_id in nodes}
    return {node_id: profile["records"] for node_id, profile in found.items() if profile is not None}


def current_records(here: Installation, claims: Claims) -> dict[UUID, int]:
    """Return how many current records a caller sees at each node."""
    query = "SELECT node_id, count(*) AS n FROM neurigraph.record_index WHERE superseded IS NOT TRUE GROUP BY 1"
    with here.database.agent(claims) as tx:
        return {row["node_id"]: row["n"] for row in tx.execute(query).fetchall()}


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
        (edge,) = shell(tx, ana)["edges"]
    assert (edge["evidence_count"], edge["unproven_count"]) == (2, 0)
    found = edge_of(database, claims, edge["edge_id"])
    assert (found["from_name"], found["to_name"], found["relation"], found["valid"]) == ("Dave", "Ana", "wife", "{(,)}")
    page = page_of_evidence(database, here.cursors, claims, edge["edge_id"], limit=1)
    assert page.items[0]["title"].startswith("#Work/Dave Ana again.")
    assert page.items[0]["messages"] == [1]
    rest = page_of_evidence(database, here.cursors, claims, edge["edge_id"], cursor=page.next_cursor)
    assert [(one["record_id"], one["proven"], one["stance"]) for one in rest.items] == [(first, True, "asserts")]
    spoken = page_of_mentions(database, here.cursors, claims, ana, MentionRole.MENTION)
    assert {one["title"].partition(" ")[0] for one in spoken.items} == {"#Work/Dave", "#Family/Ana"}

    give_alias(database, claims, ana, AliasType.EMAIL, "Ana@example.org", verified=True)
    give_alias(database, claims, ana, AliasType.EMAIL, "ana@EXAMPLE.org", verified=True)
    give_alias(database, claims, ana, AliasType.NAME, "Anita")
    assert graph.shell("Family/Ana")["aliases"] == ["ana@EXAMPLE.org", "Anita"]
    (known,) = page_of_aliases(database, here.cursors, claims, value="ANA@example.org").items
    assert (known["node_id"], known["type"], known["verified"]) == (ana, "email", True)
    with pytest.raises(ConflictError, match="another node"):
        give_alias(database, claims, graph.node("Work/Dave"), AliasType.EMAIL, "ana@example.org")
    graph.remember("#Notes Anita called.")
    (said,) = (one for one in page_of_mentions(database, here.cursors, claims, ana).items if one["alias"])
    assert (said["alias"], said["role"], said["node_path"].partition("/")[2]) == ("Anita", "mention", "Notes")
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
    assert (found["inverse"], found["is_circular"]) == ("manages", False)
    graph.remember("#Work/Eve Four. @Dave:reports_to")
    assert edge_of(database, claims, edge("Work/Eve")["edge_id"])["is_circular"]


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
            edges = shell(tx, gil)["edges"]
        return {edge["relation"]: (edge["evidence_count"], edge["edge_id"]) for edge in edges}

    assert [(label, count) for label, (count, _) in boss().items()] == [("boss", 2)], "not what closed nodes say"
    edge_id = boss()["boss"][1]
    sources = {
        row["record_id"]: UUID(row["source"].partition(":")[2])
        for row in rows(here, "SELECT record_id, source FROM neurigraph.record_index")
    }
    with database.agent(guest) as tx:
        told = tx.execute("SELECT DISTINCT relation FROM neurigraph.edge_evidence").fetchall()
    assert told == [{"relation": "boss"}], "an edge names both its ends"
    set_privacy(database, claims, sources[private], Privacy.PRIVATE)
    assert boss()["boss"][0] == 1
    assert edge_of(database, claims, edge_id)["evidence_count"] == 2
    assert edge_of(database, guest, edge_id)["strength"] < edge_of(database, claims, edge_id)["strength"]
    assert [one["record_id"] for one in page_of_evidence(database, here.cursors, guest, edge_id).items] == [shown]
    spoken = page_of_mentions(database, here.cursors, guest, gil).items
    assert {one["record_id"] for one in spoken} == {shown}
    assert closed in {one["record_id"] for one in page_of_mentions(database, here.cursors, claims, gil).items}
    set_privacy(database, claims, sources[shown], Privacy.PRIVATE)
    assert boss() == {}
    with pytest.raises(NotFoundError):
        edge_of(database, guest, edge_id)
    assert [one["value"] for one in page_of_aliases(database, here.cursors, guest, value="Gilbert").items] == [
        "Gilbert"
    ]
    with pytest.raises(ForbiddenError):
        give_alias(database, guest, gil, AliasType.NAME, "Gilly")
    with pytest.raises(NotFoundError):
        give_alias(database, guest, graph.node("Elsewhere"), AliasType.NAME, "Gilly")


def test_evidence_of_earlier_edges_is_derived(shared_installation: Installation) -> None:
    """As a database of an earlier version has them: edges, names and candidates without evidence."""
    graph = new_graph(shared_installation)
    here, user_id = graph.here, graph.user.user_id
    graph.remember("#Family/Ana Ana sings.")
    records = [graph.remember(f"#Work/Dave Day {n}. @Ana:wife")[0] for n in range(4)]
    with here.database.owner() as tx:
        for table in ("edge_evidence", "mentions"):
            # The triggers would take the edges along.
            tx.execute(f"ALTER TABLE neurigraph.{table} DISABLE TRIGGER USER")
            tx.execute(f"DELETE FROM neurigraph.{table} WHERE user_id = %s", [user_id])
            tx.execute(f"ALTER TABLE neurigraph.{table} ENABLE TRIGGER USER")
        tx.execute("SELECT neurigraph_private.derive_evidence(%s)", [user_id])
    with here.database.agent(graph.claims) as tx:
        (edge,) = shell(tx, graph.node("Family/Ana"))["edges"]
    assert (edge["evidence_count"], edge["unproven_count"]) == (4, 2)
    assert verify(here.context, user_id=user_id, read=False).findings == []
    counts = []
    for record_id in records:
        erase(here, graph.claims, RECORD, record_id)
        with here.database.agent(graph.claims) as tx:
            counts.append([one["evidence_count"] for one in shell(tx, graph.node("Family/Ana"))["edges"]])
    assert counts == [[3], [2], [1], []]
