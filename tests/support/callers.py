"""A graph with callers of all kinds: the owner, a persona, third parties with grants, and another user."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid4

from neurigraph_pipelines.access.authentication import issue_api_key
from neurigraph_pipelines.access.spaces import add_space
from neurigraph_pipelines.exchange import sharing
from neurigraph_pipelines.graph.aliases import give_alias
from neurigraph_pipelines.graph.edge_statements import EdgeStatement, state_evidence
from neurigraph_pipelines.graph.provisioning import User
from neurigraph_pipelines.inbox.conversations import Inbox
from neurigraph_pipelines.inbox.notes import IncomingNote, write_note
from neurigraph_pipelines.lifecycle.quarantine import holding
from neurigraph_pipelines.lifecycle.quarantine.rules import QuarantineRule
from neurigraph_pipelines.model import AliasType, Claims, EventKind, NodeType, SourceKind, Stance, SubjectType
from neurigraph_pipelines.wiring.installation import Installation
from tests.support.failed_segments import fail
from tests.support.memories import converse, ingest, make_persona, new_user, plain_context, rows
from tests.support.two_users import World

NODES_OF_CONNECTION = 20
"""Postgres keeps plans of each node that a connection creates: the 130th takes five times as long as the first."""

# Who asks for what that is closed to them.
ATTEMPTS = {
    "a persona for its sibling": ("persona", "Family/Ana"),
    "a persona for what lies beside it": ("persona", "Family"),
    "a persona for another user's": ("persona", "bob"),
    "a third party with nothing": ("nothing", "Family/Ana"),
    "a third party whose grant was revoked": ("revoked", "Family/Ana"),
    "a third party whose grant has expired": ("expired", "Family/Ana"),
    "a third party with a grant above it": ("above", "Family/Ana"),
    "a third party with a grant below it": ("granted", "Family"),
    "another user": ("bob", "Family/Ana"),
}


@dataclass(frozen=True, slots=True)
class Ids:
    """The ids of one node and what is in it, and of other things of its owner; each can be asked for."""

    node: UUID
    record: UUID
    file: UUID
    conversation: UUID
    event: UUID
    upload: UUID
    note: UUID
    failure: UUID
    key: UUID
    grant: UUID
    persona: UUID
    quarantine: UUID
    edge: UUID
    evidence: UUID
    fact: UUID
    link: UUID
    signing_key: UUID
    digest: UUID
    space: UUID

    def texts(self) -> dict[str, str]:
        """Return the ids by name, as text."""
        return {field.name: str(getattr(self, field.name)) for field in fields(self)}

    def elsewhere(self) -> Ids:
        """Return the same set with ids that do not exist."""
        return Ids(*(uuid4() for _ in fields(self)))


@dataclass(frozen=True, slots=True)
class Caller:
    """A caller with an API key."""

    claims: Claims
    key: str


@dataclass(frozen=True, slots=True)
class CallerGraph:
    """The graphs of Alice and Bob, and all callers.

    Attributes:
        nodes: Of Alice by path, with what lies in them; Bob's as ``bob``.
        askers: By what they hold.
        grants: Ids of grants, by their askers.
    """

    installation: Installation
    nodes: dict[str, Ids]
    askers: dict[str, Caller]
    grants: dict[str, UUID]


def share(world: World) -> CallerGraph:
    """Give Alice's graph a persona with memories below it, and readers with grants."""
    installation, alice = world.installation, world.alices
    database = installation.database
    assistant = sharing.add_node(database, alice, world.alice.root_node_id, "Assistant")
    converse(installation, alice, "#Family The family met at the harbour.")
    converse(installation, alice, "#Assistant/Notes The persona keeps a zeppelin.")
    converse(installation, alice, "#Assistant The persona speaks of marigolds.")
    ingest(plain_context(installation))
    make_persona(installation, assistant)
    nodes = _nodes(installation, world.alice, alice) | {
        "bob": _nodes(installation, world.bob, world.bobs)["Family/Dave"]
    }
    askers = {"persona": _asker(installation, alice, SubjectType.PERSONA, str(assistant))}
    grants = {}
    for name, path in (
        ("granted", "Family/Ana"),
        ("revoked", "Family/Ana"),
        ("expired", "Family/Ana"),
        ("above", "Family"),
    ):
        askers[name] = _asker(installation, alice, SubjectType.THIRD_PARTY, name)
        subject = sharing.Subject(SubjectType.THIRD_PARTY, name)
        grants[name] = sharing.grant(database, alice, subject, nodes[path].node)[0].grant_id
    askers["nothing"] = _asker(installation, alice, SubjectType.THIRD_PARTY, "nothing")
    askers["bob"] = Caller(world.bobs, issue_api_key(database, world.bob.user_id))
    askers["alice"] = Caller(alice, issue_api_key(database, world.alice.user_id))
    sharing.revoke(database, alice, grants["revoked"])
    with database.owner() as tx:
        tx.execute(
            "UPDATE neurigraph.permission_grants SET granted_at = now() - interval '2 hours', "
            "expires_at = now() - interval '1 hour' WHERE grant_id = %s",
            [grants["expired"]],
        )
    return CallerGraph(installation, nodes, askers, grants)


def _asker(installation: Installation, alice: Claims, kind: SubjectType, name: str) -> Caller:
    _, key = sharing.issue_key(installation.database, alice, subject=sharing.Subject(kind, name))
    return Caller(replace(alice, sub=name, role=kind.value), key)


def new_owner(installation: Installation, names: Sequence[str]) -> tuple[Caller, dict[str, Ids]]:
    """Create a user with a node of each name, each with a memory of its own."""
    user, claims = new_user(installation)
    for first in range(0, len(names), NODES_OF_CONNECTION):
        with Installation(installation.settings) as made:
            for name in names[first : first + NODES_OF_CONNECTION]:
                converse(made, claims, f"#Spot/{name} I met Ana there.")
            ingest(plain_context(made), user)
    found = _nodes(installation, user, claims)
    key = issue_api_key(installation.database, user.user_id)
    return Caller(claims, key), {name: found[f"Spot/{name}"] for name in names}


def _edge(installation: Installation, claims: Claims, row: dict[str, Any]) -> dict[str, UUID]:
    """Let the record of a node state a relation of it to the root, and the owner, too; give the node another name."""
    give_alias(installation.database, claims, row["node_id"], AliasType.NAME, "known")
    with installation.database.owner() as tx:
        made = tx.execute(
            """WITH edge AS (
                INSERT INTO neurigraph.node_edges (user_id, from_node_id, to_node_id, relation)
                SELECT g.user_id, g.node_id, g.path[1], 'known of' FROM neurigraph.graph_index AS g
                WHERE g.node_id = %(node)s RETURNING *
            )
            INSERT INTO neurigraph.edge_evidence (
                user_id, edge_id, from_node_id, to_node_id, relation, record_id, weight, detected_by
            )
            SELECT e.user_id, e.edge_id, e.from_node_id, e.to_node_id, e.relation, %(record)s, 0.5, 'person'
            FROM edge AS e RETURNING edge_id""",
            {"node": row["node_id"], "record": row["record_id"]},
        ).fetchone()
    assert made is not None
    said = EdgeStatement(Stance.ASSERTS)
    stated = state_evidence(installation.database, claims, made["edge_id"], said)
    return {"edge": stated.edge_id, "evidence": stated.evidence_id}


def plant_fact(installation: Installation, record_id: UUID) -> UUID:
    """Let a record state a fact, which somebody has pinned."""
    with installation.database.owner() as tx:
        made = tx.execute(
            """INSERT INTO neurigraph.facts (
                fact_id, record_id, user_id, seq, first_message, last_message, statement, kind, stated_as, confidence,
                importance, impact, extractor, statement_key
            )
            SELECT gen_random_uuid(), r.record_id, r.user_id, 1, 1, 1, 'Somebody met somebody.', 'other', 'statement',
                1, 0.5, 'low', 'a test', 1
            FROM neurigraph.record_index AS r WHERE r.record_id = %s RETURNING fact_id""",
            [record_id],
        ).fetchone()
        assert made is not None
        tx.execute("SELECT set_config('neurigraph.author', 'a test', true)")
        tx.execute("UPDATE neurigraph.facts SET pinned = true WHERE fact_id = %s", [made["fact_id"]])
    fact_id: UUID = made["fact_id"]
    return fact_id


def _digest(installation: Installation, row: dict[str, Any]) -> UUID:
    """Derive a digest from the record of a node."""
    with installation.database.owner() as tx:
        made = tx.execute(
            """INSERT INTO neurigraph.digests (digest_id, user_id, covers, title, text, records, facts, made_by)
            SELECT gen_random_uuid(), r.user_id, 'all', 'A meeting', 'Somebody met somebody.', 1, 1, 'a test'
            FROM neurigraph.record_index AS r WHERE r.record_id = %s RETURNING digest_id, user_id""",
            [row["record_id"]],
        ).fetchone()
        assert made is not None
        tx.execute(
            "INSERT INTO neurigraph.digest_records (digest_id, record_id, user_id) VALUES (%s, %s, %s)",
            [made["digest_id"], row["record_id"], made["user_id"]],
        )
    digest_id: UUID = made["digest_id"]
    return digest_id


def _link(installation: Installation, fact_id: UUID) -> dict[str, UUID]:
    """Let another installation link a fact to its record, and sign that."""
    with installation.database.owner() as tx:
        made = tx.execute(
            """WITH signing AS (
                INSERT INTO neurigraph.signing_keys (user_id, peer_name, public_key, registered_by)
                SELECT f.user_id, 'lab', sha256(%(fact)s::text::bytea), 'a test'
                FROM neurigraph.facts AS f WHERE f.fact_id = %(fact)s RETURNING *
            )
            INSERT INTO neurigraph.links (
                user_id, from_fact_id, to_record_id, relation, strength, confidence, observed_by, detected_by, key_id,
                signature
            )
            SELECT f.user_id, f.fact_id, f.record_id, 'elaborates', 0.5, 0.5, 'peer:lab', 'person', s.key_id,
                sha256('a') || sha256('b')
            FROM neurigraph.facts AS f CROSS JOIN signing AS s WHERE f.fact_id = %(fact)s
            RETURNING link_id AS link, key_id AS signing_key""",
            {"fact": fact_id},
        ).fetchone()
    assert made is not None
    return made


def _nodes(installation: Installation, user: User, claims: Claims) -> dict[str, Ids]:
    found = rows(
        installation,
        """SELECT g.node_id, r.record_id, f.file_id, r.source_id,
            (SELECT string_agg(a.node_name, '/' ORDER BY a.layer_depth) FROM neurigraph.graph_index AS a
            WHERE a.node_id = ANY(g.path) AND a.layer_depth > 0) AS path
        FROM neurigraph.graph_index AS g
        INNER JOIN neurigraph.record_index AS r ON r.node_id = g.node_id
        INNER JOIN neurigraph.file_index AS f ON f.record_id = r.record_id
        WHERE g.user_id = %s""",
        user.user_id,
    )
    with installation.database.agent(claims) as tx:
        event, _ = Inbox(installation.context).open_source(
            tx, user.user_id, SourceKind.EVENT, external_id="standup", event_kind=EventKind.MEETING
        )
    upload = installation.uploads.receive(claims, "notes.txt", [b"What was said of the gutters."]).upload_id
    (failure,) = fail(installation, user, "gutters")
    note = write_note(installation.acting_for(claims), IncomingNote("The gutters leak.")).note_id
    key, _ = sharing.issue_key(installation.database, claims, label="spare")
    nobody = sharing.Subject(SubjectType.THIRD_PARTY, "nobody")
    grant, _ = sharing.grant(installation.database, claims, nobody, user.root_node_id)
    persona = sharing.add_node(installation.database, claims, user.root_node_id, "Butler", node_type=NodeType.PERSONA)
    # It meets nothing, so that nothing else changes.
    long_ago = QuarantineRule(received_until=datetime(2001, 1, 1, tzinfo=UTC))
    quarantine = holding.quarantine(installation.acting_for(claims), long_ago, "Nothing is this old.")
    space = add_space(installation.acting_for(claims), "roof")
    facts = {row["path"]: plant_fact(installation, row["record_id"]) for row in found}
    return {
        row["path"]: Ids(
            node=row["node_id"],
            record=row["record_id"],
            file=row["file_id"],
            conversation=row["source_id"],
            event=event,
            upload=upload,
            note=note,
            failure=failure.failure_id,
            key=key.key_id,
            grant=grant.grant_id,
            persona=persona,
            quarantine=quarantine.quarantine_id,
            **_edge(installation, claims, row),
            fact=facts[row["path"]],
            digest=_digest(installation, row),
            **_link(installation, facts[row["path"]]),
            space=space.space_id,
        )
        for row in found
    }
