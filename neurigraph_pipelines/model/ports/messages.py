"""Protocols of the redactor of texts and of the sender of webhooks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from io import BufferedRandom
from typing import Protocol


class Redactor(Protocol):
    """Removes personal data and secrets from texts."""

    def redact(self, text: str) -> tuple[str, Counter[str]]:
        """Return the text with a word in place of each finding, and the number of findings by kind.

        Redacting the result again finds nothing.
        """
        ...


@dataclass(frozen=True, slots=True)
class WebhookAnswer:
    """The answer of the receiver of a message.

    Attributes:
        retry_after_seconds: How long it asked to wait, if it did.
    """

    status: int
    retry_after_seconds: float | None = None


@dataclass(frozen=True, slots=True)
class PeerAnswer:
    """The answer of a publisher.

    Attributes:
        body: Unpacked; empty if it was written to a file.
        sha256: Of the body.
        signature: The header of that name, if there is one.
        sent_bytes: Size of the body as it was sent.
    """

    status: int
    body: bytes
    sha256: bytes
    signature: str | None
    sent_bytes: int


class PeerClient(Protocol):
    """Sends requests to publishers."""

    @property
    def is_on(self) -> bool:
        """Whether the settings allow any host."""
        ...

    def check(self, url: str) -> None:
        """Check whether an address may be called.

        Raises:
            ConflictError: The settings allow no peers.
            InvalidInputError: The address may not be called; the message says why, without the address.
        """
        ...

    def ask(
        self,
        method: str,
        url: str,
        headers: Mapping[str, str],
        body: bytes,
        max_bytes: int,
        into: BufferedRandom | None = None,
    ) -> PeerAnswer:
        """Send one request to exactly this address, and write the body of the answer ``into`` a file if there is one.

        Raises:
            ProviderError: The address may not be called, or the answer is too large.
            TransientError: The publisher could not be reached in time, or its answer was cut off.
        """
        ...


class WebhookSender(Protocol):
    """Sends messages to the receivers of webhooks."""

    @property
    def is_on(self) -> bool:
        """Whether the settings allow any host."""
        ...

    def check(self, url: str) -> None:
        """Check whether an address may be called.

        Raises:
            ConflictError: The settings allow no webhooks.
            InvalidInputError: The address may not be called; the message says why, without the address.
        """
        ...

    def post(self, url: str, headers: Mapping[str, str], body: bytes) -> WebhookAnswer:
        """Send one message to exactly this address.

        Raises:
            ProviderError: The address may not be called, or one of its IP addresses may not.
            TransientError: The receiver could not be reached in time.
        """
        ...
