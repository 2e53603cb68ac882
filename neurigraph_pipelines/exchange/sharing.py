"""Keys, grants and personas: the owner of a graph issues and revokes access for others.

All queries run with the caller's claims, and the database's policies admit only the owner. ``access`` authenticates the
holder of a key, and the database decides what the holder may see.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from uuid import UUID

import psycopg

from neurigraph_pipelines.access.authentication import api_key_hash, key_of, new_api_key, require_owner
from neurigraph_pipelines.access.guards import FREE, Guard
from neurigraph_pipelines.database.asking import views_of
from neurigraph_pipelines.database.paging import NEWEST, Listing, Page
from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.graph.provisioning import provision_node
from neurigraph_pipelines.model import Claims, ConceptKind, GrantType, NodeType, SubjectType
from neurigraph_pipelines.model.errors import InvalidInputError, NotFoundError, require_found
from neurigraph_pipelines.model.ports import Database, Transaction
from neurigraph_pipelines.text.container_tags import checked_tags
from neurigraph_pipelines.text.hygiene import clean_text, utc
from neurigraph_pipelines.views.access import Grant, Key

MAX_LABEL_LENGTH = 300
MAX_SUBJECT_LENGTH = 300
MAX_NODE_SUMMARY_LENGTH = 2_000

_QUERIES = statements("access")
_SPACES = statements("spaces")


@dataclass(frozen=True, slots=True)
class Subject:
    """A reader besides the owner: a persona, by the id of its node, or a third party, by a name."""

    kind: SubjectType
    name: str


def issue_key(
    database: Database,
    claims: Claims,
    *,
    subject: Subject | None = None,
    label: str = "",
    expires_at: datetime | None = None,
    container_tags: Sequence[str] = (),
) -> tuple[Key, str]:
    """Issue another key to the user, a persona or a third party.

    Args:
        subject: The holder; None for the user.
        label: A text to recognise the key by.
        container_tags: The spaces that the key is bound to: nothing else exists for it. Missing ones are made. None is
            no limit.

    Returns:
        The key's description and its secret, which cannot be shown again.

    Raises:
        ForbiddenError: The caller does not own the graph; so everywhere below.
        NotFoundError: There is no such persona.
        InvalidInputError: The label or a name is too long, or the time has passed.
    """
    require_owner(claims)
    with database.agent(claims) as tx:
        checked = _checked(tx, subject) if subject is not None else None
        tags = checked_tags(container_tags)
        if tags:
            tx.execute(_SPACES["make_missing"], {"user_id": claims.user_id, "container_tags": list(tags)})
        return _insert_key(
            tx,
            claims,
            checked.kind.value if checked is not None else "user",
            checked.name if checked is not None else None,
            _label(label),
            _later(expires_at),
            list(tags) or None,
        )


def page_of_keys(asked: Listing, *, with_ended: bool = False) -> Page[Key]:
    """Return a page of the keys of a graph, newest first: the valid ones, or all.

    Raises:
        InvalidInputError: The cursor is not one of this list.
    """
    require_owner(asked.claims)
    filters, statement, user_id = {"with_ended": with_ended}, _QUERIES["list_keys"], asked.claims.user_id
    return asked.views("keys", filters, statement, Key, lambda one: (one.created_at, one.key_id), user_id=user_id)


def rotate_key(database: Database, claims: Claims, key_id: UUID, *, grace_seconds: float = 0.0) -> tuple[Key, str]:
    """Issue a key that replaces another, for the same holder.

    Args:
        grace_seconds: Time for which the old key stays valid.

    Returns:
        The new key's description and its secret.

    Raises:
        NotFoundError: There is no such valid key.
        InvalidInputError: The grace period is negative, or longer than a year.
    """
    require_owner(claims)
    if not 0 <= grace_seconds <= 366 * 86_400:
        raise InvalidInputError("the grace period of a replaced key is between 0 seconds and a year")
    with database.agent(claims) as tx:
        old = require_found(
            tx.execute(_QUERIES["retire_key"], {"key_id": key_id, "seconds": grace_seconds}).fetchone(),
            "there is no such valid key",
        )
        return _insert_key(
            tx, claims, old["role"], old["subject_id"], old["label"], old["expired_at"], old["container_tags"]
        )


def revoke_key(database: Database, claims: Claims, key_id: UUID) -> Key:
    """Revoke a key from the next call on. Revoking it again changes nothing.

    Raises:
        NotFoundError: There is no such key.
    """
    require_owner(claims)
    with database.agent(claims) as tx:
        revoked = views_of(tx, _QUERIES["revoke_key"], Key, {"key_id": key_id})
    if not revoked:
        raise NotFoundError("there is no such key")
    return revoked[0]


def grant(
    database: Database,
    claims: Claims,
    subject: Subject,
    node_id: UUID,
    grant_type: GrantType = GrantType.READ,
    *,
    expires_at: datetime | None = None,
) -> tuple[Grant, bool]:
    """Grant a persona or a third party access to one node, or return the existing grant.

    Returns:
        The grant, and whether it was created now.

    Raises:
        NotFoundError: There is no such node or persona.
        InvalidInputError: The grant would let a third party write, its name is not valid, or the time has passed.
    """
    require_owner(claims)
    if subject.kind is SubjectType.THIRD_PARTY and grant_type is not GrantType.READ:
        raise InvalidInputError("third parties may only read: create a persona to grant write access")
    with database.agent(claims) as tx:
        subject = _checked(tx, subject)
        values = {
            "user_id": claims.user_id,
            "subject_id": subject.name,
            "subject_type": subject.kind.value,
            "node_id": node_id,
            "grant_type": grant_type.value,
            "expires_at": _later(expires_at),
        }
        found = tx.execute(_QUERIES["find_grant"], values).fetchone()
        try:
            created = tx.execute(_QUERIES["insert_grant"], values).fetchone() if found is None else None
        except psycopg.errors.ForeignKeyViolation as error:
            raise NotFoundError("there is no such node") from error
        grant_id = (found or created or {})["grant_id"]
        return _get_grant(tx, claims, grant_id), created is not None


def page_of_grants(asked: Listing, *, node_id: UUID | None = None, with_ended: bool = False) -> Page[Grant]:
    """Return a page of the grants of a graph or of one node, newest first: the valid ones, or all.

    Raises:
        InvalidInputError: The cursor is not one of this list.
    """
    require_owner(asked.claims)
    filters = {"node_id": node_id, "with_ended": with_ended}

    def read(place: dict[str, object]) -> list[Grant]:
        with asked.database.agent(asked.claims) as tx:
            return _grants(tx, asked.claims, {**filters, **place})

    return asked.by_time("grants", filters, read, lambda one: (one.granted_at, one.grant_id))


def revoke(database: Database, claims: Claims, grant_id: UUID) -> Grant:
    """Revoke a grant from the next statement on. Revoking it again changes nothing.

    Raises:
        NotFoundError: There is no such grant.
    """
    require_owner(claims)
    with database.agent(claims) as tx:
        require_found(tx.execute(_QUERIES["revoke_grant"], {"grant_id": grant_id}).fetchone(), "there is no such grant")
        return _get_grant(tx, claims, grant_id)


def add_node(
    database: Database,
    claims: Claims,
    parent_id: UUID,
    name: str,
    *,
    node_type: NodeType = NodeType.CONCEPT,
    kind: ConceptKind = ConceptKind.TOPIC,
    summary: str = "",
    writes: bool = False,
    guard: Guard = FREE,
) -> UUID:
    """Create a node below another: a concept, or a persona, which may read its own node and the nodes below.

    Args:
        writes: Grant the persona write access to its own node; the grant can be revoked.
        guard: Gets the id of a node that needs no grant; with one, both are not one transaction.

    Returns:
        The id of the node.

    Raises:
        NotFoundError: The parent does not exist, or the caller may not see it.
        ForbiddenError: The caller sees the parent and does not own the graph.
        ConflictError: The parent has a child of that name.
        InvalidInputError: The name is not valid, the summary too long, or the parent is in the deepest layer.
    """
    text = clean_text(summary, "repair")[0].strip()
    if len(text) > MAX_NODE_SUMMARY_LENGTH:
        raise InvalidInputError(f"the summary of a node has at most {MAX_NODE_SUMMARY_LENGTH:,} characters")
    noted = FREE if writes else guard
    node = provision_node(database, claims, parent_id, name, node_type=node_type, kind=kind, summary=text, guard=noted)
    if writes:
        persona = Subject(SubjectType.PERSONA, str(node.node_id))
        grant(database, claims, persona, node.node_id, GrantType.READ_WRITE)
    return node.node_id


def _insert_key(
    tx: Transaction,
    claims: Claims,
    role: str,
    subject_id: str | None,
    label: str,
    expires_at: datetime | None,
    container_tags: list[str] | None,
) -> tuple[Key, str]:
    key = new_api_key()
    (made,) = views_of(
        tx,
        _QUERIES["insert_key"],
        Key,
        {
            "user_id": claims.user_id,
            "key_hash": api_key_hash(key),
            "role": role,
            "subject_id": subject_id,
            "label": label,
            "expires_at": expires_at,
            "container_tags": container_tags,
        },
    )
    return made, key_of(key, claims.user_id)


def _get_grant(tx: Transaction, claims: Claims, grant_id: UUID) -> Grant:
    return _grants(tx, claims, {"grant_id": grant_id})[0]


def _grants(tx: Transaction, claims: Claims, wanted: Mapping[str, object]) -> list[Grant]:
    everything = {"grant_id": None, "node_id": None, "with_ended": True, "at": NEWEST[0], "id": NEWEST[1], "limit": 1}
    return views_of(tx, _QUERIES["list_grants"], Grant, {"user_id": claims.user_id, **everything, **wanted})


def _checked(tx: Transaction, subject: Subject) -> Subject:
    """Return the subject as it is stored: an existing persona, or a third party with a visible name."""
    if subject.kind is SubjectType.PERSONA:
        try:
            node_id = UUID(subject.name)
        except ValueError:
            raise NotFoundError("there is no such persona") from None
        require_found(tx.execute(_QUERIES["find_persona"], {"node_id": node_id}).fetchone(), "there is no such persona")
        return Subject(subject.kind, str(node_id))
    name = clean_text(subject.name, "repair")[0].strip()
    if not 1 <= len(name) <= MAX_SUBJECT_LENGTH or not name.isprintable():
        raise InvalidInputError(f"the name of a third party has 1 to {MAX_SUBJECT_LENGTH} printable characters")
    return Subject(subject.kind, name)


def _label(text: str) -> str:
    label = clean_text(text, "repair")[0].strip()
    if len(label) > MAX_LABEL_LENGTH:
        raise InvalidInputError(f"a label has at most {MAX_LABEL_LENGTH} characters")
    return label


def _later(moment: datetime | None) -> datetime | None:
    if moment is None:
        return None
    moment = utc(moment)
    if moment <= datetime.now(UTC):
        raise InvalidInputError("the expiry has passed: give a time in the future")
    return moment
