"""Errors as a tool answers them: one sentence that says what is wrong and what to do; never a trace or a secret."""

from __future__ import annotations

import logging
import math

from psycopg import OperationalError
from psycopg.errors import ForeignKeyViolation, InsufficientPrivilege, QueryCanceled
from pydantic import ValidationError

from neurigraph_pipelines.model.errors import (
    NeurigraphError,
    NotFoundError,
    RehydratingError,
    TransientError,
    is_for_operators,
)

MAX_SHOWN = 5

_INTERNAL = "the memory cannot answer: the log of its server gives the reason"
_NOT_FOUND = "not found: it does not exist, or this key may not see it. search_memory and browse_graph give ids."
_log = logging.getLogger("neurigraph.mcp")


def said(error: Exception) -> str:
    """Return the message of an error for the caller, and log it if it is the server's."""
    if isinstance(error, NotFoundError | InsufficientPrivilege | ForeignKeyViolation):
        return _NOT_FOUND  # the same for what is hidden and what is absent
    if isinstance(error, OperationalError):
        _log.error("%s: %s", type(error).__name__, error)
        if isinstance(error, QueryCanceled):
            return "the database query took too long: ask for less, or try later"
        return "the database did not answer: try again in a moment"
    if not isinstance(error, NeurigraphError) or is_for_operators(error):
        _log.error("%s", type(error).__name__, exc_info=error)
        return _INTERNAL
    if isinstance(error, TransientError) and error.retry_after:
        return f"{error}: try again in {math.ceil(error.retry_after)} s"
    if isinstance(error, RehydratingError):
        return f"{error}: try again in {math.ceil(error.retry_after_seconds)} s"
    return str(error)


def wrong_arguments(error: ValidationError, known: list[str]) -> str:
    """Return the faults of a call's arguments, without the values."""
    wrong = []
    for found in error.errors(include_url=False, include_input=False)[:MAX_SHOWN]:
        place = ".".join(str(part)[:60] for part in found["loc"])
        if found["type"] == "extra_forbidden":
            wrong.append(f"there is no argument {place!r}")
        elif found["type"] == "missing":
            wrong.append(f"the argument {place} is missing")
        else:
            wrong.append(f"{place or 'arguments'}: {found['msg'][:200]}")
    return f"{'; '.join(wrong)}. The arguments are: {', '.join(known) or 'none'}."
