"""Attacks on Dagster's UI: by other accounts of the machine, and by web pages that its user opens."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from socket import create_connection, create_server
from uuid import uuid4

import httpx
import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import make_conninfo
from websockets.exceptions import InvalidStatus
from websockets.sync.client import ClientConnection, connect
from websockets.typing import Origin, Subprotocol

from neurigraph_pipelines.graph.provisioning import create_user
from neurigraph_pipelines.runtime.stack.processes import LocalStack
from neurigraph_pipelines.runtime.ui.guard import Guard
from neurigraph_pipelines.wiring.installation import Installation
from resources.postgres.dagster_database import dagster_database
from tests.support.command_line import PROGRAM, environment
from tests.support.dagster_stack import await_true, graphql, launch
from tests.support.raw_http import exchange, head

pytestmark = [pytest.mark.attack, pytest.mark.end_to_end]

VERSION = {"query": "{ version }"}
RESUME = "mutation { setAutoMaterializePaused(paused: false) }"
EVIL = "http://evil.example"
LAUNCH = """mutation($config: RunConfigData!) { launchRun(executionParams: { runConfigData: $config
    selector: {jobName: "replay_job", repositoryName: "__repository__", repositoryLocationName: "neurigraph"} }) {
    __typename ... on LaunchRunSuccess { run { runId } } ... on RunConfigValidationInvalid { errors { message } } } }"""
EVENTS = """query($run: ID!) { runOrError(runId: $run) { ... on Run { status } }
    logsForRun(runId: $run) { ... on EventConnection { events { ... on MessageEvent { message }
    ... on ExecutionStepFailureEvent { error { message stack cause { message stack } } } } } } }"""
LOGS = """subscription($run: ID!) { pipelineRunLogs(runId: $run) { __typename
    ... on PipelineRunLogsSubscriptionSuccess { messages { ... on MessageEvent { message } } } } }"""


SECRETS = {
    name: f"{name.lower()}-{uuid4().hex}"
    for name in (
        "NEURIGRAPH_ADMIN_KEY",
        "NEURIGRAPH_S3_SECRET_ACCESS_KEY",
        "OPENAI_API_KEY",
        "VOYAGE_API_KEY",
        "COHERE_API_KEY",
        "AWS_SECRET_ACCESS_KEY",
        "SOME_OTHER_PASSWORD",
    )
} | {"NEURIGRAPH_S3_ACCESS_KEY_ID": "public", "HTTPS_PROXY": f"http://user:{uuid4().hex}@127.0.0.1:1"}


@pytest.fixture(scope="module")
def stack(shared_installation: Installation) -> Iterator[LocalStack]:
    """The stack of an operator whose environment holds secrets."""
    with pytest.MonkeyPatch.context() as given:
        here = environment(shared_installation.settings, NEURIGRAPH_UI_PORT="0", **SECRETS)
        SECRETS["NEURIGRAPH_SECRET"] = here["NEURIGRAPH_SECRET"]
        SECRETS["NEURIGRAPH_DATABASE_URL"] = here["NEURIGRAPH_DATABASE_URL"]
        for name, value in here.items():
            given.setenv(name, value)
        with Installation() as installation, LocalStack(installation, with_api=False) as running:
            yield running


@pytest.fixture(scope="module")
def finished_run(stack: LocalStack, shared_installation: Installation) -> str:
    """A run whose configuration names a user."""
    create_user(shared_installation.database, "named")
    return launch(stack, "replay_job", replay({"user": "named"}))


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


def is_paused(browser: httpx.Client) -> bool:
    """Return whether the mutation ``RESUME`` has had no effect yet."""
    answer = browser.post("/graphql", json={"query": "{ instance { autoMaterializePaused } }"})
    return bool(answer.json()["data"]["instance"]["autoMaterializePaused"])


def socket(
    stack: LocalStack, browser: httpx.Client, origin: str | None = None, host: str = "127.0.0.1", **headers: str
) -> ClientConnection:
    """Open a websocket as the browser does, with its cookies; ``host`` is a name that leads to this machine."""
    cookies = "; ".join(f"{name}={value}" for name, value in browser.cookies.items())
    return connect(
        f"ws://{host}:{stack.ui.port}/graphql",
        sock=create_connection(("127.0.0.1", stack.ui.port)),
        origin=Origin(origin) if origin else None,
        subprotocols=[Subprotocol("graphql-ws")],
        additional_headers={**({"Cookie": cookies} if cookies else {}), **headers},
        proxy=None,
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
    line = f"GET //evil.example/?token={stack.dagster.token} HTTP/1.1"  # raw, because httpx leaves a slash out
    (elsewhere,) = exchange(stack.ui.url, head(line, f"Host: 127.0.0.1:{stack.ui.port}", "Connection: close"))
    assert (elsewhere.status, elsewhere.headers["location"]) == (303, "/evil.example/")
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
    with httpx.Client(base_url=stack.ui.url, timeout=60) as other:
        assert other.post("/graphql", json=VERSION, headers=right).status_code == 200


@pytest.mark.parametrize(
    "origin", [EVIL, "null", "http://127.0.0.1:1", "https://127.0.0.1:{port}x", "http://localhost:{port}"]
)
def test_post_from_another_origin(stack: LocalStack, browser: httpx.Client, origin: str) -> None:
    foreign = {"Origin": origin.format(port=stack.ui.port)}
    form = {"query": RESUME}
    assert browser.post("/graphql", json=form, headers=foreign).status_code == 403
    assert browser.post("/graphql", params=form, headers={**foreign, "Content-Type": "text/plain"}).status_code == 403
    assert browser.post("/report_asset_materialization/x", headers=foreign).status_code == 403
    assert is_paused(browser)
    assert browser.post("/graphql", json=form).json()["data"] == {"setAutoMaterializePaused": False}
    assert not is_paused(browser)
    browser.post("/graphql", json={"query": RESUME.replace("false", "true")})


def test_post_that_hides_its_origin(browser: httpx.Client) -> None:
    del browser.headers["Origin"]
    assert browser.post("/graphql", json=VERSION).status_code == 403
    for site in ("cross-site", "same-site"):  # a page on another port of this machine is of the same site
        foreign = {"Sec-Fetch-Site": site, "Sec-Fetch-Mode": "no-cors"}
        assert browser.get("/server_info", headers=foreign).status_code == 403
        linked = {"Sec-Fetch-Site": site, "Sec-Fetch-Mode": "navigate"}
        assert browser.get("/server_info", headers=linked).status_code == 200


@pytest.mark.parametrize(
    "query", [RESUME, "query { version }", "{version} " + RESUME.replace("mutation", "mutation m")]
)
def test_graphql_by_get(browser: httpx.Client, query: str) -> None:
    asked = {"query": query, "operationName": "m"}
    assert browser.get("/graphql", params=asked).status_code == 405
    assert browser.get("/graphql/", params=asked).status_code == 405
    assert browser.get("//graphql", params=asked).headers["content-type"].startswith("text/html")  # the UI's frame
    assert is_paused(browser)
    page = browser.get("/graphql", params={"query": query}, headers={"Accept": "text/html"})
    assert (page.status_code, page.headers["x-frame-options"]) == (200, "DENY")
    assert "setAutoMaterializePaused" not in page.text  # it shows an editor and runs nothing
    assert "errors" in browser.post("/graphql", json={"query": query + "x"}).json()
    assert browser.post("/graphql", json=VERSION).json()["data"]["version"]


def test_websocket_from_another_origin(
    stack: LocalStack, browser: httpx.Client, stranger: httpx.Client, finished_run: str
) -> None:
    rebound = {"host": "evil.example"}
    for caller, origin, options in (
        (browser, EVIL, {}),
        (browser, "null", {}),
        (browser, None, {}),
        (browser, stack.ui.url, rebound),
        (browser, f"{EVIL}:{stack.ui.port}", rebound),
        (stranger, stack.ui.url, {}),
        (stranger, stack.ui.url, {"Authorization": "Bearer wrong"}),
    ):
        with pytest.raises(InvalidStatus) as refused, socket(stack, caller, origin, **options):
            pass
        assert refused.value.response.status_code == 403, (origin, options)
    with socket(stack, browser, stack.ui.url) as opened:
        opened.send(json.dumps({"type": "connection_init"}))
        assert json.loads(opened.recv(30))["type"] == "connection_ack"
        start = {"type": "start", "id": "1", "payload": {"query": LOGS, "variables": {"run": finished_run}}}
        opened.send(json.dumps(start))
        message = json.loads(opened.recv(30))
        assert message["type"] == "data"
        assert message["payload"]["data"]["pipelineRunLogs"]["messages"]


def test_run_that_quotes_the_environment(stack: LocalStack, finished_run: str) -> None:
    assert finished_run  # of a configuration that says its values
    for place in ("user", "failure_ids", "all"):
        for name in (*SECRETS, "NEURIGRAPH_DAGSTER_DATABASE_URL", "PATH"):
            quoted = {"env": name}
            config = {"failure_ids": [quoted]} if place == "failure_ids" else {place: quoted}
            answer = graphql(stack, LAUNCH, config=replay(config))["launchRun"]
            assert answer["__typename"] == "RunConfigValidationInvalid", (place, name)
            assert os.environ.get(name, "unset") not in json.dumps(answer["errors"])


def test_logs_repeat_no_configuration(stack: LocalStack) -> None:
    wanted = f"nobody-{uuid4().hex}"
    run = graphql(stack, LAUNCH, config=replay({"user": wanted}))["launchRun"]["run"]["runId"]

    def ended() -> bool:
        return bool(graphql(stack, EVENTS, run=run)["runOrError"]["status"] == "FAILURE")

    await_true(ended, "the run fails")
    events = json.dumps(graphql(stack, EVENTS, run=run)["logsForRun"])
    assert "there is no user with the slug in" in events
    assert wanted not in events
    for value in SECRETS.values():
        assert stored_in(stack, value) == []
    assert "runs" in stored_in(stack, wanted)  # the scan finds what is there: the configuration itself


def test_processes_have_no_secret(stack: LocalStack) -> None:
    folders = [place for pid in stack.pids().values() for place in family(pid)]
    assert len(folders) >= 3
    for place in folders:
        held = (place / "environ").read_bytes() + (place / "cmdline").read_bytes()
        assert str(stack.dagster.folder).encode() in held  # it could be read
        for name, value in SECRETS.items():
            assert value == "public" or value.encode() not in held, (name, place)
        assert b"postgresql" not in held


def replay(config: Mapping[str, object]) -> dict[str, object]:
    return {"ops": {"replay_failures": {"config": config}}}


def family(pid: int) -> list[Path]:
    """Return the folders in /proc of a process and those that it started."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [Path(f"/proc/{pid}"), *(place for child in children for place in family(int(child)))]


def stored_in(stack: LocalStack, text: str) -> list[str]:
    """Return the files of Dagster's storage and logs, and the tables of Dagster, that hold a text."""
    folders = (stack.dagster.folder / "storage", stack.dagster.folder.parent / "logs")
    files = [path for folder in folders for path in folder.rglob("*") if path.is_file()]
    found = [str(path) for path in files if text.encode() in path.read_bytes()]
    url = os.environ["NEURIGRAPH_DATABASE_URL"]
    with psycopg.connect(make_conninfo(url, dbname=dagster_database(url))) as connection:
        names = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'").fetchall()
        assert names
        for (name,) in names:
            query = sql.SQL("SELECT FROM {0} WHERE strpos({0}::text, %s) > 0").format(sql.Identifier(name))
            if connection.execute(query, [text]).fetchall():
                found.append(name)
    return found


def test_ui_started_by_hand(stack: LocalStack) -> None:
    with create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    with stopped_at_the_end([PROGRAM, "admin", "ui", "--port", str(port), "--json"]) as process:
        assert process.stdout is not None
        address, _, token = json.loads(process.stdout.readline())["url"].partition("/?token=")

        def serves() -> bool:
            with suppress(httpx.TransportError):
                return httpx.get(f"{address}/server_info").status_code == 401
            return False

        await_true(serves, "the UI answers")
        assert httpx.get(f"{address}/server_info", headers={"Authorization": f"Bearer {token}"}).status_code == 200
        for place in family(process.pid):
            held = (place / "environ").read_bytes()
            assert not any(value.encode() in held for value in SECRETS.values() if value != "public")


@contextmanager
def stopped_at_the_end(command: Sequence[str | Path]) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    with process:
        try:
            yield process
        finally:
            process.send_signal(signal.SIGINT)


def test_files_of_secrets_are_private(stack: LocalStack) -> None:
    home = stack.dagster.folder
    for path in (home / "pgpass", home / "settings.json", stack.dagster.token_file):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600, path
    assert stat.S_IMODE(Path(home).stat().st_mode) == 0o700
