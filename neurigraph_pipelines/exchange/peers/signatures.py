"""Signatures of the answers of a publisher to its peers: Ed25519 (RFC 8032) over the peer's nonce and the answer.

The nonce is different for each request, so an answer can be neither changed nor given to another request.
"""

from __future__ import annotations

import base64
import secrets

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from neurigraph_pipelines.database.secret import Secret
from neurigraph_pipelines.model.errors import InvalidInputError, ProviderError

HEADER = "Neurigraph-Signature"
KEY_BYTES = 32
_CONTEXT = b"neurigraph peer answer 1"


class PublisherKey:
    """The key of this installation as a publisher; it follows from the installation's secret."""

    def __init__(self, secret: Secret) -> None:
        self._key = Ed25519PrivateKey.from_private_bytes(secret.publisher_key_seed())

    @property
    def public(self) -> str:
        """The public half in base64, which peers pin."""
        return base64.b64encode(self._key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)).decode()

    def sign(self, nonce: str, sha256: bytes) -> str:
        """Return the signature of an answer with some checksum, in base64."""
        return base64.b64encode(self._key.sign(_message(nonce, sha256))).decode()


def new_nonce() -> str:
    """Return a nonce of 128 random bits."""
    return secrets.token_hex(16)


def checked_key(text: str) -> bytes:
    """Return the bytes of a publisher's public key.

    Raises:
        InvalidInputError: It is none.
    """
    try:
        key = base64.b64decode(text, validate=True)
        if len(key) != KEY_BYTES:
            raise ValueError
    except ValueError as error:
        raise InvalidInputError(
            "this is not the key of a publisher: give the key that `neurigraph access peer publisher-key` prints there"
        ) from error
    return key


def require_signed(publisher_key: bytes, nonce: str, sha256: bytes, signature: str | None) -> None:
    """Require that the pinned publisher signed an answer with some checksum to this request.

    Raises:
        ProviderError: Somebody else did, or nobody.
    """
    try:
        signed = base64.b64decode(signature or "", validate=True)
        Ed25519PublicKey.from_public_bytes(publisher_key).verify(signed, _message(nonce, sha256))
    except (ValueError, InvalidSignature) as error:
        raise ProviderError(
            "the answer is not signed by the publisher that was added: nothing of it is used"
        ) from error


def _message(nonce: str, sha256: bytes) -> bytes:
    return b"\0".join((_CONTEXT, nonce.encode(), sha256))
