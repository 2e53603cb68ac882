"""Attacks on organizations: direct SQL with the claims of each role, of another organization, and of strangers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from uuid import UUID, uuid4

import psycopg
import pytest
from psycopg import sql
from psycopg.rows import dict_row

from neurigraph_pipelines.database.secret import Secret
from neurigraph_pipelines.exchange.organizations import invitations
from neurigraph_pipelines.model import Claims, Privacy
from neurigraph_pipelines.model.ports import Transaction
from neurigraph_pipelines.wiring.installation import Installation
from resources.postgres.database import url_for_role
from tests.conftest import SECRET
from tests.support.memories import new_user, rows
from tests.support.organization import Company, found_company, write

pytestmark = pytest.mark.attack

PEOPLE = ("ana", "ben", "cleo")
TABLES = {
    "organizations": "user_id = %(graph)s",
    "organization_members": "user_id = %(graph)s",
    "organization_invitations": "user_id = %(graph)s",
    "sources": "user_id = %(graph)s",
    "messages": "user_id = %(graph)s",
    "record_index": "user_id = %(graph)s",
    "graph_index": "user_id = %(graph)s",
    "storage_triggers": "user_id = %(graph)s",
    "delta_log": "user_id = %(graph)s",
    "file_index": "user_id = %(graph)s",
}


@pytest.fixture(scope="module")
def company(shared_installation: Installation) -> Company:
    made = found_company(shared_installation)
    invitations.invite(shared_installation.database, made.people["ana"].own, made.organization_id)
    return made


@contextmanager
def agent(company: Company, claims: Claims) -> Iterator[Transaction]:
    """Connect as the agent role with signed claims."""
    url = url_for_role(company.installation.administrator_url, "neurigraph_agent", Secret(SECRET))
    payload, signature = Secret(SECRET).sign(claims)
    with psycopg.connect(url, row_factory=dict_row) as connection:
        connection.execute("SELECT set_config('request.jwt.claims', %s, false)", [payload])
        connection.execute("SELECT set_config('neurigraph.claims_signature', %s, false)", [signature])
        yield connection


def counts(company: Company, claims: Claims) -> dict[str, int]:
    """Return how many rows of the organization's graph the caller sees, by table."""
    seen = {}
    with agent(company, claims) as connection:
        for table, condition in TABLES.items():
            query = sql.SQL("SELECT count(*) AS n FROM neurigraph.{} WHERE " + condition).format(sql.Identifier(table))
            if table == "organization_invitations":
                query = sql.SQL("SELECT count(invitation_id) AS n FROM neurigraph.{} WHERE " + condition).format(
                    sql.Identifier(table)
                )
            (row,) = connection.execute(query, {"graph": company.organization_id}).fetchall()
            seen[table] = row["n"]
    return seen


def test_each_role_sees_its_rows(company: Company) -> None:
    for name in PEOPLE:
        seen = counts(company, company.people[name].claims)
        assert seen["organizations"] == 1
        assert seen["organization_members"] == len(company.people)
        assert seen["organization_invitations"] == (0 if name == "cleo" else len(company.people))
        assert seen["record_index"] == len(company.people) + 1, "shared ones, and one private"
        assert seen["sources"] == len(company.people) + 1
        assert seen["messages"] == 2, "own ones"
        assert seen["graph_index"] > 0


def test_strangers_see_no_row(company: Company) -> None:
    other = found_company(company.installation)
    _, stranger = new_user(company.installation)
    gone = company.people["dan"].claims
    for claims in (
        stranger,
        other.people["ana"].own,
        other.people["ana"].claims,
        Claims(str(stranger.user_id), "member", company.organization_id),
        Claims(str(other.people["ana"].member_id), "member", company.organization_id),
        Claims(str(company.organization_id), "member", company.organization_id),
        Claims("ana", "member", company.organization_id),
        Claims(gone.sub, "admin", company.organization_id),
        Claims(gone.sub, "owner", company.organization_id),
        Claims(gone.sub, "persona", company.organization_id),
        Claims(gone.sub, "third_party", company.organization_id),
    ):
        assert set(counts(company, claims).values()) == {0}, claims


def test_private_sources_are_hidden_from_each_role(company: Company) -> None:
    secret = write(company, company.people["dan"].claims, "#Projects The Atlantis plan.", Privacy.PRIVATE)
    for name in PEOPLE:
        with agent(company, company.people[name].claims) as connection:
            assert not connection.execute("SELECT FROM neurigraph.sources WHERE source_id = %s", [secret]).fetchall()
            assert not connection.execute("SELECT FROM neurigraph.messages WHERE source_id = %s", [secret]).fetchall()
    with agent(company, company.people["dan"].claims) as connection:
        assert connection.execute("SELECT FROM neurigraph.sources WHERE source_id = %s", [secret]).fetchall()


FORBIDDEN = [
    "INSERT INTO neurigraph.organizations (user_id, name) VALUES (%(me)s, 'Mine')",
    "UPDATE neurigraph.organizations SET name = 'Mine'",
    "DELETE FROM neurigraph.organizations",
    "INSERT INTO neurigraph.organization_members (user_id, member_id, role) VALUES (%(graph)s, %(me)s, 'owner')",
    "UPDATE neurigraph.organization_members SET role = 'owner'",
    "DELETE FROM neurigraph.organization_members",
    """INSERT INTO neurigraph.organization_invitations (user_id, code_hash, role, created_by, expires_at)
    VALUES (%(graph)s, sha256('mine'), 'owner', %(me)s, now() + interval '1 day')""",
    "UPDATE neurigraph.organization_invitations SET used_at = NULL",
    "SELECT code_hash FROM neurigraph.organization_invitations",
    "SELECT * FROM neurigraph.invitation_attempts",
    "DELETE FROM neurigraph.invitation_attempts",
    "INSERT INTO neurigraph.api_keys (user_id, key_hash, role) VALUES (%(graph)s, sha256('mine'), 'user')",
    """INSERT INTO neurigraph.api_keys (user_id, key_hash, role, subject_id)
    VALUES (%(graph)s, sha256('mine'), 'member', %(other)s::text)""",
    """INSERT INTO neurigraph.permission_grants (user_id, subject_id, subject_type, target_node_id, grant_type,
        grantor_user_id) VALUES (%(graph)s, 'mallory', 'third_party', %(node)s, 'read', %(graph)s)""",
    """INSERT INTO neurigraph.sources (user_id, kind, external_id, member_id)
    VALUES (%(graph)s, 'conversation', 'planted', %(other)s)""",
    """INSERT INTO neurigraph.sources (user_id, kind, external_id, member_id, privacy)
    VALUES (%(graph)s, 'conversation', 'planted', NULL, 'private')""",
    """INSERT INTO neurigraph.sources (user_id, kind, external_id) VALUES (%(other)s, 'conversation', 'planted')""",
    "UPDATE neurigraph.sources SET privacy = 'shared'",
    "UPDATE neurigraph.sources SET member_id = %(me)s",
    "SELECT neurigraph_private.close_membership(%(graph)s, %(other)s, true)",
    "SELECT neurigraph_private.close_memberships(%(other)s)",
    "SELECT neurigraph_private.member_of(NULL::jsonb)",
]


@pytest.mark.parametrize("statement", FORBIDDEN)
@pytest.mark.parametrize("name", PEOPLE)
def test_no_role_writes_these_rows(company: Company, statement: str, name: str) -> None:
    (node,) = rows(
        company.installation,
        "SELECT node_id FROM neurigraph.graph_index WHERE user_id = %s AND layer_depth = 0",
        company.organization_id,
    )
    values = {
        "graph": company.organization_id,
        "me": company.people[name].member_id,
        "other": company.people["dan"].member_id,
        "node": node["node_id"],
    }
    with (
        agent(company, company.people[name].claims) as connection,
        pytest.raises((psycopg.errors.InsufficientPrivilege, psycopg.errors.UndefinedFunction)),
    ):
        connection.execute(sql.SQL(statement), values)


def test_no_role_adds_to_what_others_wrote(company: Company) -> None:
    """Whatever is not the caller's own: updates hit no row, and inserts are refused."""
    theirs = write(company, company.people["dan"].claims, "#Projects Dan goes on.")
    for name in PEOPLE:
        with agent(company, company.people[name].claims) as connection:
            changed = connection.execute(
                "UPDATE neurigraph.sources SET title = 'mine' WHERE source_id = %s", [theirs]
            ).rowcount
            assert changed == 0
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute(
                    """INSERT INTO neurigraph.messages (source_id, user_id, seq, role, content, token_count,
                        content_hash, occurred_at, external_id, key_id, persona_id, received_through)
                    VALUES (%s, %s, 99, 'user', 'planted', 1, sha256('planted'), now(), 'planted',
                        neurigraph.asking_key(), NULL, neurigraph.asking_door())""",
                    [theirs, company.organization_id],
                )


def test_member_may_not_write_to_nodes_directly(company: Company) -> None:
    nodes = rows(
        company.installation, "SELECT node_id FROM neurigraph.graph_index WHERE user_id = %s", company.organization_id
    )
    for name in PEOPLE:
        with agent(company, company.people[name].claims) as connection:
            for node in nodes:
                (may,) = connection.execute(
                    "SELECT neurigraph.may_read_node(%(node_id)s) AS reads, neurigraph.may_write_node(%(node_id)s) "
                    "AS writes, neurigraph.may_hand_in(%(node_id)s) AS hands_in",
                    node,
                ).fetchall()
                assert may == {"reads": True, "writes": False, "hands_in": True}


def test_unknown_ids_and_those_of_others_are_alike(company: Company) -> None:
    secret: UUID = write(company, company.people["dan"].claims, "#Projects The Mu plan.", Privacy.PRIVATE)
    ask = sql.SQL("SELECT neurigraph.sees(%(payload)s, %(signature)s, 'source', %(wanted)s) AS sees")
    for name, sees in (("ana", False), ("ben", False), ("cleo", False), ("dan", True)):
        payload, signature = Secret(SECRET).sign(company.people[name].claims)
        with agent(company, company.people[name].claims) as connection:
            for wanted, expected in ((secret, sees), (uuid4(), False)):
                values = {"payload": payload, "signature": signature, "wanted": wanted}
                assert connection.execute(ask, values).fetchall() == [{"sees": expected}]
