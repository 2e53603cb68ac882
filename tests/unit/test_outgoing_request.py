"""Requests to hosts with several addresses: those that refuse are passed over."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest

from resources.outgoing_request import send

LISTENING, REFUSING = "127.0.0.2", "127.0.0.3"


class _Greeter(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        if self.path == "/slow":
            time.sleep(1.1)
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"hello")

    def log_message(self, *args: Any) -> None:
        """Say nothing."""


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    server = HTTPServer((LISTENING, 0), _Greeter)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server.server_port
    server.shutdown()
    server.server_close()


def resolve(monkeypatch: pytest.MonkeyPatch, *addresses: str) -> None:
    """Let every name have these addresses, as a name server would answer."""
    answers = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, 0)) for address in addresses]
    real = socket.getaddrinfo

    def found(host: Any, *rest: Any, **named: Any) -> Any:
        return answers if host == "several.test" else real(host, *rest, **named)

    monkeypatch.setattr(socket, "getaddrinfo", found)


@pytest.mark.parametrize("addresses", [(LISTENING, REFUSING), (REFUSING, LISTENING), (LISTENING,)])
def test_any_address_will_do(monkeypatch: pytest.MonkeyPatch, port: int, addresses: tuple[str, ...]) -> None:
    resolve(monkeypatch, *addresses)
    seen: list[str] = []
    answer = send(
        "GET", f"http://several.test:{port}/", headers={}, seconds=10.0, max_bytes=5, check_address=seen.append
    )
    assert answer[:3] == (200, b"hello", None)
    assert seen == list(addresses)


def test_slow_name_lookup_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    over = threading.Event()
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: over.wait(30) and [])
    started = time.monotonic()
    try:
        with pytest.raises(ConnectionError, match="TimeoutError"):
            send("GET", "http://several.test/", headers={}, seconds=0.3)
        assert time.monotonic() - started < 10
    finally:
        over.set()


def test_no_address_answers(monkeypatch: pytest.MonkeyPatch, port: int) -> None:
    resolve(monkeypatch, REFUSING, REFUSING)
    with pytest.raises(ConnectionError, match="ConnectError"):
        send("GET", f"http://several.test:{port}/", headers={}, seconds=10.0)


def test_slow_answer_is_awaited(port: int) -> None:
    assert send("GET", f"http://{LISTENING}:{port}/slow", headers={}, seconds=30.0)[0] == 200
