"""Who may call ``/mcp``, from where and with what: keys, tokens, hosts, origins, methods and bodies; and cancelling."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any
from uuid import uuid4

import anyio
import httpx
import psycopg
import pytest

from neurigraph_pipelines.faces.mcp.cancelling import SESSION
from neurigraph_pipelines.faces.mcp.http import METADATA_PATH
from neurigraph_pipelines.settings import Settings
from neurigraph_pipelines.wiring.installation import Installation
from tests.support.agents import MODES, Mode, call_over_http, cancel_while_locked, found, http_agent
from tests.support.api_server import serving
from tests.support.locks import wait_until_locked
from tests.support.shared_graph import SharedGraph, new_shared_graph
from tests.support.token_issuer import AUDIENCE, ISSUER, TokenIssuer, token_claims

pytestmark = pytest.mark.attack

HEADERS = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
LIST: dict[str, Any] = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}


@pytest.fixture(scope="module")
def issuer() -> Iterator[TokenIssuer]:
    with TokenIssuer() as running:
        yield running


@pytest.fixture(scope="module")
def client(shared_installation: Installation, issuer: TokenIssuer) -> Iterator[httpx.Client]:
    """A client of a server that takes keys and tokens, and is known by a name."""
    with trusting(shared_installation, issuer) as made:
        yield made


@contextmanager
def trusting(installation: Installation, issuer: TokenIssuer) -> Iterator[httpx.Client]:
    """Serve an installation with an issuer whose key set was not fetched yet."""
    settings = installation.settings.changed(
        jwt_audience=AUDIENCE, jwt_issuer=ISSUER, jwt_jwks_url=issuer.url, api_allowed_hosts=("memory.example.com",)
    )
    with (
        Installation(Settings.model_validate(settings.model_dump())) as made,
        serving(made) as address,
        httpx.Client(base_url=address, timeout=60.0, headers=HEADERS) as client,
    ):
        yield client


@pytest.fixture(scope="module")
def graph(shared_installation: Installation) -> SharedGraph:
    return new_shared_graph(shared_installation)


def bearer(credential: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {credential}"}


def listing(client: httpx.Client, *headers: tuple[str, str], path: str = "/mcp") -> httpx.Response:
    return client.post(path, json=LIST, headers=[*HEADERS.items(), *headers])


def require_problem(refused: httpx.Response) -> None:
    """Require that an error has the shape of all errors over HTTP."""
    assert refused.headers["content-type"] == "application/problem+json"
    told = refused.json()
    assert told.keys() == {"type", "title", "status", "detail", "request_id"}
    assert told["status"] == refused.status_code


def test_only_valid_keys_and_tokens_are_answered(client: httpx.Client, graph: SharedGraph, issuer: TokenIssuer) -> None:
    key, own = graph.key(), token_claims(graph.owner.user_id)
    expired = own | {"exp": int(time.time()) - 60}
    for credential in (key, issuer.sign(own), graph.personas_key()):
        answered = listing(client, *bearer(credential).items())
        assert (answered.status_code, answered.json()["id"]) == (200, 1), answered.text
    for headers in (
        [],
        list(bearer("ng_" + "x" * 43).items()),
        list(bearer(issuer.sign(expired)).items()),
        list(bearer(issuer.sign(own | {"iss": "https://other.example"})).items()),
        list(bearer(issuer.sign(own | {"aud": "others"})).items()),
        [("Authorization", f"Basic {key}")],
        [("Authorization", f"Bearer {key}"), ("Authorization", f"Bearer {key}")],
    ):
        refused = listing(client, *headers)
        assert refused.status_code == 401, refused.text
        metadata = f'resource_metadata="{client.base_url}{METADATA_PATH}"'
        assert metadata in refused.headers["www-authenticate"]
        require_problem(refused)
        assert key not in refused.text
    in_address = listing(client, path=f"/mcp?api_key={key}")
    assert in_address.status_code == 400
    assert key not in in_address.text


def test_token_acts_for_its_user(client: httpx.Client, graph: SharedGraph, issuer: TokenIssuer) -> None:
    address = str(client.base_url)
    me = found(call_over_http(address, issuer.sign(token_claims(graph.owner.user_id)), "who_am_i"))
    assert (me["role"], me["user_id"]) == ("user", str(graph.owner.user_id))
    nobody = found(call_over_http(address, issuer.sign(token_claims(uuid4())), "who_am_i"))
    assert (nobody["node_count"], nobody["top_node_id"]) == (0, None)


def test_key_set_that_is_away_is_no_refusal(client: httpx.Client, graph: SharedGraph, issuer: TokenIssuer) -> None:
    token = issuer.sign(token_claims(graph.owner.user_id), headers={"kid": "unknown"})
    issuer.answer = (500, b"", {})
    try:
        with trusting(graph.installation, issuer) as other:
            assert listing(other, *bearer(token).items()).status_code == 503
            assert listing(other, *bearer(graph.key()).items()).status_code == 200
    finally:
        issuer.answer = None


def test_metadata_names_the_issuer(client: httpx.Client) -> None:
    found = client.get(METADATA_PATH)
    assert found.json() == {
        "resource": f"{client.base_url}/mcp",
        "authorization_servers": [ISSUER],
        "bearer_methods_supported": ["header"],
        "resource_name": "Neurigraph",
    }


def test_pages_and_other_hosts_are_refused(client: httpx.Client, graph: SharedGraph) -> None:
    key, own = bearer(graph.key()), f"{client.base_url.host}:{client.base_url.port}"
    for headers, status in (
        ({"Host": "evil.example"}, 421),
        ({"Host": f"evil.example:{client.base_url.port}"}, 421),
        ({"Host": "127.0.0.1.evil.example"}, 421),
        ({"Host": "a@127.0.0.1"}, 421),
        ({"Origin": "https://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "http://127.0.0.1:1"}, 403),
        ({"Host": "memory.example.com", "Origin": "https://evil.example"}, 403),
        ({"Host": "memory.example.com"}, 200),
        ({"Host": "memory.example.com", "Origin": "https://memory.example.com"}, 200),
        ({"Host": "localhost:8400"}, 200),
        ({"Origin": f"http://{own}"}, 200),
    ):
        answered = listing(client, *key.items(), *headers.items())
        assert answered.status_code == status, (headers, answered.text)
        if status != 200:
            require_problem(answered)
    assert client.get(METADATA_PATH, headers={"Host": "evil.example"}).status_code == 421


def test_other_methods_and_bodies_are_refused(client: httpx.Client, graph: SharedGraph) -> None:
    key = bearer(graph.key())
    for method in ("GET", "DELETE", "PUT", "OPTIONS"):
        answered = client.request(method, "/mcp", headers=key)
        assert (answered.status_code, answered.headers["allow"]) == (405, "POST")
        require_problem(answered)
    assert client.post("/mcp", content=b"x" * (5 << 20), headers=key).status_code == 413
    assert client.post("/mcp", content=b"x" * (40 << 20), headers=key).status_code == 413
    for body in (b"{", b"[]", b'{"jsonrpc": "2.0"}', b"[" * 100_000, b'{"id": ' + b"9" * 5_000 + b"}", b"\xff"):
        answered = client.post("/mcp", content=body, headers=key)
        assert answered.status_code == 400, body[:20]
        assert "Traceback" not in answered.text
    assert listing(client, *key.items()).status_code == 200


@pytest.mark.parametrize("mode", MODES)
def test_cancelled_call_changes_nothing_and_blocks_nobody(client: httpx.Client, graph: SharedGraph, mode: Mode) -> None:
    installation, address, key = graph.installation, str(client.base_url), graph.key()
    old, new = (str(graph.record_of(path)[0]) for path in ("Family/Dave", "Work/Marketing"))

    async def session() -> None:
        async with http_agent(address, key, mode) as agent:
            await cancel_while_locked(installation, agent, {"record_id": old, "by": new})
            assert found(await agent.call_tool("open_memory", {"record_id": old}))["superseded_by"] is None
            (delta,) = found(await agent.call_tool("memory_history", {"record_id": old}))["deltas"]
            assert delta["operation"] == "create"

    anyio.run(session)


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ('{"query": "trout", "query": "pier"}', "there is no argument 'query (given twice)'"),
        ('{"query": "trout", "limit": 1e-400}', "limit"),
        ('{"query": "trout", "limit": NaN}', "limit"),
    ],
)
def test_arguments_that_would_change_are_refused(
    client: httpx.Client, graph: SharedGraph, arguments: str, named: str
) -> None:
    body = '{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "search_memory", "arguments": %s}}'
    headers = bearer(graph.key()) | {"Content-Type": "application/json", "Accept": "application/json"}
    answer = client.post("/mcp", content=body % arguments, headers=headers).json()["result"]
    assert (answer["isError"], named in answer["content"][0]["text"]) == (True, True), answer


def test_notification_cancels_the_call_of_its_own_session(client: httpx.Client, graph: SharedGraph) -> None:
    """As clients of the protocol's versions of 2025 cancel, which leave the request open."""
    installation, key = graph.installation, bearer(graph.key())
    old, new = (str(graph.record_of(path)[0]) for path in ("Family/Dave", "Work/Marketing"))

    def send(method: str, number: int | None, headers: dict[str, str], **params: Any) -> httpx.Response:
        message = {"jsonrpc": "2.0", "method": method, "params": params} | ({"id": number} if number else {})
        return client.post("/mcp", json=message, headers=headers)

    asked = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "me", "version": "1"}}
    sessions = [key | {SESSION: send("initialize", 1, key, **asked).headers[SESSION]} for _ in range(2)]
    change = {"name": "supersede", "arguments": {"record_id": old, "by": new}}
    with psycopg.connect(installation.administrator_url) as connection, ThreadPoolExecutor(1) as pool:
        connection.execute("LOCK TABLE neurigraph.record_index")
        call = pool.submit(send, "tools/call", 7, sessions[0], **change)
        wait_until_locked(installation)
        others = (sessions[1], key, sessions[0] | bearer(graph.key()), sessions[0] | bearer(graph.personas_key()))
        for headers in others:
            assert send("notifications/cancelled", None, headers, requestId=7).status_code == 202
        assert send("notifications/cancelled", None, sessions[0], requestId="7").status_code == 202
        with pytest.raises(TimeoutError):
            call.result(timeout=0.5)
        send("notifications/cancelled", None, sessions[0], requestId=7)
        assert call.result(timeout=10).json()["error"]["code"] == -32800
    wait_until_locked(installation, 0)
    assert (
        found(call_over_http(str(client.base_url), graph.key(), "open_memory", record_id=old))["superseded_by"] is None
    )
