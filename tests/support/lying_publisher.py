"""An HTTP server between a peer and its publisher, which alters, repeats or cuts off what the publisher answers."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx

HEADER = "neurigraph-signature"


@dataclass(frozen=True, slots=True)
class Answered:
    """An answer of the publisher: nonce and path of the request, the body without compression, and the signature."""

    nonce: str
    path: str
    status: int
    body: bytes
    signature: str | None
    cut_after: int | None = None
    """Send so many bytes of the body, and close the connection."""

    def cut(self, after: int) -> Answered:
        """Return the answer with its body cut off."""
        return replace(self, cut_after=after)


class LyingPublisher(ThreadingHTTPServer):
    """The running server. ``alter`` changes what it sends, and ``answers`` are those that the publisher gave."""

    daemon_threads = True

    def __init__(self, upstream: str) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.upstream = httpx.Client(base_url=upstream, timeout=60.0)
        self.alter: Callable[[Answered], Answered] = lambda answer: answer
        self.answers: list[Answered] = []

    @property
    def address(self) -> str:
        """Its base URL."""
        return f"http://127.0.0.1:{self.server_port}"


@contextmanager
def lying_publisher(upstream: str) -> Iterator[LyingPublisher]:
    """Serve between a peer and the publisher at an address."""
    with LyingPublisher(upstream) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
            server.upstream.close()


class _Handler(BaseHTTPRequestHandler):
    server: LyingPublisher

    def _relay(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        kept = {name: self.headers[name] for name in ("Authorization", "Content-Type") if name in self.headers}
        answer = self.server.upstream.request(self.command, self.path, headers=kept, content=body)
        url = answer.request.url
        made = Answered(
            url.params.get("nonce", ""),
            url.path,
            answer.status_code,
            answer.content,
            answer.headers.get(HEADER),
        )
        self.server.answers.append(made)
        sent = self.server.alter(made)
        self.send_response(sent.status)
        self.send_header("Content-Length", str(len(sent.body)))
        if sent.signature is not None:
            self.send_header(HEADER, sent.signature)
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(sent.body[: sent.cut_after])
        self.close_connection = True

    def do_GET(self) -> None:
        """Relay a request."""
        self._relay()

    def do_POST(self) -> None:
        """Relay a request."""
        self._relay()

    def log_message(self, *_: object) -> None:
        """Keep the output of the tests clean."""
