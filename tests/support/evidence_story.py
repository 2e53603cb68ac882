"""A graph that changes step by step, with what its evidence should be after each."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from psycopg import sql

from neurigraph_pipelines.exchange import sharing
from neurigraph_pipelines.exchange.sharing import Subject
from neurigraph_pipelines.graph.edge_statements import EdgeStatement, state_evidence, take_back_evidence
from neurigraph_pipelines.graph.moving import Split, move_records, split_node
from neurigraph_pipelines.graph.navigation import shell
from neurigraph_pipelines.graph.profile_building import rebuild_profiles
from neurigraph_pipelines.graph.profiles import find_profile
from neurigraph_pipelines.graph.reshaping import merge_nodes
from neurigraph_pipelines.inbox.privacy import set_privacy
from neurigraph_pipelines.ingestion.revision import Revision, revise, supersede
from neurigraph_pipelines.knowledge.fact_values import FactState, FactWords
from neurigraph_pipelines.knowledge.reading import read_waiting
from neurigraph_pipelines.knowledge.stating import change_fact, confirm, retract
from neurigraph_pipelines.lifecycle.quarantine.holding import quarantine, release
from neurigraph_pipelines.lifecycle.quarantine.rules import QuarantineRule
from neurigraph_pipelines.lifecycle.verification import verify
from neurigraph_pipelines.model import Claims, Privacy, Stance, SubjectType
from neurigraph_pipelines.model.errors import ConflictError
from neurigraph_pipelines.wiring.installation import Installation
from tests.support.erasures import FACT, RECORD, erase
from tests.support.evidence_sums import stored_sums, sums_of_rows
from tests.support.fact_sums import computed, listed
from tests.support.graphs import new_graph
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
        (row,) = rows(
            self.here, "SELECT source_id, node_id FROM neurigraph.record_index WHERE record_id = %s", record_id
        )
        read_waiting(plain_context(self.here), user_id=self.graph.user.user_id)
        memory = Memory(record_id, row["source_id"])
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
        """Let the owner, or a record as a model or a rule read it, end or deny a relation that is known."""
        found = [row for row in rows(self.here, EDGES_OF_USER, self.graph.user.user_id) if row["evidence_count"]]
        if found:
            edge = found[which % len(found)]
            time = START + timedelta(days=which % 5)
            said = EdgeStatement(Stance.DENIES, time) if way % 2 else EdgeStatement(Stance.ENDS, None, time)
            if which % 3 == 0:
                stated = state_evidence(self.here.database, self.claims, edge["edge_id"], said)
                if way % 4 == 0:
                    take_back_evidence(self.here.database, self.claims, edge["edge_id"], stated.evidence_id)
                return
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
            memory.hidden = quarantine(context, QuarantineRule(source_id=memory.source_id), "a test").quarantine_id
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
        wanted = Split(name=f"Part {number}", record_ids=[memory.record_id])
        try:
            split_node(self.here.database, self.claims, row["node_id"], wanted)
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
                for edge in shell(tx, row["node_id"]).edges:
                    if edge.direction == "out":
                        found[row["node_id"], edge.node_id, edge.relation] = edge.evidence_count
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
    return {node_id: profile.record_count for node_id, profile in found.items() if profile is not None}


def current_records(here: Installation, claims: Claims) -> dict[UUID, int]:
    """Return how many current records a caller sees at each node."""
    query = "SELECT node_id, count(*) AS n FROM neurigraph.record_index WHERE superseded IS NOT TRUE GROUP BY 1"
    with here.database.agent(claims) as tx:
        return {row["node_id"]: row["n"] for row in tx.execute(query).fetchall()}
