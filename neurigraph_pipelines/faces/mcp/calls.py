"""One call of an agent: for whom it runs, and in which thread.

The domain is synchronous, so a call runs in a thread of its own; a slow one delays no other. A cancelled call is
answered at once and stops at its next step, and its thread counts until it has ended.
"""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar, cast
from uuid import UUID

import anyio
import anyio.from_thread
import anyio.to_thread
from pydantic import ValidationError

from neurigraph_pipelines.access.authentication import require_visible
from neurigraph_pipelines.access.short_ids import id_of
from neurigraph_pipelines.database.waits import bounded_waits
from neurigraph_pipelines.faces.mcp.budget import Budget, RememberedCounts
from neurigraph_pipelines.faces.mcp.failures import wrong_arguments
from neurigraph_pipelines.faces.operations import declarations
from neurigraph_pipelines.faces.operations.call import Call
from neurigraph_pipelines.faces.operations.sight import KINDS
from neurigraph_pipelines.graph.node_lists import node_called
from neurigraph_pipelines.model import Claims
from neurigraph_pipelines.model.context import Context
from neurigraph_pipelines.model.errors import InvalidInputError, NotFoundError
from neurigraph_pipelines.views.scalars import ValuesByName
from neurigraph_pipelines.wiring.installation import Installation

_log = logging.getLogger("neurigraph.mcp")

CALLS_AT_ONCE = 24
"""Calls that run at one time in a process; further ones wait."""

_Result = TypeVar("_Result")


@dataclass(frozen=True)
class AgentCall:
    """The context of one call of a tool: the installation, and the claims of the caller.

    Attributes:
        run_after: Takes a function and its arguments, which are run when nobody waits for them.
    """

    installation: Installation
    claims: Claims
    counts: RememberedCounts
    run_after: Callable[..., object]

    @cached_property
    def context(self) -> Context:
        """The context of domain functions."""
        return self.installation.acting_for(self.claims)

    def do(
        self,
        operation: Callable[..., _Result],
        values: ValuesByName,
        fitting: Callable[[list[Any]], list[Any]] | None = None,
    ) -> _Result:
        """Do an operation as every face does it, and return its view.

        Args:
            operation: The function that is declared as the operation.
            values: Its parameters and the fields of its form by name; ids as the caller gave them.
            fitting: Takes the items of a list, and returns the first ones that the answer has room for.

        Raises:
            InvalidInputError: A value is not valid.
            NotFoundError: An id names nothing that the caller sees.
            NeurigraphError: The operation refuses.
        """
        declared = declarations()[operation]
        declared.who.require(self.installation.database, self.claims)
        given = {name: self._looked_up(name, value) for name, value in values.items()}
        taken = {one.argument: given.pop(one.name) for one in declared.parameters if one.name in given}
        if declared.form is not None:
            name, form, _ = declared.form
            try:
                taken[name] = form.model_validate(given)
            except ValidationError as error:
                raise InvalidInputError(wrong_arguments(error, list(values))) from None
        if declared.changes:
            stop_if_cancelled()
        made = Call(self.installation, self.claims, "mcp", run_after=self.run_after, fitting=fitting)
        return cast(_Result, declared.run(made, **taken))

    def _looked_up(self, name: str, value: Any) -> Any:
        kind = KINDS.get(name)
        if kind is None or not isinstance(value, str):
            return value
        return self.node(value) if kind == "node" else self.id_of(kind, value)

    def budget(self, most: int) -> Budget:
        """Return the tokens that the answer may have."""
        return Budget(self.counts, most)

    def id_of(self, kind: str, text: str) -> UUID:
        """Return the id of a thing that the caller sees, given the id or its first characters.

        Raises:
            InvalidInputError: The text is no id, or the beginning of several.
            NotFoundError: There is no such thing, or it is hidden from the caller.
        """
        wanted = id_of(self.installation.database, self.claims, kind, text)
        self.require_visible(kind, wanted)
        return wanted

    def require_visible(self, kind: str, *ids: UUID) -> None:
        """Require that the caller sees the things with some ids.

        Raises:
            NotFoundError: One of them does not exist, or is hidden from the caller.
        """
        for wanted in ids:
            require_visible(self.installation.database, self.claims, kind, wanted)

    def node(self, place: str) -> UUID:
        """Return the id of a node, given its id, its path, or its name if no other node has it.

        Raises:
            NotFoundError: There is no such node, or the caller may not see it.
        """
        try:
            wanted = UUID(place)
        except ValueError:
            here = self.installation
            try:
                return node_called(here.listing(self.claims), visible_path(place))
            except NotFoundError:
                raise NotFoundError from None
        self.require_visible("node", wanted)
        return wanted


def visible_path(place: str) -> str:
    """Return a path without characters that Postgres cannot store."""
    return place.replace("\0", "").encode("utf-8", "replace").decode()


class Afterwards:
    """A thread for work that may wait until an answer is given, such as fetching for the next question."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="mcp-afterwards")

    def run(self, work: Callable[..., object], *arguments: object) -> None:
        """Run a function soon."""

        def logged() -> None:
            try:
                work(*arguments)
            except Exception:  # nobody waits for it
                _log.warning("what was to be done after an answer failed", exc_info=True)

        with suppress(RuntimeError):  # the server ends
            self._thread.submit(logged)

    def close(self) -> None:
        """End the thread after its present work."""
        self._thread.shutdown(cancel_futures=True)


class Workers:
    """Threads that run calls, at most ``CALLS_AT_ONCE`` at one time.

    Args:
        wait_seconds: The bound of all waits of one call for a thread and for connections of the database.
    """

    def __init__(self, wait_seconds: float) -> None:
        self._wait_seconds = wait_seconds

    @cached_property
    def _free(self) -> anyio.CapacityLimiter:
        return anyio.CapacityLimiter(CALLS_AT_ONCE)

    async def run(self, work: Callable[[], _Result]) -> _Result:
        """Run a function in a thread and return its result; when the caller cancels, it is left alone to end."""
        with bounded_waits(self._wait_seconds):
            return await self._run(work)

    async def _run(self, work: Callable[[], _Result]) -> _Result:
        borrower, loop, free = object(), asyncio.get_running_loop(), self._free
        has_begun = False
        await free.acquire_on_behalf_of(borrower)

        def release() -> None:
            with suppress(RuntimeError):  # it was released before
                free.release_on_behalf_of(borrower)

        def counted() -> _Result:
            nonlocal has_begun
            has_begun = True
            try:
                return work()
            finally:
                with suppress(RuntimeError):  # the loop has ended
                    loop.call_soon_threadsafe(release)

        try:
            return await anyio.to_thread.run_sync(counted, abandon_on_cancel=True, limiter=_unlimited())
        finally:
            if not has_begun:
                release()


def _unlimited() -> anyio.CapacityLimiter:
    return anyio.CapacityLimiter(math.inf)


def stop_if_cancelled() -> None:
    """End this thread's call here if the agent has cancelled it; tools call it between their steps."""
    with suppress(RuntimeError):  # not in a thread of ``Workers``
        anyio.from_thread.check_cancelled()
