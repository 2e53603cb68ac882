"""Record history over HTTP and on the command line."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any
from uuid import uuid4

import httpx
import pytest

from neurigraph_pipelines.faces.cli import entry
from neurigraph_pipelines.graph.provisioning import User
from neurigraph_pipelines.model import Claims
from neurigraph_pipelines.wiring.installation import Installation
from tests.support.api_calls import SAME_ID, assert_problem, new_user, remember, store
from tests.support.api_server import serving
from tests.support.command_line import describe
from tests.support.memories import converse, ingest, stored
from tests.support.memories import new_user as user_of

Ask = Callable[..., Any]


@pytest.fixture(scope="module")
def client(shared_installation: Installation) -> Iterator[httpx.Client]:
    with serving(shared_installation) as address, httpx.Client(base_url=address, timeout=60.0, headers=SAME_ID) as made:
        yield made


@pytest.fixture(scope="module")
def eve(client: httpx.Client) -> dict[str, str]:
    return new_user(client, "eve")


@pytest.fixture
def owner(client: httpx.Client) -> dict[str, str]:
    """Of two memories."""
    return new_user(client, f"bob-{uuid4().hex[:8]}")


@pytest.fixture
def records(client: httpx.Client, shared_installation: Installation, owner: dict[str, str]) -> list[str]:
    for text in ("The walnut desk came from Ana.", "The oak desk came from Dave."):
        remember(client, owner, [{"role": "user", "content": text}])
    store(shared_installation)
    hits = client.post("/v1/search", json={"query": "desk"}, headers=owner).json()["hits"]
    return [hit["record_id"] for hit in sorted(hits, key=lambda hit: "walnut" not in hit["summary"])]


def history(client: httpx.Client, path: str, owner: dict[str, str], **params: Any) -> Any:
    answer = client.get(f"{path}/history", params=params, headers=owner)
    assert answer.is_success, (params, answer.text)
    return answer.json()


def test_revise_over_http(client: httpx.Client, owner: dict[str, str], records: list[str]) -> None:
    path = f"/v1/records/{records[0]}"
    first = client.get(path, headers=owner).json()
    revised = client.patch(path, json={"title": "The desk", "topics": ["furniture"]}, headers=owner).json()
    assert (revised["title"], revised["topics"], revised["summary"]) == ("The desk", ["furniture"], first["summary"])
    assert client.get(path, headers=owner).json() == revised
    assert client.get(path, params={"at": first["changed_at"]}, headers=owner).json() == first

    page = history(client, path, owner, limit=1)
    (revision,) = page["deltas"]
    assert (revision["operation"], revision["delta_id"], revision["changed_at"]) == (
        "revise",
        revised["delta_id"],
        revised["changed_at"],
    )
    page = history(client, path, owner, cursor=page["next_cursor"])
    assert ([delta["operation"] for delta in page["deltas"]], page["next_cursor"]) == (["create"], None)
    changes = client.get(f"{path}/diff", params={"from_at": first["changed_at"]}, headers=owner).json()
    assert changes == {
        "record_id": records[0],
        "changes": {
            "title": {"before": first["title"], "after": "The desk"},
            "topics": {"before": first["topics"], "after": ["furniture"]},
        },
    }
    (hit,) = client.post(
        "/v1/search", json={"query": "walnut", "at": first["changed_at"], "limit": 1}, headers=owner
    ).json()["hits"]
    assert hit["title"] == first["title"]


def test_stale_version_conflicts(client: httpx.Client, owner: dict[str, str], records: list[str]) -> None:
    path = f"/v1/records/{records[0]}"
    seen = {**owner, "If-Match": client.get(path, headers=owner).headers["etag"]}
    first = client.patch(path, json={"title": "One"}, headers=seen)
    assert first.status_code == 200
    late = client.patch(path, json={"title": "Two"}, headers=seen)
    assert_problem(late, 412)
    assert "read it again" in late.json()["detail"]
    assert late.headers["etag"] == first.headers["etag"] == client.get(path, headers=owner).headers["etag"]
    assert_problem(client.post(f"{path}/supersede", json={"by": records[1]}, headers=seen), 412)
    assert client.get(path, headers=owner).json()["title"] == "One"


def test_supersede_over_http(client: httpx.Client, owner: dict[str, str], records: list[str]) -> None:
    old, new = records

    def shown(**filters: object) -> dict[str, bool | None]:
        hits = client.post("/v1/search", json={"query": "desk", **filters}, headers=owner).json()["hits"]
        return {hit["record_id"]: hit.get("superseded") for hit in hits}

    answer = client.post(f"/v1/records/{old}/supersede", json={"by": new}, headers=owner)
    assert (answer.status_code, answer.json()["superseded_by"]) == (200, new)
    assert shown() == {new: None}
    assert shown(include_superseded=True) == {old: True, new: False}
    assert_problem(client.post(f"/v1/records/{new}/supersede", json={"by": old}, headers=owner), 409)
    assert_problem(client.post(f"/v1/records/{old}/supersede", json={"by": old}, headers=owner), 422)
    answer = client.post(f"/v1/records/{old}/supersede", json={"by": None}, headers=owner)
    assert (answer.status_code, answer.json()["superseded_by"]) == (200, None)
    assert shown() == {old: None, new: None}


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"title": ""},
        {"title": None},
        {"summary": "x" * 20_001},
        {"topics": ["x"] * 65},
        {"topics": "furniture"},
        {"embedding_model": "mine"},
        {"title": "x", "expected_delta": str(uuid4())},
    ],
)
def test_invalid_requests_are_problems(
    client: httpx.Client, owner: dict[str, str], records: list[str], body: dict[str, Any]
) -> None:
    assert_problem(client.patch(f"/v1/records/{records[0]}", json=body, headers=owner), 422)


# On the command line


@pytest.fixture
def memory(here: Installation, context: Any, monkeypatch: pytest.MonkeyPatch) -> tuple[User, Claims, list[str]]:
    """A user of two memories, in an installation that the environment describes."""
    describe(here.settings, monkeypatch)
    user, claims = user_of(here)
    for text in ("#Notes the walnut desk", "#Notes the oak desk"):
        converse(here, claims, text)
    records = sorted(stored(ingest(context, user)), key=lambda record: record.title, reverse=True)
    return user, claims, [str(record.record_id) for record in records]


@pytest.fixture
def run(memory: tuple[User, Claims, list[str]], capsys: pytest.CaptureFixture[str]) -> Ask:
    """Runs a command as the memories' owner; gives what it printed: with ``--json`` the one value."""

    def command(*arguments: str, code: int = 0) -> Any:
        assert entry.run([*arguments, "--user", memory[0].slug]) == code, (arguments, capsys.readouterr())
        out, err = capsys.readouterr()
        return json.loads(out or err) if "--json" in arguments else out or err

    return command
