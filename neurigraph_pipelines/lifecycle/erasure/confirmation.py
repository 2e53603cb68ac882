"""Confirmations of erasures: a short-lived token that a dry run returns, and without which an agent erases nothing.

A token belongs to one caller and to exactly the nodes and records that the dry run found. ``forget`` erases.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from uuid import UUID

from neurigraph_pipelines.database.secret import Secret
from neurigraph_pipelines.lifecycle.erasure.forget import contents
from neurigraph_pipelines.lifecycle.erasure.receipts import ErasureSubject
from neurigraph_pipelines.model import Claims
from neurigraph_pipelines.model.errors import ConflictError, InvalidInputError, NotFoundError
from neurigraph_pipelines.model.ports import Database

LIFETIME_SECONDS = 300
"""Lifetime of a token: time to show somebody what would be erased, and to ask."""

_PURPOSE = "confirmation of an erasure"
_AGAIN = "call again without a token to see what would be erased and to get a new one"


def confirmation(
    database: Database, secret: Secret, claims: Claims, subjects: Sequence[ErasureSubject]
) -> tuple[str, datetime]:
    """Return a token that confirms the erasure of some subjects as they are now, and when it expires.

    Raises:
        NotFoundError: One of them does not exist, or the caller does not own it.
        InvalidInputError: One of them is the root of a graph.
    """
    expires = int(time.time()) + LIFETIME_SECONDS
    found = {_name(subject): _digest(contents(database, claims, subject)) for subject in subjects}
    token = secret.seal(_PURPOSE, {"caller": _caller(claims), "subjects": found, "expires": expires})
    return token, datetime.fromtimestamp(expires, UTC)


def require_confirmation(
    database: Database, secret: Secret, claims: Claims, subjects: Sequence[ErasureSubject], token: str
) -> None:
    """Require that a token confirms the erasure of these subjects by this caller.

    A subject that is erased already passes, so that an erasure that was interrupted can be repeated.

    Raises:
        InvalidInputError: The token is not genuine, or belongs to another caller or to other subjects.
        ConflictError: It has expired, or what would be erased has changed.
    """
    stated = secret.unseal(_PURPOSE, token)
    if stated is None or stated["caller"] != _caller(claims):
        raise InvalidInputError(f"the token is not valid: {_AGAIN}")
    if stated["subjects"].keys() != {_name(subject) for subject in subjects}:
        raise InvalidInputError(f"the token confirms the erasure of something else: {_AGAIN}")
    if stated["expires"] <= time.time():
        raise ConflictError(f"the token has expired: {_AGAIN}")
    for subject in subjects:
        try:
            found = contents(database, claims, subject)
        except NotFoundError:
            continue
        if stated["subjects"][_name(subject)] != _digest(found):
            raise ConflictError(f"there is more or less to erase than the dry run showed: {_AGAIN}")


def _caller(claims: Claims) -> list[str | None]:
    return [str(claims.user_id), claims.role, claims.sub, None if claims.key_id is None else str(claims.key_id)]


def _name(subject: ErasureSubject) -> str:
    return f"{subject.kind}:{subject.subject_id}"


def _digest(ids: Sequence[UUID]) -> str:
    return hashlib.sha256(" ".join(sorted(map(str, ids))).encode()).hexdigest()
