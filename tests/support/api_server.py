"""A real HTTP server on a real port, for tests of the API."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn

from neurigraph_pipelines.api.app import create_app
from neurigraph_pipelines.wiring import Installation


@contextmanager
def serving(installation: Installation) -> Iterator[str]:
    """Serve an installation in a thread; yields the base address."""
    listener = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(create_app(installation), log_config=None, lifespan="on"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(timeout=30)
        listener.close()
        assert not thread.is_alive()
