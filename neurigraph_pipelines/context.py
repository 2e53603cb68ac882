"""The context of a domain function: settings, adapters and the caller's claims in one value.

A function that needs only the database takes the database; one that needs settings or more adapters takes a context.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Generic, TypeVar, cast

from neurigraph_pipelines.model import Claims
from neurigraph_pipelines.ports import (
    Database,
    Embedder,
    LanguageModel,
    ObjectStore,
    Redactor,
    Reranker,
    TokenCounter,
)
from neurigraph_pipelines.settings import Settings

T = TypeVar("T")


class _Part(Generic[T]):
    """An attribute that is read from the source of the context when it is used."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, context: Context, owner: type) -> T:
        if self._name in context.replaced:
            return cast(T, context.replaced[self._name])
        return cast(T, getattr(context.source, self._name))


@dataclass(frozen=True)
class Context:
    """Settings, adapters and the caller's claims.

    Adapters are read when they are used, so a command that only searches loads no language model.

    Attributes:
        source: Has an attribute for each part; an ``Installation`` makes its adapters on first use.
        caller: The claims of the caller; None for the jobs, which work for all users.
        replaced: Parts used in place of those of the source.
    """

    source: object
    caller: Claims | None = None
    replaced: Mapping[str, object] = field(default_factory=dict)

    settings = _Part[Settings]()
    database = _Part[Database]()
    objects = _Part[ObjectStore]()
    language_model = _Part[LanguageModel]()
    embedder = _Part[Embedder]()
    tokens = _Part[TokenCounter]()
    redactor = _Part[Redactor | None]()
    reranker = _Part[Reranker | None]()

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

    def using(self, **parts: object) -> Context:
        """Return this context with other settings or adapters."""
        return replace(self, replaced={**self.replaced, **parts})
