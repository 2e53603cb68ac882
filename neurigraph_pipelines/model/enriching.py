"""The guard of enrichments: a part that a memory or an answer can do without is left out if a defect prevents it.

Titles, summaries, keywords, filing, languages, links, excerpts and notes are enrichments; words are not.
``ingestion.unfinished`` marks the memories that lack some.
"""

from __future__ import annotations

import logging
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from psycopg import Error

from neurigraph_pipelines.model.errors import NeurigraphError, StepTimeoutError

Made = TypeVar("Made")

_HANDLED = (NeurigraphError, Error, OSError)
"""Errors that say what is wrong or may pass: of providers, the database and files. They have callers that
retry or report them."""

_log = logging.getLogger(__name__)


def is_defect(error: Exception) -> bool:
    """Return whether an error is a mistake of a program, which no retry mends; work without an end is one."""
    return isinstance(error, StepTimeoutError) or not isinstance(error, _HANDLED)


def leave_out(enrichment: str, error: Exception) -> str:
    """Log that an enrichment is left out, without the error's text, which may quote somebody.

    Returns:
        The enrichment with the error's class, such as ``keywords (IndexError)``.

    Raises:
        Exception: ``error``, if it is no defect.
    """
    if not is_defect(error):
        raise error
    left_out = _mark(enrichment, error)
    frames = traceback.extract_tb(error.__traceback__)
    place = f"{Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else "an unknown line"
    _log.warning("left out because of a defect: %s at %s", left_out, place)
    return left_out


def enriched(
    enrichment: str, make: Callable[[], Made], instead: Callable[[], Made], left_out: list[str] | None = None
) -> Made:
    """Return what ``make`` returns, or ``instead`` if a defect keeps it from that.

    Args:
        enrichment: Its name, for the log and for marks.
        make: Makes the enrichment. Its writes to the database must be in a transaction of its own.
        instead: Returns the default; it must not fail.
        left_out: The enrichment is added to them if it is left out.
    """
    try:
        return make()
    except Exception as error:  # whatever a defect raises
        if left_out is None:
            leave_out(enrichment, error)
        elif _mark(enrichment, error) not in left_out:  # passages may fail alike: once is enough
            left_out.append(leave_out(enrichment, error))
        return instead()


def _mark(enrichment: str, error: Exception) -> str:
    return f"{enrichment} ({type(error).__name__})"
