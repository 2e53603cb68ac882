"""Users are spread over two embedded servers, and one address serves all of them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import httpx
import jwt
import pytest
from anyio import to_thread
from fastapi import FastAPI
from pydantic import SecretStr
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from neurigraph_pipelines.access.accounts import set_password
from neurigraph_pipelines.access.authentication import issue_api_key, key_of, new_api_key
from neurigraph_pipelines.faces import serving as serving_module
from neurigraph_pipelines.faces.api.app import create_app
from neurigraph_pipelines.model import Claims
from neurigraph_pipelines.model.errors import (
    ConfigurationError,
    ConflictError,
    InvalidInputError,
    NotFoundError,
    TransientError,
)
from neurigraph_pipelines.wiring.directory import MAIN, Place, hint_of, lives_in
from neurigraph_pipelines.wiring.installation import Installation
from resources.minilm.embedder import LocalEmbedder
from resources.postgres.embedded import EmbeddedPostgres
from tests.conftest import ROOT, SECRET
from tests.support import dying_placing
from tests.support.api_server import serving
from tests.support.embedded_server import new_home, server_pid
from tests.support.memories import converse, ingest, plain_context, rows
from tests.support.waiting import wait_until

pytestmark = pytest.mark.slow

JWT = {"jwt_audience": "neurigraph", "jwt_issuer": "https://issuer.example", "jwt_secret": "s" * 40}


@pytest.fixture(scope="module")
def east(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A home folder whose installation has an embedded server of its own, and nothing yet."""
    folder = tmp_path_factory.mktemp("east")
    folder.chmod(0o711)
    with new_home(folder) as home:
        home.mkdir(mode=0o700)
        settings = {
            "NEURIGRAPH_SECRET": SECRET,
            "NEURIGRAPH_ROLE_SECRET": SECRET,
            "NEURIGRAPH_ADMIN_KEY": "e" * 40,
            "NEURIGRAPH_METRICS_TOKEN": "t" * 40,
            "NEURIGRAPH_LANGUAGE_MODEL": "offline",
            **{f"NEURIGRAPH_{name.upper()}": value for name, value in JWT.items()},
        }
        file = home / "settings.env"
        file.write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
        file.chmod(0o600)
        yield home


@pytest.fixture(scope="module")
def front(shared_installation: Installation, east: Path, local_embedder: LocalEmbedder) -> Installation:
    """The first installation, whose directory knows the other one."""
    here = shared_installation
    here.settings = here.settings.changed(**{**JWT, "jwt_secret": SecretStr(JWT["jwt_secret"])})
    assert here.databases.add("east", east, dry_run=True) == 0
    assert [one.name for one in here.databases.directory.databases()] == [MAIN]
    assert here.databases.add("east", east) == 0
    here.databases.open("east").embedder = local_embedder
    return here


@pytest.fixture(scope="module")
def address(front: Installation) -> Iterator[str]:
    with serving(front) as base:
        wait_until(lambda: httpx.get(f"{base}/readyz", params={"database": "east"}).status_code != 404)
        yield base


def bearer(key: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"}


def made(front: Installation, slug: str, database: str) -> tuple[UUID, str]:
    """Create a user with one memory, and return the id and a key."""
    name, user, key = front.databases.create_user(slug, database)
    assert name == database
    here = front.databases.open(database)
    converse(here, Claims.of_user(user.user_id), f"#Family/{slug.title()} {slug.title()} repairs the lighthouse lamp.")
    ingest(plain_context(here), user)
    return user.user_id, key


def found(base: str, key: str) -> httpx.Response:
    body = {"query": "Who repairs the lighthouse lamp?"}
    return httpx.post(f"{base}/v1/search", json=body, headers=bearer(key), timeout=30)


def test_new_users_are_placed(front: Installation) -> None:
    placed = [front.databases.create_user(f"placed-{number}")[0] for number in range(4)]
    assert sorted(placed) == ["east", "east", MAIN, MAIN]
    assert front.databases.create_user("named", "east")[0] == "east"
    with pytest.raises(InvalidInputError, match="west"):
        front.databases.create_user("lost", "west")
    with pytest.raises(InvalidInputError, match="slug"):
        front.databases.create_user("No Slug", "east")
    for slug in ("named", "placed-0", "placed-1"):
        for database in (None, MAIN, "east"):
            with pytest.raises(ConflictError, match="exists already"):
                front.databases.create_user(slug, database)


def test_each_key_reaches_its_own_data(front: Installation, address: str) -> None:
    keys = {slug: made(front, slug, database)[1] for slug, database in (("ines", MAIN), ("emil", "east"))}
    for slug, key in keys.items():
        answer = found(address, key)
        assert answer.status_code == 200, answer.text
        assert slug.title() in answer.text
        assert all(other.title() not in answer.text for other in keys if other != slug)
        assert httpx.get(f"{address}/v1/account", headers=bearer(key)).json()["slug"] == slug


def test_tokens_and_passwords_reach_their_database(front: Installation, address: str) -> None:
    user_id, _ = made(front, "tove", "east")
    stated = {"aud": "neurigraph", "iss": JWT["jwt_issuer"], "sub": str(user_id), "exp": int(time.time()) + 60}
    token = jwt.encode(stated, JWT["jwt_secret"])
    forged = jwt.encode(stated, "f" * 40)
    assert httpx.get(f"{address}/v1/account", headers=bearer(token)).json()["slug"] == "tove"
    assert httpx.get(f"{address}/v1/account", headers=bearer(forged)).status_code == 401
    password = "correct horse battery staple"
    set_password(front.databases.open("east").database, Claims.of_user(user_id), password)
    signed_in = httpx.post(f"{address}/v1/sign-in", json={"user": "tove", "password": password})
    assert signed_in.status_code == 201, signed_in.text
    assert found(address, signed_in.json()["api_key"]).status_code == 200
    for name in ("tove", "nobody", "no\0body", "ines"):
        wrong = httpx.post(f"{address}/v1/sign-in", json={"user": name, "password": "w" * 20})
        assert (wrong.status_code, wrong.json()["detail"]) == (401, "the name or the password is wrong"), name


def test_unknown_keys_are_refused_alike(front: Installation, address: str) -> None:
    """No answer says in which database a user is, or that there is one."""
    ids = [made(front, "mila", MAIN)[0], made(front, "enno", "east")[0], uuid4()]
    wrong = [*(key_of(new_api_key(), one) for one in ids), new_api_key(), "ng_", "a.b.c", "a.W10.c"]
    answers = [httpx.get(f"{address}/v1/account", headers=bearer(key)) for key in wrong]
    assert {answer.status_code for answer in answers} == {401}
    assert len({answer.json()["detail"] for answer in answers}) == 1
    hidden = ("date", "x-request-id")
    heads = {tuple((n, v) for n, v in answer.headers.items() if n not in hidden) for answer in answers}
    assert len(heads) == 1


def test_nobody_reaches_another_database(front: Installation, address: str) -> None:
    """Whatever a request names beside its key, it is answered where the key is known, or not at all."""
    (first_id, first), (other_id, other) = made(front, "vera", MAIN), made(front, "egon", "east")
    swapped = (key_of(first[:46], other_id), key_of(other[:46], first_id))
    for key in (*swapped, first + "A", other[:-1], other + other):
        assert found(address, key).status_code == 401
    for extra in ({"X-Database": "main"}, {"Host": "main"}, {"X-Home": "main"}):
        answer = httpx.get(f"{address}/v1/account", headers={**bearer(other), **extra})
        assert answer.status_code == 200, answer.text
        assert answer.json()["slug"] == "egon"
    assert httpx.get(f"{address}/v1/account", headers=bearer(other), params={"database": "main"}).status_code == 422
    two = [("Authorization", f"Bearer {first}"), ("Authorization", f"Bearer {other}")]
    assert httpx.get(f"{address}/v1/account", headers=two).status_code == 401
    for user_id, key in ((other_id, first), (first_id, other)):
        assert httpx.delete(f"{address}/v1/users/{user_id}", headers=bearer(key)).status_code == 404
    assert {found(address, key).status_code for key in (first, other)} == {200}
    assert httpx.get(f"{address}/metrics", params={"database": "west"}).status_code == 404
    assert httpx.get(f"{address}/metrics", params={"database": "east"}).status_code == 401
    token = front.secrets.metrics_token()
    assert httpx.get(f"{address}/metrics", params={"database": "east"}, headers=bearer(token)).status_code == 401
    assert httpx.get(f"{address}/metrics", params={"database": "east"}, headers=bearer("t" * 40)).status_code == 200
    assert httpx.get(f"{address}/metrics", headers=bearer(token)).status_code == 200


def test_administrator_creates_users_anywhere(front: Installation, address: str) -> None:
    admin = bearer(front.secrets.admin_key())
    made_there = httpx.post(f"{address}/v1/users", json={"slug": "adam", "database": "east"}, headers=admin)
    assert made_there.status_code == 201
    assert lives_in(front.databases.open("east").database, UUID(made_there.json()["user_id"]))
    assert found(address, made_there.json()["api_key"]).status_code == 200
    made_here = httpx.post(f"{address}/v1/users", json={"slug": "abby", "database": MAIN}, headers=admin)
    assert made_here.status_code == 201
    listed = {one["slug"]: one["database"] for one in httpx.get(f"{address}/v1/users", headers=admin).json()["users"]}
    assert (listed["adam"], listed["abby"]) == ("east", MAIN)
    pages: list[dict[str, Any]] = []
    while not pages or pages[-1]["next_cursor"]:
        asked = {"limit": "1"} | ({"cursor": pages[-1]["next_cursor"]} if pages else {})
        pages.append(httpx.get(f"{address}/v1/users", params=asked, headers=admin).json())
    assert [one["slug"] for page in pages for one in page["users"]] == sorted(listed)
    for body, status in (({"slug": "adam"}, 409), ({"slug": "eve", "database": "west"}, 422)):
        assert httpx.post(f"{address}/v1/users", json=body, headers=admin).status_code == status
    # The key of another database's administrator creates nobody here.
    assert httpx.post(f"{address}/v1/users", json={"slug": "eve"}, headers=bearer("e" * 40)).status_code == 401


def test_forgetting_empties_the_directory(front: Installation, address: str) -> None:
    user_id, key = made(front, "gone", "east")
    assert front.databases.directory.by_id(user_id) is not None
    assert httpx.delete(f"{address}/v1/users/{user_id}", headers=bearer(key)).status_code == 200
    assert front.databases.directory.by_id(user_id) is None
    with front.databases.directory.reserved("never-made", "east"):
        pass
    assert front.databases.of_user("never-made") is front  # a name without a user goes
    assert front.databases.directory.by_slug("never-made") is None


def test_agents_reach_their_database(front: Installation, address: str) -> None:
    _, key = made(front, "agnes", "east")
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    head = {**bearer(key), "Accept": "application/json, text/event-stream"}
    assert httpx.post(f"{address}/mcp", json=call, headers=head).status_code == 200
    wrong = {**head, **bearer(key_of(new_api_key(), uuid4()))}
    assert httpx.post(f"{address}/mcp", json=call, headers=wrong).status_code == 401


def test_searches_go_on_during_moves(front: Installation, address: str) -> None:
    """Each answer of the one address is complete, or says clearly when to ask again."""
    user_id, named = made(front, "wanda", MAIN)
    old = issue_api_key(front.database, user_id)[:46]  # of an earlier version: it names nobody
    stop, seen, failed = threading.Event(), [0, 0], []

    def ask(key: str) -> None:
        with httpx.Client(timeout=60) as client:
            while not stop.is_set():
                body = {"query": "Who repairs the lighthouse lamp?"}
                answer = client.post(f"{address}/v1/search", json=body, headers=bearer(key))
                if answer.status_code == 503 and answer.headers["Retry-After"] == "1":
                    seen[1] += 1
                elif answer.status_code == 200 and "Wanda" in answer.text:
                    seen[0] += 1
                else:
                    failed.append((answer.status_code, answer.text[:500]))

    threads = [threading.Thread(target=ask, args=[key]) for key in (named, old)]
    for thread in threads:
        thread.start()
    try:
        for target in ("east", MAIN, "east"):
            done = seen[0]
            front.databases.move("wanda", target, on_bytes=lambda _: None)
            wait_until(lambda done=done: seen[0] > done + 2 or bool(failed))  # type: ignore[misc]
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert failed == []
    assert front.databases.directory.by_id(user_id) == Place(user_id, "wanda", "east", None)
    assert not lives_in(front.database, user_id)


@pytest.mark.slow
def test_kills_leave_one_database(front: Installation, address: str, east: Path) -> None:
    """Killed at each step of the directory, the user is answered from one database, and the next run goes on."""
    user_id, key = made(front, "mona", MAIN)
    targets = ["east", MAIN] * len(dying_placing.STEPS)
    for step, target in zip(dying_placing.STEPS, targets, strict=False):
        given = {
            "home": str(front.home),
            "database_url": front.settings.database.url.get_secret_value() if front.settings.database.url else None,
            "secret": SECRET,
            "role_secret": SECRET,
            "language_model": "offline",
        }
        command = [sys.executable, "-m", "tests.support.dying_placing", json.dumps(given), "mona", target, step]
        died = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        assert died.returncode == -signal.SIGKILL, (step, died.stderr)
        answer = found(address, key)
        if step in dying_placing.BETWEEN:
            assert (answer.status_code, answer.headers["Retry-After"]) == (503, "1"), step
        else:
            assert answer.status_code == 200, (step, answer.text)
            assert "Mona" in answer.text, step
        place = front.databases.directory.by_id(user_id)
        if place is not None and place.moving_to is not None:
            with pytest.raises(ConflictError, match="has begun"):
                front.databases.move("mona", place.database, on_bytes=lambda _: None)
        front.databases.move("mona", target, on_bytes=lambda _: None)
        wait_until(lambda: found(address, key).status_code == 200)
        assert "Mona" in found(address, key).text
        others = [name for name in (MAIN, "east") if lives_in(front.databases.open(name).database, user_id)]
        assert others == [target], step
        place = front.databases.directory.by_id(user_id)
        assert place == (None if target == MAIN else Place(user_id, "mona", target, None)), step
    assert front.databases.directory.by_hint(hint_of(key[:46])) == front.databases.directory.by_id(user_id)


@pytest.mark.slow
def test_a_database_that_is_down(front: Installation, address: str, east: Path) -> None:
    """Its users get 503 with Retry-After, the others are served, and nobody is placed there."""
    (_, here), (_, there) = made(front, "hugo", MAIN), made(front, "elsa", "east")
    assert [found(address, key).status_code for key in (here, there)] == [200, 200]
    os.kill(server_pid(east), signal.SIGQUIT)
    wait_until(lambda: not EmbeddedPostgres(east).status().running)
    try:
        wait_until(lambda: found(address, there).status_code == 503)
        for _ in range(3):
            assert found(address, here).status_code == 200
            refused = found(address, there)
            assert refused.status_code == 503
            assert int(refused.headers["Retry-After"]) >= 1
            assert "the database of this memory does not answer" in refused.text, "at once, without waiting for it"
            unknown = httpx.get(f"{address}/v1/account", headers=bearer(key_of(new_api_key(), uuid4())))
            assert unknown.status_code == 401
        assert httpx.get(f"{address}/healthz").status_code == 200
        assert front.databases.create_user("placed-elsewhere")[0] == MAIN
        with pytest.raises(TransientError):
            front.databases.create_user("placed-nowhere", "east")
    finally:
        EmbeddedPostgres(east).revive()
    wait_until(lambda: found(address, there).status_code == 200)
    assert front.databases.create_user("placed-nowhere", "east")[0] == "east"


def test_databases_are_added_and_removed(front: Installation, east: Path, tmp_path: Path) -> None:
    databases = front.databases
    with pytest.raises(ConflictError, match="users live in east"):
        databases.remove("east")
    with pytest.raises(ConflictError, match="first database"):
        databases.remove(MAIN)
    with pytest.raises(NotFoundError, match="west"):
        databases.remove("west")
    with pytest.raises(ConfigurationError, match="one installation"):
        databases.add("again", east)
    with pytest.raises(ConfigurationError, match="one installation"):
        databases.add("again", front.home)


class MovingMeanwhile:
    """Middleware in which the user of a request with `X-Move` moves while the request is being answered."""

    def __init__(self, app: ASGIApp, move: Callable[[], object]) -> None:
        self._app = app
        self._move = move

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if all(name != b"x-move" for name, _ in scope.get("headers", ())):
            await self._app(scope, receive, send)
            return
        sent: list[Message] = []

        async def keep(message: Message) -> None:
            sent.append(message)

        await self._app(scope, receive, keep)
        await to_thread.run_sync(self._move)
        for message in sent:
            await send(message)


def test_an_answer_of_a_user_who_left_is_not_sent(front: Installation, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was read before the user left becomes 503, and a change that was made is said to be made."""
    _, key = made(front, "leyla", MAIN)

    def app_of(one: Installation, endpoints: Any) -> FastAPI:
        app = create_app(one, endpoints)
        if one is front:
            app.add_middleware(
                MovingMeanwhile, move=lambda: front.databases.move("leyla", "east", on_bytes=lambda _: None)
            )
        return app

    monkeypatch.setattr(serving_module, "create_app", app_of)
    head = {**bearer(key), "X-Move": "yes"}
    with serving(front) as base:
        wait_until(lambda: found(base, key).status_code == 200)
        body = {"query": "Who repairs the lighthouse lamp?"}
        answer = httpx.post(f"{base}/v1/search", json=body, headers=head, timeout=60)
        assert (answer.status_code, answer.headers["Retry-After"]) == (503, "1")
        wait_until(lambda: found(base, key).status_code == 200)
        assert "Leyla" in found(base, key).text
        front.databases.move("leyla", MAIN, on_bytes=lambda _: None)
        note = httpx.post(f"{base}/v1/notes", json={"content": "Leyla keeps bees."}, headers=head, timeout=60)
        assert note.status_code in (200, 201, 202), note.text
        notes = rows(front.databases.open("east"), "SELECT FROM neurigraph.sources WHERE kind = 'note'")
        assert len(notes) == 1
