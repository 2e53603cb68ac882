"""Request models of facts: stating one, and changing one."""

from __future__ import annotations

from datetime import datetime
from typing import Self
from uuid import UUID

from pydantic import Field, model_validator
from pydantic.config import JsonDict

from neurigraph_pipelines.faces.operations.requests import MAX_PATH_LENGTH
from neurigraph_pipelines.faces.operations.source_fields import ONLY_SPACES
from neurigraph_pipelines.knowledge.duplicates import MAX_DUPLICATES
from neurigraph_pipelines.knowledge.fact_queries import MAX_HOPS, MAX_NAMES, MAX_NODES, FactQuery, QueryKind
from neurigraph_pipelines.knowledge.fact_values import MAX_PART, FactState, FactWords
from neurigraph_pipelines.knowledge.stating import NewFact
from neurigraph_pipelines.knowledge.writing import MAX_WHO
from neurigraph_pipelines.model import Privacy, limits
from neurigraph_pipelines.model.facts import MAX_STATEMENT
from neurigraph_pipelines.model.spaces import MAX_TAGS
from neurigraph_pipelines.retrieval.query.question import MAX_QUERY_CHARACTERS
from neurigraph_pipelines.views.base import Form
from neurigraph_pipelines.views.kinds import FactKind, FactStatus, Impact, StatedAs
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
        default=None, description="With `predicate` and `object`: what it says of whom.", json_schema_extra=_PART
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


class TimeRange(Form):
    """A stretch of time; either end may be open."""

    start: datetime | None = None
    end: datetime | None = Field(default=None, description="The first moment after it.")


class QueryFacts(Form):
    """A graph query: where to begin, and how to walk from there."""

    query: str | None = Field(
        default=None,
        description="A question; for `about`, a name. Not needed with `fact_id`.",
        json_schema_extra={"minLength": 1, "maxLength": MAX_QUERY_CHARACTERS},
    )
    kind: QueryKind = Field(
        default=QueryKind.SEARCH,
        description="`why`: causes. `changed`: versions by time. `about`: a person or thing. `connected`: what matters "
        "much, by distance.",
    )
    fact_id: UUID | None = Field(default=None, description="Begin at this fact.")
    max_hops: int | None = Field(
        default=None, ge=1, le=MAX_HOPS, description="Default: 2; 3 for `why`, 6 for `connected`, all for `changed`."
    )
    traverse_types: list[str] = Field(
        default_factory=list,
        max_length=32,
        description="Only these relations. `caused_by` leads to causes, `led_to` to effects, the others both ways.",
    )
    min_strength: float = Field(default=0.3, ge=0, le=1, description="Weaker links are not followed.")
    time_range: TimeRange | None = Field(default=None, description="Show only facts of this time.")
    who: list[str] = Field(default_factory=list, max_length=MAX_NAMES, description="Show only facts about one of them.")
    status: list[FactStatus] = Field(
        default_factory=list, max_length=4, description="Show only these. Default: all but `archived`."
    )
    at: datetime | None = Field(default=None, description="Only knowledge of this moment.")
    valid_at: datetime | None = Field(default=None, description="Only facts that were true at this moment.")
    container_tags: list[str] = Field(default_factory=list, max_length=MAX_TAGS, description=ONLY_SPACES)
    include_graph: bool = Field(default=False, description="Return all memories on the paths, and their links.")
    max_nodes: int = Field(default=50, ge=1, le=MAX_NODES, description="Maximum number of facts.")

    @property
    def asked(self) -> FactQuery:
        """The query as a domain value."""
        names = FactQuery.__dataclass_fields__.keys() - {"occurred_after", "occurred_before"}
        values = {name: getattr(self, name) for name in names}
        lists = {name: tuple(values[name]) for name in ("traverse_types", "who", "status")}
        time = self.time_range or TimeRange()
        return FactQuery(**values | lists, occurred_after=time.start, occurred_before=time.end)
