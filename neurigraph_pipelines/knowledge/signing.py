"""Signatures of links: Ed25519 (RFC 8032) over bytes with the statement, and the keys that make them.

A statement and its ending are signed apart, so an ending does not void the statement. Signatures are checked when they
are written and whenever a link is shown: a changed row is shown as unsigned.
"""

from __future__ import annotations

import re
from base64 import b64decode
from collections.abc import Mapping
from datetime import UTC, datetime
from uuid import UUID

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import load_pem_private_key
from psycopg.rows import DictRow

from neurigraph_pipelines.database.asking import ask_views
from neurigraph_pipelines.database.paging import NEWEST, Listing, Page, Position
from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.graph.history import author_of
from neurigraph_pipelines.model import Claims
from neurigraph_pipelines.model.context import Context
from neurigraph_pipelines.model.errors import (
    ConflictError,
    ForbiddenError,
    InvalidInputError,
    NotFoundError,
    require_found,
)
from neurigraph_pipelines.model.ports import Transaction
from neurigraph_pipelines.views.kinds import Attest, EndKind
from neurigraph_pipelines.views.links import SigningKey

KEY_BYTES = 32
SIGNATURE_BYTES = 64

_PEER = "peer:"
_PEER_NAME = re.compile(r"[A-Za-z0-9_.:-]{1,100}")
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
    """Return the bytes that the signature of an ending covers: the link, the author of the ending, and its time."""
    return b"\n".join([b"neurigraph link end 1", statement, ended_by.encode(), _moment(valid_until).encode()])


def is_signed_by(public_key: bytes, signature: bytes, message: bytes) -> bool:
    """Return whether a signature of some bytes was made with the private half of a key."""
    try:
        Ed25519PublicKey.from_public_bytes(public_key).verify(signature, message)
    except (InvalidSignature, ValueError):
        return False
    return True


def attest_of(row: DictRow) -> Attest:
    """Return who signed a link, given its row with ``public_key``, ``holder`` and ``revoked_at`` of its key."""
    if row["signature"] is None or row["public_key"] is None or row["revoked_at"] is not None:
        return Attest.UNSIGNED
    if row["holder"] != row["observed_by"] or not is_signed_by(row["public_key"], row["signature"], bytes_of(row)):
        return Attest.UNSIGNED
    return _level(row["holder"])


def end_attest_of(row: DictRow) -> Attest:
    """Return who signed the ending of a link, given its row with the same columns of that key, named ``end_…``."""
    if row["end_signature"] is None or row["end_public_key"] is None or row["end_revoked_at"] is not None:
        return Attest.UNSIGNED
    ending = ending_bytes(bytes_of(row), row["ended_by"], row["valid_until"])
    is_signed = is_signed_by(row["end_public_key"], row["end_signature"], ending)
    return _level(row["end_holder"]) if is_signed and row["end_holder"] == row["ended_by"] else Attest.UNSIGNED


def _level(holder: str) -> Attest:
    return Attest.PEER if holder.startswith(_PEER) else Attest.SELF


def bytes_of(row: DictRow) -> bytes:
    """Return the bytes that the signature of a stored link covers."""
    start = next(f"{kind}:{row[f'from_{kind}_id']}" for kind in ("fact", "record") if row[f"from_{kind}_id"])
    end = next(f"{kind}:{row[f'to_{kind}_id']}" for kind in EndKind if row[f"to_{kind}_id"])
    return statement_bytes(start, end, row["relation"], row["observed_by"], row["valid_from"])


def register_key(context: Context, public_key: bytes, peer: str | None = None) -> SigningKey:
    """Register a key with which the caller signs links, or another installation does.

    Args:
        peer: The name of the other installation; only the owner of the graph registers its keys.

    Raises:
        InvalidInputError: This is no Ed25519 public key, or no name of an installation.
        ForbiddenError: The caller may not write, or does not own the graph.
        ConflictError: The key is registered already.
    """
    claims = context.claims
    _require_writer(context, claims)
    if peer is not None and claims.role != "user":
        raise ForbiddenError("only the owner of the graph registers keys of other installations")
    if peer is not None and _PEER_NAME.fullmatch(peer) is None:
        raise InvalidInputError("the name of an installation has 1 to 100 letters, digits, dots, colons and hyphens")
    _require_public_key(public_key)
    persona_id = UUID(claims.sub) if claims.role == "persona" and peer is None else None
    with context.database.pipeline() as tx:
        return _registered(tx, claims, {"persona_id": persona_id, "peer_name": peer}, public_key)


def page_of_keys(context: Context, asked: Listing, *, with_ended: bool = False) -> Page[SigningKey]:
    """Return a page of keys: all for the owner; for others their own, and the keys of links that they see.

    Args:
        with_ended: Whether rotated and revoked keys are listed, too.

    Raises:
        InvalidInputError: The cursor is not one of this list.
    """

    def read(after: Position | None, most: int) -> list[SigningKey]:
        return _keys(context, user_id=context.claims.user_id, with_ended=with_ended, after=after, limit=most)

    filters = {"with_ended": with_ended}
    return asked.page("signing_keys", filters, read, lambda key: (key.registered_at, key.signing_key_id))


def get_key(context: Context, key_id: UUID) -> SigningKey:
    """Return a key that the caller sees.

    Raises:
        NotFoundError: There is no such key, or it is hidden from the caller.
    """
    found = _keys(context, key_id=key_id, with_ended=True)
    return require_found(next(iter(found), None))


def public_bytes(key: SigningKey) -> bytes:
    """Return the bytes of a key."""
    return b64decode(key.public_key)


def private_key_of(pem: bytes) -> Ed25519PrivateKey:
    """Read a private key in PEM, without a password.

    Raises:
        InvalidInputError: This is no such key.
    """
    try:
        key = load_pem_private_key(pem, password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise InvalidInputError("this is no private key in PEM without a password") from error
    if not isinstance(key, Ed25519PrivateKey):
        raise InvalidInputError("this is no Ed25519 key: make one with `openssl genpkey -algorithm ed25519`")
    return key


def key_with(context: Context, private_key: Ed25519PrivateKey) -> SigningKey:
    """Return the registered key with the public half of a private one.

    Raises:
        NotFoundError: There is none that the caller sees, or it was rotated or revoked.
    """
    public_key = private_key.public_key().public_bytes_raw()
    found = _keys(context, user_id=context.claims.user_id, public_key=public_key)
    if not found:
        raise NotFoundError("the key is not registered, or was rotated or revoked: `neurigraph fact link key add`")
    return found[0]


def rotate_key(context: Context, key_id: UUID, public_key: bytes) -> SigningKey:
    """Replace a key by another key of its holder. Signatures of the old key still count; it signs no more.

    Raises:
        ConflictError: The old key was rotated or revoked, or the new one is registered already: nothing is changed.
    """
    _require_writer(context, context.claims)
    _require_own(context, key_id)
    _require_public_key(public_key)
    with context.database.pipeline() as tx:
        old = tx.execute(_QUERIES["retire_key"], {"key_id": key_id}).fetchone()
        if old is None:
            raise ConflictError("this key was rotated or revoked already")
        return _registered(tx, context.claims, old, public_key)


def revoke_key(context: Context, key_id: UUID) -> SigningKey:
    """Revoke a key: links that it signed are shown as unsigned from now on. Idempotent."""
    _require_own(context, key_id)
    with context.database.pipeline() as tx:
        revoked = require_found(tx.execute(_QUERIES["revoke_key"], {"key_id": key_id}).fetchone())
    return SigningKey.model_validate(revoked)


def signer(context: Context, key_id: UUID) -> SigningKey:
    """Return a key that the caller may sign with.

    Raises:
        NotFoundError: There is no such key, or it is hidden from the caller.
        ForbiddenError: It is somebody else's.
        ConflictError: It was rotated or revoked.
    """
    key = _require_own(context, key_id)
    if key.rotated_at is not None or key.revoked_at is not None:
        raise ConflictError("this key was rotated or revoked: sign with a current one")
    return key


def _keys(
    context: Context,
    *,
    user_id: UUID | None = None,
    key_id: UUID | None = None,
    public_key: bytes | None = None,
    with_ended: bool = False,
    after: Position | None = None,
    limit: int = 1,
) -> list[SigningKey]:
    at, last = after or NEWEST
    wanted = {"user_id": user_id, "key_id": key_id, "public_key": public_key, "with_ended": with_ended}
    values = {**wanted, "at": at, "id": last, "limit": limit}
    return ask_views(context.database, context.claims, _QUERIES["keys"], SigningKey, values)


def _registered(tx: Transaction, claims: Claims, holder: Mapping[str, object], public_key: bytes) -> SigningKey:
    values = {
        **holder,
        "user_id": claims.user_id,
        "public_key": public_key,
        "registered_by": author_of(claims),
    }
    made = tx.execute(_QUERIES["register_key"], values).fetchone()
    if made is None:
        raise ConflictError("this key is registered already: make another one")
    return SigningKey.model_validate(made)


def _require_public_key(public_key: bytes) -> None:
    if len(public_key) != KEY_BYTES:
        raise InvalidInputError(f"an Ed25519 public key has {KEY_BYTES} bytes, and this has {len(public_key)}")


def _require_own(context: Context, key_id: UUID) -> SigningKey:
    key = get_key(context, key_id)
    if context.claims.role != "user" and key.holder != author_of(context.claims):
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
