"""What every operation of the HTTP API does with a request before it runs: ids, keys, lengths, unknown parameters."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from uuid import uuid4

import httpx
import pytest

from neurigraph_pipelines.faces.api.request_ids import MAX_LENGTH, RequestIdFilter
from tests.support.api_calls import admin, assert_problem, new_user
from tests.support.openapi import document, operations
from tests.support.raw_http import exchange, head


@pytest.fixture(scope="module")
def client(address: str) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=address, timeout=60.0) as made:
        yield made


@pytest.fixture(scope="module")
def owner(client: httpx.Client) -> dict[str, str]:
    return new_user(client, "owner")


def somewhere(path: str) -> str:
    """Return a path with ids that do not exist."""
    while "{" in path:
        before, _, rest = path.partition("{")
        path = before + str(uuid4()) + rest.partition("}")[2]
    return path


@pytest.mark.attack
def test_no_operation_reads_a_body_too_early_or_too_long(address: str, owner: dict[str, str]) -> None:
    """The bodies are only announced: an answer shows that nobody waited for them."""
    without_key = ("POST", "/v1/sign-in")
    guarded = [(method.upper(), somewhere(path)) for path, method in operations() if path.startswith("/v1/")]
    guarded.remove(without_key)
    lines = [f"{' '.join(without_key)} HTTP/1.1", "Host: x", "Connection: close", "Content-Type: application/json"]
    (longer,) = exchange(address, head(*lines, "Content-Length: 20000"))
    assert longer.status == 413
    assert len(guarded) > 30
    for method, path in guarded:
        keys = admin() if path == "/v1/users" else owner
        for kind in ("application/json", "multipart/form-data; boundary=x"):
            lines = [f"{method} {path} HTTP/1.1", "Host: x", "Connection: close", f"Content-Type: {kind}"]
            (unknown,) = exchange(address, head(*lines, "Content-Length: 1000"))
            assert (unknown.status, path) == (401, path)
            key = f"Authorization: {keys['Authorization']}"
            (too_long,) = exchange(address, head(*lines, key, f"Content-Length: {10**12}"))
            assert (too_long.status, path) == (413, path)
            assert b"more than" in too_long.body


@pytest.mark.attack
def test_no_operation_ignores_a_parameter(client: httpx.Client, owner: dict[str, str]) -> None:
    for path, method in operations():
        operation = document()["paths"][path][method]
        keys = admin() if path == "/v1/users" else owner
        body: dict[str, str] | None = {} if "requestBody" in operation else None
        address = somewhere(path)
        refused = client.request(method, address, params={"limt": "5"}, headers=keys, json=body)
        (error,) = [each for each in assert_problem(refused, 422)["errors"] if each.get("parameter") == "limt"]
        known = {each["name"] for each in operation.get("parameters", ()) if each["in"] == "query"}
        assert all(name in error["detail"] for name in known or {"none"}), path
        header = client.request(method, address, headers={**keys, "Neurigraph-Lags": "1"}, json=body)
        assert "neurigraph-lags" in str(assert_problem(header, 422)["errors"]), path
    assert client.get("/v1/tree", headers=owner).status_code == 200


def test_every_operation_names_an_unknown_field(client: httpx.Client, owner: dict[str, str]) -> None:
    named = 0
    for path, method in operations():
        content = document()["paths"][path][method].get("requestBody", {}).get("content", {}).get("application/json")
        if content is None:
            continue
        (form,) = [one["$ref"] for one in (content["schema"], *content["schema"].get("anyOf", ())) if "$ref" in one]
        assert document()["components"]["schemas"][form.rpartition("/")[2]]["additionalProperties"] is False, path
        if "{" not in path:  # others look at the id first
            keys = admin() if path == "/v1/users" else owner
            refused = client.request(method, path, headers=keys, json={"colour": "red"})
            errors = {one.get("pointer"): one["detail"] for one in assert_problem(refused, 422)["errors"]}
            assert "there is no field 'colour'" in errors["#/colour"], path
            named += 1
    assert named > 25


def test_a_parameter_comes_once(client: httpx.Client, owner: dict[str, str]) -> None:
    once, twice = ("/v1/erasures?limit=2", "/v1/erasures?limit=2&limit=3")
    assert client.get(once, headers=owner).status_code == 200
    assert "2 times" in str(assert_problem(client.get(twice, headers=owner), 422)["errors"])


def test_every_answer_has_a_request_id(client: httpx.Client, owner: dict[str, str]) -> None:
    given = {"X-Request-Id": "trace/4711:a"}
    for path, headers, status in (
        ("/healthz", {}, 200),
        ("/v1/tree", owner, 200),
        ("/v1/tree", {}, 401),
        ("/v1/nothing", owner, 404),
        (f"/v1/nodes/{uuid4()}", owner, 404),
        ("/v1/erasures?limit=x", owner, 422),
    ):
        answer = client.get(path, headers={**headers, **given})
        assert (answer.status_code, answer.headers.get_list("x-request-id")) == (status, ["trace/4711:a"])
        made = [client.get(path, headers=headers) for _ in range(2)]
        assert len({one.headers["x-request-id"] for one in made}) == 2
        for one in (answer, *made):
            assert status == 200 or one.json()["request_id"] == one.headers["x-request-id"]
    (malformed,) = exchange(str(client.base_url), head("GET /healthz HTTP/11", "Host: x"))
    assert (malformed.status, len(malformed.headers["X-Request-Id"])) == (400, 32)


@pytest.mark.attack
def test_hostile_request_ids(client: httpx.Client, address: str) -> None:
    assert client.get("/healthz", headers={"X-Request-Id": "a" * MAX_LENGTH}).status_code == 200
    hostile = (b"a" * (MAX_LENGTH + 1), b"", b"a b", b'x", "level": "ERROR', b"%0d%0aSet-Cookie:x=y", b"\xe9")
    for given in hostile:
        answer = client.get("/healthz", headers={b"X-Request-Id": given})
        body = assert_problem(answer, 400)
        assert answer.headers["x-request-id"] == body["request_id"] != given.decode("latin-1")
        assert "set-cookie" not in answer.headers
    twice = head("GET /healthz HTTP/1.1", "Host: x", "X-Request-Id: a", "X-Request-Id: b", "Connection: close")
    assert [answer.status for answer in exchange(address, twice)] == [400]


def test_log_lines_name_the_request(client: httpx.Client) -> None:
    lines: list[str] = []

    class Lines(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            lines.append(self.format(record))

    handler, log = Lines(), logging.getLogger("uvicorn.access")
    handler.addFilter(RequestIdFilter())
    handler.setFormatter(logging.Formatter("%(message)s request_id=%(request_id)s"))
    level = log.level
    log.setLevel(logging.INFO)
    log.addHandler(handler)
    try:
        assert client.get("/healthz", headers={"X-Request-Id": "in-the-log"}).status_code == 200
    finally:
        log.removeHandler(handler)
        log.setLevel(level)
    assert [line for line in lines if "/healthz" in line and line.endswith(" request_id=in-the-log")]
    log.warning("outside of a request")
