"""Accounts and passwords: over HTTP, on the command line, and through export, forgetting and backups of keys."""

from __future__ import annotations

import io
import json
import threading
import zipfile
from collections.abc import Iterator
from typing import Any

import httpx
import psycopg
import pytest

from neurigraph_pipelines.access import accounts
from neurigraph_pipelines.exchange import sharing
from neurigraph_pipelines.model.errors import InvalidInputError, TransientError, UnauthenticatedError
from neurigraph_pipelines.wiring.installation import Installation
from tests.support.api_server import serving
from tests.support.command_line import run_cli
from tests.support.memories import new_user

PASSWORD = "correct horse battery"
ANOTHER = "a staple of batteries"


@pytest.fixture
def caller(installation: Installation) -> Iterator[httpx.Client]:
    key = sharing.issue_key(installation.database, new_user(installation, "ana")[1])[1]
    with (
        serving(installation) as address,
        httpx.Client(base_url=f"{address}/v1", headers=bearer(key), timeout=60.0) as client,
    ):
        yield client


def bearer(key: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"}


def sign_in(caller: httpx.Client, password: str, user: str = "ana") -> httpx.Response:
    return httpx.post(f"{caller.base_url}sign-in", json={"user": user, "password": password}, timeout=60.0)


def test_account_is_what_the_user_states(caller: httpx.Client) -> None:
    empty = caller.get("/account").json()
    assert {name: empty[name] for name in ("slug", "display_name", "email", "metadata", "has_password")} == {
        "slug": "ana",
        "display_name": None,
        "email": None,
        "metadata": {},
        "has_password": False,
    }
    change = {"display_name": " Ana  Lopes ", "email": "ana@example.com", "metadata": {"team": "harbour"}}
    assert caller.patch("/account", json=change).json()["display_name"] == "Ana Lopes"
    kept = caller.patch("/account", json={"email": None}).json()
    assert (kept["display_name"], kept["email"], kept["metadata"]) == ("Ana Lopes", None, {"team": "harbour"})
    unfit: tuple[dict[str, Any], ...] = (
        {"email": "nobody"},
        {"display_name": ""},
        {"metadata": {"a": {}}},
        {"slug": "bo"},
    )
    for wrong in unfit:
        assert caller.patch("/account", json=wrong).status_code == 422, wrong
    assert caller.get("/account").json() == kept


def test_password_opens_until_it_changes(caller: httpx.Client) -> None:
    assert sign_in(caller, PASSWORD).status_code == 401
    assert caller.put("/account/password", json={"password": PASSWORD}).status_code == 204
    assert caller.get("/account").json()["has_password"]
    signed_in = sign_in(caller, PASSWORD).json()
    session = bearer(signed_in["api_key"])
    assert caller.get("/tree", headers=session).status_code == 200
    (listed,) = [key for key in caller.get("/keys").json()["keys"] if key["key_id"] == signed_in["key_id"]]
    assert listed["expires_at"] == signed_in["expires_at"]
    assert caller.put("/account/password", json={"password": ANOTHER}).status_code == 204
    assert caller.get("/tree", headers=session).status_code == 401
    assert [sign_in(caller, one).status_code for one in (PASSWORD, ANOTHER)] == [401, 201]
    assert caller.delete("/account/password").status_code == 204
    assert sign_in(caller, ANOTHER).status_code == 401
    assert caller.get("/tree").status_code == 200


def test_user_who_changes_the_password_stays_signed_in(caller: httpx.Client) -> None:
    caller.put("/account/password", json={"password": PASSWORD})
    here, elsewhere = (bearer(sign_in(caller, PASSWORD).json()["api_key"]) for _ in range(2))
    caller.put("/account/password", json={"password": ANOTHER}, headers=here)
    assert [caller.get("/tree", headers=one).status_code for one in (here, elsewhere)] == [200, 401]


@pytest.mark.slow
def test_ten_wrong_passwords_close_a_name(caller: httpx.Client, installation: Installation) -> None:
    caller.put("/account/password", json={"password": PASSWORD})
    for user in ("ana", "nobody"):
        assert [sign_in(caller, "wrong", user).status_code for _ in range(10)] == [401] * 10
        closed = sign_in(caller, PASSWORD, user)
        assert (closed.status_code, 800 < int(closed.headers["Retry-After"]) <= 900) == (429, True)
    with psycopg.connect(installation.administrator_url, autocommit=True) as connection:
        connection.execute("UPDATE neurigraph.sign_in_attempts SET since = since - interval '12 minutes'")
        closed = sign_in(caller, PASSWORD)
        assert 80 < int(closed.headers["Retry-After"]) <= 180
        assert closed.json()["detail"].endswith(" minutes")
        connection.execute("UPDATE neurigraph.sign_in_attempts SET since = since - interval '16 minutes'")
        assert sign_in(caller, PASSWORD).status_code == 201
        assert connection.execute("SELECT FROM neurigraph.sign_in_attempts").fetchall() == []


def test_attempts_at_once_are_counted(installation: Installation) -> None:
    database = installation.database
    _, claims = new_user(installation, "ana")
    accounts.set_password(database, claims, PASSWORD)
    outcomes: list[str] = []

    def attempt() -> None:
        try:
            accounts.sign_in(database, installation.secret, "ana", "wrong")
        except (UnauthenticatedError, TransientError) as error:
            outcomes.append(type(error).__name__)

    threads = [threading.Thread(target=attempt) for _ in range(14)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    while outcomes.count("UnauthenticatedError") < 10:  # a busy machine lets fewer of them wait for their turn
        attempt()
    with pytest.raises(TransientError, match="wait 15 minutes"):
        accounts.sign_in(database, installation.secret, "ana", PASSWORD)
    assert outcomes.count("UnauthenticatedError") == 10


@pytest.mark.parametrize("password", ["", "short", "x" * (accounts.MAX_PASSWORD + 1)])
def test_unfit_passwords(installation: Installation, password: str) -> None:
    _, claims = new_user(installation, "ana")
    with pytest.raises(InvalidInputError):
        accounts.set_password(installation.database, claims, password)
    assert not accounts.get_account(installation.database, claims).has_password


def test_one_password_in_several_spellings(installation: Installation) -> None:
    """Keyboards write an accented letter as one character or as two."""
    _, claims = new_user(installation, "ana")
    accounts.set_password(installation.database, claims, "Lisboa é muito bonita")
    assert accounts.sign_in(installation.database, installation.secret, "ana", "Lisboa e\u0301 muito bonita").api_key


def test_export_has_the_account_and_no_password(caller: httpx.Client) -> None:
    caller.patch("/account", json={"display_name": "Ana Lopes"})
    caller.put("/account/password", json={"password": PASSWORD})
    content = caller.get("/export").content
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        names = archive.namelist()
        texts = [archive.read(name) for name in names]
    assert any(b"Ana Lopes" in text for text in texts)
    assert not any("user_passwords" in name for name in names)


def test_the_operator_lists_users(caller: httpx.Client, installation: Installation) -> None:
    operator = bearer(installation.secrets.admin_key())
    made = caller.post("/users", json={"slug": "ben"}, headers=operator).json()
    listed = caller.get("/users", headers=operator).json()["users"]
    assert [(one["slug"], one["database"]) for one in listed] == [("ana", "main"), ("ben", "main")]
    assert {**listed[1], "api_key": made["api_key"]} == made
    shown = json.loads(run_cli(installation.settings, "user", "list", "--json").stdout)
    assert shown["users"] == listed
    assert "--user" not in set(run_cli(installation.settings, "user", "list", "--help").stdout.split())
    for key in ({}, bearer(made["api_key"])):
        assert caller.get("/users", headers=key).status_code == 401, "its own key is no operator's"
    assert caller.get("/tree", headers=operator).status_code == 401
