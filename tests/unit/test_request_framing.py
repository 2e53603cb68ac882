"""Heads of requests that two programs may read differently, without a server."""

from __future__ import annotations

import h11
import pytest

from neurigraph_pipelines.faces.api.request_framing import StrictConnection


def connection(*lines: str) -> StrictConnection:
    """Return a connection that received one head."""
    received = StrictConnection(h11.SERVER)
    received.receive_data("".join(f"{line}\r\n" for line in (*lines, "Host: x", "")).encode())
    return received


@pytest.mark.parametrize(
    "lines",
    [
        ["GET /v1/tree HTTP/1.1"],
        ["GET /v1/tree HTTP/1.0"],
        ["GET /v1/nodes?path=Family%2FDave HTTP/1.1"],
        ["POST /v1/search HTTP/1.1", "Content-Length: 0"],
        ["POST /v1/search HTTP/1.1", "Transfer-Encoding: chunked"],
    ],
)
def test_clear_heads_are_read(lines: list[str]) -> None:
    received = connection(*lines)
    assert isinstance(received.next_event(), h11.Request)
    assert received.reason is None


@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        (["GET /v1/%74ree HTTP/1.1"], "percent-encoded"),
        (["GET /v1/%74ree?path=x HTTP/1.1"], "percent-encoded"),
        (["GET /v1/tree HTTP/1.2"], "neither 1.0 nor 1.1"),
        (["POST /v1/search HTTP/1.0", "Transfer-Encoding: chunked"], "needs HTTP/1.1"),
        (["POST /v1/search HTTP/1.1", "Transfer-Encoding: chunked", "Content-Length: 0"], "both"),
        (["POST /v1/search HTTP/1.1", "Content-Length: 0", "Content-Length: 0"], "several values"),
        (["GET /v1/tree HTTP/1.1", "X-A: 1", " 2"], "second line"),
    ],
)
def test_ambiguous_heads_are_refused(lines: list[str], reason: str) -> None:
    received = connection(*lines)
    with pytest.raises(h11.RemoteProtocolError):
        received.next_event()
    assert reason in str(received.reason)
