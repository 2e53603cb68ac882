"""Requests that may be repeated: the key of a request, and the answer that is kept for a repetition.

The answer is written in the transaction of the effect, so a repetition finds both or neither, whatever died between.
Answers hold ids and counts, never remembered text or keys. Faces decide which requests may have a key.
"""

from __future__ import annotations

import hashlib
import json
import re
import secrets
from collections.abc import Mapping
from dataclasses import asdict, dataclass, is_dataclass
from typing import Any
from uuid import UUID

from psycopg.types.json import Jsonb
from pydantic_core import to_json

from neurigraph_pipelines.access.guards import FREE, Guard
from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.model import Claims
from neurigraph_pipelines.model.errors import InvalidInputError, RunningError
from neurigraph_pipelines.model.ports import Database, Transaction
from neurigraph_pipelines.views.base import View

MAX_KEY_LENGTH = 255
"""Longest key in characters."""

MAX_KEYS = 100_000
"""Most keys that are kept for one caller; the oldest go first."""

MAX_ANSWER_BYTES = 16_384
"""Longest answer that is kept."""

_TRIMMED_ONE_IN = 100
_SWEPT_AT_ONCE = 10_000
_ID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_QUERIES = statements("request_keys")


@dataclass(frozen=True, slots=True)
class Kept:
    """The answer to an earlier request.

    Attributes:
        fingerprint: Of that request.
        status: Its HTTP status, or 200.
        answer: None if the object is to be read again.
    """

    fingerprint: bytes
    status: int
    answer: Any


class KeyedRequest:
    """A request with a key, of one caller.

    Args:
        claims: Who asks. Each API key has keys of its own, and so has each subject of a token.
        key: The key that the caller chose.
        request: The bytes that the same request repeats.
        subject: The subject of the request, such as its path; ids in it are noted, for forgetting.
        seconds: Time for which an answer is kept.
    """

    def __init__(self, claims: Claims, key: str, request: bytes, subject: str, seconds: float) -> None:
        self.claims = claims
        self.fingerprint = hashlib.sha256(request).digest()
        self.is_settled = False
        self._subject = subject
        self._parameters = {
            "user_id": claims.user_id,
            "caller": str(claims.key_id) if claims.key_id is not None else f"{claims.role}:{claims.sub}",
            "key_hash": hashlib.sha256(key.encode()).digest(),
            "seconds": seconds,
        }

    @property
    def identity(self) -> tuple[object, ...]:
        """The values that tell this key from all others."""
        return tuple(self._parameters.values())

    def find(self, database: Database) -> Kept | None:
        """Return the kept answer; None if there is none (any more)."""
        with database.agent(self.claims) as tx:
            return self._find(tx)

    def keep(self, tx: Transaction, status: int, answer: Any) -> None:
        """Keep the answer with the effect that this transaction has.

        Raises:
            InvalidInputError: The answer is too long.
        """
        text = to_json(answer, fallback=str).decode()  # times as an answer has them
        if len(text) > MAX_ANSWER_BYTES:
            raise InvalidInputError(
                f"the answer would have more than {MAX_ANSWER_BYTES:,} bytes, too long to be kept: "
                "send fewer at once, or no Idempotency-Key"
            )
        ids = {UUID(found) for found in _ID.findall(self._subject + text)}
        kept = None if answer is None else Jsonb(json.loads(text))
        values = {"status": status, "answer": kept, "object_ids": list(ids), "fingerprint": self.fingerprint}
        tx.execute(_QUERIES["keep"], {**self._parameters, **values})
        if secrets.randbelow(_TRIMMED_ONE_IN) == 0:
            tx.execute(_QUERIES["trim"], {**self._parameters, "most": MAX_KEYS})

    def reserve(self, tx: Transaction) -> None:
        """Make sure that no other transaction has this effect.

        Raises:
            RunningError: Another one is having it, or has had it just now.
        """
        row = tx.execute(_QUERIES["try_lock"], self._parameters).fetchone()
        if row is None or not row["is_free"] or self._find(tx) is not None:
            raise RunningError("a request with this Idempotency-Key is running: repeat it in a moment")

    def _find(self, tx: Transaction) -> Kept | None:
        row = tx.execute(_QUERIES["find"], self._parameters).fetchone()
        return Kept(bytes(row["fingerprint"]), row["status"], row["answer"]) if row is not None else None


class KeyedGuard(Guard):
    """Keeps the result of a change as the answer to its request, in the transaction of the change.

    Args:
        request: The request.
        status: The HTTP status of its answer.
        inner: Another guard, which is asked too.
    """

    def __init__(self, request: KeyedRequest, status: int, inner: Guard = FREE) -> None:
        self._status = status
        self._request = request
        self._inner = inner

    def admit(self, tx: Transaction) -> None:
        """Reserve the key, then ask the other guard."""
        self._request.reserve(tx)
        self._inner.admit(tx)

    def note_result(self, tx: Transaction, result: object = None, *, status: int | None = None) -> None:
        """Keep the result as the answer."""
        self._inner.note_result(tx, result, status=status)
        answer = asdict(result) if is_dataclass(result) and not isinstance(result, type) else result
        assert answer is None or isinstance(answer, Mapping | View)
        self._request.keep(tx, status or self._status, answer)
        self._request.is_settled = True


def sweep(database: Database, seconds: float) -> int:
    """Remove answers that are older than so many seconds, of all users; return how many."""
    removed = 0
    while True:
        with database.owner() as tx:
            done = tx.execute(_QUERIES["sweep"], {"seconds": seconds, "limit": _SWEPT_AT_ONCE}).rowcount
        removed += done
        if done < _SWEPT_AT_ONCE:
            return removed
