"""A real HTTP server on a real port, for tests of the API."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from neurigraph_pipelines.faces.serving import http_server
from neurigraph_pipelines.wiring.installation import Installation


@contextmanager
def serving(installation: Installation) -> Iterator[str]:
    """Serve an installation in a thread; yields the base address."""
    listener = socket.create_server(("127.0.0.1", 0))
    server = http_server(installation)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(timeout=30)
        listener.close()
        assert not thread.is_alive()
