"""A graph with callers of all kinds: the owner, a persona, third parties with grants, and another user."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from uuid import UUID, uuid4

from neurigraph_pipelines import sharing
from neurigraph_pipelines.access import issue_api_key
from neurigraph_pipelines.model import Claims, NodeType, SubjectType
from neurigraph_pipelines.wiring import Installation
from tests.support.memories import converse, ingest, plain_context, rows
from tests.support.two_users import World


@dataclass(frozen=True, slots=True)
class Ids:
    """The ids and names of one node; each can be asked for."""

    node: UUID
    record: UUID
    file: UUID
    source: UUID

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
    assistant = sharing.add_node(database, alice, world.alice.root_node_id, "Assistant", node_type=NodeType.PERSONA)
    converse(installation, alice, "#Family The family met at the harbour.")
    converse(installation, alice, "#Assistant/Notes The persona keeps a zeppelin.")
    converse(installation, alice, "#Assistant The persona speaks of marigolds.")
    ingest(plain_context(installation))
    nodes = _nodes(world)
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


def _nodes(world: World) -> dict[str, Ids]:
    found: dict[str, Ids] = {}
    for row in rows(
        world.installation,
        """SELECT g.node_id, g.user_id, r.record_id, f.file_id, split_part(r.source, ':', 2)::uuid AS source_id,
            (SELECT string_agg(a.node_name, '/' ORDER BY a.layer_depth) FROM neurigraph.graph_index AS a
            WHERE a.node_id = ANY(g.path) AND a.layer_depth > 0) AS path
        FROM neurigraph.graph_index AS g
        INNER JOIN neurigraph.record_index AS r ON r.node_id = g.node_id
        INNER JOIN neurigraph.file_index AS f ON f.record_id = r.record_id""",
    ):
        name = row["path"] if row["user_id"] == world.alice.user_id else "bob"
        found[name] = Ids(row["node_id"], row["record_id"], row["file_id"], row["source_id"])
    return found
