"""Bytes on a raw connection, and the responses to them as a client would parse them."""

from __future__ import annotations

import io
import socket
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from http.client import HTTPResponse
from urllib.parse import urlsplit


@dataclass(frozen=True, slots=True)
class Response:
    """One parsed response."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class _Received(io.BytesIO):
    """Received bytes in the place of a socket. The parser closes it after each response; the next one continues."""

    def makefile(self, *_: object) -> _Received:
        return self

    def close(self) -> None:
        """Stay open."""


def exchange(address: str, sent: bytes, method: str = "GET") -> list[Response]:
    """Send bytes on a new connection and read until the server closes it. Return every response.

    Args:
        method: Of the requests; a response to HEAD has no body.

    Raises:
        http.client.HTTPException: The server sent something that is no response.
        AssertionError: The server kept the connection open.
    """
    parts = urlsplit(address)
    received = b""
    with socket.create_connection((parts.hostname, parts.port), timeout=30) as connection:
        with suppress(ConnectionResetError, BrokenPipeError):
            connection.sendall(sent)
        try:
            while piece := connection.recv(65_536):
                received += piece
        except ConnectionResetError:
            pass
        except TimeoutError:
            raise AssertionError(f"the connection stays open after {received!r}") from None
    return parsed(received, method)


def answer(connection: socket.socket) -> Response:
    """Read one response from a connection that stays open. It may arrive in pieces.

    Raises:
        TimeoutError: It does not arrive in the time of the connection.
    """
    response = HTTPResponse(connection)
    response.begin()
    return Response(response.status, dict(response.getheaders()), response.read())


def parsed(received: bytes, method: str = "GET") -> list[Response]:
    """Return the responses in the bytes of one connection.

    Raises:
        http.client.HTTPException: There is something that is no response.
    """
    stream = _Received(received)
    responses = []
    while stream.tell() < len(received):
        response = HTTPResponse(stream, method=method)  # type: ignore[arg-type]
        response.begin()
        assert response.length is not None or response.chunked, "a response of no stated length could hide another"
        responses.append(Response(response.status, dict(response.getheaders()), response.read()))
    return responses


def head(line: str, *headers: str | bytes) -> bytes:
    """Return the head of a request."""
    lines = [line.encode(), *(header if isinstance(header, bytes) else header.encode() for header in headers)]
    return b"\r\n".join(lines) + b"\r\n\r\n"
