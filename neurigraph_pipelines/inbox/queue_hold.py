"""The hold of the queue: nothing is leased while the language model's provider refuses the account.

A wrong key or an empty account fails every segment alike, so no segment loses an attempt by it. One segment at a time
tries whether the provider still refuses; the first one that is stored ends the hold.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from datetime import datetime

from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.model.ports import Database, Transaction

FIRST_PAUSE_SECONDS = 30.0
LONGEST_PAUSE_SECONDS = 600.0
_MOST_CHARACTERS = 1_000
_QUERIES = statements("queue_hold")
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class QueueHold:
    """Why nothing is leased, since when, and when a segment tries again whether that has changed."""

    reason: str
    held_since: datetime
    next_try_at: datetime


def current_hold(database: Database) -> QueueHold | None:
    """Return the hold in force; None if the queue is not held."""
    with database.pipeline() as tx:
        row = tx.execute(_QUERIES["current"]).fetchone()
    return QueueHold(**row) if row is not None else None


def hold_queue(database: Database, reason: str) -> None:
    """Hold the queue, or wait longer before the next try if it is held already."""
    values = {
        "reason": reason[:_MOST_CHARACTERS],
        "first_pause": FIRST_PAUSE_SECONDS,
        "longest_pause": LONGEST_PAUSE_SECONDS,
    }
    with database.pipeline() as tx:
        row = tx.execute(_QUERIES["hold"], values).fetchone()
    if row is not None and row["is_new"]:
        _log.error("the queue is held, and no segment loses an attempt: %s", reason)


def end_hold(database: Database) -> None:
    """End the hold, if there is one."""
    with database.pipeline() as tx:
        ended = tx.execute(_QUERIES["end"]).rowcount
    if ended:
        _log.warning("the provider accepts the account again: the queue goes on")


def is_open(tx: Transaction, *, insist: bool) -> tuple[bool, bool]:
    """Return whether segments may be leased, and whether only one may, to try; locks the hold until ``tx`` ends.

    Args:
        insist: Try now, whatever the pause.
    """
    row = tx.execute(_QUERIES["lock"]).fetchone()
    return (True, False) if row is None else (insist or row["is_due"], True)


def end_try(tx: Transaction) -> None:
    """Let another segment try soon, unless one still does: the run that tried has ended without an outcome."""
    tx.execute(_QUERIES["end_try"], {"first_pause": FIRST_PAUSE_SECONDS})


def note_try(tx: Transaction, lease_seconds: int) -> None:
    """Note that a segment tries now."""
    tx.execute(_QUERIES["try"], {"lease_seconds": lease_seconds})
