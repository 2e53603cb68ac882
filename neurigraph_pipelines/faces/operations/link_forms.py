"""Request bodies of links and of the keys that sign them."""

from __future__ import annotations

import base64
import binascii
from datetime import datetime
from typing import Self
from uuid import UUID

from pydantic import Field, model_validator
from pydantic.config import JsonDict

from neurigraph_pipelines.knowledge.linking import Signature
from neurigraph_pipelines.knowledge.signing import KEY_BYTES, SIGNATURE_BYTES
from neurigraph_pipelines.model import links
from neurigraph_pipelines.model.errors import InvalidInputError
from neurigraph_pipelines.model.links import MAX_LINK_MESSAGES, MAX_REASON, LinkEnd
from neurigraph_pipelines.views.base import Form
from neurigraph_pipelines.views.kinds import EndKind

FROM = ("from_fact_id", "from_record_id")
TO = ("to_fact_id", "to_record_id", "to_node_id", "to_source_id")
"""The fields of the two ends of a link, of which one each is given."""

_PEER: JsonDict = {"minLength": 1, "maxLength": 100}


def _base64(size: int) -> JsonDict:
    return {"contentEncoding": "base64", "maxLength": 4 * (size // 3 + 1)}


class SignedBy(Form):
    """An Ed25519 signature, and the registered key that made it."""

    signing_key_id: UUID
    value: str = Field(description="Base64.", json_schema_extra=_base64(SIGNATURE_BYTES))

    @property
    def signature(self) -> Signature:
        """The signature as a domain value."""
        return Signature(self.signing_key_id, bytes_of(self.value, SIGNATURE_BYTES, "signature"))


class NewLink(Form):
    """A link from one fact or memory to exactly one fact, memory, node or source."""

    from_fact_id: UUID | None = None
    from_record_id: UUID | None = None
    relation: str = Field(
        description="Such as `caused_by`, `supports` or `part_of`, or one of your own.",
        json_schema_extra={"minLength": 1, "maxLength": 60},
    )
    to_fact_id: UUID | None = None
    to_record_id: UUID | None = None
    to_node_id: UUID | None = None
    to_source_id: UUID | None = None
    strength: float = Field(default=1.0, ge=0, le=1, description="From 0 to 1.")
    confidence: float = Field(default=1.0, ge=0, le=1, description="From 0 to 1.")
    reason: str | None = Field(
        default=None, description="Why, in one sentence.", json_schema_extra={"minLength": 1, "maxLength": MAX_REASON}
    )
    messages: list[int] = Field(
        default=[],
        max_length=MAX_LINK_MESSAGES,
        description="Numbers of the messages that show it, of the memory that it starts at.",
    )
    valid_from: datetime | None = Field(default=None, description="Since when it holds.")
    valid_until: datetime | None = Field(default=None, description="When it stopped holding.")
    signature: SignedBy | None = None

    @model_validator(mode="after")
    def _has_two_ends(self) -> Self:
        for names in (FROM, TO):
            if sum(getattr(self, name) is not None for name in names) != 1:
                raise ValueError(f"give exactly one of {', '.join(names)}")
        return self

    @property
    def link(self) -> links.StatedLink:
        """The link as a domain value."""
        return links.StatedLink(
            self._end(FROM),
            self._end(TO),
            self.relation,
            strength=self.strength,
            confidence=self.confidence,
            reason=self.reason,
            messages=tuple(self.messages),
            valid_from=self.valid_from,
            valid_until=self.valid_until,
        )

    def _end(self, names: tuple[str, ...]) -> LinkEnd:
        name = next(name for name in names if getattr(self, name) is not None)
        return LinkEnd(EndKind(name.split("_")[1]), getattr(self, name))


class EndLink(Form):
    """The time at which a link ended, and the signature of its sender."""

    valid_until: datetime | None = Field(default=None, description="When it stopped holding. Default: now.")
    signature: SignedBy | None = Field(default=None, description="Needs `valid_until`.")


class NewPublicKey(Form):
    """The public half of an Ed25519 key."""

    public_key: str = Field(description="32 bytes in base64.", json_schema_extra=_base64(KEY_BYTES))

    @property
    def bytes(self) -> bytes:
        """The key as bytes."""
        return bytes_of(self.public_key, KEY_BYTES, "public key")


class NewSigningKey(NewPublicKey):
    """A key to register."""

    peer: str | None = Field(
        default=None,
        description="The name of another installation that signs with it; only the owner registers such keys.",
        json_schema_extra=_PEER,
    )


def bytes_of(text: str, size: int, what: str) -> bytes:
    """Return the bytes that a text holds in base64.

    Raises:
        InvalidInputError: It is not base64, or not of this many bytes.
    """
    try:
        found = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as error:
        raise InvalidInputError(f"the {what} is not base64") from error
    if len(found) != size:
        raise InvalidInputError(f"the {what} has {len(found)} bytes instead of {size}")
    return found
