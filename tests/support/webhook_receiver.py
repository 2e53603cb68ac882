"""A webhook receiver on loopback that misbehaves on command; one thread per connection."""

from __future__ import annotations

import json
import socket
import ssl
import threading
import time
from types import TracebackType
from typing import Any, Literal, Self

Behaviour = Literal["ok", "500", "302", "400", "410", "429", "stall", "drip", "drip_body", "hang_up", "huge"]


class WebhookReceiver:
    """The running server; each connection gets the next behaviour of the list, and later ones the last."""

    def __init__(self, *behaviours: Behaviour, tls: ssl.SSLContext | None = None) -> None:
        self._tls = tls
        self._behaviours = list(behaviours) or ["ok"]
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._stopping = threading.Event()
        self._threads: list[threading.Thread] = []
        self.bodies: list[Any] = []
        self.contents: list[bytes] = []
        self.location = self.url
        """Where 302 leads."""
        self.heads: list[str] = []
        self.connections = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._listener.getsockname()[1]}/hook?token=abc"

    def __enter__(self) -> Self:
        self._start(self._accept)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stopping.set()
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for thread in self._threads:
            thread.join(10)
            assert error or not thread.is_alive(), "a connection is served for ever, and slows down all later tests"

    def _start(self, work: Any, *arguments: Any) -> None:
        thread = threading.Thread(target=work, args=arguments, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        while not self._stopping.is_set():
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            behaviour = self._behaviours[min(self.connections, len(self._behaviours) - 1)]
            self.connections += 1
            self._start(self._answer, connection, behaviour)

    def _answer(self, connection: socket.socket, behaviour: Behaviour) -> None:
        with connection:
            try:
                with self._tls.wrap_socket(connection, server_side=True) if self._tls else connection as secured:
                    self._read(secured)
                    self._misbehave(secured, behaviour)
            except OSError:
                return  # the client has gone

    def _read(self, connection: socket.socket) -> None:
        received = b""
        while b"\r\n\r\n" not in received:
            received += _more(connection)
        head, _, body = received.partition(b"\r\n\r\n")
        length = next(int(line.split(b":")[1]) for line in head.split(b"\r\n") if line.startswith(b"Content-Length"))
        while len(body) < length:
            body += _more(connection)
        self.heads.append(head.decode())
        self.contents.append(body)
        self.bodies.append(json.loads(body))

    def _misbehave(self, connection: socket.socket, behaviour: Behaviour) -> None:
        if behaviour == "stall":
            self._stopping.wait(60)
        elif behaviour in ("drip", "drip_body"):
            head = b"HTTP/1.1 200 OK\r\n" + (b"X-Slow: " if behaviour == "drip" else b"\r\n")
            for byte in head + b"x" * 10_000:
                connection.sendall(bytes([byte]))
                if self._stopping.wait(0.1):
                    return
        elif behaviour == "huge":
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\n")
            deadline = time.monotonic() + 5
            while time.monotonic() < deadline:
                connection.sendall(b"x" * 1_000_000)
        elif behaviour != "hang_up":
            status = "204 No Content" if behaviour == "ok" else f"{behaviour} As told"
            headers = {"302": f"Location: {self.location}\r\n", "429": "Retry-After: 900\r\n"}.get(behaviour, "")
            connection.sendall(f"HTTP/1.1 {status}\r\n{headers}Content-Length: 0\r\n\r\n".encode())


def _more(connection: socket.socket) -> bytes:
    """Return the next bytes; a sender that was killed sends none, and a loop over them would never end."""
    received = connection.recv(65_536)
    if not received:
        raise ConnectionError("the sender has gone")
    return received
