"""The HTTP API in a process that dies as by ``kill -9`` when it has answered a request, before the answer is sent.

Run as ``python -m tests.support.dying_server`` with pickled settings on standard input; prints its port. Only requests
with the header ``X-Die`` kill it.
"""

from __future__ import annotations

import os
import pickle
import signal
import socket
import sys

from starlette.types import Receive, Scope, Send

from neurigraph_pipelines.faces.api import idempotency
from neurigraph_pipelines.faces.serving import http_server
from neurigraph_pipelines.wiring.installation import Installation


class DyingAnswer(idempotency._Answer):
    """An answer that is never sent."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if any(name == b"x-die" for name, _ in scope["headers"]):
            os.kill(os.getpid(), signal.SIGKILL)
        await super().__call__(scope, receive, send)


def main() -> None:
    idempotency._Answer = DyingAnswer  # type: ignore[misc]
    idempotency.Idempotency._keep = lambda *_: None  # type: ignore[method-assign] # dies before that, too
    with Installation(pickle.load(sys.stdin.buffer)) as installation:
        listener = socket.create_server(("127.0.0.1", 0))
        print(listener.getsockname()[1], flush=True)
        http_server(installation).run(sockets=[listener])


if __name__ == "__main__":
    main()
