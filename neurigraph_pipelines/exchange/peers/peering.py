"""The parts of the installation that pulls work with, the client, and the encrypted keys that publishers issued."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, replace
from uuid import UUID

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from neurigraph_pipelines.database.secret import Secret
from neurigraph_pipelines.model import Claims
from neurigraph_pipelines.model.context import Context
from neurigraph_pipelines.model.errors import ConfigurationError
from neurigraph_pipelines.model.ports import PeerClient

_NONCE_BYTES = 12


@dataclass(frozen=True, slots=True)
class Peering:
    """The parts that peers work with.

    Attributes:
        context: Of a caller for adding and removing peers, of the jobs for pulls.
        secret: Encrypts the keys that publishers issued.
    """

    context: Context
    client: PeerClient
    secret: Secret

    def acting_for(self, claims: Claims) -> Peering:
        """Return these parts with the claims of a caller."""
        return replace(self, context=self.context.acting_for(claims))

    def sealed(self, peer_id: UUID, key: str) -> bytes:
        """Return the key that a publisher issued, encrypted for one peer."""
        nonce = secrets.token_bytes(_NONCE_BYTES)
        return nonce + AESGCM(self.secret.peer_key_key()).encrypt(nonce, key.encode(), peer_id.bytes)

    def unsealed(self, peer_id: UUID, sealed: bytes) -> str:
        """Return the key that a publisher issued.

        Raises:
            ConfigurationError: The secret of the installation is another one since.
        """
        nonce, rest = sealed[:_NONCE_BYTES], sealed[_NONCE_BYTES:]
        try:
            return AESGCM(self.secret.peer_key_key()).decrypt(nonce, rest, peer_id.bytes).decode()
        except InvalidTag as error:
            raise ConfigurationError(
                "the key of the peer cannot be decrypted with the secret of this installation: give it again with "
                "`neurigraph access peer edit`"
            ) from error
