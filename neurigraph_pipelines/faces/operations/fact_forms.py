"""Request models of facts: stating one, and changing one."""

from __future__ import annotations

from datetime import datetime
from typing import Self
from uuid import UUID

from pydantic import Field, model_validator
from pydantic.config import JsonDict

from neurigraph_pipelines.faces.operations.requests import MAX_PATH_LENGTH
from neurigraph_pipelines.knowledge.duplicates import MAX_DUPLICATES
from neurigraph_pipelines.knowledge.fact_values import MAX_PART, FactState, FactWords
from neurigraph_pipelines.knowledge.stating import NewFact
from neurigraph_pipelines.knowledge.writing import MAX_WHO
from neurigraph_pipelines.model import Privacy, limits
from neurigraph_pipelines.model.facts import MAX_STATEMENT
from neurigraph_pipelines.retrieval.query.question import MAX_QUERY_CHARACTERS
from neurigraph_pipelines.views.base import Form
from neurigraph_pipelines.views.kinds import FactKind, Impact, StatedAs
from neurigraph_pipelines.views.scalars import UserJson

_PART: JsonDict = {"maxLength": MAX_PART, "minLength": 1}
_TIMES = ("valid_until", "forget_after")


class FactFields(Form):
    """The fields of a fact besides its statement."""

    kind: FactKind | None = None
    stated_as: StatedAs | None = None
    who: list[str] | None = Field(default=None, max_length=MAX_WHO, description="The people that it is about.")
    where: str | None = Field(default=None, json_schema_extra=_PART)
    why: str | None = Field(default=None, json_schema_extra=_PART)
    how: str | None = Field(default=None, json_schema_extra=_PART)
    subject: str | None = Field(
        default=None,
        description="With `predicate` and `object`: its statement in three parts.",
        json_schema_extra=_PART,
    )
    predicate: str | None = Field(default=None, json_schema_extra=_PART)
    object: str | None = Field(default=None, json_schema_extra=_PART)
    occurred_from: datetime | None = Field(default=None, description="When it happened or will happen.")
    occurred_until: datetime | None = Field(default=None, description="The first moment after that.")
    expires_at: datetime | None = Field(default=None, description="When it no longer matters.")
    importance: float | None = Field(default=None, ge=0, le=1)
    impact: Impact | None = None
    pinned: bool | None = None
    tags: list[str] | None = Field(default=None, max_length=limits.MAX_TAGS)
    metadata: UserJson | None = Field(
        default=None, description="Flat: texts, numbers, truth values and nulls; at most 16 KiB."
    )
    valid_until: datetime | None = Field(default=None, description="When it stopped being true.")
    forget_after: datetime | None = Field(
        default=None, description="From then on only the owner sees it; it is erased 30 days later."
    )

    def words(self, statement: str | None) -> FactWords:
        """Return the stated fact as a domain value."""
        names = FactWords.__dataclass_fields__.keys() - {"statement"}
        return FactWords(statement=statement, **{name: getattr(self, name) for name in names})

    @property
    def state(self) -> FactState:
        """Return the decisions about the fact as a domain value; null clears a time."""
        cleared = [name for name in _TIMES if name in self.model_fields_set and getattr(self, name) is None]
        names = FactState.__dataclass_fields__.keys() - {"cleared"}
        return FactState(**{name: getattr(self, name) for name in names}, cleared=frozenset(cleared))


class StateFact(FactFields):
    """A fact to state."""

    statement: str = Field(
        description="One sentence that can be understood alone.",
        json_schema_extra={"minLength": 1, "maxLength": MAX_STATEMENT},
    )
    path: str | None = Field(
        default=None,
        description="File it at the node of this path. Default: the language model files it.",
        json_schema_extra={"maxLength": MAX_PATH_LENGTH},
    )
    node_id: UUID | None = Field(default=None, description="File it at this node instead.")
    privacy: Privacy = Field(default=Privacy.SHARED, description="`private`: only the owner of the graph sees it.")

    @property
    def fact(self) -> NewFact:
        """The fact as a domain value."""
        return NewFact(self.words(self.statement), self.state, self.path, self.node_id, self.privacy)


class ChangeFact(FactFields):
    """Changes of a fact.

    `pinned`, `tags`, `metadata` and the last two times apply at once, unless another field is given: then all of it is
    the next version.
    """

    statement: str | None = Field(default=None, json_schema_extra={"minLength": 1, "maxLength": MAX_STATEMENT})

    @model_validator(mode="after")
    def _changes_something(self) -> Self:
        if not self.model_fields_set:
            raise ValueError("give at least one field to change")
        return self


class SayTheSame(Form):
    """A text, to find facts and messages that say the same."""

    text: str = Field(description="A statement.", json_schema_extra={"minLength": 1, "maxLength": MAX_QUERY_CHARACTERS})
    limit: int = Field(default=10, ge=1, le=MAX_DUPLICATES, description="Maximum number of facts, and of messages.")
