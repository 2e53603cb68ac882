"""An organization with an owner, an admin and two members, who each wrote something shared and something private."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID, uuid4

from neurigraph_pipelines.access.authentication import authenticate
from neurigraph_pipelines.exchange.organizations import invitations, membership
from neurigraph_pipelines.inbox.conversations import Inbox
from neurigraph_pipelines.model import Claims, Privacy, SourceKind
from neurigraph_pipelines.views.kinds import MemberRole
from neurigraph_pipelines.views.organizations import Organization
from neurigraph_pipelines.wiring.installation import Installation
from tests.support.memories import ingest, messages, new_user, plain_context

ROLES = {"ana": "owner", "ben": "admin", "cleo": "member", "dan": "member"}


@dataclass(frozen=True, slots=True)
class Person:
    """A member: claims of the own graph and as a member, and a key of the organization."""

    own: Claims
    claims: Claims
    key: str

    @property
    def member_id(self) -> UUID:
        """The id of the user."""
        return self.own.user_id


@dataclass(frozen=True, slots=True)
class Company:
    """An organization and its members by name."""

    installation: Installation
    organization: Organization
    people: dict[str, Person]

    @property
    def organization_id(self) -> UUID:
        """The id of the organization and its graph."""
        return self.organization.organization_id


def found_company(installation: Installation, *, remembers: bool = True) -> Company:
    """Create users, their organization, and memories of each if ``remembers``."""
    database, mark = installation.database, uuid4().hex[:8]
    _, owner = new_user(installation, f"ana-{mark}")
    made, key = membership.create(database, owner, f"acme-{mark}", "Acme")
    people = {"ana": Person(owner, authenticate(database, key), key)}
    for name, role in list(ROLES.items())[1:]:
        people[name] = join(installation, owner, made.organization_id, MemberRole(role), f"{name}-{mark}")
    company = Company(installation, made, people)
    if remembers:
        for name, person in people.items():
            write(company, person.claims, f"#Projects {name.title()} shared the Lighthouse plan.")
            write(company, person.claims, f"#Projects {name.title()} hides the Volcano plan.", Privacy.PRIVATE)
        ingest(plain_context(installation))
    return company


def join(installation: Installation, inviter: Claims, organization_id: UUID, role: MemberRole, slug: str) -> Person:
    """Create a user who joins an organization."""
    _, own = new_user(installation, slug)
    _, code = invitations.invite(installation.database, inviter, organization_id, role)
    _, key = invitations.accept(installation.database, own, code)
    return Person(own, authenticate(installation.database, key), key)


def write(company: Company, claims: Claims, text: str, privacy: Privacy | None = None) -> UUID:
    """Hand in an ended conversation as a member, and return its id."""
    inbox = Inbox(plain_context(company.installation))
    with company.installation.database.agent(claims) as tx:
        source_id, _ = inbox.open_source(tx, claims.user_id, SourceKind.CONVERSATION, privacy=privacy)
        inbox.append(tx, SourceKind.CONVERSATION, source_id, messages(text))
        inbox.end(tx, SourceKind.CONVERSATION, source_id)
    return source_id
