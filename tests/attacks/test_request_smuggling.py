"""Attacks by requests whose end is ambiguous: a proxy sees one request, and the server must not see two.

Every refusal stands beside the unambiguous form of the same bytes, which gets a response to each request.
"""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import suppress
from urllib.parse import urlsplit

import httpx
import pytest

from tests.support.raw_http import answer, exchange, head, parsed

pytestmark = pytest.mark.attack

QUESTION = b'{"query": "x"}'


@pytest.fixture(autouse=True)
def the_server_answers_the_next_request(impatient: httpx.Client) -> Iterator[None]:
    yield
    assert impatient.get("/healthz").status_code == 200


def authorization(client: httpx.Client) -> str:
    return f"Authorization: {client.headers['Authorization']}"


def search(client: httpx.Client, *headers: str | bytes, body: bytes, version: str = "HTTP/1.1") -> list[int]:
    """Send a search with these headers, and a request that is hidden behind it. Return all statuses."""
    hidden = head("GET /v1/tree HTTP/1.1", "Host: hidden", "Connection: close", authorization(client))
    outer = head(
        f"POST /v1/search {version}", "Host: x", "Content-Type: application/json", authorization(client), *headers
    )
    return [response.status for response in exchange(str(client.base_url), outer + body + hidden)]


CHUNKED = b"%x\r\n%b\r\n0\r\n\r\n" % (len(QUESTION), QUESTION)


@pytest.mark.parametrize(
    ("headers", "body"),
    [
        ([f"Content-Length: {len(QUESTION)}"], QUESTION),
        (["Transfer-Encoding: chunked"], CHUNKED),
        (["transfer-encoding:CHUNKED"], CHUNKED),
        (["Transfer-Encoding: chunked"], CHUNKED.replace(b"\r\n", b";name=value\r\n", 1)),
    ],
)
def test_two_clear_requests_get_two_responses(impatient: httpx.Client, headers: list[str], body: bytes) -> None:
    """The control for the tests below: a second request on the connection would be seen."""
    assert search(impatient, *headers, body=body) == [200, 200]


@pytest.mark.parametrize("first", [0, 1])
@pytest.mark.parametrize("length", [0, 4, len(QUESTION), len(CHUNKED), 100_000])
def test_content_length_with_chunked(impatient: httpx.Client, length: int, first: int) -> None:
    headers = [f"Content-Length: {length}", "Transfer-Encoding: chunked"]
    assert search(impatient, headers[first], headers[1 - first], body=CHUNKED) == [400]


@pytest.mark.parametrize(
    "headers",
    [
        ["Content-Length: 14", "Content-Length: 60"],
        ["Content-Length: 14", "Content-Length: 14"],
        ["Content-Length: 14, 60"],
        ["Content-Length: 14, 14"],
        ["Content-Length: +14"],
        ["Content-Length: -1"],
        ["Content-Length: 0xe"],
        ["Content-Length: 1 4"],
        ["Content-Length: 14."],
        ["Content-Length: \u0661\u0664"],
        ["Content-Length: " + "9" * 30],
        ["Content-Length:"],
        ["Content-Length : 14"],
        [" Content-Length: 14"],
        ["Content-Length:\r\n 14"],
        ["Content-Length: 14\r\n\t60"],
        ["X: y\nContent-Length: 14"],
        ["Transfer-Encoding: gzip, chunked"],
        ["Transfer-Encoding: chunked, identity"],
        ["Transfer-Encoding: chunked, chunked"],
        ["Transfer-Encoding: xchunked"],
        ["Transfer-Encoding: identity"],
        ["Transfer-Encoding:"],
        ['Transfer-Encoding: "chunked"'],
        ["Transfer-Encoding: chunked;x=y"],
        ["Transfer-Encoding: chunked", "Transfer-Encoding: chunked"],
        ["Transfer-Encoding: chunked", "Transfer-Encoding: identity"],
        ["Transfer-Encoding : chunked"],
        ["Transfer-Encoding:\x0bchunked"],
        ["Transfer-Encoding:\r\n chunked"],
        ["X: y\r\n Transfer-Encoding: chunked"],
        ["X: y\r Transfer-Encoding: chunked"],
        ["X: y\nTransfer-Encoding: chunked"],
        ["X: y\x00Z"],
        ["X y"],
        [": y"],
    ],
    ids=lambda headers: " & ".join(headers).encode("unicode_escape").decode()[:50],
)
@pytest.mark.parametrize("body", [QUESTION, CHUNKED], ids=["plain", "chunks"])
def test_ambiguous_length(impatient: httpx.Client, headers: list[str], body: bytes) -> None:
    assert search(impatient, *headers, body=body) == [400]


def test_chunked_in_http_1_0(impatient: httpx.Client) -> None:
    """An old proxy would take the chunks for the next request."""
    assert search(impatient, "Transfer-Encoding: chunked", body=CHUNKED, version="HTTP/1.0") == [400]
    length = f"Content-Length: {len(QUESTION)}"
    assert search(impatient, length, body=QUESTION, version="HTTP/1.0") == [200], "it closes after one request"


@pytest.mark.parametrize(
    "chunk",
    [
        b"-1\r\nx\r\n",
        b"+1\r\nx\r\n",
        b"0x1\r\nx\r\n",
        b"1 1\r\nx\r\n",
        b" 1\r\nx\r\n",
        b"1\nx\n",
        b"1;\nxx\r\n",
        b"1\r\nxy\r\n",
        b"1\r\nx\n\n",
        b"\r\n",
        b"g\r\nx\r\n",
        b"1,1\r\nx\r\n",
        b"f" * 21 + b"\r\nx\r\n",
    ],
)
@pytest.mark.parametrize("before", [b"", b"1\r\n \r\n"], ids=["first", "second"])
def test_malformed_chunks(impatient: httpx.Client, chunk: bytes, before: bytes) -> None:
    assert search(impatient, "Transfer-Encoding: chunked", body=before + chunk + CHUNKED) == [400]


def test_chunk_longer_than_any_number(impatient: httpx.Client) -> None:
    """Its size fits into no register, so the rest is its data until the client was too slow."""
    chunk = b"f" * 18 + b"\r\n" + CHUNKED
    assert search(impatient, "Transfer-Encoding: chunked", body=chunk) == [408]


def test_malformed_chunk_after_the_response(impatient: httpx.Client) -> None:
    """A second response to one request would be taken for the response to somebody else's."""
    address = urlsplit(str(impatient.base_url))
    with socket.create_connection((address.hostname, address.port), timeout=30) as connection:
        connection.sendall(head("POST /v1/search HTTP/1.1", "Host: x", "Transfer-Encoding: chunked"))
        assert answer(connection).status == 401, "it is sent before the body"
        connection.sendall(b"no chunk\r\n" + head("GET /healthz HTTP/1.1", "Host: hidden"))
        assert connection.recv(65_536) == b"", "the connection is closed without another response"


def test_nothing_is_read_after_a_refusal(impatient: httpx.Client) -> None:
    """What arrives later may be the rest of the refused request, or of somebody else's."""
    address = urlsplit(str(impatient.base_url))
    hidden = head("GET /healthz HTTP/1.1", "Host: hidden", "Connection: close")
    for length, statuses in (("14, 14", [400]), ("0", [401, 200])):
        with socket.create_connection((address.hostname, address.port), timeout=30) as connection:
            connection.sendall(head("POST /v1/search HTTP/1.1", "Host: x", f"Content-Length: {length}"))
            received = connection.recv(65_536)
            with suppress(ConnectionError):
                connection.sendall(hidden)
                while piece := connection.recv(65_536):
                    received += piece
        assert [response.status for response in parsed(received)] == statuses


def test_body_of_a_refused_request_is_no_request(impatient: httpx.Client) -> None:
    """The response is sent before the body is read. What follows is still the body."""
    hidden = head("GET /healthz HTTP/1.1", "Host: hidden", "Connection: close")
    for headers, body in (
        ([f"Content-Length: {len(hidden)}"], hidden),
        (["Transfer-Encoding: chunked"], b"%x\r\n%b\r\n0\r\n\r\n" % (len(hidden), hidden)),
    ):
        sent = head("POST /v1/search HTTP/1.1", "Host: x", "Authorization: Bearer wrong", *headers) + body
        responses = exchange(str(impatient.base_url), sent + hidden)
        assert [response.status for response in responses] == [401, 200], "one for each request"
