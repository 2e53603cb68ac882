"""The calls that ``Memory`` is made of. Written by docs/generate.py from ``calls_asynchronous``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import httpx
from tenacity import Retrying, retry_if_exception, stop_after_attempt

from neurigraph_pipelines.faces.client.transport import Call, M, condition, given, is_temporary, pause, refuse


class Calls:
    """Sends calls, again after temporary faults, and reads lists page after page."""

    _http: httpx.Client
    _retries: int

    def call(self, method: str, path: str, body: Any = None, *, etag: str | None = None, **query: Any) -> Any:
        """Make any call of the API and return its JSON, with retries; a change happens once.

        Args:
            etag: For a change: make it only if the object is as it was read.
        """
        is_change = method.upper() in ("PATCH", "DELETE")
        answer = self._send(Call(method.upper(), path, body, query, condition(etag), is_change=is_change))
        return answer.json() if answer.content else None

    def _pages(self, path: str, name: str, view: type[M], filters: Mapping[str, object]) -> Iterator[M]:
        cursor: str | None = None
        while True:
            answer = (self._send(Call("GET", path, query={**filters, **given(cursor=cursor)}))).json()
            for one in answer[name]:
                yield view.model_validate(one)
            cursor = answer["next_cursor"]
            if cursor is None:
                return

    def _send(self, call: Call) -> httpx.Response:
        request = call.build()
        for attempt in self._attempts():
            with attempt:
                answer = self._http.request(**request)
                refuse(answer)
        return answer

    def _attempts(self) -> Retrying:
        return Retrying(
            retry=retry_if_exception(is_temporary),
            stop=stop_after_attempt(self._retries + 1),
            wait=pause,
            reraise=True,
        )
