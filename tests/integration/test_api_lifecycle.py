"""Compression states over HTTP: open, wait, touch and compress files, with many clients at once."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from neurigraph_pipelines.access.authentication import issue_api_key
from neurigraph_pipelines.faces.api.files import MAX_WAIT_SECONDS
from neurigraph_pipelines.lifecycle import transitions
from neurigraph_pipelines.model import CompressionCause
from neurigraph_pipelines.wiring.installation import Installation
from tests.support.api_calls import assert_problem
from tests.support.api_server import serving
from tests.support.files import StoredFile, store_file
from tests.support.transitions import start_rehydration

CLIENTS = 50


@pytest.fixture(scope="module")
def base(shared_installation: Installation) -> Iterator[str]:
    with serving(shared_installation) as address:
        yield address


@pytest.fixture
def file(shared_installation: Installation) -> StoredFile:
    return store_file(shared_installation)


@pytest.fixture
def client(base: str, file: StoredFile) -> Iterator[httpx.Client]:
    """Speaks for the owner of the file."""
    key = issue_api_key(file.here.database, file.user.user_id, "tests")
    limits = httpx.Limits(max_connections=CLIENTS)
    with httpx.Client(
        base_url=f"{base}/v1", headers={"Authorization": f"Bearer {key}"}, timeout=60.0, limits=limits
    ) as made:
        yield made


def test_file_states_over_http(client: httpx.Client, file: StoredFile) -> None:
    path = f"/files/{file.file_id}"
    text = file.open().content
    shown = client.get(path).json()
    assert (shown["state"], shown["size_bytes"], len(shown["history"])) == ("active", len(text), 1)
    for _ in range(2):
        shown = client.post(f"{path}/compress").json()
        assert (shown["state"], shown["history"][0]["triggered_by"]) == ("dormant", "manual")
        assert len(shown["history"]) == 2
    touched = client.post(f"{path}/touch").json()
    assert (touched["state"], touched["last_accessed_at"] > shown["last_accessed_at"]) == ("dormant", True)
    node = client.get(f"/nodes/{file.place.node_id}/state").json()
    assert (node["state"], node["dormant_files"], node["active_files"]) == ("dormant", 1, 0)
    assert node["saved_bytes"] == len(text) - file.row["stored_bytes"]
    assert client.post(f"{path}/open?message=1").json()["content"] == "#Notes Hello."
    assert file.state == "dormant"
    opened = client.post(f"{path}/open?stored=true")
    assert (opened.status_code, opened.content) == (200, text)
    node = client.get(f"/nodes/{file.place.node_id}/state").json()
    assert node["state"] == "active"
    assert node["next_recompress_at"] is not None


def test_caller_without_wait_gets_retry_after(client: httpx.Client, file: StoredFile) -> None:
    path = f"/files/{file.file_id}"
    client.post(f"{path}/compress")
    start_rehydration(file)
    for wait in ("", "?wait=0.3"):
        answer = client.post(f"{path}/open{wait}")
        assert (answer.status_code, answer.json()) == (202, {"file_id": str(file.file_id), "state": "rehydrating"})
        assert int(answer.headers["retry-after"]) >= 1
    refused = client.post(f"{path}/compress")
    assert_problem(refused, 409)
    assert int(refused.headers["retry-after"]) >= 1
    assert client.post(f"{path}/open?message=2").status_code == 200
    for wait in ("-1", str(MAX_WAIT_SECONDS + 1), "nan", "inf", "long"):
        assert_problem(client.post(f"{path}/open?stored=true&wait={wait}"), 422)
    assert file.events == ["decompressed", "compressed", "rehydrating"]


def test_waiting_clients_block_nobody(client: httpx.Client, file: StoredFile) -> None:
    client.post(f"/files/{file.file_id}/compress")
    start_rehydration(file)
    with ThreadPoolExecutor(CLIENTS - 1) as clients:
        waiting = [
            clients.submit(client.post, f"/files/{file.file_id}/open?stored=true&wait=30") for _ in range(CLIENTS - 1)
        ]
        time.sleep(1)  # until more calls wait than the server has threads, which shows nowhere
        assert client.get(f"/files/{file.file_id}").json()["state"] == "rehydrating"
        assert not any(each.done() for each in waiting)
        with file.here.database.pipeline() as tx:
            holder = file.row["lease_holder"]
            assert transitions.give_up(tx, file.place, holder, "the tests said so", CompressionCause.RETRIEVAL)
        assert {each.result().status_code for each in waiting} == {200}
    assert file.events[-3:] == ["failed", "rehydrating", "decompressed"]
