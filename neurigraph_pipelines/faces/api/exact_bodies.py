"""Bodies of JSON of which a parser would silently change something.

Numbers that a double does not hold become texts, and an object with a name twice is refused.
"""

from __future__ import annotations

from functools import partial

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from neurigraph_pipelines.faces.api.authentication import GUARDED
from neurigraph_pipelines.faces.api.problems import problem
from neurigraph_pipelines.model.errors import InvalidInputError
from neurigraph_pipelines.text.exact_json import keep_exactly

_LARGE_BYTES = 1 << 18  # reading as much takes some milliseconds, for which others do not wait


class ExactBodies:
    """ASGI middleware; it works inside the limits of bodies, and leaves other bodies than JSON to the operation."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on with a body that no parser changes."""
        if scope["type"] != "http" or not scope["path"].startswith(GUARDED) or not _is_json(scope):
            await self._app(scope, receive, send)
            return
        body, is_whole = b"", False
        while not is_whole:
            try:
                message = await receive()
            except HTTPException as error:  # from the limits of bodies
                await problem(error.status_code, error.detail, headers=error.headers)(scope, receive, send)
                return
            if message["type"] == "http.disconnect":
                return
            body += message.get("body", b"")
            is_whole = not message.get("more_body", False)
        try:
            kept = partial(keep_exactly, body, names_twice=False)
            body = kept() if len(body) < _LARGE_BYTES else await run_in_threadpool(kept)
        except InvalidInputError as error:
            await problem(422, str(error))(scope, receive, send)
            return
        except (ValueError, RecursionError):  # not JSON: what follows says so
            pass
        is_given = False

        async def give() -> Message:
            nonlocal is_given
            if is_given:
                return await receive()
            is_given = True
            return {"type": "http.request", "body": body, "more_body": False}

        await self._app(scope, give, send)


def _is_json(scope: Scope) -> bool:
    kind = Headers(scope=scope).get("content-type", "").partition(";")[0].strip().lower()
    return kind == "application/json" or kind.endswith("+json")
