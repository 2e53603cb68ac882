"""Attacks by malformed HTTP: request lines, forged headers, cross-origin pages, slow bodies.

``test_request_smuggling`` has requests whose end is ambiguous.
"""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Callable, Iterator

import httpx
import pytest

from neurigraph_pipelines.access.authentication import issue_api_key
from neurigraph_pipelines.ingestion.batch import run_due
from neurigraph_pipelines.views.base import MAX_FIELDS
from tests.support.memories import new_user
from tests.support.raw_http import exchange, head
from tests.support.two_users import World
from tests.support.uploads import read_upload

pytestmark = pytest.mark.attack


@pytest.fixture(scope="module")
def client(impatient: httpx.Client) -> httpx.Client:
    return impatient


@pytest.fixture(autouse=True)
def the_server_answers_the_next_request(client: httpx.Client) -> Iterator[None]:
    yield
    assert client.get("/healthz").status_code == 200


def statuses(client: httpx.Client, line: str, *headers: str) -> list[int]:
    """Send a request without a body, with Alice's key. Return the statuses of all responses."""
    sent = head(line, *headers, f"Authorization: {client.headers['Authorization']}", "Connection: close")
    return [response.status for response in exchange(str(client.base_url), sent)]


# Request lines


@pytest.mark.parametrize(
    ("line", "status"),
    [
        ("GET /v1/tree HTTP/1.1", 200),
        ("GET /v1/tree HTTP/1.0", 200),
        ("GET /v1/tree", 400),
        ("GET /v1/tree HTTP/1.1 HTTP/1.1", 400),
        ("GET  /v1/tree HTTP/1.1", 400),
        (" GET /v1/tree HTTP/1.1", 400),
        ("GET /v1/tree HTTP/1.1 ", 400),
        ("GET /v1/tree HTTP/11", 400),
        ("GET /v1/tree HTTP/0.9", 400),
        ("G\x00T /v1/tree HTTP/1.1", 400),
        ("GET /v1/tree\x0bHTTP/1.1", 400),
        ("GET\t/v1/tree\tHTTP/1.1", 400),
        ("PRI * HTTP/2.0", 400),
        ("CONNECT example.org:443 HTTP/1.1", 404),
        ("GET http://example.org/v1/tree HTTP/1.1", 404),
        ("OPTIONS * HTTP/1.1", 404),
        ("TRACE /v1/tree HTTP/1.1", 405),
        ("get /v1/tree HTTP/1.1", 405),
    ],
    ids=ascii,
)
def test_malformed_request_lines(client: httpx.Client, line: str, status: int) -> None:
    assert statuses(client, line, "Host: x") == [status]


def test_missing_or_double_host(client: httpx.Client) -> None:
    for hosts, status in ((["Host: a"], 200), ([], 400), (["Host: a", "Host: b"], 400), (["Host: a", "host: a"], 400)):
        assert statuses(client, "GET /v1/tree HTTP/1.1", *hosts) == [status]


# Being taken for somebody else


def test_two_keys_in_one_request(world: World, client: httpx.Client) -> None:
    """A proxy may have checked either, so neither counts."""
    bobs = f"Bearer {issue_api_key(world.installation.database, world.bob.user_id)}"
    tree = client.base_url.join("/v1/tree")
    assert httpx.get(tree, headers={"Authorization": bobs}).status_code == 200
    for keys in (("Bearer wrong", bobs), (bobs, "Bearer wrong"), (bobs, bobs)):
        assert httpx.get(tree, headers=[("Authorization", key) for key in keys]).status_code == 401


@pytest.mark.parametrize(
    "header",
    [
        "X-User-Id",
        "X-Forwarded-User",
        "X-Remote-User",
        "X-Api-Key",
        "Api-Key",
        "X-Authorization",
        "Proxy-Authorization",
    ],
)
def test_headers_that_name_a_user(world: World, client: httpx.Client, header: str) -> None:
    """Bob's id and his key open nothing outside `Authorization`, with a key of Alice or without."""
    key = issue_api_key(world.installation.database, world.bob.user_id)
    tree = client.base_url.join("/v1/tree")
    alices, bobs = client.get("/v1/tree").json(), httpx.get(tree, headers={"Authorization": f"Bearer {key}"}).json()
    assert alices["node_id"] != bobs["node_id"]
    for value in (str(world.bob.user_id), world.bob.slug, key, f"Bearer {key}"):
        assert client.get("/v1/tree", headers={header: value}).json() == alices
        assert httpx.get(tree, headers={header: value}).status_code == 401


def test_cookies_are_no_keys(world: World, client: httpx.Client) -> None:
    key = issue_api_key(world.installation.database, world.bob.user_id)
    for name in ("key", "token", "Authorization", "session"):
        answer = httpx.get(client.base_url.join("/v1/tree"), headers={"Cookie": f"{name}={key}"})
        assert answer.status_code == 401


@pytest.mark.parametrize("header", ["X-HTTP-Method-Override", "X-HTTP-Method", "X-Method-Override"])
def test_method_override_is_ignored(client: httpx.Client, header: str) -> None:
    """A form of another page can send GET and POST, but neither DELETE nor PATCH."""
    (listed,) = [key for key in client.get("/v1/keys").json()["keys"] if key["label"] == "to be kept"] or [
        client.post("/v1/keys", json={"label": "to be kept"}).json()
    ]
    address = f"/v1/keys/{listed['key_id']}"
    assert client.post(address, headers={header: "DELETE"}).status_code == 405
    assert client.get(address, headers={header: "DELETE"}).status_code == 405
    assert client.delete("/v1/tree", headers={header: "GET"}).status_code == 405


@pytest.mark.parametrize("header", ["X-Original-URL", "X-Rewrite-URL", "X-Forwarded-Prefix", "X-Forwarded-Uri"])
def test_path_in_a_header_is_ignored(client: httpx.Client, header: str) -> None:
    """A proxy guards the path of the request line."""
    assert httpx.get(client.base_url.join("/v1/tree"), headers={header: "/healthz"}).status_code == 401
    assert "node_id" in client.get("/v1/tree", headers={header: "/v1/keys"}).json()
    assert client.get("/v1/nothing", headers={header: "/v1/tree"}).status_code == 404


@pytest.mark.parametrize(
    "path",
    [
        "/v1/../v1/tree",
        "//v1/tree",
        "/v1//tree",
        "/v1/tree/",
        "/v1/tree;x",
        "/v1/tre%65",
        "/v1%2ftree",
        "/v1%2Ftree",
        "/%76%31/tree",
        "\\v1\\tree",
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
    assert statuses(client, "GET /v1/tree HTTP/1.1", "Host: x") == [200]
    assert statuses(client, f"GET {path} HTTP/1.1", "Host: x")[0] in (400, 404)


# In a browser


def test_cross_origin_page_reads_nothing(client: httpx.Client) -> None:
    asked = {"Origin": "https://mallory.example", "Access-Control-Request-Method": "POST"}
    answers = [client.options("/v1/search", headers=asked), client.get("/v1/tree", headers=asked)]
    assert [answer.status_code for answer in answers] == [405, 200]
    for answer in answers:
        assert not [name for name in answer.headers if name.startswith("access-control-")]


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""])
def test_cross_origin_json_as_text(client: httpx.Client, kind: str) -> None:
    answer = client.post("/v1/search", content=b'{"query": "x"}', headers={"Content-Type": kind})
    assert answer.status_code == 422
    plain = {"Content-Type": "application/json"}
    assert client.post("/v1/search", content=b'{"query": "x"}', headers=plain).status_code == 200


@pytest.mark.parametrize("name", ['a"; filename="b.html', "a\r\nSet-Cookie: x=y", "a\nX: y", "\u202egnp.exe"])
def test_file_name_injects_no_header(world: World, client: httpx.Client, name: str) -> None:
    user, claims = new_user(world.installation)
    key = issue_api_key(world.installation.database, user.user_id)
    installation = world.installation
    upload = installation.uploads.receive(claims, name, [b"<script>alert(1)</script> " + name.encode()])
    installation.uploads.read_due(installation.text_extractor)
    assert sum(len(result.stored) for result in run_due(installation.context, "tests")) == 1
    file_id = read_upload(installation, claims, upload.upload_id)["file_id"]
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


def many_fields() -> bytes:
    """Made by the test, because every worker would make it for the list of tests."""
    return b'{"query": "x", ' + b",".join(b'"%d": 1' % n for n in range(2_000_000)) + b"}"


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
        many_fields,
        b'{"query": "x", "source_kinds": [' + b"0," * 2_000_000 + b"0]}",
        "{“query”: “x”}".encode(),
        b'\xef\xbb\xbf{"query": "x", "limit": 0}',
    ],
    ids=[
        "brackets", "objects", "a long number", "a huge number", "minus zero", "no number", "a time", "a year",
        "half pairs", "a long text", "many fields", "many items", "curly quotes", "a byte order mark",
    ],
)  # fmt: skip
def test_slow_request_body(client: httpx.Client, content: bytes | Callable[[], bytes]) -> None:
    body = content if isinstance(content, bytes) else content()
    answer = client.post("/v1/search", content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code in (400, 422)
    assert len(answer.content) < 20_000


def test_object_of_many_fields(client: httpx.Client) -> None:
    """Their names are counted before each of them is an error."""
    for count in (MAX_FIELDS, MAX_FIELDS + 1):
        answer = client.post("/v1/search", json={f"field{number}": number for number in range(count)})
        assert answer.status_code == 422
        assert (f"at most {MAX_FIELDS} fields" in answer.text) == (count > MAX_FIELDS)


def test_compressed_request_body(client: httpx.Client) -> None:
    """Request bodies are never decompressed, so they cannot grow."""
    plain = json.dumps({"query": "x"}).encode()
    headers = {"Content-Type": "application/json"}
    assert client.post("/v1/search", content=plain, headers=headers).status_code == 200
    for encoding, packed in (("gzip", gzip.compress(plain)), ("deflate", zlib.compress(plain))):
        answer = client.post("/v1/search", content=packed, headers=headers | {"Content-Encoding": encoding})
        assert answer.status_code in (400, 415, 422)


def test_form_of_many_parts(client: httpx.Client) -> None:
    boundary = b"--b\r\nContent-Disposition: form-data; name=%b\r\n\r\nx\r\n"
    file, title = b'"file"; filename="f"', b'"title"'
    headers = {"Content-Type": "multipart/form-data; boundary=b"}
    for parts, expected in (
        ([file, title], (200, 202)),
        ([file] * 10_000, (400, 413, 422)),
        ([file] + [title] * 10_000, (400, 413, 422)),
    ):
        form = b"".join(boundary % part for part in parts) + b"--b--\r\n"
        assert client.post("/v1/files", content=form, headers=headers).status_code in expected
