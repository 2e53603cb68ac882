"""The context of a domain function: settings, adapters and the caller's claims in one value.

A function that needs only the database takes the database; one that needs settings or more adapters takes a context.
"""

# ruff: noqa: SIM401 - as a default, the source's part would be made although it is replaced

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Protocol, TypedDict, Unpack

from neurigraph_pipelines.model import Claims
from neurigraph_pipelines.model.ports import (
    AreaReader,
    Database,
    Embedder,
    Expander,
    LanguageModel,
    ObjectStore,
    Redactor,
    Replica,
    Reranker,
    TokenCounter,
    ToolCaller,
)
from neurigraph_pipelines.settings import Settings


class Parts(Protocol):
    """Settings and adapters. An ``Installation`` has them, and makes its adapters on first use."""

    @property
    def settings(self) -> Settings:
        """The settings."""

    @property
    def database(self) -> Database:
        """The database."""

    @property
    def replica(self) -> Replica | None:
        """The database that searches read from, if it is another one."""

    @property
    def objects(self) -> ObjectStore:
        """The object store."""

    @property
    def language_model(self) -> LanguageModel:
        """The language model."""

    @property
    def embedder(self) -> Embedder:
        """The embedder."""

    @property
    def area_reader(self) -> AreaReader:
        """The reader of the areas of life that texts are about."""

    @property
    def tokens(self) -> TokenCounter:
        """The token counter."""

    @property
    def redactor(self) -> Redactor | None:
        """The redactor of messages and titles, if any."""

    @property
    def key_redactor(self) -> Redactor:
        """The redactor of texts that may hold keys."""

    @property
    def reranker(self) -> Reranker | None:
        """The reranker, if any."""

    @property
    def expander(self) -> Expander | None:
        """The reader that words questions in other ways; None without one."""

    @property
    def tool_caller(self) -> ToolCaller | None:
        """The caller that chooses the tools of a chat; None if the language model calls none."""


class ReplacedParts(TypedDict, total=False):
    """Parts by name, used in place of others."""

    settings: Settings
    database: Database
    objects: ObjectStore
    language_model: LanguageModel
    embedder: Embedder
    tokens: TokenCounter
    redactor: Redactor | None
    reranker: Reranker | None
    expander: Expander | None
    tool_caller: ToolCaller | None


@dataclass(frozen=True)
class Context:
    """Settings, adapters and the caller's claims.

    Adapters are read when they are used, so a command that only searches loads no language model.

    Attributes:
        source: Has every part.
        caller: The claims of the caller; None for the jobs, which work for all users.
        replaced: Parts used in place of those of the source.
        is_noted: Whether reads leave traces: in the log of retrievals, at canaries, as counts and times of accesses.
    """

    source: Parts
    caller: Claims | None = None
    replaced: ReplacedParts = field(default_factory=ReplacedParts)
    is_noted: bool = True

    @property
    def settings(self) -> Settings:
        """The settings."""
        return self.replaced["settings"] if "settings" in self.replaced else self.source.settings

    @property
    def database(self) -> Database:
        """The database."""
        return self.replaced["database"] if "database" in self.replaced else self.source.database

    @property
    def replica(self) -> Replica | None:
        """The database that searches read from, if it is another one."""
        return None if "database" in self.replaced else self.source.replica

    @property
    def objects(self) -> ObjectStore:
        """The object store."""
        return self.replaced["objects"] if "objects" in self.replaced else self.source.objects

    @property
    def language_model(self) -> LanguageModel:
        """The language model."""
        return self.replaced["language_model"] if "language_model" in self.replaced else self.source.language_model

    @property
    def embedder(self) -> Embedder:
        """The embedder."""
        return self.replaced["embedder"] if "embedder" in self.replaced else self.source.embedder

    @property
    def area_reader(self) -> AreaReader:
        """The reader of the areas of life that texts are about."""
        return self.source.area_reader

    @property
    def tokens(self) -> TokenCounter:
        """The token counter."""
        return self.replaced["tokens"] if "tokens" in self.replaced else self.source.tokens

    @property
    def redactor(self) -> Redactor | None:
        """The redactor of messages and titles, if any."""
        return self.replaced["redactor"] if "redactor" in self.replaced else self.source.redactor

    @property
    def key_redactor(self) -> Redactor:
        """The redactor of texts that may hold keys."""
        return self.source.key_redactor

    @property
    def reranker(self) -> Reranker | None:
        """The reranker, if any."""
        return self.replaced["reranker"] if "reranker" in self.replaced else self.source.reranker

    @property
    def expander(self) -> Expander | None:
        """The reader that words questions in other ways; None without one."""
        return self.replaced["expander"] if "expander" in self.replaced else self.source.expander

    @property
    def tool_caller(self) -> ToolCaller | None:
        """The caller that chooses the tools of a chat; None if the language model calls none."""
        return self.replaced["tool_caller"] if "tool_caller" in self.replaced else self.source.tool_caller

    @property
    def claims(self) -> Claims:
        """The caller's claims.

        Raises:
            RuntimeError: The context has no caller.
        """
        if self.caller is None:
            raise RuntimeError("this context has no caller: make one with acting_for")
        return self.caller

    def acting_for(self, claims: Claims) -> Context:
        """Return this context with the claims of a caller."""
        return replace(self, caller=claims)

    def using(self, **parts: Unpack[ReplacedParts]) -> Context:
        """Return this context with other settings or adapters."""
        return replace(self, replaced={**self.replaced, **parts})

    def unnoted(self) -> Context:
        """Return this context for reads that leave no trace in the graph."""
        return replace(self, is_noted=False)
