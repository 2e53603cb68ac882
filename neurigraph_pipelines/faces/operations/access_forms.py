"""Request bodies about keys and grants."""

from __future__ import annotations

from datetime import datetime
from typing import Self
from uuid import UUID

from pydantic import Field, model_validator

from neurigraph_pipelines.exchange import sharing
from neurigraph_pipelines.exchange.sharing import MAX_LABEL_LENGTH, MAX_SUBJECT_LENGTH
from neurigraph_pipelines.model import GrantType, SubjectType
from neurigraph_pipelines.model.spaces import MAX_TAGS
from neurigraph_pipelines.views.base import Form

_BOUND_TO = "The spaces that the key is bound to: nothing else exists for it. Default: no limit. Missing ones are made."


class Subject(Form):
    """A reader of the graph besides its owner: a persona, or a third party under a name that the owner chooses."""

    persona_id: UUID | None = Field(default=None, description="Node id of a persona.")
    third_party: str | None = Field(
        default=None, json_schema_extra={"minLength": 1, "maxLength": MAX_SUBJECT_LENGTH, "example": "gmail"}
    )

    @model_validator(mode="after")
    def _at_most_one(self) -> Self:
        if self.persona_id is not None and self.third_party is not None:
            raise ValueError("name a persona or a third party, not both")
        return self

    @property
    def subject(self) -> sharing.Subject | None:
        """The subject as a domain value; None if the request names nobody."""
        if self.persona_id is not None:
            return sharing.Subject(SubjectType.PERSONA, str(self.persona_id))
        if self.third_party is not None:
            return sharing.Subject(SubjectType.THIRD_PARTY, self.third_party)
        return None


class NewKey(Subject):
    """A key to issue. If it names neither a persona nor a third party, it is another key of the user."""

    label: str = Field(default="", json_schema_extra={"maxLength": MAX_LABEL_LENGTH})
    expires_at: datetime | None = Field(default=None, description="Default: valid until it is revoked.")
    container_tags: list[str] = Field(default_factory=list, max_length=MAX_TAGS, description=_BOUND_TO)


class KeyRotation(Form):
    """How long a replaced key stays valid."""

    grace_seconds: float = Field(default=0.0, ge=0, le=366 * 86_400)


class NewGrant(Subject):
    """A grant of one node to a persona or a third party. It covers no node above, beside or below that one."""

    node_id: UUID
    grant_type: GrantType = GrantType.READ
    expires_at: datetime | None = Field(default=None, description="Default: valid until it is revoked.")

    @model_validator(mode="after")
    def _has_subject(self) -> Self:
        if self.subject is None:
            raise ValueError("name a persona or a third party")
        return self
