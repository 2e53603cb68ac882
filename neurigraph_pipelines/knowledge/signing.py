"""Signatures of links: Ed25519 (RFC 8032) over bytes that say what is stated, and the keys that make them.

A statement and its ending are signed apart, so an ending does not void what it ends. Signatures are checked when they
are written and whenever a link is shown: a changed row is shown as unsigned.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from neurigraph_pipelines.context import Context
from neurigraph_pipelines.errors import ConflictError, ForbiddenError, InvalidInputError, NotFoundError
from neurigraph_pipelines.history import author_of
from neurigraph_pipelines.model import Claims
from neurigraph_pipelines.model.links import Attest, EndKind
from neurigraph_pipelines.statements import statements

KEY_BYTES = 32
SIGNATURE_BYTES = 64

_PEER = "peer:"
_QUERIES = statements("links")


def statement_bytes(start: str, end: str, relation: str, observed_by: str, valid_from: datetime | None) -> bytes:
    """Return the bytes that the signature of a link covers.

    Args:
        start: The end that the link starts at, such as ``fact:5b0e…``, as it is stored.
        end: The other one.
    """
    lines = ["neurigraph link 1", start, end, relation, observed_by, _moment(valid_from)]
    return "\n".join(lines).encode()


def ending_bytes(statement: bytes, ended_by: str, valid_until: datetime) -> bytes:
    """Return the bytes that the signature of an ending covers: what it ends, who ends it, and as of when."""
    return b"\n".join([b"neurigraph link end 1", statement, ended_by.encode(), _moment(valid_until).encode()])


def is_signed_by(public_key: bytes, signature: bytes, message: bytes) -> bool:
    """Return whether a signature of some bytes was made with the private half of a key."""
    try:
        Ed25519PublicKey.from_public_bytes(public_key).verify(signature, message)
    except (InvalidSignature, ValueError):
        return False
    return True


def attest_of(row: Mapping[str, Any]) -> Attest:
    """Return who signed a link, given its row with ``public_key``, ``holder`` and ``revoked_at`` of its key."""
    if row["signature"] is None or row["public_key"] is None or row["revoked_at"] is not None:
        return Attest.UNSIGNED
    if row["holder"] != row["observed_by"] or not is_signed_by(row["public_key"], row["signature"], bytes_of(row)):
        return Attest.UNSIGNED
    return Attest.PEER if row["holder"].startswith(_PEER) else Attest.SELF


def bytes_of(row: Mapping[str, Any]) -> bytes:
    """Return the bytes that the signature of a stored link covers."""
    start = next(f"{kind}:{row[f'from_{kind}_id']}" for kind in ("fact", "record") if row[f"from_{kind}_id"])
    end = next(f"{kind}:{row[f'to_{kind}_id']}" for kind in EndKind if row[f"to_{kind}_id"])
    return statement_bytes(start, end, row["relation"], row["observed_by"], row["valid_from"])


def register_key(context: Context, public_key: bytes, peer: str | None = None) -> dict[str, Any]:
    """Register a key with which the caller signs links, or another installation does.

    Args:
        peer: The name of the other installation; only the owner of the graph registers its keys.

    Raises:
        InvalidInputError: This is no Ed25519 public key.
        ForbiddenError: The caller may not write, or does not own the graph.
        ConflictError: The key is registered already.
    """
    claims = context.claims
    _require_writer(context, claims)
    if peer is not None and claims.role != "user":
        raise ForbiddenError("only the owner of the graph registers keys of other installations")
    if len(public_key) != KEY_BYTES:
        raise InvalidInputError(f"an Ed25519 public key has {KEY_BYTES} bytes, and this has {len(public_key)}")
    author = author_of(claims)
    values = {
        "user_id": claims.user_id,
        "holder": f"{_PEER}{peer}" if peer is not None else author,
        "public_key": public_key,
        "registered_by": author,
    }
    with context.database.pipeline() as tx:
        made = tx.execute(_QUERIES["register_key"], values).fetchone()
    if made is None:
        raise ConflictError("this key is registered already: make another one")
    return made


def keys_of(context: Context) -> list[dict[str, Any]]:
    """Return the keys that the caller sees: the owner all, others their own and those of links that they see."""
    return context.database.ask(context.claims, _QUERIES["keys"], {"key_id": None})


def rotate_key(context: Context, key_id: UUID, public_key: bytes) -> dict[str, Any]:
    """Replace a key by another one of the same holder. What the old one signed still counts; it signs no more."""
    key = _require_key(context, key_id)
    if key["rotated_at"] is not None or key["revoked_at"] is not None:
        raise ConflictError("this key was rotated or revoked already")
    peer = key["holder"].removeprefix(_PEER) if key["holder"].startswith(_PEER) else None
    made = register_key(context, public_key, peer)
    with context.database.pipeline() as tx:
        tx.execute(_QUERIES["rotate_key"], {"key_id": key_id})
    return made


def revoke_key(context: Context, key_id: UUID) -> None:
    """Revoke a key: what it signed is shown as unsigned from now on. Idempotent."""
    _require_key(context, key_id)
    with context.database.pipeline() as tx:
        tx.execute(_QUERIES["revoke_key"], {"key_id": key_id})


def signer(context: Context, key_id: UUID) -> dict[str, Any]:
    """Return a key that the caller may sign with.

    Raises:
        NotFoundError: There is no such key, or it is hidden from the caller.
        ForbiddenError: It is somebody else's.
        ConflictError: It was rotated or revoked.
    """
    key = _require_key(context, key_id)
    if key["rotated_at"] is not None or key["revoked_at"] is not None:
        raise ConflictError("this key was rotated or revoked: sign with a current one")
    return key


def _require_key(context: Context, key_id: UUID) -> dict[str, Any]:
    found = context.database.ask(context.claims, _QUERIES["keys"], {"key_id": key_id})
    if not found:
        raise NotFoundError
    (key,) = found
    if context.claims.role != "user" and key["holder"] != author_of(context.claims):
        raise ForbiddenError("this key is somebody else's")
    return key


def _require_writer(context: Context, claims: Claims) -> None:
    if claims.role == "user":
        return
    (row,) = context.database.ask(claims, _QUERIES["is_writer"], {})
    if not row["writes"]:
        raise ForbiddenError("this key may read but not write: ask its owner for write access")


def _moment(moment: datetime | None) -> str:
    return moment.astimezone(UTC).isoformat(timespec="microseconds") if moment is not None else ""
