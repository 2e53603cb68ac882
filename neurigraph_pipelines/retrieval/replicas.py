"""Reads from a replica of the database, and from the primary when the replica cannot answer."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec, TypeVar

from psycopg import OperationalError

from neurigraph_pipelines.model.context import Context
from neurigraph_pipelines.model.errors import ConfigurationError, NotFoundError, TransientError

P = ParamSpec("P")
T = TypeVar("T")


def from_replica(read: Callable[Concatenate[Context, P], T]) -> Callable[Concatenate[Context, P], T]:
    """Let a function that only reads have the replica as its database, if there is one and it is current.

    A record that the replica does not find may be new, so the primary is asked, too.
    """

    @wraps(read)
    def reading(context: Context, /, *arguments: P.args, **options: P.kwargs) -> T:
        replica = context.replica
        if replica is not None and replica.is_current():
            try:
                return read(context.using(database=replica), *arguments, **options)
            except NotFoundError:
                pass
            except (OperationalError, ConfigurationError, TransientError):
                replica.set_aside()
        return read(context, *arguments, **options)

    return reading
