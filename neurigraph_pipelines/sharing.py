"""What the owner of a graph gives to others and takes back: keys, grants, personas.

Everything is asked of the database as whoever asks, whose policies let the owner alone through. Whose key a key is, and
what its holder may see, is for ``access`` and for the database.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import psycopg

from neurigraph_pipelines.access import api_key_hash, new_api_key, require_owner
from neurigraph_pipelines.errors import InvalidInputError, NotFoundError
from neurigraph_pipelines.graph.navigation import shown_path
from neurigraph_pipelines.graph.provisioning import provision_node
from neurigraph_pipelines.model import Claims, ConceptKind, GrantType, NodeType, SubjectType
from neurigraph_pipelines.ports import Database, Transaction
from neurigraph_pipelines.statements import statements
from neurigraph_pipelines.text.hygiene import clean_text, utc

MAX_LABEL_LENGTH = 300
MAX_SUBJECT_LENGTH = 300
MAX_NODE_SUMMARY_LENGTH = 2_000

_QUERIES = statements("access")


@dataclass(frozen=True, slots=True)
class Subject:
    """Somebody who does not own the graph: a persona by the id of its node, a third party by a name."""

    kind: SubjectType
    name: str


@dataclass(frozen=True, slots=True)
class ApiKey:
    """A key, without the key itself.

    Attributes:
        role: ``user``, ``persona`` or ``third_party``.
        subject_id: Which persona or third party; None of the user's own keys.
        last_used_at: To the hour.
    """

    key_id: UUID
    role: str
    subject_id: str | None
    label: str
    created_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None
    last_used_at: datetime | None


@dataclass(frozen=True, slots=True)
class Grant:
    """One node that is open to somebody, from when until when; it opens nothing above, beside or below the node."""

    grant_id: UUID
    subject_type: SubjectType
    subject_id: str
    node_id: UUID
    node_path: str
    grant_type: GrantType
    granted_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None


@dataclass(frozen=True, slots=True)
class Persona:
    """A node with readers of its own: whoever has its key reads it and what lies below it."""

    node_id: UUID
    name: str
    node_path: str
    record_count: int


def issue_key(
    database: Database,
    claims: Claims,
    *,
    subject: Subject | None = None,
    label: str = "",
    expires_at: datetime | None = None,
) -> tuple[ApiKey, str]:
    """Give the user, or somebody else, another key.

    Args:
        subject: Whose it is; None for the user's own.
        label: To recognise it by.

    Returns:
        What is known of it, and the key, which cannot be shown again.

    Raises:
        ForbiddenError: Whoever asks does not own the graph; so everywhere below.
        NotFoundError: There is no such persona.
        InvalidInputError: The label or a name is too long, or the time has passed.
    """
    require_owner(claims)
    with database.agent(claims) as tx:
        checked = _checked(tx, subject) if subject is not None else None
        return _insert_key(
            tx,
            claims,
            checked.kind.value if checked is not None else "user",
            checked.name if checked is not None else None,
            _label(label),
            _later(expires_at),
        )


def list_keys(database: Database, claims: Claims, *, all_of_them: bool = False) -> list[ApiKey]:
    """The keys of a graph, newest first: those in force, or all that ever were."""
    require_owner(claims)
    with database.agent(claims) as tx:
        rows = tx.execute(_QUERIES["list_keys"], {"user_id": claims.user_id, "with_ended": all_of_them})
        return [ApiKey(**row) for row in rows]


def rotate_key(database: Database, claims: Claims, key_id: UUID, *, grace_seconds: float = 0.0) -> tuple[ApiKey, str]:
    """Another key in place of one, for the same holder.

    Args:
        grace_seconds: For which the old one is still good.

    Raises:
        NotFoundError: There is no such key in force.
        InvalidInputError: The grace is negative, or longer than a year.
    """
    require_owner(claims)
    if not 0 <= grace_seconds <= 366 * 86_400:
        raise InvalidInputError("the grace of a key that is replaced lies between 0 seconds and a year")
    with database.agent(claims) as tx:
        old = tx.execute(_QUERIES["retire_key"], {"key_id": key_id, "seconds": grace_seconds}).fetchone()
        if old is None:
            raise NotFoundError("there is no such key in force")
        return _insert_key(tx, claims, old["role"], old["subject_id"], old["label"], old["expired_at"])


def revoke_key(database: Database, claims: Claims, key_id: UUID) -> ApiKey:
    """Take a key back; it opens nothing from the next call on. Doing so again changes nothing.

    Raises:
        NotFoundError: There is no such key.
    """
    require_owner(claims)
    with database.agent(claims) as tx:
        row = tx.execute(_QUERIES["revoke_key"], {"key_id": key_id}).fetchone()
    if row is None:
        raise NotFoundError("there is no such key")
    return ApiKey(**row)


def grant(
    database: Database,
    claims: Claims,
    subject: Subject,
    node_id: UUID,
    grant_type: GrantType = GrantType.READ,
    *,
    expires_at: datetime | None = None,
) -> tuple[Grant, bool]:
    """Open one node to a persona or a third party. What it opens already is not granted again.

    Returns:
        The grant, and whether it was made now.

    Raises:
        NotFoundError: There is no such node or persona.
        InvalidInputError: A third party was to write, its name is not usable, or the time has passed.
    """
    require_owner(claims)
    if subject.kind is SubjectType.THIRD_PARTY and grant_type is not GrantType.READ:
        raise InvalidInputError("third parties only read: make a persona for whoever is to write")
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
            made = tx.execute(_QUERIES["insert_grant"], values).fetchone() if found is None else None
        except psycopg.errors.ForeignKeyViolation as error:
            raise NotFoundError("there is no such node") from error
        grant_id = (found or made or {})["grant_id"]
        return _grants(tx, claims, grant_id=grant_id)[0], made is not None


def list_grants(
    database: Database, claims: Claims, *, node_id: UUID | None = None, all_of_them: bool = False
) -> list[Grant]:
    """The grants of a graph or of one node, newest first: those in force, or all that ever were."""
    require_owner(claims)
    with database.agent(claims) as tx:
        return _grants(tx, claims, node_id=node_id, all_of_them=all_of_them)


def revoke(database: Database, claims: Claims, grant_id: UUID) -> Grant:
    """Take a grant back, with the next statement. Doing so again changes nothing.

    Raises:
        NotFoundError: There is no such grant.
    """
    require_owner(claims)
    with database.agent(claims) as tx:
        if tx.execute(_QUERIES["revoke_grant"], {"grant_id": grant_id}).fetchone() is None:
            raise NotFoundError("there is no such grant")
        return _grants(tx, claims, grant_id=grant_id)[0]


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
) -> UUID:
    """Make a node below another by hand: a concept, or a persona, who reads it and what comes to lie below it.

    Args:
        writes: Let the persona write to its own node too, by a grant that can be taken back.

    Returns:
        Its id.

    Raises:
        NotFoundError: The parent is absent, or not visible to whoever asks.
        ForbiddenError: It is visible, and whoever asks does not own the graph.
        ConflictError: The parent has a child of that name.
        InvalidInputError: The name is not usable, the summary too long, or the parent lies in the deepest layer.
    """
    text = clean_text(summary, "repair")[0].strip()
    if len(text) > MAX_NODE_SUMMARY_LENGTH:
        raise InvalidInputError(f"the summary of a node has at most {MAX_NODE_SUMMARY_LENGTH:,} characters")
    node = provision_node(database, claims, parent_id, name, node_type=node_type, kind=kind, summary=text)
    if writes:
        persona = Subject(SubjectType.PERSONA, str(node.node_id))
        grant(database, claims, persona, node.node_id, GrantType.READ_WRITE)
    return node.node_id


def list_personas(database: Database, claims: Claims) -> list[Persona]:
    """The personas of a graph, by path."""
    require_owner(claims)
    with database.agent(claims) as tx:
        rows = tx.execute(_QUERIES["list_personas"], {"user_id": claims.user_id}).fetchall()
    return [Persona(row["node_id"], row["node_name"], shown_path(row["names"]), row["record_count"]) for row in rows]


def _insert_key(
    tx: Transaction, claims: Claims, role: str, subject_id: str | None, label: str, expires_at: datetime | None
) -> tuple[ApiKey, str]:
    key = new_api_key()
    row = tx.execute(
        _QUERIES["insert_key"],
        {
            "user_id": claims.user_id,
            "key_hash": api_key_hash(key),
            "role": role,
            "subject_id": subject_id,
            "label": label,
            "expires_at": expires_at,
        },
    ).fetchone()
    assert row is not None
    return ApiKey(**row), key


def _grants(
    tx: Transaction,
    claims: Claims,
    *,
    grant_id: UUID | None = None,
    node_id: UUID | None = None,
    all_of_them: bool = False,
) -> list[Grant]:
    rows = tx.execute(
        _QUERIES["list_grants"],
        {"user_id": claims.user_id, "grant_id": grant_id, "node_id": node_id, "with_ended": all_of_them},
    )
    return [_grant(row) for row in rows]


def _grant(row: Mapping[str, Any]) -> Grant:
    return Grant(
        row["grant_id"],
        SubjectType(row["subject_type"]),
        row["subject_id"],
        row["target_node_id"],
        shown_path(row["names"]),
        GrantType(row["grant_type"]),
        row["granted_at"],
        row["expires_at"],
        row["revoked_at"],
    )


def _checked(tx: Transaction, subject: Subject) -> Subject:
    """The subject as it is stored: a persona that is there, or a name that can be told from others by the eye."""
    if subject.kind is SubjectType.PERSONA:
        try:
            node_id = UUID(subject.name)
        except ValueError:
            raise NotFoundError("there is no such persona") from None
        if tx.execute(_QUERIES["find_persona"], {"node_id": node_id}).fetchone() is None:
            raise NotFoundError("there is no such persona")
        return Subject(subject.kind, str(node_id))
    name = clean_text(subject.name, "repair")[0].strip()
    if not 1 <= len(name) <= MAX_SUBJECT_LENGTH or not name.isprintable():
        raise InvalidInputError(f"the name of a third party has 1 to {MAX_SUBJECT_LENGTH} characters that can be seen")
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
        raise InvalidInputError("it would have expired already: give a time that is still to come")
    return moment
