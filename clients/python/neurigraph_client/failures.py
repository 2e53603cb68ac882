"""Errors of the client: one class for each kind of remedy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import httpx


class ApiError(Exception):
    """The server refused a call.

    Attributes:
        status: The HTTP status.
        problem: The problem document (RFC 9457), empty if the answer is none.
        request_id: The id of the request in the server's log, if the answer has one.
        retry_after: Seconds to wait that the server asked for, if it did.
    """

    def __init__(self, status: int, problem: Mapping[str, Any]) -> None:
        """Make the error.

        Args:
            status: The HTTP status.
            problem: The problem document, empty if there is none.
        """
        detail = problem.get("detail") or problem.get("title") or "no reason given"
        parts = "".join(
            f"; {part.get('pointer', '')}: {part.get('detail', '')}" for part in problem.get("errors") or ()
        )
        super().__init__(f"{status}: {detail}{parts}")
        self.status = status
        self.problem = dict(problem)
        self.request_id: str | None = problem.get("request_id")
        self.retry_after: float | None = None


class Invalid(ApiError):  # noqa: N818 - it reads as what the request is
    """The request is not acceptable (400, 413, 415, 422); repeating it does not help."""


class Denied(ApiError):  # noqa: N818
    """The key is missing, wrong or has no right to this (401, 403)."""


class NotFound(ApiError):  # noqa: N818
    """Absent, or not visible with this key (404)."""


class Gone(ApiError):  # noqa: N818
    """The user of the key was forgotten, or all copies of a file are lost (410)."""


class Conflict(ApiError):  # noqa: N818
    """The request contradicts the stored state (409)."""


class Changed(ApiError):  # noqa: N818
    """The object was changed since it was read (412): read it again, then decide."""


class Unavailable(ApiError):  # noqa: N818
    """The server was busy or away until the last retry (429, 502, 503, 504)."""


RETRIED = frozenset({429, 502, 503, 504})
"""Statuses after which the same request may succeed."""

_BY_STATUS = {
    401: Denied,
    403: Denied,
    404: NotFound,
    409: Conflict,
    410: Gone,
    412: Changed,
    400: Invalid,
    413: Invalid,
    415: Invalid,
    422: Invalid,
    **dict.fromkeys(RETRIED, Unavailable),
}


def error_of(response: httpx.Response) -> ApiError:
    """Return the error that a response stands for; its body must have been read."""
    try:
        problem = response.json()
    except ValueError:
        problem = {}
    kind = _BY_STATUS.get(response.status_code, ApiError)
    return kind(response.status_code, problem if isinstance(problem, dict) else {})
