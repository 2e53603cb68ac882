"""An HTTP proxy before an S3 server that injects faults and logs requests.

Requests go on as they came, the name of the host included, since their signatures cover it. A copy whose source is no
longer the expected one is refused, as by Amazon; the servers of the tests do not look.
"""

from __future__ import annotations

import socket
import struct
import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPResponse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Literal
from urllib.parse import urlsplit

Fault = Literal[
    "slow_down",  # 503, nothing is done
    "reset",  # the connection breaks, nothing is done
    "lose_answer",  # it is done, and the connection breaks before a byte of the answer
    "reset_in_body",  # the connection breaks after half of the answer's body
    "end_in_body",  # the same, as if the body ended there
    "damage_request",  # one byte of the request's body arrives differently
    "ignore_range",  # the whole object is answered
    "stall",  # it is done, and nobody says so
]

_SLOW_DOWN = (
    b'<?xml version="1.0" encoding="UTF-8"?><Error><Code>SlowDown</Code><Message>Please reduce your request rate.'
    b"</Message><RequestId>1</RequestId></Error>"
)
_REPLACED = (
    b'<?xml version="1.0" encoding="UTF-8"?><Error><Code>PreconditionFailed</Code><Message>At least one of the '
    b"pre-conditions you specified did not hold.</Message><RequestId>1</RequestId></Error>"
)
_STALL_SECONDS = 20.0
_HOP_BY_HOP = {"connection", "expect", "keep-alive", "transfer-encoding"}


@dataclass(frozen=True, slots=True)
class Exchange:
    """One logged exchange; ``sent_bytes`` counts the response body, ``status`` is 0 without a response."""

    method: str
    target: str
    range: str | None
    status: int
    sent_bytes: int


class S3Proxy(ThreadingHTTPServer):
    """The running proxy. Faults wait in ``faults`` as (method, part of the target, fault), and each meets one request.

    ``latency`` is in seconds, before every answer.
    """

    daemon_threads = True
    block_on_close = False

    def __init__(self, upstream: str) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.upstream = urlsplit(upstream).netloc
        self.faults: deque[tuple[str, str, Fault]] = deque()
        self.latency = 0.0
        self.log: list[Exchange] = []
        self.etags: dict[str, str] = {}
        self.stopping = threading.Event()
        self._taking = threading.Lock()

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def fail(self, method: str, fault: Fault, times: int = 1, target: str = "") -> None:
        self.faults.extend([(method, target, fault)] * times)

    def take(self, method: str, target: str) -> Fault | None:
        with self._taking:
            for waiting in self.faults:
                if waiting[0] == method and waiting[1] in target:
                    self.faults.remove(waiting)
                    return waiting[2]
        return None

    def of(self, method: str) -> list[Exchange]:
        return [exchange for exchange in self.log if exchange.method == method]

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Print nothing for disconnecting clients."""


@contextmanager
def s3_proxy(upstream: str) -> Iterator[S3Proxy]:
    with S3Proxy(upstream) as proxy:
        thread = threading.Thread(target=proxy.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield proxy
        finally:
            proxy.stopping.set()
            proxy.shutdown()
            thread.join()


class _Handler(BaseHTTPRequestHandler):
    server: S3Proxy
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def _pass(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        fault = self.server.take(self.command, self.path)
        if self.server.latency:
            time.sleep(self.server.latency)
        if fault == "slow_down":
            self._answer(503, [("Content-Type", "application/xml")], _SLOW_DOWN, None)
        elif fault == "reset":
            self._note(0, 0)
            self._reset()
        elif self._source_was_replaced():
            self._answer(412, [("Content-Type", "application/xml")], _REPLACED, None)
        else:
            self._forward(body, fault)

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = _pass  # noqa: N815 - names that the base class looks for

    def _source_was_replaced(self) -> bool:
        expected = self.headers.get("x-amz-copy-source-if-match")
        return expected is not None and self.server.etags["/" + self.headers["x-amz-copy-source"]] != expected

    def _forward(self, body: bytes, fault: Fault | None) -> None:
        if fault == "damage_request":
            body = bytes([body[0] ^ 1]) + body[1:]
        upstream = HTTPConnection(self.server.upstream, timeout=60)
        try:
            upstream.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
            for name, value in self.headers.items():
                if name.lower() not in _HOP_BY_HOP and not (fault == "ignore_range" and name.lower() == "range"):
                    upstream.putheader(name, value)
            upstream.endheaders(body)
            answer = upstream.getresponse()
            content = answer.read()
        finally:
            upstream.close()
        if fault == "lose_answer":
            self._note(0, 0)
            self._reset()
        elif fault == "stall":
            self._note(0, 0)
            self.close_connection = True
            self.server.stopping.wait(_STALL_SECONDS)
        else:
            self._answer(answer.status, _headers(answer), content, fault)

    def _answer(self, status: int, headers: list[tuple[str, str]], content: bytes, fault: Fault | None) -> None:
        breaks = fault in ("reset_in_body", "end_in_body")
        sent = content[: len(content) // 2] if breaks else content
        self._note(status, len(sent))
        self.send_response_only(status)
        for name, value in headers:
            self.send_header(name, value)
            if name.lower() == "etag":
                self.server.etags[self.path] = value
        if not any(name.lower() == "content-length" for name, _ in headers):
            self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(sent)
        if breaks:
            self._reset(abruptly=fault == "reset_in_body")

    def _reset(self, *, abruptly: bool = True) -> None:
        self.close_connection = True
        if abruptly:
            time.sleep(0.05)  # until the written bytes have been sent
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        else:
            self.connection.shutdown(socket.SHUT_WR)

    def _note(self, status: int, sent: int) -> None:
        """Log before sending, so that a client with a response finds it in the log."""
        self.server.log.append(Exchange(self.command, self.path, self.headers.get("Range"), status, sent))


def _headers(answer: HTTPResponse) -> list[tuple[str, str]]:
    return [(name, value) for name, value in answer.getheaders() if name.lower() not in _HOP_BY_HOP]
