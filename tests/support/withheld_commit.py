"""A TCP relay in front of Postgres that withholds the answer to one COMMIT, so that nobody knows the outcome."""

from __future__ import annotations

import os
import selectors
import signal
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from socketserver import BaseRequestHandler, ThreadingTCPServer
from types import FrameType

from psycopg.conninfo import conninfo_to_dict, make_conninfo
from pydantic import SecretStr

from neurigraph_pipelines.wiring.installation import Installation

TRIGGERS = {"lost": None, "interrupted": signal.SIGINT, "terminated": signal.SIGTERM}
"""How a COMMIT ends: its connection is lost, or its process gets a signal."""

_PATIENCE_SECONDS = 60.0


class _Relay(ThreadingTCPServer):
    """The running relay.

    Attributes:
        marker: Part of a statement of the transaction whose COMMIT is withheld; None once that was.
        committed: Whether the server gets the COMMIT.
        held: Set when the COMMIT is withheld, or none will be.
        cut: Ends the connection with the withheld answer.
    """

    daemon_threads = True
    block_on_close = False

    def __init__(self, host: str, port: int, marker: bytes, *, committed: bool) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.upstream = (host, port)
        self.marker: bytes | None = marker
        self.committed = committed
        self.held, self.cut = threading.Event(), threading.Event()


class _Handler(BaseRequestHandler):
    server: _Relay

    def handle(self) -> None:
        if self.server.held.is_set():
            self.server.cut.set()  # psycopg connects again to cancel: it need not wait for its own limit
        client: socket.socket = self.request
        said = b""
        with (
            suppress(OSError),
            socket.create_connection(self.server.upstream) as server,
            selectors.DefaultSelector() as ready,
        ):
            ready.register(client, selectors.EVENT_READ, server)
            ready.register(server, selectors.EVENT_READ, client)
            while True:
                for key, _ in ready.select():
                    other: socket.socket = key.data
                    sender = server if other is client else client
                    piece = sender.recv(65_536)
                    if not piece:
                        return
                    if sender is client:
                        said += piece
                        if b"COMMIT\x00" in piece:
                            if self.server.marker is not None and self.server.marker in said:
                                self._withhold(server, piece)
                                return
                            said = b""
                    other.sendall(piece)

    def _withhold(self, server: socket.socket, piece: bytes) -> None:
        self.server.marker = None
        if self.server.committed:
            server.sendall(piece)
            server.recv(65_536)
        self.server.held.set()
        self.server.cut.wait(_PATIENCE_SECONDS)


@contextmanager
def withheld_commit(here: Installation, marker: str, trigger: str, *, committed: bool = True) -> Iterator[Installation]:
    """Open another view of an installation, in whose first matching COMMIT the trigger arrives.

    Args:
        marker: Part of a statement of that transaction.
        trigger: One of ``TRIGGERS``; the signals raise KeyboardInterrupt and SystemExit in the main thread.
        committed: Whether the server gets the COMMIT.
    """
    parts = conninfo_to_dict(here.administrator_url)
    number = TRIGGERS[trigger]
    with (
        _Relay(str(parts["host"]), int(parts["port"] or 5432), marker.encode(), committed=committed) as relay,
        _signals_raise(),
    ):
        serve = threading.Thread(target=relay.serve_forever, kwargs={"poll_interval": 0.05})

        def strike() -> None:
            relay.held.wait(_PATIENCE_SECONDS)
            if relay.marker is not None:
                return  # there was no such COMMIT
            if number is None:
                relay.cut.set()
            else:
                os.kill(os.getpid(), number)

        striking = threading.Thread(target=strike)
        serve.start()
        striking.start()
        address = make_conninfo("", **{**parts, "host": "127.0.0.1", "port": relay.server_address[1]})
        try:
            with Installation(here.settings.changed(database_url=SecretStr(address))) as other:
                other.embedder = here.embedder
                yield other
            assert relay.marker is None, "no transaction had the marker"
        finally:
            relay.held.set()
            relay.cut.set()
            striking.join()
            relay.shutdown()
            serve.join()


@contextmanager
def _signals_raise() -> Iterator[None]:
    def leave(_number: int, _frame: FrameType | None) -> None:
        sys.exit(143)

    before = [signal.signal(signal.SIGINT, signal.default_int_handler), signal.signal(signal.SIGTERM, leave)]
    try:
        yield
    finally:
        for number, handler in zip((signal.SIGINT, signal.SIGTERM), before, strict=True):
            signal.signal(number, handler)
