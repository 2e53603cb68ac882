"""Guards: they take part in the transaction of a change, may refuse the change, and may note its result.

A face passes a guard to a function of the domain. The function calls it once its locks are held, so that nothing can
change between a check and the change itself.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Literal
from uuid import UUID

from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.model.errors import ChangedError, require_found
from neurigraph_pipelines.model.ports import Transaction

Versioned = Literal["record", "node", "source"]
"""The kinds of things with a version. A source is a conversation, an event or an upload."""

_NAMES: dict[Versioned, str] = {"record": "memory", "node": "node", "source": "conversation, event, upload or note"}
_QUERIES = statements("versions")
_VERSION_OF = {"record": _QUERIES["record"], "node": _QUERIES["node"], "source": _QUERIES["source"]}


class Guard:
    """Takes part in the transaction of one change; this one lets everything pass."""

    def admit(self, tx: Transaction) -> None:
        """Check the conditions of the change. Called once its locks are held.

        Raises:
            NeurigraphError: The change must not happen; the transaction is rolled back.
        """

    def note_result(self, tx: Transaction, result: object = None, *, status: int | None = None) -> None:
        """Note the result of the change, right before its transaction commits.

        Args:
            result: A dictionary or dataclass with ids and counts; None if the object itself is the answer.
            status: How a face answers, if not as usual.
        """


FREE = Guard()
"""The guard of a change without conditions."""


class Unchanged(Guard):
    """Lets a change pass only if its object has one of the expected versions.

    Args:
        kind: The kind of the object.
        object_id: Its id.
        expected: Versions that the caller has read; None for any.
    """

    def __init__(self, kind: Versioned, object_id: UUID, expected: Collection[str] | None) -> None:
        self._kind = kind
        self._object_id = object_id
        self._expected = expected

    def admit(self, tx: Transaction) -> None:
        """Compare the versions.

        Raises:
            NotFoundError: There is no such object.
            ChangedError: It has another version.
        """
        version = require_found(find_version(tx, self._kind, self._object_id))
        if self._expected is not None and version not in self._expected:
            raise ChangedError(f"the {_NAMES[self._kind]} was changed meanwhile: read it again, then decide")


def find_version(tx: Transaction, kind: Versioned, object_id: UUID) -> str | None:
    """Return the version of an object; None if the object is missing or hidden from the role of the transaction."""
    row = tx.execute(_VERSION_OF[kind], {"object_id": object_id}).fetchone()
    return str(row["version"]) if row is not None else None
