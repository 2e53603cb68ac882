"""The parts with which webhooks work: the installation's parts, the sender, and the secrets that sign messages.

The form of a message follows the Standard Webhooks specification 1.0.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
from dataclasses import dataclass, replace
from uuid import UUID

from neurigraph_pipelines.database.secret import Secret
from neurigraph_pipelines.model import Claims
from neurigraph_pipelines.model.context import Context
from neurigraph_pipelines.model.ports import WebhookSender

_PREFIX = "whsec_"


@dataclass(frozen=True, slots=True)
class Outbox:
    """The parts that webhooks work with.

    Attributes:
        context: Of a caller for subscriptions, of the jobs for deliveries.
        secret: The secrets of webhooks are derived from it, and stored nowhere.
    """

    context: Context
    sender: WebhookSender
    secret: Secret

    def acting_for(self, claims: Claims) -> Outbox:
        """Return this outbox with the claims of a caller."""
        return replace(self, context=self.context.acting_for(claims))

    def secret_of(self, webhook_id: UUID, version: int) -> str:
        """Return the secret that signs the messages of a webhook, as its receiver gets it."""
        return _PREFIX + base64.b64encode(self.secret.webhook_secret(webhook_id, version)).decode()


def hash_of(secret: str) -> bytes:
    """Return the SHA-256 of a secret, by which a changed one is noticed."""
    return hashlib.sha256(secret.encode()).digest()


def signature(secret: str, message_id: str, timestamp: int, body: bytes) -> str:
    """Return the signature of a message with one secret: its version and the HMAC-SHA256 in base64."""
    signed = f"{message_id}.{timestamp}.".encode() + body
    digest = hmac.new(base64.b64decode(secret.removeprefix(_PREFIX)), signed, hashlib.sha256).digest()
    return f"v1,{base64.b64encode(digest).decode()}"
