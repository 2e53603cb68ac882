"""The calls that ``AsyncMemory`` is made of."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import Any

import httpx
from tenacity import AsyncRetrying, retry_if_exception, stop_after_attempt

from neurigraph_pipelines.faces.client.transport import Call, M, condition, given, is_temporary, pause, refuse


class AsyncCalls:
    """Sends calls, again after temporary faults, and reads lists page after page."""

    _http: httpx.AsyncClient
    _retries: int

    async def call(self, method: str, path: str, body: Any = None, *, etag: str | None = None, **query: Any) -> Any:
        """Make any call of the API and return its JSON, with retries; a change happens once.

        Args:
            etag: For a change: make it only if the object is as it was read.
        """
        is_change = method.upper() in ("PATCH", "DELETE")
        answer = await self._send(Call(method.upper(), path, body, query, condition(etag), is_change=is_change))
        return answer.json() if answer.content else None

    async def _pages(self, path: str, name: str, view: type[M], filters: Mapping[str, object]) -> AsyncIterator[M]:
        cursor: str | None = None
        while True:
            answer = (await self._send(Call("GET", path, query={**filters, **given(cursor=cursor)}))).json()
            for one in answer[name]:
                yield view.model_validate(one)
            cursor = answer["next_cursor"]
            if cursor is None:
                return

    async def _send(self, call: Call) -> httpx.Response:
        request = call.build()
        async for attempt in self._attempts():
            with attempt:
                answer = await self._http.request(**request)
                refuse(answer)
        return answer

    def _attempts(self) -> AsyncRetrying:
        return AsyncRetrying(
            retry=retry_if_exception(is_temporary),
            stop=stop_after_attempt(self._retries + 1),
            wait=pause,
            reraise=True,
        )
