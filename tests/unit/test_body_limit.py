"""The room that request bodies share: who uses it gives it back."""

from __future__ import annotations

import asyncio

import pytest
from starlette.exceptions import HTTPException
from starlette.types import Message, Receive, Scope, Send

from neurigraph_pipelines.faces.api.body_limit import BODIES_TOGETHER, BodyLimit

LIMIT = 100


async def read_all(scope: Scope, receive: Receive, send: Send) -> None:
    """An application that reads its body, and fails if the path says so."""
    while (await receive()).get("more_body"):
        pass
    if scope["path"] == "/broken":
        raise RuntimeError("broken")


async def sent(limit: BodyLimit, *pieces: bytes, path: str = "/") -> None:
    waiting: list[Message] = [
        {"type": "http.request", "body": piece, "more_body": number < len(pieces)}
        for number, piece in enumerate(pieces, start=1)
    ]

    async def receive() -> Message:
        return waiting.pop(0)

    async def send(_: Message) -> None:
        """Nobody listens."""

    await limit({"type": "http", "method": "POST", "path": path, "headers": []}, receive, send)


def test_bodies_give_their_room_back() -> None:
    limit = BodyLimit(read_all, LIMIT, {}, {}, patience=5.0)

    async def many() -> None:
        for number in range(3 * BODIES_TOGETHER):
            if number % 3 == 0:
                with pytest.raises(RuntimeError):
                    await sent(limit, b"x" * LIMIT, path="/broken")
            elif number % 3 == 1:
                with pytest.raises(HTTPException) as refused:
                    await sent(limit, b"x" * LIMIT, b"x")
                assert refused.value.status_code == 413
            else:
                await sent(limit, b"x" * (LIMIT // 2), b"x" * (LIMIT // 2))

    asyncio.run(many())


def test_bodies_share_their_room() -> None:
    """The control: bodies that are held at the same time find no room beyond ``BODIES_TOGETHER``."""
    held = asyncio.Event()

    async def hold(scope: Scope, receive: Receive, send: Send) -> None:
        await receive()
        await held.wait()

    async def many() -> None:
        limit = BodyLimit(hold, LIMIT, {}, {}, patience=5.0)
        bodies = [asyncio.create_task(sent(limit, b"x" * LIMIT)) for _ in range(BODIES_TOGETHER)]
        await asyncio.sleep(0)
        with pytest.raises(HTTPException) as refused:
            await sent(limit, b"x")
        assert refused.value.status_code == 503
        assert refused.value.headers is not None
        assert refused.value.headers["Retry-After"] == "1"
        held.set()
        await asyncio.gather(*bodies)
        await sent(limit, b"x" * LIMIT)

    asyncio.run(many())


def test_body_that_comes_late() -> None:
    """A body is awaited for as long as the patience lasts, and no longer."""

    async def receive() -> Message:
        await asyncio.sleep(0.2)
        return {"type": "http.request", "body": b"x"}

    async def send(_: Message) -> None:
        """Nobody listens."""

    async def after(patience: float) -> None:
        limit = BodyLimit(read_all, LIMIT, {}, {}, patience=patience)
        await limit({"type": "http", "method": "POST", "path": "/", "headers": []}, receive, send)

    asyncio.run(after(30.0))
    with pytest.raises(HTTPException) as refused:
        asyncio.run(after(0.0))
    assert refused.value.status_code == 408
