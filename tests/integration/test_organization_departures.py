"""What goes with members and organizations: interruptions, forgotten users, deletion, export and restore."""

from __future__ import annotations

from pathlib import Path

import pytest

from neurigraph_pipelines.access.authentication import is_organization
from neurigraph_pipelines.exchange.organizations import deletion, membership
from neurigraph_pipelines.graph.provisioning import User
from neurigraph_pipelines.lifecycle.erasure.forget import finish_erasures, forget, preview
from neurigraph_pipelines.lifecycle.erasure.receipts import ErasureSubject, SubjectKind
from neurigraph_pipelines.lifecycle.verification import verify
from neurigraph_pipelines.model import Privacy
from neurigraph_pipelines.model.errors import ConflictError, ForbiddenError, NotFoundError
from neurigraph_pipelines.views.kinds import MemberRole
from neurigraph_pipelines.wiring.installation import Installation
from tests.support.exported_user import export, restore
from tests.support.memories import new_user, plain_context, rows
from tests.support.organization import Company, found_company, write


@pytest.fixture
def company(shared_installation: Installation) -> Company:
    return found_company(shared_installation)


def sources_of(company: Company, name: str) -> list[str]:
    """Return the privacy of the sources that a member handed in."""
    found = rows(
        company.installation,
        "SELECT privacy FROM neurigraph.sources WHERE user_id = %s AND member_id = %s ORDER BY privacy",
        company.organization_id,
        company.people[name].member_id,
    )
    return [row["privacy"] for row in found]


def test_interrupted_departure_is_finished(company: Company) -> None:
    """The membership ended and the process died: nobody sees what is private, and the sweep forgets it."""
    cleo = company.people["cleo"]
    write(company, cleo.claims, "#Projects Not stored yet.", Privacy.PRIVATE)
    with company.installation.database.agent(cleo.claims) as tx:
        tx.execute("SELECT neurigraph.end_membership(%s, %s, false)", [company.organization_id, cleo.member_id])
    assert sources_of(company, "cleo") == ["shared", "private", "private"]
    for person in company.people.values():
        with company.installation.database.agent(person.claims) as tx:
            seen = tx.execute("SELECT FROM neurigraph.sources WHERE member_id = %s", [cleo.member_id]).rowcount
            assert seen == (0 if person is cleo else 1)
    assert [one.requested_through for one in finish_erasures(plain_context(company.installation))] == ["sweep"]
    assert sources_of(company, "cleo") == ["shared"]
    assert finish_erasures(plain_context(company.installation)) == []


def test_own_departure_is_repeated(company: Company) -> None:
    """With the key of the own graph, because that of the organization has ended."""
    dan = company.people["dan"]
    context = plain_context(company.installation).acting_for(dan.own)
    with company.installation.database.agent(dan.claims) as tx:
        tx.execute("SELECT neurigraph.end_membership(%s, %s, true)", [company.organization_id, dan.member_id])
    assert len(membership.end_membership(context, company.organization_id, dan.member_id, through="tests")) == 2
    with pytest.raises(NotFoundError):
        membership.end_membership(context, company.organization_id, dan.member_id, through="tests")
    assert sources_of(company, "dan") == []


def test_forgotten_user_leaves_organizations(company: Company) -> None:
    installation, context = company.installation, plain_context(company.installation)
    ana, cleo = company.people["ana"], company.people["cleo"]
    with pytest.raises(ConflictError, match="last owner"):
        forget(context.acting_for(ana.own), ErasureSubject(SubjectKind.USER, ana.member_id), through="tests")
    assert sources_of(company, "ana") == ["shared", "private"]
    receipt = forget(context.acting_for(cleo.own), ErasureSubject(SubjectKind.USER, cleo.member_id), through="tests")
    assert receipt.finished_at is not None
    assert sources_of(company, "cleo") == ["shared"]
    assert not rows(installation, "SELECT FROM neurigraph.organization_members WHERE member_id = %s", cleo.member_id)
    for schema in rows(installation, "SELECT user_id FROM neurigraph.users WHERE user_id = %s", cleo.member_id):
        raise AssertionError(schema)


def test_only_owners_delete(company: Company) -> None:
    installation, graph = company.installation, company.organization_id
    context = plain_context(installation)
    for name in ("ben", "cleo"):
        with pytest.raises(ForbiddenError):
            deletion.delete_organization(context.acting_for(company.people[name].claims), graph, through="tests")
    found = deletion.preview_organization(installation.database, company.people["ana"].claims, graph)
    assert found.record_count == 2 * len(company.people)
    receipt = deletion.delete_organization(context.acting_for(company.people["ana"].own), graph, through="tests")
    assert receipt.finished_at is not None
    assert receipt.erased["records"] == 2 * len(company.people)
    for person in company.people.values():
        assert membership.list_organizations(installation.database, person.own) == []
    assert not rows(installation, "SELECT FROM neurigraph.sources WHERE user_id = %s", graph)


def test_members_erase_nothing_by_other_ways(company: Company) -> None:
    (record,) = rows(
        company.installation,
        "SELECT r.record_id FROM neurigraph.record_index AS r INNER JOIN neurigraph.sources AS s "
        "ON r.source_id = s.source_id WHERE s.member_id = %s AND s.privacy = 'shared'",
        company.people["dan"].member_id,
    )
    for person in company.people.values():
        for subject in (
            ErasureSubject(SubjectKind.RECORD, record["record_id"]),
            ErasureSubject(SubjectKind.USER, company.organization_id),
        ):
            with pytest.raises(NotFoundError):
                preview(company.installation.database, person.claims, subject)
            with pytest.raises(NotFoundError):
                forget(plain_context(company.installation).acting_for(person.claims), subject, through="tests")


def test_organization_is_whole(company: Company) -> None:
    found = verify(plain_context(company.installation), user_id=company.organization_id)
    assert (found.files, found.findings) == (2 * len(company.people), [])
    assert is_organization(company.installation.database, company.organization_id)
    assert not is_organization(company.installation.database, company.people["ana"].member_id)


def test_adopt_needs_an_organization_without_owner(company: Company) -> None:
    installation, graph = company.installation, company.organization_id
    with pytest.raises(ConflictError):
        membership.adopt(installation.database, graph, company.people["dan"].member_id)
    with installation.database.owner() as tx:
        tx.execute("DELETE FROM neurigraph.organization_members WHERE user_id = %s", [graph])
    membership.adopt(installation.database, graph, company.people["dan"].member_id)
    (found,) = membership.list_organizations(installation.database, company.people["dan"].own)
    assert (found.organization_id, found.role) == (graph, MemberRole.OWNER)


def test_restored_organization_waits_for_an_owner(company: Company, installation: Installation, tmp_path: Path) -> None:
    """Members are users of an installation, so they do not travel; what they wrote does, with its author."""
    here, graph = company.installation, company.organization_id
    (row,) = rows(here, "SELECT * FROM neurigraph.organizations WHERE user_id = %s", graph)
    query = "SELECT node_id FROM neurigraph.graph_index WHERE user_id = %s AND layer_depth = 0"
    (root,) = rows(here, query, graph)
    report = export(here, User(graph, company.organization.slug, root["node_id"]), tmp_path / "export")
    assert report.rows["organizations"] == 1
    assert report.rows.keys().isdisjoint({"organization_members", "organization_invitations"})
    restore(installation, tmp_path / "export", company.organization.slug)
    assert rows(installation, "SELECT * FROM neurigraph.organizations") == [row]
    query = "SELECT member_id, privacy FROM neurigraph.sources WHERE user_id = %s ORDER BY source_id"
    assert rows(installation, query, graph) == rows(here, query, graph)
    newcomer, own = new_user(installation, "newcomer")
    with pytest.raises(NotFoundError):
        membership.get_organization(installation.database, own, graph)
    membership.adopt(installation.database, graph, newcomer.user_id)
    assert membership.get_organization(installation.database, own, graph).role is MemberRole.OWNER
    with pytest.raises(ConflictError):
        membership.adopt(installation.database, graph, newcomer.user_id)
