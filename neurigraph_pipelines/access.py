"""Who is asking: claims from API keys and tokens, their signature, and the passwords of the database roles.

Every face authenticates here. Which rows a claim opens is decided in the database (``sql/routines/access.sql``); how
claims reach a transaction is the database adapter's affair; giving keys and grants is for ``sharing``.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import secrets
import time
from collections.abc import Mapping
from functools import lru_cache
from typing import Any
from uuid import UUID

from neurigraph_pipelines.errors import ForbiddenError, UnauthenticatedError
from neurigraph_pipelines.model import Claims
from neurigraph_pipelines.ports import Database, TokenVerifier, Transaction
from neurigraph_pipelines.statements import statements

CLAIMS_LIFETIME_SECONDS = 300
"""Signed claims live for one transaction; five minutes is longer than any statement may take."""

_CLAIMS_KEPT, _CLAIMS_SECONDS_KEPT = 1_000, 10
"""Whoever asks again within so many seconds is given the same signature."""

_BLOCK = 64  # bytes in a block of SHA-256 (RFC 2104)
_KEY_PREFIX = "ng_"
_NOT_VALID = "this key or token is not valid"
_QUERIES = statements("access")


class Secret:
    """The installation's secret and everything that is derived from it.

    Args:
        value: At least 32 characters of randomness.
    """

    def __init__(self, value: str) -> None:
        self._value = value.encode()
        self._signed = lru_cache(_CLAIMS_KEPT)(self._sign)

    def __repr__(self) -> str:
        return "Secret(…)"

    def _derive(self, purpose: str) -> bytes:
        return hmac.new(self._value, purpose.encode(), hashlib.sha256).digest()

    def role_password(self, role: str) -> str:
        """The password of one database role."""
        return base64.urlsafe_b64encode(self._derive(f"password of {role}")).decode().rstrip("=")

    def claims_pads(self) -> tuple[bytes, bytes]:
        """The inner and outer padded HMAC keys (64 bytes each) with which the database checks claims."""
        key = self._derive("claims").ljust(_BLOCK, b"\0")
        return bytes(b ^ 0x36 for b in key), bytes(b ^ 0x5C for b in key)

    def sign(self, claims: Claims) -> tuple[str, str]:
        """Write claims as JSON with an expiry, and sign them.

        Returns:
            The payload, and its HMAC-SHA256 in hex.
        """
        now = int(time.time())
        return self._signed(claims, now - now % _CLAIMS_SECONDS_KEPT + CLAIMS_LIFETIME_SECONDS)

    def _sign(self, claims: Claims, expires: int) -> tuple[str, str]:
        stated = {"sub": claims.sub, "role": claims.role, "user_id": str(claims.user_id), "exp": expires}
        payload = json.dumps(stated)
        return payload, hmac.new(self._derive("claims"), payload.encode(), hashlib.sha256).hexdigest()


def new_api_key() -> str:
    """A key of 256 random bits; shown once and stored only as a hash."""
    return _KEY_PREFIX + secrets.token_urlsafe(32)


def api_key_hash(key: str) -> bytes:
    """SHA-256 of a key: 256 random bits leave nothing to guess, so no slow hash is needed."""
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).digest()


def issue_api_key(database: Database, user_id: UUID, label: str = "") -> str:
    """Give a user another key.

    Returns:
        The key, which cannot be shown again.
    """
    key = new_api_key()
    with database.owner() as tx:
        tx.execute(_QUERIES["insert_api_key"], {"user_id": user_id, "key_hash": api_key_hash(key), "label": label})
    return key


def authenticate(database: Database, credential: str, tokens: TokenVerifier | None = None) -> Claims:
    """Claims of whoever holds a key of ours, or a token of somebody whom the installation trusts.

    Every face comes by its claims here and in no other way.

    Args:
        tokens: Who tells genuine tokens from others; None where only keys are taken.

    Raises:
        UnauthenticatedError: The key is unknown, expired or revoked; or the token is not genuine, or names nobody.
        TransientError: What a token is checked with could not be fetched.
    """
    if tokens is not None and not credential.startswith(_KEY_PREFIX):
        return _claims_of_token(tokens.verify(credential))
    for row in database.ask(None, _QUERIES["holder_of_key"], {"key_hash": api_key_hash(credential)}):
        return Claims(row["subject_id"] or str(row["user_id"]), row["role"], row["user_id"])
    raise UnauthenticatedError(_NOT_VALID)


def require_owner(claims: Claims) -> None:
    """Let the owner of a graph through, whose keys and grants are nobody else's affair.

    Raises:
        ForbiddenError: Whoever asks is somebody else.
    """
    if claims.role != "user":
        raise ForbiddenError("this is for the owner of the graph alone")


def require_writer(database: Database, claims: Claims) -> None:
    """Let through whoever may write something somewhere: the owner of a graph, and personas that were granted it.

    Raises:
        ForbiddenError: Whoever asks only reads.
    """
    if claims.role == "user":
        return
    (row,) = database.ask(claims, _QUERIES["may_write"], {})
    if not row["may"]:
        raise ForbiddenError("this key only reads: the owner of the graph grants writing, node by node, to personas")


def require_write(tx: Transaction, node_id: UUID) -> None:
    """Let through whoever may write to a node that they see.

    Args:
        tx: As whoever asks.

    Raises:
        ForbiddenError: Whoever asks only reads it.
    """
    row = tx.execute(_QUERIES["may_write_node"], {"node_id": node_id}).fetchone()
    if row is None or not row["may"]:
        raise ForbiddenError("this node is open for reading only")


def unguarded_tables(database: Database) -> list[str]:
    """Tables that a face could reach without a policy, or without the gate of their node; there should be none."""
    with database.owner() as tx:
        return [f"{row['place']}: {row['table_name']}" for row in tx.execute(_QUERIES["unguarded_tables"])]


def _claims_of_token(said: Mapping[str, Any]) -> Claims:
    """Of a token's claims those that say who is asking: ``role``, ``sub`` and ``user_id``.

    A user's own token needs no ``role``, and no ``user_id`` where its ``sub`` is one.
    """
    role, sub = said.get("role", "user"), str(said["sub"])
    try:
        user_id = UUID(str(said.get("user_id", sub if role == "user" else "")))
        if role == "user":
            return Claims.of_user(user_id)
        if role == "persona":
            return Claims(str(UUID(sub)), role, user_id)
    except ValueError as error:
        raise UnauthenticatedError(_NOT_VALID) from error
    if role == "third_party" and sub and "\0" not in sub:
        return Claims(sub, role, user_id)
    raise UnauthenticatedError(_NOT_VALID)
