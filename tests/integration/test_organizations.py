"""Organizations: members, roles, invitations, and what each member sees."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from uuid import UUID, uuid4

import pytest
from psycopg import sql

from neurigraph_pipelines.access.authentication import authenticate, issue_api_key, new_api_key
from neurigraph_pipelines.exchange.organizations import deletion, invitations, membership
from neurigraph_pipelines.inbox.privacy import set_privacy
from neurigraph_pipelines.model import Claims, Privacy
from neurigraph_pipelines.model.errors import (
    ConflictError,
    ForbiddenError,
    InvalidInputError,
    NeurigraphError,
    NotFoundError,
    TransientError,
    UnauthenticatedError,
)
from neurigraph_pipelines.model.ports import Transaction
from neurigraph_pipelines.retrieval.query.question import Question
from neurigraph_pipelines.retrieval.query.search import search
from neurigraph_pipelines.views.kinds import MemberRole
from neurigraph_pipelines.wiring.installation import Installation
from tests.support.locks import wait_until_locked
from tests.support.memories import new_user, plain_context, rows
from tests.support.organization import ROLES, Company, Person, found_company, join, write


@pytest.fixture(scope="module")
def company(shared_installation: Installation) -> Company:
    return found_company(shared_installation)


def summaries(company: Company, claims: Claims, query: str) -> set[str]:
    """Return the summaries that a question finds."""
    answer = search(plain_context(company.installation).acting_for(claims), Question(query))
    return {hit.summary for hit in answer.hits}


def test_shared_memories_are_for_all_and_private_ones_for_their_author(company: Company) -> None:
    shared = {f"#Projects {name.title()} shared the Lighthouse plan." for name in ROLES}
    for name, person in company.people.items():
        assert summaries(company, person.claims, "Lighthouse plan") >= shared
        assert {text for text in summaries(company, person.claims, "Volcano plan") if "Volcano" in text} == {
            f"#Projects {name.title()} hides the Volcano plan."
        }


def test_author_is_the_member(company: Company) -> None:
    found = rows(
        company.installation,
        "SELECT DISTINCT s.member_id, s.author, m.author AS said_by FROM neurigraph.sources AS s "
        "INNER JOIN neurigraph.messages AS m USING (source_id) WHERE s.user_id = %s",
        company.organization_id,
    )
    by = {row["member_id"]: row for row in found}
    assert set(by) == {person.member_id for person in company.people.values()}
    assert all(row["author"] == row["said_by"] and row["author"].split("-")[0] in ROLES for row in found)


def test_only_the_author_changes_privacy(company: Company) -> None:
    database, people = company.installation.database, company.people
    source_id = write(company, people["cleo"].claims, "#Projects Cleo thinks aloud.")
    for name in ("ana", "ben", "dan"):
        with pytest.raises(NotFoundError):
            set_privacy(database, people[name].claims, source_id, Privacy.PRIVATE)
    set_privacy(database, people["cleo"].claims, source_id, Privacy.PRIVATE)
    assert rows(company.installation, "SELECT privacy FROM neurigraph.sources WHERE source_id = %s", source_id) == [
        {"privacy": "private"}
    ]


def test_nobody_acts_as_owner_of_the_graph(company: Company) -> None:
    database = company.installation.database
    with pytest.raises(Exception, match="an organization has no key of its own"):
        issue_api_key(database, company.organization_id)


def test_revoked_keys_stay_revoked_for_those_who_return(company: Company) -> None:
    made = found_company(company.installation, remembers=False)
    database, graph, dan = made.installation.database, made.organization_id, made.people["dan"]
    context = made.installation.acting_for(dan.claims)
    membership.end_membership(context, graph, dan.member_id, through="tests")
    _, code = invitations.invite(database, made.people["ana"].own, graph)
    _, key = invitations.accept(database, dan.own, code)
    with pytest.raises(UnauthenticatedError):
        authenticate(database, dan.key)
    assert authenticate(database, key) == dan.claims


def test_roles(company: Company) -> None:
    installation, people = company.installation, company.people
    database, graph = installation.database, company.organization_id
    extra = join(installation, people["ana"].own, graph, MemberRole.MEMBER, f"eva-{uuid4().hex[:8]}")
    for name in ("ben", "cleo"):
        with pytest.raises(ForbiddenError):
            membership.change_role(database, people[name].claims, graph, extra.member_id, MemberRole.ADMIN)
    with pytest.raises(ForbiddenError):
        membership.end_membership(
            installation.acting_for(people["cleo"].claims), graph, extra.member_id, through="tests"
        )
    with pytest.raises(ForbiddenError):
        membership.end_membership(
            installation.acting_for(people["ben"].claims), graph, people["ana"].member_id, through="tests"
        )
    with pytest.raises(ForbiddenError):
        invitations.invite(database, people["ben"].claims, graph, MemberRole.ADMIN)
    with pytest.raises(ForbiddenError):
        invitations.invite(database, people["cleo"].claims, graph)
    with pytest.raises(ForbiddenError):
        membership.change(database, people["cleo"].claims, graph, name="Mine")
    assert membership.change(database, people["ben"].claims, graph, metadata={"town": "Oslo"}).metadata == {
        "town": "Oslo"
    }
    invitations.invite(database, people["ben"].claims, graph)
    changed = membership.change_role(database, people["ana"].claims, graph, extra.member_id, MemberRole.ADMIN)
    assert changed.role is MemberRole.ADMIN
    membership.end_membership(installation.acting_for(people["ana"].claims), graph, extra.member_id, through="tests")
    assert extra.member_id not in {one.member_id for one in membership.list_members(database, people["dan"].own, graph)}


def refusals(company: Company, claims: Claims, wanted: UUID) -> set[tuple[type[NeurigraphError], str]]:
    """Return the answers to all calls about an organization."""
    database, member = company.installation.database, company.people["cleo"].member_id
    context = company.installation.acting_for(claims)
    answers = set()
    for call in (
        lambda: membership.get_organization(database, claims, wanted),
        lambda: membership.list_members(database, claims, wanted),
        lambda: membership.change(database, claims, wanted, name="Mine"),
        lambda: membership.change_role(database, claims, wanted, member, MemberRole.OWNER),
        lambda: membership.end_membership(context, wanted, member, through="tests"),
        lambda: membership.issue_key(database, claims, wanted),
        lambda: invitations.invite(database, claims, wanted),
        lambda: invitations.list_invitations(database, claims, wanted),
        lambda: invitations.revoke_invitation(database, claims, wanted, uuid4()),
        lambda: deletion.preview_organization(database, claims, wanted),
        lambda: deletion.delete_organization(context, wanted, through="tests"),
    ):
        with pytest.raises(NeurigraphError) as caught:
            call()
        answers.add((type(caught.value), str(caught.value)))
    return answers


def test_strangers_get_the_answer_for_absent_organizations(company: Company) -> None:
    other = found_company(company.installation, remembers=False)
    _, stranger = new_user(company.installation)
    for claims in (stranger, other.people["ana"].own, other.people["ana"].claims):
        mine = membership.list_organizations(company.installation.database, claims)
        assert company.organization_id not in {one.organization_id for one in mine}
        for wanted in (company.organization_id, uuid4()):
            assert refusals(company, claims, wanted) == {(NotFoundError, "not found")}


def test_last_owner_stays(company: Company) -> None:
    made = found_company(company.installation, remembers=False)
    context = made.installation.acting_for(made.people["ana"].claims)
    with pytest.raises(ConflictError, match="last owner"):
        membership.end_membership(context, made.organization_id, made.people["ana"].member_id, through="tests")
    with pytest.raises(ConflictError, match="last owner"):
        membership.change_role(
            made.installation.database,
            made.people["ana"].claims,
            made.organization_id,
            made.people["ana"].member_id,
            MemberRole.MEMBER,
        )


@pytest.mark.parametrize("leaves", [True, False])
def test_owners_who_go_at_once_leave_one(company: Company, leaves: bool) -> None:
    """All owners leave, or demote themselves, at the same moment: one of them stays an owner."""
    made = found_company(company.installation, remembers=False)
    database, graph = made.installation.database, made.organization_id
    people = list(made.people.values())
    for person in people[1:]:
        membership.change_role(database, people[0].own, graph, person.member_id, MemberRole.OWNER)
    together = Barrier(len(people))

    def go(number: int) -> bool:
        person = people[number]
        together.wait()
        try:
            if leaves:
                context = made.installation.acting_for(person.claims)
                membership.end_membership(context, graph, person.member_id, through="tests")
            else:
                membership.change_role(database, person.claims, graph, person.member_id, MemberRole.MEMBER)
        except ConflictError:
            return False
        return True

    with ThreadPoolExecutor(len(people)) as pool:
        assert sorted(pool.map(go, range(len(people)))) == [False, True, True, True]
    (left,) = rows(
        made.installation,
        "SELECT count(*) AS owners FROM neurigraph.organization_members "
        "WHERE user_id = %s AND role = 'owner' AND ended_at IS NULL",
        graph,
    )
    assert left == {"owners": 1}


@pytest.mark.parametrize("leaves", [True, False])
def test_second_owner_waits_for_the_first(company: Company, leaves: bool) -> None:
    """The second owner waits until the first one's change is committed, and is then the last."""
    made = found_company(company.installation, remembers=False)
    database, graph = made.installation.database, made.organization_id
    first, second = made.people["ana"], made.people["ben"]
    membership.change_role(database, first.own, graph, second.member_id, MemberRole.OWNER)

    def go(tx: Transaction, person: Person) -> str:
        call = "end_membership(%s, %s, false)" if leaves else "change_role(%s, %s, 'member')"
        row = tx.execute(f"SELECT neurigraph.{call} AS outcome", [graph, person.member_id]).fetchone()
        assert row is not None
        return str(row["outcome"])

    def go_in_turn() -> str:
        with database.agent(second.claims) as tx:
            return go(tx, second)

    with ThreadPoolExecutor(1) as pool:
        with database.agent(first.claims) as tx:
            assert go(tx, first) == "done"
            later = pool.submit(go_in_turn)
            wait_until_locked(made.installation)
        assert later.result() == "last_owner"


def test_code_works_once_in_a_race(company: Company) -> None:
    database, graph = company.installation.database, company.organization_id
    _, code = invitations.invite(database, company.people["ana"].own, graph)
    users = [new_user(company.installation)[1] for _ in range(4)]
    together = Barrier(len(users))

    def accept(claims: Claims) -> bool:
        together.wait()
        try:
            invitations.accept(database, claims, code)
        except NotFoundError:
            return False
        return True

    with ThreadPoolExecutor(len(users)) as pool:
        assert sorted(pool.map(accept, users)) == [False, False, False, True]


def test_codes_that_open_nothing_get_one_answer(company: Company) -> None:
    database, graph, owner = company.installation.database, company.organization_id, company.people["ana"].own
    _, stranger = new_user(company.installation)
    used, revoked, expired, anothers = (invitations.invite(database, owner, graph) for _ in range(4))
    invitations.accept(database, new_user(company.installation)[1], used[1])
    invitations.revoke_invitation(database, owner, graph, revoked[0].invitation_id)
    with database.owner() as tx:
        tx.execute(
            "UPDATE neurigraph.organization_invitations SET expires_at = now() WHERE invitation_id = %s",
            [expired[0].invitation_id],
        )
        tx.execute(
            "UPDATE neurigraph.organization_invitations SET invitee_id = %s WHERE invitation_id = %s",
            [owner.user_id, anothers[0].invitation_id],
        )
    answers = set()
    for code in (used[1], revoked[1], expired[1], anothers[1], "ngi_wrong", "", "x" * 200):
        with pytest.raises(NotFoundError) as caught:
            invitations.accept(database, stranger, code)
        answers.add(str(caught.value))
    assert len(answers) == 1
    assert membership.list_organizations(database, stranger) == []


def test_code_of_an_inviter_who_lost_the_role_opens_nothing(company: Company) -> None:
    made = found_company(company.installation, remembers=False)
    database, graph, owner = made.installation.database, made.organization_id, made.people["ana"]
    _, code = invitations.invite(database, made.people["ben"].claims, graph)
    membership.change_role(database, owner.claims, graph, made.people["ben"].member_id, MemberRole.MEMBER)
    _, stranger = new_user(made.installation)
    with pytest.raises(NotFoundError):
        invitations.accept(database, stranger, code)
    membership.change_role(database, owner.claims, graph, made.people["ben"].member_id, MemberRole.ADMIN)
    assert invitations.accept(database, stranger, code)[0].role is MemberRole.MEMBER


def test_attempts_are_bounded(company: Company) -> None:
    database, graph = company.installation.database, company.organization_id
    _, guesser = new_user(company.installation)
    for _ in range(20):
        with pytest.raises(NotFoundError):
            invitations.accept(database, guesser, new_api_key())
    _, code = invitations.invite(database, company.people["ana"].own, graph)
    with pytest.raises(TransientError, match="wait an hour"):
        invitations.accept(database, guesser, code)
    with database.owner() as tx:
        tx.execute(
            "UPDATE neurigraph.invitation_attempts SET since = since - interval '2 hours' WHERE user_id = %s",
            [guesser.user_id],
        )
    invitations.accept(database, guesser, code)


def test_inputs_are_checked(company: Company) -> None:
    database, owner, graph = company.installation.database, company.people["ana"].own, company.organization_id
    for slug, name, metadata in (
        ("Not a slug", "x", {}),
        ("fine", "", {}),
        ("fine", "x" * 301, {}),
        ("fine", "x", {"a": "x" * 20_000}),
    ):
        with pytest.raises(InvalidInputError):
            membership.create(database, owner, slug, name, metadata)
    with pytest.raises(ConflictError):
        membership.create(database, owner, company.organization.slug, "Twice")
    with pytest.raises(ForbiddenError):
        membership.create(database, company.people["ana"].claims, "fine", "From inside")
    with pytest.raises(InvalidInputError):
        invitations.invite(database, owner, graph, label="x" * 301)
    with pytest.raises(InvalidInputError):
        invitations.invite(database, owner, graph, hours=100_000)


def test_member_who_goes_loses_access_with_the_next_statement(company: Company) -> None:
    made = found_company(company.installation)
    database, cleo = made.installation.database, made.people["cleo"]
    assert summaries(made, cleo.claims, "Lighthouse plan")
    with database.agent(cleo.claims) as tx:
        assert tx.execute("SELECT count(*) AS n FROM neurigraph.record_index").fetchone() != {"n": 0}
        receipts = membership.end_membership(
            plain_context(made.installation).acting_for(made.people["ben"].claims),
            made.organization_id,
            cleo.member_id,
            through="tests",
        )
        for table in ("record_index", "graph_index", "sources", "messages", "organizations"):
            count = sql.SQL("SELECT count(*) AS n FROM neurigraph.{}").format(sql.Identifier(table))
            assert tx.execute(count).fetchone() == {"n": 0}, table
    assert len(receipts) == 1, "the private memory went"
    assert summaries(made, cleo.claims, "Lighthouse plan") == set()
    with pytest.raises(UnauthenticatedError):
        authenticate(database, cleo.key)
    assert "#Projects Cleo shared the Lighthouse plan." in summaries(made, made.people["dan"].claims, "Lighthouse")
    left = rows(
        made.installation,
        "SELECT privacy FROM neurigraph.sources WHERE user_id = %s AND member_id = %s",
        made.organization_id,
        cleo.member_id,
    )
    assert left == [{"privacy": "shared"}]


def test_member_who_leaves_may_take_everything_along(company: Company) -> None:
    made = found_company(company.installation)
    dan = made.people["dan"]
    context = plain_context(made.installation).acting_for(dan.claims)
    with pytest.raises(ForbiddenError):
        membership.end_membership(
            context.acting_for(made.people["ana"].claims), made.organization_id, dan.member_id, forget=True, through="x"
        )
    receipts = membership.end_membership(context, made.organization_id, dan.member_id, forget=True, through="tests")
    assert len(receipts) == 2
    assert all(one.finished_at is not None for one in receipts)
    assert not rows(made.installation, "SELECT FROM neurigraph.sources WHERE member_id = %s", dan.member_id)
    assert not any("Dan" in text for text in summaries(made, made.people["ana"].claims, "Lighthouse plan"))
