"""One call of an operation: for whom it runs, and with which guard."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cached_property
from typing import Any, Concatenate, ParamSpec, TypeVar
from uuid import UUID

from neurigraph_pipelines.access.authentication import require_author, require_owner, require_writer
from neurigraph_pipelines.access.guards import FREE, Guard
from neurigraph_pipelines.database.paging import Listing, Page
from neurigraph_pipelines.faces.operations.sight import look
from neurigraph_pipelines.model import Claims
from neurigraph_pipelines.model.context import Context
from neurigraph_pipelines.model.errors import ForbiddenError
from neurigraph_pipelines.model.ports import Database
from neurigraph_pipelines.text.container_tags import checked_tags
from neurigraph_pipelines.views.base import View
from neurigraph_pipelines.wiring.installation import Installation

_P = ParamSpec("_P")
_R = TypeVar("_R")
_View = TypeVar("_View", bound=View)


OPERATOR = Claims(sub="operator", role="operator", user_id=UUID(int=0))
"""The claims in a call of the operator, to whom the policies of the database show nothing."""


class Who(StrEnum):
    """Who may call an operation; others are refused before an id is looked at."""

    READER = "any reader"
    WRITER = "who may write to a node"
    AUTHOR = "the owner, and members about their own sources"
    OWNER = "the owner"
    OPERATOR = "the operator of the installation, whom each face knows by itself"

    def require(self, database: Database, caller: Claims) -> None:
        """Require that a caller is one of them.

        Raises:
            ForbiddenError: The caller is not.
        """
        if (self is Who.OPERATOR) is not (caller is OPERATOR):
            raise ForbiddenError("only the operator of the installation may do this, and nothing else")
        if self is Who.OWNER:
            require_owner(caller)
        elif self is Who.WRITER:
            require_writer(database, caller)
        elif self is Who.AUTHOR:
            require_author(database, caller)


@dataclass
class Told:
    """The facts that an operation tells the face besides its result; a face uses what it has a place for.

    Attributes:
        status: Another status than the usual one.
        headers: Further headers.
        versions: The version of the object in the answer, for its ETag; empty if it has none.
        later: The source that changes the answer once it is stored or has failed, and what returns the answer then.
    """

    status: int | None = None
    headers: dict[str, str] = field(default_factory=dict)
    versions: list[str | None] = field(default_factory=list)
    later: tuple[UUID, Callable[[], Any]] | None = None


@dataclass(frozen=True)
class Call:
    """A call of an operation.

    Attributes:
        installation: The installation that answers.
        caller: The claims of the caller.
        door: The face that was called: ``api``, ``cli`` or ``mcp``.
        once: The guard of an operation that would have its effect twice.
        is_repeated: Whether the call was answered before: its effect is there, and only the object is to be read.
        told: What the operation tells the face besides its result.
        run_after: Takes a function and its arguments, which are run when nobody waits for them.
        fitting: Takes the items of a page, and returns the first ones that the answer has room for, as it shows them.
    """

    installation: Installation
    caller: Claims
    door: str
    once: Guard = FREE
    is_repeated: bool = False
    told: Told = field(default_factory=Told)
    run_after: Callable[..., object] | None = None
    fitting: Callable[[list[Any]], list[Any]] | None = None

    @cached_property
    def context(self) -> Context:
        """The context of domain functions."""
        return self.installation.acting_for(self.caller)

    @property
    def database(self) -> Database:
        """The database of the graph."""
        return self.installation.database

    def do(self, function: Callable[Concatenate[Database, Claims, _P], _R], *given: _P.args, **named: _P.kwargs) -> _R:
        """Return the result of a function of the domain, which takes the database and the caller before its values."""
        return function(self.database, self.caller, *given, **named)

    def listing(self, limit: int, cursor: str | None) -> Listing:
        """Return a request for a page of a list."""
        return self.installation.listing(self.caller, limit, cursor)

    def page(
        self,
        view: type[_View],
        read: Callable[..., Page[Any]],
        *about: object,
        limit: int,
        cursor: str | None,
        **filters: object,
    ) -> _View:
        """Return a page of a list as its view.

        Args:
            read: Takes the request, then ``about`` and ``filters``.
        """
        page = read(self.listing(limit, cursor), *about, **filters)
        return (page if self.fitting is None else page.beginning(self.fitting(page.items))).into(view)

    def versioned(self, version: str | None, answer: _View) -> _View:
        """Note the version of the object in an answer, and return the answer."""
        self.told.versions.append(version)
        return answer

    def within(self, tags: Sequence[str]) -> Call:
        """Return the call limited to spaces; without tags, it is not limited.

        Raises:
            InvalidInputError: A container tag is not well-formed.
        """
        return replace(self, caller=self.caller.within(checked_tags(tags)))

    def look(self, **ids: UUID | str | None) -> None:
        """Require that the caller sees the things with some ids; the names of the arguments say their kinds.

        Raises:
            NotFoundError: One of them does not exist, or is hidden from the caller.
        """
        look(self.database, self.caller, **ids)
