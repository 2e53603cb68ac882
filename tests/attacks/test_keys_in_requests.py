"""Attacks by the place of a key: in the address, where it is logged, or behind a body that costs work."""

from __future__ import annotations

import logging
import socket
from urllib.parse import quote, urlsplit

import httpx
import pytest

from neurigraph_pipelines.access.authentication import issue_api_key
from tests.conftest import ADMIN_KEY
from tests.support.raw_http import answer, exchange, head
from tests.support.two_users import World

pytestmark = pytest.mark.attack

TOKEN = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJ4In0.c2lnbmF0dXJlIG9mIGEgdG9rZW4"


@pytest.fixture(scope="module")
def key(world: World) -> str:
    return issue_api_key(world.installation.database, world.alice.user_id)


@pytest.mark.parametrize(
    "name", ["key", "api_key", "API-KEY", "x-api-key", "access_token", "Authorization", "anything"]
)
@pytest.mark.parametrize("with_header", [False, True])
def test_key_in_the_query_string(impatient: httpx.Client, key: str, name: str, with_header: bool) -> None:
    headers = dict(impatient.headers) if with_header else {}
    for path in ("/v1/tree", "/healthz", "/docs"):
        for value in (key, TOKEN, quote(key, safe="").replace("_", "%5F")):
            answer = httpx.get(impatient.base_url.join(f"{path}?limit=1&{name}={value}"), headers=headers)
            assert answer.status_code == 400
            assert "Authorization: Bearer KEY" in answer.json()["detail"]
            assert value not in answer.text
    assert impatient.get("/v1/uploads?limit=1").status_code == 200, "other parameters are taken"


def test_key_as_a_parameter_name(impatient: httpx.Client, key: str) -> None:
    assert impatient.get(f"/v1/tree?{key}").status_code == 400
    assert impatient.get(f"/v1/tree?admin_key={ADMIN_KEY[:4]}").status_code == 400


def test_key_in_the_address_is_not_logged(impatient: httpx.Client, key: str, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, logger="uvicorn"):
        for address in (
            f"/v1/tree?api_key={key}",
            f"/v1/tree?{key}",
            f"/v1/tree?x=1&password={ADMIN_KEY}",
            f"/v1/keys/{key}",
            f"/v1/{TOKEN}",
            f"/healthz?a={TOKEN}",
        ):
            exchange(
                str(impatient.base_url), head(f"GET {quote(address, '/?=&')} HTTP/1.1", "Host: x", "Connection: close")
            )
        exchange(str(impatient.base_url), head("GET /healthz HTTP/1.1", "Host: x", "Connection: close"))
    logged = [record.getMessage() for record in caplog.records if record.name == "uvicorn.access"]
    assert len(logged) == 7
    assert "/v1/tree?…" in logged[0]
    assert "GET /healthz HTTP/1.1" in logged[-1]
    for hidden in (key, TOKEN, ADMIN_KEY, quote(ADMIN_KEY)):
        assert hidden not in caplog.text


@pytest.mark.parametrize("credential", ["ng_wrong", TOKEN, "", None])
@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/v1/search"),
        ("POST", "/v1/users"),
        ("POST", "/v1/conversations"),
        ("POST", "/v1/files"),
        ("PATCH", "/v1/nodes/1"),
        ("POST", "/v1/nothing"),
    ],
)
def test_body_is_not_read_before_the_key_is_checked(
    impatient: httpx.Client, method: str, path: str, credential: str | None
) -> None:
    """The response comes before the body has been sent, so nothing can have parsed it; it says if a key is missing."""
    keys = [] if credential is None else [f"Authorization: Bearer {credential}"]
    address = urlsplit(str(impatient.base_url))
    with socket.create_connection((address.hostname, address.port), timeout=30) as connection:
        start = head(
            f"{method} {path} HTTP/1.1", "Host: x", "Content-Type: application/json", "Content-Length: 9", *keys
        )
        connection.sendall(start)
        try:
            refusal = answer(connection)
        except TimeoutError:
            raise AssertionError("the server waits for the body") from None
    assert (refusal.status, b"this call needs the header" in refusal.body) == (401, not credential)


@pytest.mark.parametrize("body", [b'{"slug":', b"[" * 100_000, b'{"query": "' + b"x" * 20_000_000 + b'"}'])
def test_malformed_body_with_a_wrong_key(impatient: httpx.Client, body: bytes) -> None:
    headers = {"Content-Type": "application/json"}
    for path, right in (("/v1/search", impatient.headers["Authorization"]), ("/v1/users", f"Bearer {ADMIN_KEY}")):
        address = impatient.base_url.join(path)
        wrong = httpx.post(address, content=body, headers=headers | {"Authorization": "Bearer ng_wrong"})
        assert wrong.status_code == 401
        answer = httpx.post(address, content=body, headers=headers | {"Authorization": right})
        assert answer.status_code in (400, 422), "with the right key the body is what is wrong"
