"""A TCP relay on loopback that counts what a Postgres server sends: bytes, and statements that it completes."""

from __future__ import annotations

import selectors
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from socketserver import BaseRequestHandler, ThreadingTCPServer


class CountingRelay(ThreadingTCPServer):
    """The running relay; ``answered`` is the number of bytes from the server, ``completed`` that of statements."""

    daemon_threads = True
    block_on_close = False

    def __init__(self, host: str, port: int) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.upstream = (host, port)
        self.answered = self.completed = 0


@contextmanager
def counting_relay(host: str, port: int) -> Iterator[CountingRelay]:
    """Relay connections to a server."""
    with CountingRelay(host, port) as relay:
        thread = threading.Thread(target=relay.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield relay
        finally:
            relay.shutdown()
            thread.join()


class _Handler(BaseRequestHandler):
    server: CountingRelay

    def handle(self) -> None:
        client: socket.socket = self.request
        unread = None
        with socket.create_connection(self.server.upstream) as server, selectors.DefaultSelector() as ready:
            for end in (client, server):
                end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            ready.register(client, selectors.EVENT_READ, server)
            ready.register(server, selectors.EVENT_READ, client)
            with suppress(OSError):
                while True:
                    for key, _ in ready.select():
                        other: socket.socket = key.data
                        sender = server if other is client else client
                        piece = sender.recv(65_536)
                        if not piece:
                            return
                        if sender is server:
                            self.server.answered += len(piece)
                            # The first byte answers the request for TLS, and has no length.
                            unread = piece[1:] if unread is None else unread + piece
                            while len(unread) > (length := int.from_bytes(unread[1:5].ljust(4, b"\xff"), "big")):
                                self.server.completed += unread[:1] == b"C"
                                unread = unread[1 + length :]
                        other.sendall(piece)
