"""The limits of the HTTP API: each has its response, and the server answers the next request."""

from __future__ import annotations

import json
import select
import socket
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
from psycopg import sql

from neurigraph_pipelines.faces.api.admission import RequestRate
from neurigraph_pipelines.faces.api.body_limit import BODIES_TOGETHER, MAX_BODY_BYTES
from neurigraph_pipelines.faces.api.server import MAX_HEAD_BYTES
from neurigraph_pipelines.wiring.databases import CACHE_SECONDS
from neurigraph_pipelines.wiring.installation import Installation
from tests.support.api_calls import assert_problem, new_user
from tests.support.api_server import serving
from tests.support.waiting import wait_until

PATIENCE = 0.5


@contextmanager
def limited(installation: Installation, **settings: Any) -> Iterator[httpx.Client]:
    """The same installation, served with other limits."""
    with (
        Installation(installation.settings.changed(**settings)) as other,
        serving(other) as address,
        httpx.Client(base_url=address, timeout=30.0, limits=httpx.Limits(max_keepalive_connections=0)) as client,
    ):
        yield client
        assert client.get("/healthz").status_code == 200, "the server has not survived"


@contextmanager
def connected(client: httpx.Client) -> Iterator[socket.socket]:
    """A raw connection for malformed requests."""
    address = urlsplit(str(client.base_url))
    with socket.create_connection((address.hostname, address.port), timeout=30) as connection:
        yield connection


def read_all(connection: socket.socket) -> bytes:
    """Read until the server closes the connection."""
    received = b""
    with suppress(ConnectionResetError):
        while piece := connection.recv(65_536):
            received += piece
    return received


def assert_refused(answer: bytes, status: int) -> None:
    """A whole answer with a problem."""
    head, _, body = answer.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 %d " % status), answer
    assert b"application/problem+json" in head
    assert json.loads(body)["status"] == status


def head_of(path: str, *headers: str, method: str = "POST") -> bytes:
    lines = [f"{method} {path} HTTP/1.1", "Host: x", "Content-Type: application/json", *headers, "", ""]
    return "\r\n".join(lines).encode()


# Rate


def test_rate_limit_per_key(here: Installation) -> None:
    with limited(here, api_requests_per_minute=6) as client:
        bob, eve = (new_user(client, f"rate-{name}") for name in ("bob", "eve"))
        answers = [client.get("/v1/tree", headers=bob) for _ in range(8)]
        assert [answer.status_code for answer in answers] == [200] * 6 + [429] * 2
        assert_problem(answers[-1], 429)
        assert 1 <= int(answers[-1].headers["retry-after"]) <= 10
        assert client.get("/v1/tree", headers=eve).status_code == 200


def test_wrong_keys_are_rate_limited(here: Installation) -> None:
    with limited(here, api_requests_per_minute=2) as client:
        wrong = {"Authorization": "Bearer ng_wrong"}
        assert [client.get("/v1/tree", headers=wrong).status_code for _ in range(3)] == [401, 401, 429]


# Pages of other origins


def test_pages_of_allowed_origins_may_call(here: Installation) -> None:
    with limited(here, api_allowed_origins=("https://app.example.com",)) as client:
        bob, page = new_user(client, "bob-of-a-page"), {"Origin": "https://app.example.com"}
        asks = {
            "Access-Control-Request-Method": "PATCH",
            "Access-Control-Request-Headers": "authorization,content-type,if-match",
        }
        asked = client.options("/v1/account", headers=page | asks)
        assert (asked.status_code, asked.headers["access-control-allow-origin"]) == (200, page["Origin"])
        assert "if-match" in asked.headers["access-control-allow-headers"].lower()
        tree, missing = client.get("/v1/tree", headers=bob | page), client.get("/v1/tree", headers=page)
        assert (tree.status_code, missing.status_code) == (200, 401)
        for answer in (tree, missing):
            assert answer.headers["access-control-allow-origin"] == page["Origin"]
            assert "access-control-allow-credentials" not in answer.headers
        strange = {"Origin": "https://mallory.example"}
        assert client.options("/v1/account", headers=strange | asks).status_code == 400
        assert "access-control-allow-origin" not in client.get("/v1/tree", headers=bob | strange).headers


def test_bucket_refills_evenly() -> None:
    rate = RequestRate(60)
    assert [rate.wait_seconds(b"bob", 100.0) for _ in range(60)] == [0.0] * 60
    assert rate.wait_seconds(b"bob", 100.0) == pytest.approx(1.0)
    assert rate.wait_seconds(b"bob", 100.5) == pytest.approx(0.5), "a refused request is not counted"
    assert rate.wait_seconds(b"bob", 101.0) == 0.0
    assert rate.wait_seconds(b"bob", 101.0) > 0
    assert [rate.wait_seconds(b"bob", 1_000.0) for _ in range(60)] == [0.0] * 60


def test_full_buckets_are_dropped() -> None:
    rate = RequestRate(60)
    for number in range(200_000):
        assert rate.wait_seconds(b"%d" % number, float(number)) == 0.0
    assert len(rate._full_at) <= 20_000


# Requests and connections at one time


def test_request_limit_gives_retry_after(here: Installation) -> None:
    with limited(here, api_concurrent_requests=3) as client:
        bob = new_user(client, "many-at-once")
        with here.database.owner() as tx:
            tx.execute("LOCK TABLE neurigraph.graph_index")
            with ThreadPoolExecutor(12) as callers:
                calls = [callers.submit(client.get, "/v1/tree", headers=bob) for _ in range(12)]
                wait_until(lambda: sum(call.done() for call in calls) >= 9, "nine calls are refused")
                assert client.get("/healthz").status_code == 200, "a busy process lives"
                tx.rollback()
        answers = [call.result() for call in calls]
        assert sorted(answer.status_code for answer in answers) == [200] * 3 + [503] * 9
        for answer in answers:
            if answer.status_code == 503:
                assert_problem(answer, 503)
                assert int(answer.headers["retry-after"]) >= 1
        assert client.get("/v1/tree", headers=bob).status_code == 200


def test_connection_limit(here: Installation) -> None:
    with limited(here, api_connections=3) as client, ExitStack() as connections:
        *_, last = [connections.enter_context(connected(client)) for _ in range(4)]
        assert_refused(read_all(last), 503)


# The database


def test_exhausted_pool_is_transient(here: Installation) -> None:
    with limited(here, database_pool_size=1, database_wait_seconds=0.2, statement_timeout_seconds=1.0) as client:
        bob = new_user(client, "no-connection")
        with here.database.owner() as tx, ThreadPoolExecutor(4) as callers:
            tx.execute("LOCK TABLE neurigraph.graph_index")
            answers = list(callers.map(lambda _: client.get("/v1/tree", headers=bob), range(4)))
        for answer in answers:
            assert_problem(answer, 503)
            assert int(answer.headers["retry-after"]) >= 1
        assert client.get("/v1/tree", headers=bob).status_code == 200


def test_waits_of_one_request_have_one_bound(here: Installation) -> None:
    """A write takes several connections one after the other, and the readiness check some of its own."""
    with (
        Installation(here.settings.changed(database_pool_size=1, database_wait_seconds=6.0)) as other,
        serving(other) as address,
        httpx.Client(base_url=address, timeout=30.0, limits=httpx.Limits(max_connections=60)) as client,
        ExitStack() as taken,
    ):
        bob = new_user(client, "one-bound")
        for connection in (other.database.agent(None), other.database.pipeline()):
            taken.enter_context(connection)
        with ThreadPoolExecutor(60) as callers:
            calls = [callers.submit(_timed, client, "POST", "/v1/conversations", bob) for _ in range(50)]
            calls.append(callers.submit(_timed, client, "GET", "/readyz", bob))
            answers = [call.result() for call in calls]
        assert {status for status, _ in answers} == {503}
        assert max(seconds for _, seconds in answers[:-1]) < 10.0
        assert answers[-1][1] < 9.5


def _timed(client: httpx.Client, method: str, path: str, headers: dict[str, str]) -> tuple[int, float]:
    started = time.monotonic()
    answer = client.request(method, path, headers=headers, json={} if method == "POST" else None)
    return answer.status_code, time.monotonic() - started


def test_long_statement_is_reported(here: Installation) -> None:
    with limited(here, statement_timeout_seconds=0.2) as client:
        bob = new_user(client, "too-long")
        with here.database.owner() as tx:
            tx.execute(sql.SQL("LOCK TABLE neurigraph.graph_index"))
            problem = assert_problem(client.get("/v1/tree", headers=bob), 503)
        assert "too long" in problem["detail"]


def test_liveness_with_busy_threads(here: Installation) -> None:
    with limited(here, database_wait_seconds=20.0) as client:
        bob = new_user(client, "all-threads")
        with here.database.owner() as tx, ThreadPoolExecutor(60) as callers:
            tx.execute("LOCK TABLE neurigraph.graph_index")
            calls = [callers.submit(client.get, "/v1/tree", headers=bob) for _ in range(60)]
            time.sleep(CACHE_SECONDS + 0.5)  # all calls have arrived, and the list of databases is read again
            assert client.get("/healthz").status_code == 200
            assert not any(call.done() for call in calls), "it waited for a thread"
            tx.rollback()
            assert {call.result().status_code for call in calls} == {200}


# Bodies


def test_slow_body_is_cut_off(here: Installation) -> None:
    with limited(here, api_client_seconds=PATIENCE) as client:
        bob = new_user(client, "drips")
        with connected(client) as connection:
            authorization = f"Authorization: {bob['Authorization']}"
            connection.sendall(head_of("/v1/search", authorization, "Content-Length: 100000"))
            with suppress(OSError):
                for _ in range(100):
                    connection.sendall(b" ")
                    connection.settimeout(0.05)
                    with suppress(TimeoutError):
                        assert_refused(connection.recv(65_536), 408)
                        return
    raise AssertionError("it was waited for")


def test_steady_body_may_take_long(here: Installation) -> None:
    """600 bytes a second, for more than the patience with a body that does not come."""

    def pieces() -> Iterator[bytes]:
        yield b'{"query": "x'
        for _ in range(15):
            time.sleep(0.1)
            yield b" " * 60
        yield b'"}'

    with limited(here, api_client_seconds=PATIENCE) as client:
        headers = {**new_user(client, "steady"), "Content-Type": "application/json"}
        assert client.post("/v1/search", content=pieces(), headers=headers).status_code == 200


def test_stalled_upload_is_cut_off(here: Installation) -> None:
    with limited(here, api_client_seconds=PATIENCE) as client:
        bob = new_user(client, "stops")
        with connected(client) as connection:
            form = ["Content-Type: multipart/form-data; boundary=b", f"Authorization: {bob['Authorization']}"]
            head = "\r\n".join(["POST /v1/files HTTP/1.1", "Host: x", *form, "Content-Length: 1000000", "", ""])
            connection.sendall(head.encode() + b'--b\r\nContent-Disposition: form-data; name="file"; filename="f"\r\n')
            assert_refused(read_all(connection), 408)


def test_total_body_bytes_are_limited(here: Installation) -> None:
    """All bodies that are being read must fit into memory together."""
    chunk = b"%x\r\n%b\r\n" % (1 << 20, b" " * (1 << 20))
    with limited(here) as client, ExitStack() as connections:
        authorization = f"Authorization: {new_user(client, 'sends-much')['Authorization']}"
        senders = [connections.enter_context(connected(client)) for _ in range(BODIES_TOGETHER + 1)]
        for sender in senders:
            sender.sendall(head_of("/v1/search", authorization, "Transfer-Encoding: chunked"))
        with suppress(OSError):  # the one that is refused takes no more
            for _ in range(MAX_BODY_BYTES >> 20):
                for sender in senders:
                    sender.sendall(chunk)
        refused, _, _ = select.select(senders, [], [], 30)
        assert_refused(read_all(refused[0]), 503)


# Slow clients


def test_slow_head_is_cut_off(here: Installation) -> None:
    with limited(here, api_client_seconds=PATIENCE) as client, connected(client) as connection:
        connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n")
        with suppress(OSError):
            for number in range(200):
                connection.sendall(b"X-%d: y\r\n" % number)
                time.sleep(0.05)
            raise AssertionError("it was waited for")


def test_slow_second_head_is_cut_off(here: Installation) -> None:
    with limited(here, api_client_seconds=PATIENCE) as client, connected(client) as connection:
        connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
        assert connection.recv(65_536).startswith(b"HTTP/1.1 200 ")
        with suppress(OSError):
            for _ in range(200):
                connection.sendall(b"G")
                time.sleep(0.05)
            raise AssertionError("it was waited for")


def test_silent_connection_is_closed(here: Installation) -> None:
    with limited(here, api_client_seconds=PATIENCE) as client, connected(client) as connection:
        assert read_all(connection) == b""


def test_client_that_reads_nothing_is_closed(here: Installation) -> None:
    requests = 400
    with limited(here, api_client_seconds=PATIENCE) as client:
        size = len(client.get("/openapi.json").content)
        with connected(client) as connection:
            connection.sendall(head_of("/openapi.json", method="GET") * requests)
            time.sleep(4 * PATIENCE)  # reads nothing for longer than the server waits
            assert len(read_all(connection)) < size * requests


# Heads


@pytest.mark.parametrize(
    ("head", "status"),
    [
        (b"GET /healthz HTTP/1.1\r\nHost: x\r\nX: " + b"y" * MAX_HEAD_BYTES, 431),
        (b"GET /healthz?" + b"y" * MAX_HEAD_BYTES, 431),
        (b"GET /healthz HTTP/1.1\r\nHost: x\r\n" + b"X: y\r\n" * MAX_HEAD_BYTES, 431),
        (b"nonsense\r\n\r\n", 400),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", 400),
    ],
    ids=["a long header", "a long address", "many headers", "no HTTP", "TLS to a plain port"],
)
def test_long_or_malformed_head(here: Installation, head: bytes, status: int) -> None:
    with limited(here) as client, connected(client) as connection:
        with suppress(OSError):  # it may have heard enough
            connection.sendall(head)
        assert_refused(read_all(connection), status)
