"""The HTTP server: uvicorn with limits on connections, request heads and slow clients.

``app`` handles the requests.
"""

from __future__ import annotations

import asyncio
import logging
from copy import deepcopy
from http import HTTPStatus
from typing import ClassVar

import h11
import uvicorn
from starlette.responses import Response
from starlette.types import ASGIApp
from uvicorn.config import LOGGING_CONFIG
from uvicorn.protocols.http.h11_impl import H11Protocol

from neurigraph_pipelines.faces.api.keys_in_addresses import AddressFilter
from neurigraph_pipelines.faces.api.problems import problem, retry_after
from neurigraph_pipelines.faces.api.request_framing import StrictConnection
from neurigraph_pipelines.faces.api.request_ids import HEADER, RequestIdFilter, RequestIds, new_request_id
from neurigraph_pipelines.settings import Settings
from neurigraph_pipelines.settings.logs import as_json

MAX_HEAD_BYTES = 65_536
"""Longest request line and headers together."""

_ADDRESSES = AddressFilter()


def http_server(app: ASGIApp, settings: Settings, *, is_process: bool = False) -> uvicorn.Server:
    """Return a server of an application, ready to run.

    Args:
        is_process: Whether the process only serves, so that its logs are written as the settings say.
    """
    config = uvicorn.Config(
        RequestIds(app),  # outside, so that even an unexpected error is answered with the id
        http=_protocol(settings),
        ws="none",
        lifespan="on",
        log_config=_log_config(settings) if is_process else None,
    )
    logging.getLogger("uvicorn.access").addFilter(_ADDRESSES)
    return uvicorn.Server(config)


def _log_config(settings: Settings) -> dict[str, object]:
    """Return uvicorn's log configuration with all output on stderr."""
    config = deepcopy(LOGGING_CONFIG)
    config["filters"] = {"request_id": {"()": RequestIdFilter}}
    for formatter in config["formatters"].values():
        formatter["fmt"] += " request_id=%(request_id)s"
    for handler in config["handlers"].values():
        handler |= {"stream": "ext://sys.stderr", "filters": ["request_id"]}
    config["loggers"]["neurigraph"] = {"handlers": ["default"], "level": "INFO", "propagate": False}
    if settings.logs.format == "json":
        return as_json(config)
    config["loggers"]["neurigraph.requests"] = {"level": "WARNING"}  # uvicorn's access log has them
    return config


class _Deadline:
    """A timer that closes the connection when it expires."""

    def __init__(self, transport: asyncio.Transport, seconds: float) -> None:
        self._transport = transport
        self._seconds = seconds
        self._timer: asyncio.TimerHandle | None = None

    def start(self) -> None:
        """Start the timer unless it is running."""
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(self._seconds, self._transport.abort)

    def stop(self) -> None:
        """Stop the timer."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


class _LimitedProtocol(H11Protocol):
    """HTTP/1.1 with a limit on connections. Closes connections that send an ambiguous request or are too slow."""

    client_seconds: ClassVar[float]
    max_connections: ClassVar[int]
    conn: StrictConnection
    _head: _Deadline
    _reading: _Deadline

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.conn = StrictConnection(h11.SERVER, max_incomplete_event_size=MAX_HEAD_BYTES)
        self._head = _Deadline(transport, self.client_seconds)
        self._reading = _Deadline(transport, self.client_seconds)
        self._head.start()
        if len(self.connections) > self.max_connections:
            detail = "too many connections are open: try again in a moment"
            self._reject(problem(503, detail, headers=retry_after(1.0)))

    def connection_lost(self, exc: Exception | None) -> None:
        self._head.stop()
        self._reading.stop()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.cycle is not None and not self.cycle.response_complete:
            self._head.stop()
        else:
            self._head.start()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._reading.start()

    def resume_writing(self) -> None:
        super().resume_writing()
        self._reading.stop()

    def send_400_response(self, msg: str) -> None:
        too_long = self.conn.reason is None and len(self.conn.trailing_data[0]) > MAX_HEAD_BYTES
        detail = f"the head of the request has more than {MAX_HEAD_BYTES:,} bytes" if too_long else msg
        self._reject(problem(431 if too_long else 400, self.conn.reason or detail))

    def _reject(self, response: Response) -> None:
        """Close the connection, with a response unless the request has one already."""
        if self.cycle is not None and not self.cycle.response_complete:
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        if self.conn.our_state not in (h11.IDLE, h11.SEND_RESPONSE):
            self.transport.close()  # a second response would be taken for that of the next request
            return
        status = response.status_code
        lines = [b"HTTP/1.1 %d %s" % (status, HTTPStatus(status).phrase.encode())]
        made = (HEADER.encode(), new_request_id().encode())  # the request was not read far enough to have an id
        lines += [b"%s: %s" % header for header in (*response.raw_headers, made, (b"connection", b"close"))]
        self.transport.write(b"\r\n".join([*lines, b"", bytes(response.body)]))
        self.transport.close()


def _protocol(settings: Settings) -> type[asyncio.Protocol]:
    """Return the protocol class with the limits of the settings; uvicorn creates one instance per connection."""
    limits = {"client_seconds": settings.api.client_seconds, "max_connections": settings.api.connections}
    return type("LimitedProtocol", (_LimitedProtocol,), limits)
