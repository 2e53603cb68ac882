"""Authentication: claims from API keys and tokens, their signature, and the passwords of the database roles.

The API and the command line authenticate here. The database decides which rows the claims may see
(``sql/functions/access.sql``). The database adapter passes claims to transactions. ``sharing`` issues keys and grants.
"""

from __future__ import annotations

import base64
import hashlib
import secrets
from uuid import UUID

from psycopg.rows import DictRow

from neurigraph_pipelines.database.asking import value_of
from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.model import Claims
from neurigraph_pipelines.model.claims import BOUND
from neurigraph_pipelines.model.errors import (
    ForbiddenError,
    ForgettingError,
    ForgottenError,
    NotFoundError,
    UnauthenticatedError,
)
from neurigraph_pipelines.model.ports import Database, TokenVerifier, Transaction
from neurigraph_pipelines.model.spaces import is_container_tag
from neurigraph_pipelines.views.scalars import WireObject

_KEY_PREFIX = "ng_"
_SECRET_LENGTH = len(_KEY_PREFIX) + 43
_NOT_VALID = "this key or token is not valid"
_QUERIES = statements("access")
_ENDINGS = statements("erasure")


def new_api_key() -> str:
    """Return a new key of 256 random bits. It is shown once and stored only as a hash."""
    return _KEY_PREFIX + secrets.token_urlsafe(32)


def key_of(secret: str, holder_id: UUID) -> str:
    """Return a new key with the id of a user after it, which says in which of several databases it is known.

    Args:
        holder_id: The owner of the graph, or the member of an organization.
    """
    return secret + base64.urlsafe_b64encode(holder_id.bytes).decode().rstrip("=")


def holder_named_by(key: str) -> UUID | None:
    """Return the id that a key names; None if it names none, as keys of earlier versions."""
    try:
        named = UUID(bytes=base64.b64decode(key[_SECRET_LENGTH:] + "==", b"-_", validate=True))
    except ValueError:
        return None
    return named if key == key_of(key[:_SECRET_LENGTH], named) else None


def api_key_hash(key: str) -> bytes:
    """Return the SHA-256 of a key without the id that it names.

    A slow hash is not needed, since 256 random bits cannot be guessed.
    """
    secret = key if holder_named_by(key) is None else key[:_SECRET_LENGTH]
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).digest()


def issue_api_key(database: Database, user_id: UUID, label: str = "") -> str:
    """Issue another key of a user and return it. It cannot be shown again."""
    key = key_of(new_api_key(), user_id)
    with database.owner() as tx:
        tx.execute(_QUERIES["insert_api_key"], {"user_id": user_id, "key_hash": api_key_hash(key), "label": label})
    return key


def authenticate(database: Database, credential: str, tokens: TokenVerifier | None = None) -> Claims:
    """Return the claims of the holder of an API key or of a token from a trusted issuer.

    This is the only way from credentials to claims.

    Args:
        tokens: Verifies tokens; None to accept only keys.

    Raises:
        UnauthenticatedError: The key is unknown, expired or revoked; or the token is not genuine, or names no subject.
        ForgettingError: The holder is being forgotten, which ended the key.
        ForgottenError: The holder was forgotten.
        TransientError: The issuer's key set could not be fetched.
    """
    if tokens is not None and not credential.startswith(_KEY_PREFIX):
        claims = _claims_of_token(tokens.verify(credential))
        if claims.acts_for_owner and is_organization(database, claims.user_id):
            raise UnauthenticatedError(_NOT_VALID)
        require_remembered(database, claims.user_id)
        return claims
    named = holder_named_by(credential)
    for row in database.ask(None, _QUERIES["holder_of_key"], {"key_hash": api_key_hash(credential)}):
        if named is not None and str(named) not in (str(row["user_id"]), row["subject_id"]):
            break  # one key has one text: limits on requests count by it
        holder = Claims(row["subject_id"] or str(row["user_id"]), row["role"], row["user_id"], row["key_id"])
        return holder.within(row["container_tags"])
    if named is not None:
        ended = {"user_id": named, "key_hash": api_key_hash(credential).hex()}
        with database.pipeline() as tx:
            _refuse_ended(tx.execute(_ENDINGS["erasure_of_key"], ended).fetchone())
    raise UnauthenticatedError(_NOT_VALID)


def require_remembered(database: Database, user_id: UUID) -> None:
    """Require that nobody forgets, or has forgotten, the user whose claims a caller has proved.

    Raises:
        ForgettingError: The user is being forgotten.
        ForgottenError: The user was forgotten.
    """
    with database.pipeline() as tx:
        _refuse_ended(tx.execute(_ENDINGS["erasure_of_user"], {"user_id": user_id}).fetchone())


def _refuse_ended(erasure: DictRow | None) -> None:
    if erasure is None:
        return
    if erasure["is_running"]:
        raise ForgettingError("this user is being forgotten: nothing more is stored")
    raise ForgottenError("this user was forgotten, with all keys: the receipt is all that is left")


def is_organization(database: Database, user_id: UUID) -> bool:
    """Return whether a graph is an organization's, whose private sources only their authors see: it has no owner."""
    return value_of(bool, database.ask(None, _QUERIES["is_organization"], {"user_id": user_id}))


def require_owner(claims: Claims) -> None:
    """Require the owner of a graph.

    Raises:
        ForbiddenError: The caller is not the owner.
    """
    if claims.role == BOUND:
        raise ForbiddenError("a key that is bound to spaces may not do this: use another key of the owner")
    if claims.role != "user":
        raise ForbiddenError("only the owner of the graph may do this")


def require_visible(database: Database, claims: Claims, kind: str, wanted: UUID) -> None:
    """Require that a caller sees something by its id, in one statement whose time says nothing about hidden ids.

    Args:
        kind: ``node``, ``record``, ``fact``, ``file``, ``source``, ``key``, ``grant``, ``failure`` or ``quarantine``.

    Raises:
        NotFoundError: There is no such thing, or it is hidden from the caller.
    """
    (row,) = database.ask(claims, _QUERIES["sees"], {"kind": kind, "wanted": wanted})
    if not row["is_visible"]:
        raise NotFoundError


def require_writer(database: Database, claims: Claims) -> None:
    """Require a caller who may write to some node: the owner of a graph, or a persona with such a grant.

    Raises:
        ForbiddenError: The caller may only read.
    """
    if claims.acts_for_owner:
        return
    (row,) = database.ask(claims, _QUERIES["may_write"], {})
    if not row["may"]:
        raise ForbiddenError(
            "this key may only read: the owner of the graph can grant a persona write access to a node"
        )


def require_author(database: Database, claims: Claims) -> UUID | None:
    """Require a caller who decides about sources: the owner of a graph, or a member of an organization about own ones.

    Returns:
        The member, whose sources alone the caller decides about; None for the owner.

    Raises:
        ForbiddenError: The caller is neither.
    """
    if claims.role != "member":
        require_owner(claims)
        return None
    (row,) = database.ask(claims, _QUERIES["asking_member"], {})
    if row["member_id"] is None:
        raise ForbiddenError("only the owner of the graph may do this")
    member_id: UUID = row["member_id"]
    return member_id


def require_write(tx: Transaction, node_id: UUID, *, held: bool = False) -> None:
    """Require write access to a node that the caller sees.

    Args:
        tx: A transaction with the caller's claims.
        held: A write may have to wait for an approval.

    Raises:
        ForbiddenError: The caller may only read the node.
    """
    query = _QUERIES["may_hand_in"] if held else _QUERIES["may_write_node"]
    row = tx.execute(query, {"node_id": node_id}).fetchone()
    if row is None or not row["may"]:
        raise ForbiddenError("this key may only read this node")


def unguarded_tables(database: Database) -> list[str]:
    """Return tables without a row policy, or without the access check of their node; there should be none."""
    with database.owner() as tx:
        return [f"{row['place']}: {row['table_name']}" for row in tx.execute(_QUERIES["unguarded_tables"])]


def _claims_of_token(payload: WireObject) -> Claims:
    """Return the claims in a token's payload: ``role``, ``sub``, ``user_id``, and ``container_tags`` if it is limited.

    A user's own token needs no ``role``, and no ``user_id`` if its ``sub`` is the id of the user.
    """
    role, sub, tags = payload.get("role", "user"), str(payload["sub"]), payload.get("container_tags")
    if "container_tags" in payload and not (tags and isinstance(tags, list) and all(map(is_container_tag, tags))):
        raise UnauthenticatedError(_NOT_VALID)
    try:
        user_id = UUID(str(payload.get("user_id", sub if role == "user" else "")))
        if role == "user":
            return Claims.of_user(user_id).within(tags)
        if role in ("persona", "member"):
            return Claims(str(UUID(sub)), role, user_id).within(tags)
    except ValueError as error:
        raise UnauthenticatedError(_NOT_VALID) from error
    if role == "third_party" and sub and "\0" not in sub:
        return Claims(sub, role, user_id).within(tags)
    raise UnauthenticatedError(_NOT_VALID)
