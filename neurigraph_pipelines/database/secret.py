"""The installation's secrets, and the keys and signatures derived from them."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import time
from collections.abc import Callable, Mapping
from functools import lru_cache
from uuid import UUID

from neurigraph_pipelines.model import Claims, ReceivedThrough
from neurigraph_pipelines.views.scalars import WireObject

CLAIMS_LIFETIME_SECONDS = 300
"""Lifetime of signed claims, which serve one transaction; longer than any statement may take."""

_CACHED_CLAIMS = 1_000
_SIGNATURE_REUSE_SECONDS = 10
"""A caller who asks again within this time gets the same signature from the cache."""

_BLOCK = 64  # bytes in a block of SHA-256 (RFC 2104)


class Secret:
    """The installation's secrets and the keys derived from them.

    Args:
        value: Signs claims; at least 32 characters of randomness.
        role_value: Derives the passwords of the database roles, so that they do not follow from what signs claims. None
            is for tests: both are one.
        clock: Returns the time, in seconds since 1970; the database compares it with its own.
    """

    def __init__(self, value: str, role_value: str | None = None, clock: Callable[[], float] = time.time) -> None:
        self._value = value.encode()
        self._role_value = self._value if role_value is None else role_value.encode()
        self._clock = clock
        self._signed = lru_cache(_CACHED_CLAIMS)(self._sign)

    def __repr__(self) -> str:
        return "Secret(…)"

    def role_password(self, role: str) -> str:
        """Return the password of one database role."""
        return base64.urlsafe_b64encode(_derived(self._role_value, f"password of {role}")).decode().rstrip("=")

    def roles_fingerprint(self) -> str:
        """Return a text that tells whether two secrets give the same passwords, and nothing else about them."""
        return _derived(self._role_value, "fingerprint of the passwords").hex()[:32]

    def cursor_mac(self, sealed: bytes) -> bytes:
        """Return the HMAC-SHA256 of the content of a cursor."""
        return hmac.new(_derived(self._value, "cursors"), sealed, hashlib.sha256).digest()

    def claims_pads(self) -> tuple[bytes, bytes]:
        """Return the inner and outer padded HMAC keys (64 bytes each) with which the database checks claims."""
        key = _derived(self._value, "claims").ljust(_BLOCK, b"\0")
        return bytes(b ^ 0x36 for b in key), bytes(b ^ 0x5C for b in key)

    def seal(self, purpose: str, content: Mapping[str, object]) -> str:
        """Return content as a text that only this installation can make; everybody can read it.

        Args:
            purpose: What the text is for; a text that was sealed for another purpose is not accepted.
            content: Values of JSON.
        """
        packed = base64.urlsafe_b64encode(json.dumps(content, separators=(",", ":"), sort_keys=True).encode())
        return f"{packed.decode().rstrip('=')}.{self._seal_of(purpose, packed.decode().rstrip('='))}"

    def unseal(self, purpose: str, text: str) -> WireObject | None:
        """Return the text that was sealed for a purpose; None if this installation did not seal it."""
        packed, _, seal = text.partition(".")
        if not hmac.compare_digest(seal.encode("utf-8", "replace"), self._seal_of(purpose, packed).encode()):
            return None
        content: WireObject = json.loads(base64.urlsafe_b64decode(packed + "=" * (-len(packed) % 4)))
        return content

    def _seal_of(self, purpose: str, packed: str) -> str:
        digest = hmac.new(
            _derived(self._value, f"seal of {purpose}"), packed.encode("utf-8", "replace"), hashlib.sha256
        )
        return base64.urlsafe_b64encode(digest.digest()).decode().rstrip("=")

    def webhook_secret(self, webhook_id: UUID, version: int) -> bytes:
        """Return the 32 bytes that sign the messages of a webhook; every rotation has a version of its own."""
        return _derived(self._value, f"webhook {webhook_id} {version}")

    def peer_key_key(self) -> bytes:
        """Return the 32 bytes that encrypt the keys that publishers issued to this installation."""
        return _derived(self._value, "keys of peers")

    def publisher_key_seed(self) -> bytes:
        """Return the 32 bytes of the private key that signs answers to peers."""
        return _derived(self._value, "home key of peers")

    def salt_of(self, name: str) -> bytes:
        """Return 16 bytes in the place of a salt, for a name that has no password."""
        return _derived(self._value, f"salt of {name}")[:16]

    def sign(self, claims: Claims) -> tuple[str, str]:
        """Return claims as JSON, with the time and an expiry, and their HMAC-SHA256 in hex."""
        now = int(self._clock())
        signed_at = now - now % _SIGNATURE_REUSE_SECONDS
        # Claims that differ only in key or door are equal, and their signatures are not.
        return self._signed(claims, claims.key_id, claims.received_through, signed_at)

    def _sign(self, claims: Claims, key_id: UUID | None, door: ReceivedThrough, signed_at: int) -> tuple[str, str]:
        stated = {"sub": claims.sub, "role": claims.role, "user_id": str(claims.user_id), "received_through": door}
        key = {"key_id": str(key_id)} if key_id is not None else {}
        limit = {"container_tags": claims.container_tags} if claims.container_tags is not None else {}
        payload = json.dumps({**stated, **key, **limit, "iat": signed_at, "exp": signed_at + CLAIMS_LIFETIME_SECONDS})
        return payload, hmac.new(_derived(self._value, "claims"), payload.encode(), hashlib.sha256).hexdigest()


def _derived(value: bytes, purpose: str) -> bytes:
    return hmac.new(value, purpose.encode(), hashlib.sha256).digest()
