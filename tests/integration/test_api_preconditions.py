"""ETags of what can be changed, and changes under a condition, also by several writers at once."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import partial
from threading import Barrier
from typing import Any
from uuid import uuid4

import httpx
import pytest

from neurigraph_pipelines.wiring.installation import Installation
from tests.support.api_calls import TALK, assert_problem, new_user, remember, store

WRITERS = 6


@pytest.fixture(scope="module")
def bob(client: httpx.Client, shared_installation: Installation) -> dict[str, str]:
    headers = new_user(client, "tagged")
    for number in range(3):
        remember(client, headers, [{**message, "external_id": f"{number}-{n}"} for n, message in enumerate(TALK)])
    assert store(shared_installation) == 3
    return headers


@pytest.fixture
def record(client: httpx.Client, bob: dict[str, str]) -> dict[str, Any]:
    hits: list[dict[str, Any]] = client.post("/v1/search", json={"query": "trout"}, headers=bob).json()["hits"]
    return hits[0]


def new_node(client: httpx.Client, bob: dict[str, str], name: str) -> str:
    root = client.get("/v1/tree", headers=bob).json()["node_id"]
    body = {"parent_node_id": root, "name": name}
    return str(client.post("/v1/nodes", json=body, headers=bob).json()["node_id"])


def test_known_answers_are_not_sent_again(client: httpx.Client, bob: dict[str, str], record: dict[str, Any]) -> None:
    for path in (
        f"/v1/records/{record['record_id']}",
        f"/v1/nodes/{record['node_id']}",
        f"/v1/conversations/{record['source_id']}",
    ):
        first = client.get(path, headers=bob)
        tag = first.headers["etag"]
        assert tag.startswith('"')
        for known in (tag, f'"other", {tag}', f"W/{tag}", "*"):
            again = client.get(path, headers={**bob, "If-None-Match": known})
            assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", tag), known
        for unknown in ('"other"', '""'):
            assert client.get(path, headers={**bob, "If-None-Match": unknown}).json() == first.json()
        assert_problem(client.get(path, headers={**bob, "If-None-Match": "bare"}), 422)
    path = f"/v1/records/{record['record_id']}"
    before = client.get(path, headers=bob).headers["etag"]
    changed = client.patch(path, json={"title": f"Trout {uuid4()}"}, headers=bob)
    assert changed.headers["etag"] == client.get(path, headers=bob).headers["etag"] != before


def test_tag_of_a_source_guards_its_privacy(client: httpx.Client, bob: dict[str, str], record: dict[str, Any]) -> None:
    path = f"/v1/conversations/{record['source_id']}"
    old = {**bob, "If-Match": client.get(path, headers=bob).headers["etag"]}
    assert client.patch(path, json={"privacy": "private"}, headers=old).status_code == 204
    refused = client.patch(path, json={"privacy": "shared"}, headers=old)
    assert_problem(refused, 412)
    new = {**bob, "If-Match": client.get(path, headers=bob).headers["etag"]}
    assert client.patch(path, json={"privacy": "shared"}, headers=new).status_code == 204


def test_file_state_changes_the_answer_and_not_the_version(
    client: httpx.Client, bob: dict[str, str], record: dict[str, Any]
) -> None:
    path = f"/v1/records/{record['record_id']}"
    read = client.get(path, headers=bob)
    assert client.post(f"/v1/files/{read.json()['file_id']}/compress", headers=bob).status_code == 200
    assert client.get(path, headers={**bob, "If-None-Match": read.headers["etag"]}).status_code == 200
    conditional = {**bob, "If-Match": read.headers["etag"]}
    assert client.patch(path, json={"title": "Still the same"}, headers=conditional).status_code == 200


def test_conditions_on_every_change_of_a_node(client: httpx.Client, bob: dict[str, str]) -> None:
    node_id, other = new_node(client, bob, "Conditions"), new_node(client, bob, "Other")
    path = f"/v1/nodes/{node_id}"
    old = {**bob, "If-Match": client.get(path, headers=bob).headers["etag"]}
    assert client.patch(path, json={"name": "Renamed"}, headers=old).status_code == 200
    for method, at, body in (
        ("PATCH", path, {"name": "Again"}),
        ("PATCH", path, {"parent_node_id": other}),
        ("POST", f"{path}/merge", {"into_node_id": other}),
        ("POST", f"{path}/split", {"name": "Part", "keyword": "trout"}),
        ("DELETE", path, None),
        ("DELETE", path, None),
    ):
        refused = client.request(method, at, json=body, headers=old)
        assert_problem(refused, 412)
        assert refused.headers["etag"] == client.get(path, headers=bob).headers["etag"]
    weak = {**bob, "If-Match": "W/" + client.get(path, headers=bob).headers["etag"]}
    assert_problem(client.patch(path, json={"name": "Weak"}, headers=weak), 412)
    assert_problem(client.patch(path, json={"name": "Bare"}, headers={**bob, "If-Match": "bare"}), 422)
    current = {**bob, "If-Match": refused.headers["etag"]}
    assert client.patch(path, json={"parent_node_id": other}, headers=current).status_code == 200
    several = {**bob, "If-Match": f'"older-1", {client.get(path, headers=bob).headers["etag"]}'}
    assert client.delete(path, headers=several).status_code == 200
    assert_problem(client.patch(path, json={"name": "Gone"}, headers={**bob, "If-Match": "*"}), 404)


def test_conditions_on_moving_and_forgetting_a_record(
    client: httpx.Client, bob: dict[str, str], record: dict[str, Any]
) -> None:
    path, node_id = f"/v1/records/{record['record_id']}", new_node(client, bob, "Shelf")
    old = {**bob, "If-Match": client.get(path, headers=bob).headers["etag"]}
    assert client.post(f"{path}/move", json={"node_id": node_id}, headers=old).json()["record_count"] == 1
    for method, at, body in (
        ("PATCH", path, {"title": "Late"}),
        ("POST", f"{path}/supersede", {"by": None}),
        ("POST", f"{path}/move", {"node_id": record["node_id"]}),
        ("DELETE", path, None),
    ):
        assert_problem(client.request(method, at, json=body, headers=old), 412)
    current = {**bob, "If-Match": client.get(path, headers=bob).headers["etag"]}
    assert client.delete(path, headers=current).json()["erased"]["records"] == 1
    assert_problem(client.get(path, headers=bob), 404)


@pytest.mark.attack
def test_one_of_several_writers_wins(client: httpx.Client, bob: dict[str, str]) -> None:
    """Every round, all have read the same version; exactly one of them changes it."""
    (hit, *_) = client.post("/v1/search", json={"query": "trout"}, headers=bob).json()["hits"]
    record, node = f"/v1/records/{hit['record_id']}", f"/v1/nodes/{new_node(client, bob, 'Contested')}"
    with ThreadPoolExecutor(WRITERS) as pool:
        for path, field in ((record, "title"), (node, "name")) * 2:
            conditional = {**bob, "If-Match": client.get(path, headers=bob).headers["etag"]}
            start = Barrier(WRITERS)
            write = partial(_write, client, path, field, conditional, start)
            assert sorted(pool.map(write, range(WRITERS))) == [200] + [412] * (WRITERS - 1), path


def _write(client: httpx.Client, path: str, field: str, headers: dict[str, str], start: Barrier, number: int) -> int:
    start.wait(30)
    return client.patch(path, json={field: f"{number} of {uuid4()}"}, headers=headers).status_code
