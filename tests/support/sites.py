"""A site on the loopback address, whose answers a test sets."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class Site(ThreadingHTTPServer):
    """A site; ``pages`` are the bodies by their paths."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Pages)
        self.pages: dict[str, bytes] = {}

    def url(self, path: str) -> str:
        """Return the address of a page."""
        return f"http://127.0.0.1:{self.server_port}{path}"


class _Pages(BaseHTTPRequestHandler):
    server: Site

    def do_GET(self) -> None:
        body = self.server.pages.get(self.path)
        self.send_response(404 if body is None else 200)
        self.send_header("Content-Length", str(len(body or b"")))
        self.end_headers()
        self.wfile.write(body or b"")

    def log_message(self, *args: Any) -> None:
        """Say nothing."""


@contextmanager
def serving_site() -> Iterator[Site]:
    """Serve a site as long as it is used."""
    with Site() as site:
        thread = threading.Thread(target=site.serve_forever)
        thread.start()
        try:
            yield site
        finally:
            site.shutdown()
            thread.join()
