"""Requests and answers of calls. Nothing here sends anything."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import Enum
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import httpx
from pydantic import BaseModel

from neurigraph_client.failures import Conflict, Unavailable, error_of
from neurigraph_client.models import Given, Message

DEFAULT_URL = "http://127.0.0.1:8400"
LONGEST_PAUSE_SECONDS = 30.0
_FIRST_PAUSE_SECONDS = 0.2


@dataclass(frozen=True, slots=True)
class Call:
    """A request before it is sent.

    Attributes:
        form: Fields beside a file.
        file: A file to send.
        is_change: Whether it is sent with a key, so that it may be repeated.
        is_once: Whether it would happen twice if it was repeated without an answer.
        is_streamed: Whether its answer is read as it comes.
    """

    method: str
    path: str
    body: Any = None
    query: Mapping[str, object] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    form: Mapping[str, object] = field(default_factory=dict)
    file: Path | None = None
    is_change: bool = False
    is_once: bool = False
    is_streamed: bool = False
    key: str = field(default_factory=lambda: uuid4().hex)

    def asking(self, **query: object) -> Call:
        """Return the call with further parameters."""
        return replace(self, query={**self.query, **query})

    @contextmanager
    def request(self) -> Iterator[dict[str, Any]]:
        """Give the arguments of ``httpx``'s ``build_request``, while the file to send is open."""
        headers = {**self.headers, **({"Idempotency-Key": self.key} if self.is_change else {})}
        request = {"method": self.method, "url": self.path, "params": _plain(given(**self.query)), "headers": headers}
        if self.body is not None:
            request["json"] = _plain(self.body)
        if self.file is None:
            yield request
            return
        form = {name: json.dumps(one) if isinstance(one, dict) else one for name, one in _plain(self.form).items()}
        with self.file.open("rb") as content:
            yield {**request, "data": form, "files": {"file": (self.file.name, content)}}


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


def refuse(call: Call, response: httpx.Response) -> httpx.Response:
    """Return the answer to a call if it is no refusal.

    Raises:
        ApiError: It is one; its body must have been read.
    """
    if call.is_streamed and response.status_code == 202:
        response.status_code = 503  # not ready yet: to be repeated as if the server was busy
    if response.status_code < 400:
        return response
    error = error_of(response)
    error.retry_after = _seconds(response.headers.get("Retry-After"))
    raise error


def pause(call: Call, error: Exception, attempt: int, retries: int) -> float:
    """Return the seconds before the next attempt: what the server asked for, or a random pause that doubles.

    Raises:
        Exception: The error, if another attempt would not help or would do harm.
    """
    is_lost = isinstance(error, httpx.TransportError) and not isinstance(error, httpx.UnsupportedProtocol)
    is_running = isinstance(error, Conflict) and error.retry_after is not None  # the same request, sent before
    if attempt == retries or not (isinstance(error, Unavailable) or is_running or (is_lost and not call.is_once)):
        raise error
    drawn = random.uniform(0, _FIRST_PAUSE_SECONDS * 2**attempt)  # noqa: S311 - nothing depends on its secrecy
    return min(max(getattr(error, "retry_after", None) or 0.0, drawn), LONGEST_PAUSE_SECONDS)


def messages_of(given: Sequence[Given]) -> list[Message]:
    """Return messages as the API takes them."""
    return [Message(role="user", content=one) if isinstance(one, str) else Message.model_validate(one) for one in given]


def given(**values: object) -> dict[str, object]:
    """Return the values that are not None."""
    return {name: value for name, value in values.items() if value is not None}


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
