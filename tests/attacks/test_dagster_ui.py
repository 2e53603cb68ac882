"""Attacks on Dagster's UI: by other accounts of the machine, and by web pages that its user opens."""

from __future__ import annotations

import json
import stat
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import ClientConnection, connect
from websockets.typing import Origin, Subprotocol

from neurigraph_pipelines.stack.processes import LocalStack
from neurigraph_pipelines.ui.guard import Guard
from neurigraph_pipelines.wiring import Installation
from tests.support.command_line import environment
from tests.support.dagster_stack import launch

pytestmark = pytest.mark.attack

VERSION = {"query": "{ version }"}
STOP_SENSOR = 'mutation { stopSensor(id: "none") { __typename } }'
EVIL = "http://evil.example"
LOGS = """subscription($run: ID!) { pipelineRunLogs(runId: $run) { __typename
    ... on PipelineRunLogsSubscriptionSuccess { messages { ... on MessageEvent { message } } } } }"""


@pytest.fixture(scope="module")
def stack(shared_installation: Installation) -> Iterator[LocalStack]:
    """The stack of an operator whose environment holds secrets."""
    shared_installation.migrate()  # a copied database does not say where Dagster's tables belong
    with pytest.MonkeyPatch.context() as given:
        for name, value in environment(shared_installation.settings, NEURIGRAPH_UI_PORT="0").items():
            given.setenv(name, value)
        with Installation() as installation, LocalStack(installation, with_api=False) as running:
            yield running


@pytest.fixture
def stranger(stack: LocalStack) -> Iterator[httpx.Client]:
    """Somebody who can reach the UI's port."""
    with httpx.Client(base_url=stack.ui.url, timeout=30.0) as made:
        yield made


@pytest.fixture
def browser(stack: LocalStack) -> Iterator[httpx.Client]:
    """A browser with a session, whose scripts were served by the UI."""
    with httpx.Client(base_url=stack.ui.url, timeout=30.0, headers={"Origin": stack.ui.url}) as made:
        assert made.get("/", params={"token": stack.dagster.token}).status_code == 303
        yield made


def socket(stack: LocalStack, browser: httpx.Client, origin: str | None = None, **headers: str) -> ClientConnection:
    """Open a websocket as the browser does, with its cookies."""
    cookies = "; ".join(f"{name}={value}" for name, value in browser.cookies.items())
    return connect(
        f"ws://{urlsplit(stack.ui.url).netloc}/graphql",
        origin=Origin(origin) if origin else None,
        subprotocols=[Subprotocol("graphql-ws")],
        additional_headers={**({"Cookie": cookies} if cookies else {}), **headers},
    )


@pytest.mark.parametrize(
    "path",
    ["/", "/runs", "/graphql", "/server_info", "/logs/a/b", "/favicon.png", "/no/such/page", "/download_debug/x"],
)
def test_page_without_token(stranger: httpx.Client, browser: httpx.Client, path: str) -> None:
    for wrong in ({}, {"token": ""}, {"token": "wrong"}):
        answer = stranger.get(path, params=wrong)
        assert (answer.status_code, "set-cookie" in answer.headers) == (401, False), path
        assert stranger.get(path, params=wrong, headers={"Accept": "text/html"}).status_code == 401
    assert browser.get(path, headers={"Accept": "text/html"}).status_code not in (401, 403), path


def test_query_without_token(stack: LocalStack, stranger: httpx.Client, browser: httpx.Client) -> None:
    for authorization in (
        "",
        "Bearer",
        "Bearer wrong",
        f"Basic {stack.dagster.token}",
        f"Bearer {stack.dagster.token}x",
    ):
        refused = stranger.post("/graphql", json=VERSION, headers={"Authorization": authorization})
        assert refused.status_code == 401, authorization
    right = {"Authorization": f"Bearer {stack.dagster.token}"}
    assert stranger.post("/graphql", json=VERSION, headers=right).json()["data"]["version"]
    assert browser.post("/graphql", json=VERSION).json()["data"]["version"]


def test_forged_session(stack: LocalStack, stranger: httpx.Client, browser: httpx.Client) -> None:
    ((name, good),) = browser.cookies.items()
    expires, nonce, signature = good.split(".")
    own = Guard(stranger, "a token of somebody else")._signature(f"{expires}.{nonce}")  # type: ignore[arg-type]
    forgeries = (
        "",
        ".",
        "..",
        nonce,
        f"{expires}.{nonce}.{own}",
        f"9{expires}.{nonce}.{signature}",
        f"{good}0",
        "é.é.é",
    )
    for forged in forgeries:
        answer = stranger.get("/server_info", headers=[(b"Cookie", f"{name}={forged}".encode())])
        assert answer.status_code == 401, forged
    past = f"{int(expires) - 8 * 86_400}.{nonce}"
    expired = f"{past}.{Guard(stranger, stack.dagster.token)._signature(past)}"  # type: ignore[arg-type]
    assert stranger.get("/server_info", headers={"Cookie": f"{name}={expired}"}).status_code == 401
    assert stranger.get("/server_info", headers={"Cookie": f"{name}={good}"}).status_code == 200


def test_session_cookie_is_out_of_reach(stack: LocalStack, stranger: httpx.Client) -> None:
    answer = stranger.get("/runs", params={"token": stack.dagster.token, "view": "all"})
    assert answer.headers["location"] == "/runs?view=all"  # the token leaves the address
    attributes = answer.headers["set-cookie"].lower()
    assert "httponly" in attributes
    assert "samesite=strict" in attributes
    assert stack.dagster.token not in attributes
    elsewhere = stranger.get("//evil.example/", params={"token": stack.dagster.token})
    assert not elsewhere.headers["location"].startswith("//")
    form = stranger.post("/login", data={"token": stack.dagster.token}, headers={"Origin": stack.ui.url})
    assert (form.status_code, form.headers["location"]) == (303, "/")
    assert stranger.post("/login", data={"token": "x"}, headers={"Origin": stack.ui.url}).status_code == 401
    assert stranger.post("/login", data={"token": stack.dagster.token}, headers={"Origin": EVIL}).status_code == 403


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:{port}",
        "127.0.0.1.evil.example",
        "localhost.evil.example",
        "127.0.0.1@evil",
        "",
        "x y",
    ],
)
def test_host_that_resolves_to_this_machine(stack: LocalStack, browser: httpx.Client, host: str) -> None:
    named = {"Host": host.format(port=stack.ui.port)}
    for headers in (named, {**named, "Origin": f"http://{named['Host']}"}):
        assert browser.post("/graphql", json=VERSION, headers=headers).status_code in (400, 403)
        assert browser.get("/", params={"token": stack.dagster.token}, headers=headers).status_code in (400, 403)
    right = {"Host": f"localhost:{stack.ui.port}", "Authorization": f"Bearer {stack.dagster.token}"}
    with httpx.Client(base_url=stack.ui.url) as other:
        assert other.post("/graphql", json=VERSION, headers=right).status_code == 200


@pytest.mark.parametrize(
    "origin", [EVIL, "null", "http://127.0.0.1:1", "https://127.0.0.1:{port}x", "http://localhost:{port}"]
)
def test_post_from_another_origin(stack: LocalStack, browser: httpx.Client, origin: str) -> None:
    foreign = {"Origin": origin.format(port=stack.ui.port)}
    form = {"query": STOP_SENSOR}
    assert browser.post("/graphql", json=form, headers=foreign).status_code == 403
    assert browser.post("/graphql", params=form, headers={**foreign, "Content-Type": "text/plain"}).status_code == 403
    assert browser.post("/report_asset_materialization/x", headers=foreign).status_code == 403
    assert "data" in browser.post("/graphql", json=form).json()


def test_post_that_hides_its_origin(browser: httpx.Client) -> None:
    del browser.headers["Origin"]
    assert browser.post("/graphql", json=VERSION).status_code == 403
    for site in ("cross-site", "same-site"):  # a page on another port of this machine is of the same site
        foreign = {"Sec-Fetch-Site": site, "Sec-Fetch-Mode": "no-cors"}
        assert browser.get("/server_info", headers=foreign).status_code == 403
        linked = {"Sec-Fetch-Site": site, "Sec-Fetch-Mode": "navigate"}
        assert browser.get("/server_info", headers=linked).status_code == 200


@pytest.mark.parametrize(
    "query", [STOP_SENSOR, "query { version }", "{version} " + STOP_SENSOR.replace("mutation", "mutation m")]
)
def test_graphql_by_get(browser: httpx.Client, query: str) -> None:
    for path in ("/graphql", "/graphql/", "//graphql"):
        answer = browser.get(path, params={"query": query, "operationName": "m"})
        assert answer.status_code == 405 or "data" not in answer.text, path
    page = browser.get("/graphql", params={"query": query}, headers={"Accept": "text/html"})
    assert (page.status_code, page.headers["x-frame-options"]) == (200, "DENY")
    assert "stopSensor" not in page.text  # it shows an editor and runs nothing
    assert "errors" in browser.post("/graphql", json={"query": query + "x"}).json()
    assert browser.post("/graphql", json=VERSION).json()["data"]["version"]


def test_websocket_from_another_origin(stack: LocalStack, browser: httpx.Client, stranger: httpx.Client) -> None:
    for caller, origin, headers in (
        (browser, EVIL, {}),
        (browser, "null", {}),
        (browser, None, {}),
        (browser, stack.ui.url, {"Host": "evil.example"}),
        (stranger, stack.ui.url, {}),
        (stranger, stack.ui.url, {"Authorization": "Bearer wrong"}),
    ):
        with pytest.raises(InvalidStatus), socket(stack, caller, origin, **headers):
            pass
    run = launch(stack, "replay_job", {})
    with socket(stack, browser, stack.ui.url) as opened:
        opened.send(json.dumps({"type": "connection_init"}))
        assert json.loads(opened.recv(30))["type"] == "connection_ack"
        start = {"type": "start", "id": "1", "payload": {"query": LOGS, "variables": {"run": run}}}
        opened.send(json.dumps(start))
        message = json.loads(opened.recv(30))
        assert message["type"] == "data"
        assert message["payload"]["data"]["pipelineRunLogs"]["messages"]


def test_files_of_secrets_are_private(stack: LocalStack) -> None:
    home = stack.dagster.folder
    for path in (home / "database_url", home / "settings.json", stack.dagster.token_file):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600, path
    assert stat.S_IMODE(Path(home).stat().st_mode) == 0o700
