"""Objects whose rows are not committed yet, and the rule for removing them after a failure.

Once COMMIT was sent, nobody knows how the transaction ended, whatever exception arrives: an interrupt, a lost
connection, the cancelled wait for a standby. Then the objects stay, and ``orphans`` and the clearing of uploads remove
those without a row. Only a violated constraint that was checked at COMMIT says that there are none.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

from psycopg import IntegrityError

from neurigraph_pipelines.model.errors import StorageError, TransientError
from neurigraph_pipelines.model.ports import Transaction

Rows = Callable[[AbstractContextManager[Transaction]], AbstractContextManager[Transaction]]
"""Opens the transaction that writes the rows of the objects."""

_log = logging.getLogger(__name__)


@contextmanager
def removed_unless_committing(remove: Callable[[], object]) -> Iterator[Rows]:
    """Call ``remove`` if the block fails before it sends COMMIT.

    The block writes objects, and then their rows in the transaction that it opens by the yielded function.
    """
    is_sent = False

    @contextmanager
    def rows(transaction: AbstractContextManager[Transaction]) -> Iterator[Transaction]:
        nonlocal is_sent
        with transaction as tx:
            yield tx
            is_sent = True

    try:
        yield rows
    except BaseException as failure:
        if not is_sent or isinstance(failure, IntegrityError):
            try:
                remove()
            except (StorageError, TransientError) as error:  # report the first error; a sweep removes the objects
                _log.warning("objects of a failed transaction could not be removed (%s)", type(error).__name__)
        raise
