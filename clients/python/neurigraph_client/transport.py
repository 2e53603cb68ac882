"""The parts of a call that both clients share: settings, requests, reading answers. Nothing here sends anything."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum
from typing import Any, TypeVar
from uuid import UUID, uuid4

import httpx
from pydantic import BaseModel

from neurigraph_client.failures import RETRIED, error_of
from neurigraph_client.models import Message

M = TypeVar("M", bound=BaseModel)

DEFAULT_URL = "http://127.0.0.1:8400"
MESSAGES_AT_ONCE = 500
"""Messages in one request; longer conversations are sent in several."""

WAIT_SECONDS = 20.0
"""Seconds that one request waits on the server for something to be stored."""

LONGEST_PAUSE_SECONDS = 30.0
_FIRST_PAUSE_SECONDS = 0.2
_PLURALS = {"conversation": "conversations", "event": "events", "upload": "uploads", "note": "notes"}

Given = Message | Mapping[str, object] | str
"""A message to store: a text alone is the user's."""


@dataclass(frozen=True, slots=True)
class Call:
    """A request before it is sent."""

    method: str
    path: str
    body: Any = None
    query: Mapping[str, object] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    is_change: bool = False

    def build(self) -> dict[str, Any]:
        """Return the arguments of ``httpx``'s ``request``; a change gets a key, so that it may be repeated."""
        headers = dict(self.headers)
        if self.is_change:
            headers.setdefault("Idempotency-Key", uuid4().hex)
        body = {} if self.body is None else {"json": _plain(self.body)}
        query = _plain(given(**self.query))
        return {"method": self.method, "url": self.path, "params": query, "headers": headers, **body}


def connection(url: str | None, api_key: str | None, timeout: float) -> dict[str, Any]:
    """Return the arguments of an ``httpx`` client.

    Raises:
        ValueError: No key is given, and ``NEURIGRAPH_API_KEY`` is not set.
    """
    key = api_key or os.environ.get("NEURIGRAPH_API_KEY")
    if not key:
        raise ValueError("no key: pass api_key, or set NEURIGRAPH_API_KEY")
    return {
        "base_url": url or os.environ.get("NEURIGRAPH_URL") or DEFAULT_URL,
        "headers": {"Authorization": f"Bearer {key}"},
        "timeout": timeout,
    }


def pause(attempt: int, asked: float | None) -> float:
    """Return the seconds before the next attempt: what the server asked for, or a random pause that doubles."""
    drawn = random.uniform(0, _FIRST_PAUSE_SECONDS * 2**attempt)  # noqa: S311 - nothing depends on its secrecy
    return min(max(asked or 0.0, drawn), LONGEST_PAUSE_SECONDS)


def refuse(response: httpx.Response) -> None:
    """Raise the error that a response stands for, if it is one; its body must have been read.

    Raises:
        ApiError: It is an error.
    """
    if response.status_code < 400:
        return
    error = error_of(response)
    if response.status_code in RETRIED:
        error.retry_after = _seconds(response.headers.get("Retry-After"))
    raise error


def listed(kind: str) -> str:
    """Return the name of the list of a kind of source."""
    return _PLURALS[kind]


def messages_of(given: Sequence[Given]) -> list[Message]:
    """Return messages as the API takes them."""
    return [Message(role="user", content=one) if isinstance(one, str) else Message.model_validate(one) for one in given]


def given(**values: object) -> dict[str, object]:
    """Return the values that are not None."""
    return {name: value for name, value in values.items() if value is not None}


def form_of(fields: Mapping[str, object]) -> dict[str, object]:
    """Return the fields of a form beside its file; those that are objects are sent as JSON."""
    plain = _plain(given(**fields))
    return {name: json.dumps(value) if isinstance(value, dict) else value for name, value in plain.items()}


def tagged(answer: httpx.Response, view: type[M]) -> M:
    """Return an object with its ETag."""
    return view.model_validate({**answer.json(), "etag": answer.headers.get("ETag")})


def condition(etag: str | None) -> dict[str, str]:
    """Return the header that lets a change happen only if the object is as it was read."""
    return {} if etag is None else {"If-Match": etag}


def _seconds(header: str | None) -> float | None:
    try:
        return float(header) if header is not None else None
    except ValueError:
        return None


def _plain(value: Any) -> Any:
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json", exclude_none=True)
    if isinstance(value, Mapping):
        return {name: _plain(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    if isinstance(value, datetime):
        if value.tzinfo is None:
            raise ValueError("a time needs its time zone")
        return value.isoformat()
    if isinstance(value, UUID):
        return str(value)
    return value.value if isinstance(value, Enum) else value
