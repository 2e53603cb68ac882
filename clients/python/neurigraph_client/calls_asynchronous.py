"""The calls that ``AsyncMemory`` is made of."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any

import httpx

from neurigraph_client.failures import Unavailable
from neurigraph_client.transport import Call, M, condition, given, pause, refuse


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
        return await self._repeated(lambda: self._http.request(**request))

    async def _repeated(self, send: Callable[[], Any]) -> httpx.Response:
        """Return the answer to a request that is sent again after temporary faults.

        Args:
            send: Sends it once; the body of an error must have been read.
        """
        attempt = 0
        while True:
            try:
                answer: httpx.Response = await send()
                refuse(answer)
                return answer
            except httpx.UnsupportedProtocol:
                raise
            except (Unavailable, httpx.TransportError) as error:
                if attempt == self._retries:
                    raise
                seconds = pause(attempt, getattr(error, "retry_after", None))
            await asyncio.sleep(seconds)
            attempt += 1
