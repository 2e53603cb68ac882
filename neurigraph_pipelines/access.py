"""Who is asking: signed claims, the passwords of the database roles, and API keys.

Deriving and signing only. Which rows a claim opens is decided in the database (``sql/shared``); how claims reach a
transaction is the database adapter's affair.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import secrets
import time
from uuid import UUID

from neurigraph_pipelines.errors import UnauthenticatedError
from neurigraph_pipelines.model import Claims
from neurigraph_pipelines.ports import Database
from neurigraph_pipelines.statements import statements

CLAIMS_LIFETIME_SECONDS = 300
"""Signed claims live for one transaction; five minutes is longer than any statement may take."""

_BLOCK = 64  # bytes in a block of SHA-256 (RFC 2104)
_KEY_PREFIX = "ng_"
_QUERIES = statements("access")


class Secret:
    """The installation's secret and everything that is derived from it.

    Args:
        value: At least 32 characters of randomness.
    """

    def __init__(self, value: str) -> None:
        self._value = value.encode()

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
        payload = json.dumps(
            {
                "sub": claims.sub,
                "role": claims.role,
                "user_id": str(claims.user_id),
                "exp": int(time.time()) + CLAIMS_LIFETIME_SECONDS,
            }
        )
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


def authenticate(database: Database, key: str) -> Claims:
    """Claims of the user whose key this is.

    Raises:
        UnauthenticatedError: The key is unknown, expired or revoked.
    """
    for row in database.ask(None, _QUERIES["holder_of_key"], {"key_hash": api_key_hash(key)}):
        return Claims(row["subject_id"] or str(row["user_id"]), row["role"], row["user_id"])
    raise UnauthenticatedError("this API key is not valid")
