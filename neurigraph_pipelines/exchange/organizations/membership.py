"""Organizations and their members as callers see them: creating, listing and changing them, roles, and leaving.

A caller is a user with a key of the own graph, or a member with a key of the organization. An organization without the
caller is absent. ``invitations`` lets users join; ``lifecycle.erasure.departures`` forgets what goes with a member.
"""

from __future__ import annotations

from collections.abc import Mapping
from uuid import UUID

from psycopg.rows import DictRow
from psycopg.sql import SQL
from psycopg.types.json import Jsonb

from neurigraph_pipelines.access.authentication import api_key_hash, key_of, new_api_key, require_owner
from neurigraph_pipelines.database.asking import ask_views
from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.graph.provisioning import create_graph
from neurigraph_pipelines.lifecycle.erasure.forget import settle_departure
from neurigraph_pipelines.model import Claims
from neurigraph_pipelines.model.context import Context
from neurigraph_pipelines.model.errors import (
    ConflictError,
    ForbiddenError,
    InvalidInputError,
    NotFoundError,
    require_found,
)
from neurigraph_pipelines.model.ports import Database
from neurigraph_pipelines.text.flat_metadata import flat_metadata
from neurigraph_pipelines.text.hygiene import clean_text
from neurigraph_pipelines.views.erasures import Erasure
from neurigraph_pipelines.views.kinds import MemberRole
from neurigraph_pipelines.views.organizations import Member, Organization
from neurigraph_pipelines.views.scalars import Scalar

MAX_NAME = 300
MAX_OWNED = 20
"""Organizations that one user may own."""

_QUERIES = statements("organizations")


def create(
    database: Database,
    claims: Claims,
    slug: str,
    name: str,
    metadata: Mapping[str, Scalar] | None = None,
    *,
    opaque_schema_names: bool = False,
) -> tuple[Organization, str]:
    """Create an organization with the caller as its owner.

    Args:
        slug: Its name on the command line; no user and no other organization has it.
        metadata: Texts, numbers and booleans by name.

    Returns:
        The organization, and a key of the caller for its graph, which is not shown again.

    Raises:
        ForbiddenError: The caller is not a user with a key of the own graph.
        InvalidInputError: The slug, the name or the metadata are not acceptable.
        ConflictError: The slug is taken, or the caller owns as many organizations as are allowed.
    """
    require_owner(claims)
    words, shown = _metadata(metadata or {}), _name(name)
    key = new_api_key()
    with database.owner() as tx:
        row = require_found(
            tx.execute(_QUERIES["owned"], {"member_id": claims.user_id}).fetchone(), "there is no such user"
        )
        if row["organizations"] >= MAX_OWNED:
            raise ConflictError(f"a user owns at most {MAX_OWNED} organizations: delete one first")
        made = create_graph(tx, slug, opaque_schema_names=opaque_schema_names)
        values = {"organization_id": made.user_id, "member_id": claims.user_id, "role": MemberRole.OWNER}
        tx.execute(_QUERIES["insert_organization"], {**values, "name": shown, "metadata": Jsonb(words)})
        tx.execute(_QUERIES["insert_member"], values)
    _issue(database, claims, made.user_id, key, "first key")
    return get_organization(database, claims, made.user_id), key_of(key, claims.user_id)


def adopt(database: Database, organization_id: UUID, user_id: UUID) -> None:
    """Make a user an owner of an organization that has none, such as a restored one. For the operator alone.

    Raises:
        ConflictError: It is no organization, has an owner, or the user is an organization.
    """
    with database.owner() as tx:
        values = {"organization_id": organization_id, "member_id": user_id}
        if tx.execute(_QUERIES["adopt"], values).fetchone() is None:
            raise ConflictError(
                "only an organization without an owner gets one in this way, and only a user becomes it"
            )


def list_organizations(database: Database, claims: Claims) -> list[Organization]:
    """Return the organizations that the caller is a member of, by slug."""
    return _organizations(database, claims, None)


def get_organization(database: Database, claims: Claims, organization_id: UUID) -> Organization:
    """Return one of them.

    Raises:
        NotFoundError: The caller is no member of it.
    """
    found = _organizations(database, claims, organization_id)
    return require_found(next(iter(found), None))


def change(
    database: Database,
    claims: Claims,
    organization_id: UUID,
    *,
    name: str | None = None,
    metadata: Mapping[str, Scalar] | None = None,
) -> Organization:
    """Change the name or the metadata of an organization; None leaves one as it is.

    Raises:
        NotFoundError: The caller is no member of it.
        ForbiddenError: The caller is neither owner nor admin.
        InvalidInputError: The name or the metadata are not acceptable.
    """
    values = {
        "organization_id": organization_id,
        "name": None if name is None else _name(name),
        "metadata": None if metadata is None else Jsonb(_metadata(metadata)),
    }
    decide(database, claims, _QUERIES["change_organization"], values)
    return get_organization(database, claims, organization_id)


def list_members(database: Database, claims: Claims, organization_id: UUID) -> list[Member]:
    """Return the members of an organization, the first to join first.

    Raises:
        NotFoundError: The caller is no member of it.
    """
    found = ask_views(database, claims, _QUERIES["list_members"], Member, {"organization_id": organization_id})
    if not found:
        raise NotFoundError
    return found


def change_role(database: Database, claims: Claims, organization_id: UUID, member_id: UUID, role: MemberRole) -> Member:
    """Give a member another role.

    Raises:
        NotFoundError: The caller is no member, or there is no such member.
        ForbiddenError: The caller is not an owner.
        ConflictError: The member is the last owner.
    """
    decide(
        database,
        claims,
        _QUERIES["change_role"],
        {"organization_id": organization_id, "member_id": member_id, "role": role.value},
    )
    found = [one for one in list_members(database, claims, organization_id) if one.member_id == member_id]
    return require_found(next(iter(found), None))


def end_membership(
    context: Context, organization_id: UUID, member_id: UUID, *, forget: bool = False, through: str
) -> list[Erasure]:
    """End a membership: the caller's own, or another one that the caller may end.

    The member has no access from the next statement on. Private sources are forgotten; shared ones stay unless the
    member asks to forget them, too. Repeating the call, or ``finish_erasures``, goes on after an interruption.

    Args:
        forget: Also forget what the member shared; only for the caller's own membership.
        through: The interface of the request, for the receipts.

    Returns:
        The receipts of what was forgotten.

    Raises:
        NotFoundError: The caller is no member, or there is no such member.
        ForbiddenError: The caller may not end this membership, or not forget what another member shared.
        ConflictError: The member is the last owner.
        RehydratingError: A file is being decompressed. The membership has ended; repeat the call for the rest.
        StorageError: The object store refused. The membership has ended; repeat the call for the rest.
    """
    values = {"organization_id": organization_id, "member_id": member_id, "forget_all": forget}
    try:
        decide(context.database, context.claims, _QUERIES["end_membership"], values)
    except NotFoundError:
        # The caller's own membership that has ended: what is left of it goes on.
        if context.claims.role != "user" or context.claims.user_id != member_id:
            raise
        receipts = settle_departure(context, organization_id, member_id, through=through)
        if receipts is None:
            raise
        return receipts
    return settle_departure(context, organization_id, member_id, through=through) or []


def issue_key(database: Database, claims: Claims, organization_id: UUID, label: str = "") -> str:
    """Issue another key of the caller's own membership and return it. It cannot be shown again.

    Raises:
        NotFoundError: The caller is no member.
        InvalidInputError: The label is too long.
    """
    shown = clean_text(label, "repair")[0].strip()
    if len(shown) > MAX_NAME:
        raise InvalidInputError(f"a label has at most {MAX_NAME} characters")
    key = new_api_key()
    _issue(database, claims, organization_id, key, shown)
    return key_of(key, UUID(claims.sub))


def decide(database: Database, claims: Claims, statement: SQL, values: Mapping[str, object]) -> DictRow:
    """Run a function of the database that changes an organization, and return its row.

    Raises:
        NotFoundError: It found nothing that the caller may know of.
        ForbiddenError: The caller's role does not permit it.
        ConflictError: It would leave no owner, or too many invitations are open.
    """
    (row,) = database.ask(claims, statement, values)
    outcome = require_found(row["outcome"])
    if outcome == "forbidden":
        raise ForbiddenError("your role in this organization does not permit this")
    if outcome == "last_owner":
        raise ConflictError("this is the last owner: make somebody else an owner first, or delete the organization")
    if outcome == "too_many":
        raise ConflictError("the organization has as many open invitations as are allowed: revoke one first")
    return row


def _issue(database: Database, claims: Claims, organization_id: UUID, key: str, label: str) -> None:
    values = {"organization_id": organization_id, "key_hash": api_key_hash(key), "label": label}
    (row,) = database.ask(claims, _QUERIES["issue_member_key"], values)
    if row["key_id"] is None:
        raise NotFoundError


def _organizations(database: Database, claims: Claims, organization_id: UUID | None) -> list[Organization]:
    values = {"organization_id": organization_id}
    return ask_views(database, claims, _QUERIES["list_organizations"], Organization, values)


def _name(text: str) -> str:
    name = " ".join(clean_text(text, "repair")[0].split())
    if not 1 <= len(name) <= MAX_NAME or not name.isprintable():
        raise InvalidInputError(f"the name of an organization has 1 to {MAX_NAME} printable characters")
    return name


def _metadata(metadata: Mapping[str, Scalar]) -> dict[str, Scalar]:
    return flat_metadata(metadata, lambda text: clean_text(text, "repair")[0])
