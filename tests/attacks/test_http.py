"""Attacks by malformed HTTP: request smuggling, forged headers, cross-origin pages, slow bodies."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from contextlib import suppress
from urllib.parse import urlsplit

import httpx
import pytest

from neurigraph_pipelines.access import issue_api_key
from neurigraph_pipelines.ingestion.batch import run_due
from neurigraph_pipelines.wiring import Installation
from tests.support.api_server import serving
from tests.support.memories import new_user
from tests.support.two_users import World

pytestmark = pytest.mark.attack


@pytest.fixture(scope="module")
def client(world: World) -> Iterator[httpx.Client]:
    key = issue_api_key(world.installation.database, world.alice.user_id)
    impatient = world.installation.settings.changed(api_client_seconds=1.0)
    with (
        Installation(impatient) as installation,
        serving(installation) as address,
        httpx.Client(base_url=address, timeout=30.0, headers={"Authorization": f"Bearer {key}"}) as made,
    ):
        yield made


@pytest.fixture(autouse=True)
def the_server_answers_the_next_request(client: httpx.Client) -> Iterator[None]:
    yield
    assert client.get("/healthz").status_code == 200


def raw(client: httpx.Client, *lines: str | bytes, body: bytes = b"") -> list[bytes]:
    """Send bytes on a new connection; return the status lines until the server closes it."""
    address = urlsplit(str(client.base_url))
    sent = b"\r\n".join(line if isinstance(line, bytes) else line.encode() for line in lines) + b"\r\n\r\n" + body
    received = b""
    with socket.create_connection((address.hostname, address.port), timeout=30) as connection:
        connection.sendall(sent)
        with suppress(ConnectionResetError):
            while piece := connection.recv(65_536):
                received += piece
    return [line for line in received.split(b"\r\n") if line.startswith(b"HTTP/1.1 ")]


def authorization(client: httpx.Client) -> str:
    return f"Authorization: {client.headers['Authorization']}"


# A request inside another


HIDDEN = b"GET /v1/tree HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"


@pytest.mark.parametrize(
    "headers",
    [
        ["Content-Length: 4", "Content-Length: 60"],
        ["Content-Length: 4, 60"],
        ["Content-Length: +4"],
        ["Content-Length: -1"],
        ["Content-Length: 0x4"],
        ["Content-Length: 4 4"],
        ["Content-Length: \u0664"],
        ["Content-Length : 4"],
        ["Transfer-Encoding: gzip, chunked"],
        ["Transfer-Encoding: chunked, identity"],
        ["Transfer-Encoding: xchunked"],
        ["Transfer-Encoding: chunked", "Transfer-Encoding: chunked"],
        ["Transfer-Encoding : chunked"],
        ["Transfer-Encoding:\x0bchunked"],
        ["X: y\r Transfer-Encoding: chunked"],
        ["X: y\x00Z"],
    ],
    ids=lambda headers: " & ".join(headers).encode("unicode_escape").decode(),
)
def test_ambiguous_content_length(client: httpx.Client, headers: list[str]) -> None:
    statuses = raw(client, "POST /v1/search HTTP/1.1", "Host: x", *headers, body=b"0\r\n\r\n" + HIDDEN)
    assert len(statuses) == 1, "the rest is no request"
    assert statuses[0].split()[1] in (b"400", b"501")


def test_content_length_with_chunked(client: httpx.Client) -> None:
    """Chunks take precedence and the server closes the connection (RFC 9112, 6.3); later bytes are not read."""
    statuses = raw(
        client,
        "POST /v1/search HTTP/1.1",
        "Host: x",
        authorization(client),
        "Content-Length: 6",
        "Transfer-Encoding: chunked",
        body=b"0\r\n\r\n" + HIDDEN,
    )
    assert [status.split()[1] for status in statuses] == [b"422"]


@pytest.mark.parametrize(
    "chunk", [b"-1\r\nx\r\n", b"ffffffffffffffffff\r\nx\r\n", b"0x1\r\nx\r\n", b"1 1\r\nx\r\n", b"1\nx\n", b"\r\n"]
)
def test_malformed_chunks(client: httpx.Client, chunk: bytes) -> None:
    statuses = raw(
        client, "POST /v1/search HTTP/1.1", "Host: x", "Transfer-Encoding: chunked", body=chunk + b"0\r\n\r\n" + HIDDEN
    )
    assert len(statuses) <= 1
    assert all(int(status.split()[1]) >= 400 for status in statuses)


@pytest.mark.parametrize(
    "line",
    [
        "GET /v1/tree",
        "GET /v1/tree HTTP/1.1 HTTP/1.1",
        "GET  /v1/tree HTTP/1.1",
        "G\x00T /v1/tree HTTP/1.1",
        "GET /v1/tree\x0bHTTP/1.1",
        "PRI * HTTP/2.0",
        "CONNECT example.org:443 HTTP/1.1",
        "GET http://example.org/v1/tree HTTP/1.1",
        "OPTIONS * HTTP/1.1",
        "TRACE /v1/tree HTTP/1.1",
    ],
    ids=ascii,
)
def test_malformed_request_lines(client: httpx.Client, line: str) -> None:
    statuses = raw(client, line, "Host: x", "Connection: close", authorization(client))
    assert all(int(status.split()[1]) in (400, 404, 405, 505) for status in statuses)


def test_missing_or_double_host(client: httpx.Client) -> None:
    for hosts in ([], ["Host: a", "Host: b"]):
        (status,) = raw(client, "GET /v1/tree HTTP/1.1", *hosts, authorization(client))
        assert status.split()[1] == b"400"


# Being taken for somebody else


def test_two_keys_in_one_request(world: World, client: httpx.Client) -> None:
    """All readers must agree on the key."""
    bobs = issue_api_key(world.installation.database, world.bob.user_id)
    seen = set()
    for first, second in (("wrong", bobs), (bobs, "wrong")):
        answer = httpx.get(
            client.base_url.join("/v1/tree"),
            headers=[("Authorization", f"Bearer {first}"), ("Authorization", f"Bearer {second}")],
        )
        seen.add((first == bobs, answer.status_code))
    assert seen in ({(True, 200), (False, 401)}, {(True, 401), (False, 401)}), "the first one counts, or none"


@pytest.mark.parametrize(
    "header",
    [
        "X-User-Id",
        "X-Forwarded-User",
        "X-Remote-User",
        "X-Original-URL",
        "X-HTTP-Method-Override",
        "X-Api-Key",
        "Cookie",
    ],
)
def test_forwarded_headers_are_not_trusted(world: World, client: httpx.Client, header: str) -> None:
    value = {"X-Original-URL": "/healthz", "X-HTTP-Method-Override": "GET"}.get(header, str(world.bob.user_id))
    plain = client.get("/v1/tree").json()
    assert client.get("/v1/tree", headers={header: value}).json() == plain
    assert httpx.get(client.base_url.join("/v1/tree"), headers={header: value}).status_code == 401


@pytest.mark.parametrize(
    "path",
    [
        "/v1/../v1/tree",
        "//v1/tree",
        "/v1//tree",
        "/v1/tree/",
        "/v1/tree;x",
        "/v1/tree%00",
        "/V1/TREE",
        "/%2e%2e/v1/tree",
        "/v1/nodes/..%2ftree",
        "/v1/nodes/%c0%ae%c0%ae/tree",
        "/healthz/../v1/tree",
    ],
)
def test_alternative_path_spellings(client: httpx.Client, path: str) -> None:
    """A gateway that guards paths must be able to rely on one spelling."""
    (status,) = raw(client, f"GET {path} HTTP/1.1", "Host: x", "Connection: close", authorization(client))
    assert status.split()[1] in (b"404", b"422")


# In a browser


def test_cross_origin_page_reads_nothing(client: httpx.Client) -> None:
    asked = {"Origin": "https://mallory.example", "Access-Control-Request-Method": "POST"}
    for answer in (client.options("/v1/search", headers=asked), client.get("/v1/tree", headers=asked)):
        assert not [name for name in answer.headers if name.startswith("access-control-")]


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""])
def test_cross_origin_json_as_text(client: httpx.Client, kind: str) -> None:
    answer = client.post("/v1/search", content=b'{"query": "x"}', headers={"Content-Type": kind})
    assert answer.status_code == 422


@pytest.mark.parametrize("name", ['a"; filename="b.html', "a\r\nSet-Cookie: x=y", "a\nX: y", "\u202egnp.exe"])
def test_file_name_injects_no_header(world: World, client: httpx.Client, name: str) -> None:
    user, claims = new_user(world.installation)
    key = issue_api_key(world.installation.database, user.user_id)
    installation = world.installation
    upload = installation.uploads.receive(claims, name, [b"<script>alert(1)</script> " + name.encode()])
    installation.uploads.read_due(installation.text_extractor)
    assert sum(len(result.stored) for result in run_due(installation.context, "tests")) == 1
    file_id = installation.uploads.status(claims, upload.upload_id)["file_id"]
    answer = client.post(f"/v1/files/{file_id}/open", headers={"Authorization": f"Bearer {key}"})
    assert answer.status_code == 200
    assert not {"set-cookie", "x"} & set(answer.headers)
    assert answer.headers["content-disposition"].startswith("attachment; ")
    assert answer.headers["content-disposition"].count("filename=") == 1
    assert answer.headers["x-content-type-options"] == "nosniff"


def test_script_in_an_error(client: httpx.Client) -> None:
    answer = client.post("/v1/search", json={"query": "x", "<script>alert(1)</script>": 1})
    assert answer.headers["content-type"] == "application/problem+json"


# Bodies


@pytest.mark.parametrize(
    "content",
    [
        b"[" * 1_000_000,
        b'{"query":' * 100_000,
        b'{"query": "x", "limit": ' + b"9" * 1_000_000 + b"}",
        b'{"query": "x", "limit": 1e999999999}',
        b'{"query": "x", "limit": -0}',
        b'{"query": "x", "limit": NaN}',
        b'{"query": "x", "at": 99999999999999999999999}',
        b'{"query": "x", "at": "+292277026596-12-04T15:30:07Z"}',
        b'{"query": "' + b"\\ud800" * 5_000 + b'"}',
        b'{"query": "' + b"x" * 20_000_000 + b'"}',
        b'{"query": "x", ' + b",".join(b'"%d": 1' % n for n in range(2_000_000)) + b"}",
        b'{"query": "x", "source_kinds": [' + b"0," * 2_000_000 + b"0]}",
        "{“query”: “x”}".encode(),
        b'\xef\xbb\xbf{"query": "x", "limit": 0}',
    ],
    ids=[
        "brackets", "objects", "a long number", "a huge number", "minus zero", "no number", "a time", "a year",
        "half pairs", "a long text", "many fields", "many items", "curly quotes", "a byte order mark",
    ],
)  # fmt: skip
def test_slow_request_body(client: httpx.Client, content: bytes) -> None:
    answer = client.post("/v1/search", content=content, headers={"Content-Type": "application/json"})
    assert answer.status_code in (400, 422)
    assert len(answer.content) < 20_000


def test_compressed_request_body(client: httpx.Client) -> None:
    """Request bodies are never decompressed, so they cannot grow."""
    import gzip

    packed = gzip.compress(json.dumps({"query": "x" * 50_000_000}).encode())
    headers = {"Content-Type": "application/json", "Content-Encoding": "gzip"}
    assert client.post("/v1/search", content=packed, headers=headers).status_code in (400, 415, 422)


def test_form_of_many_parts(client: httpx.Client) -> None:
    boundary = b"--b\r\nContent-Disposition: form-data; name=%b\r\n\r\nx\r\n"
    for name in (b'"file"; filename="f"', b'"title"'):
        form = boundary % name * 10_000 + b"--b--\r\n"
        headers = {"Content-Type": "multipart/form-data; boundary=b"}
        assert client.post("/v1/files", content=form, headers=headers).status_code in (400, 413, 422)
