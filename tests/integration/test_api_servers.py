"""Two API processes behind a balancer that sends each request to the other one than the last."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any
from uuid import uuid4

import httpx
import pytest

from neurigraph_pipelines.wiring.installation import Installation
from tests.conftest import ADMIN_KEY
from tests.support.agents import call_over_http, found
from tests.support.api_calls import TALK, new_user, remember, store
from tests.support.balancer import api_processes, round_robin
from tests.support.memories import rows

pytestmark = pytest.mark.slow

UNNAMED = {"messages": [{"role": "user", "content": "The keel needs bolts."}]}


@pytest.fixture(scope="module")
def addresses(shared_installation: Installation) -> Iterator[list[str]]:
    with api_processes(shared_installation.settings, 2, NEURIGRAPH_ADMIN_KEY=ADMIN_KEY) as served:
        yield [address for address, _ in served]


@pytest.fixture(scope="module")
def client(addresses: list[str]) -> Iterator[httpx.Client]:
    with round_robin(addresses) as address, balanced(address) as made:
        yield made


def balanced(address: str) -> httpx.Client:
    """A client whose every request is a connection of its own, so that the servers take turns."""
    return httpx.Client(base_url=address, timeout=60.0, limits=httpx.Limits(max_keepalive_connections=0))


@contextmanager
def each(addresses: list[str]) -> Iterator[list[httpx.Client]]:
    """A client of each server, without the balancer."""
    clients = [httpx.Client(base_url=address, timeout=60.0) for address in addresses]
    yield clients
    for one in clients:
        one.close()


def searched(client: httpx.Client, headers: dict[str, str], query: str = "Who fell into the water?") -> Any:
    return client.post("/v1/search", json={"query": query}, headers=headers).raise_for_status().json()


def test_a_conversation_goes_over_both(
    client: httpx.Client, addresses: list[str], shared_installation: Installation
) -> None:
    headers = new_user(client, "both")
    remember(client, headers, TALK)
    assert store(shared_installation) == 1
    with each(addresses) as servers:
        first, second = (searched(one, headers)["hits"] for one in servers)
        assert [hit["record_id"] for hit in first] == [hit["record_id"] for hit in second]
        # Both have the answer in memory now; what changes through one is new through the other.
        for turn, (writer, reader) in enumerate([(servers[0], servers[1]), (servers[1], servers[0])]):
            change = {"title": f"Dave in the water, version {turn}"}
            writer.patch(f"/v1/records/{first[0]['record_id']}", json=change, headers=headers).raise_for_status()
            assert searched(reader, headers)["hits"][0]["title"] == change["title"]
        issued = servers[0].post("/v1/keys", json={"label": "second"}, headers=headers).raise_for_status().json()
        other = {"Authorization": f"Bearer {issued['api_key']}"}
        assert [one.get("/v1/tree", headers=other).status_code for one in servers] == [200, 200]
        servers[0].delete(f"/v1/keys/{issued['key_id']}", headers=headers).raise_for_status()
        assert [one.get("/v1/tree", headers=other).status_code for one in servers] == [401, 401]
        pages = [servers[0].get("/v1/records", params={"limit": 1}, headers=headers).json()]
        remember(client, headers, [{**TALK[0], "external_id": "later", "content": "Ilse wants copper gutters."}])
        store(shared_installation)
        pages.append(servers[0].get("/v1/records", params={"limit": 1}, headers=headers).json())
        cursor = {"limit": 1, "cursor": pages[1]["next_cursor"]}
        onward = servers[1].get("/v1/records", params=cursor, headers=headers).raise_for_status().json()
        assert onward["records"] == pages[0]["records"]


def test_a_keyed_request_has_its_effect_once(
    client: httpx.Client, addresses: list[str], shared_installation: Installation
) -> None:
    headers = new_user(client, "keyed")
    opened = client.post("/v1/conversations", json={}, headers=headers).json()["conversation_id"]
    path, keyed = f"/v1/conversations/{opened}/messages", {**headers, "Idempotency-Key": str(uuid4())}
    with each(addresses) as servers, ThreadPoolExecutor(8) as pool:
        sent = [pool.submit(servers[n % 2].post, path, json=UNNAMED, headers=keyed) for n in range(16)]
        answers = [one.result() for one in sent]
        # Those that meet the first one while it runs are told to repeat it.
        assert {one.status_code for one in answers} <= {200, 409}
        assert all("running" in one.json()["detail"] for one in answers if one.status_code == 409)
        again = [one.post(path, json=UNNAMED, headers=keyed) for one in servers]
    for one in answers:
        assert one.status_code == 409 or one.json() == again[0].json() == again[1].json()
    assert [one.headers.get("idempotency-replayed") for one in again] == ["true", "true"]
    said = rows(shared_installation, "SELECT FROM neurigraph.messages WHERE source_id = %s", opened)
    assert len(said) == 1


def test_agents_need_no_session(addresses: list[str], client: httpx.Client, shared_installation: Installation) -> None:
    headers = new_user(client, "agent")
    key = headers["Authorization"].removeprefix("Bearer ")
    # The handshake of an older client and the call after it reach different servers.
    with round_robin(addresses) as address:
        for mode in ("auto", "legacy"):
            told = found(call_over_http(address, key, "who_am_i", mode))
            assert rows(
                shared_installation, "SELECT slug FROM neurigraph.users WHERE user_id = %s", told["user_id"]
            ) == [{"slug": "agent"}]


def test_the_limits_of_all_servers_add_up(shared_installation: Installation) -> None:
    settings, each_minute = shared_installation.settings, 30
    limit = {"NEURIGRAPH_API_REQUESTS_PER_MINUTE": str(each_minute), "NEURIGRAPH_ADMIN_KEY": ADMIN_KEY}
    with (
        api_processes(settings, 2, **limit) as served,
        round_robin([address for address, _ in served]) as address,
        balanced(address) as client,
    ):
        headers = new_user(client, "many")
        began = time.monotonic()
        answers = [client.get("/v1/tree", headers=headers) for _ in range(100)]
        refilled = (time.monotonic() - began) * 2 * each_minute / 60
        admitted = [one for one in answers if one.status_code == 200]
        refused = [one for one in answers if one.status_code == 429]
        assert len(admitted) + len(refused) == 100
        assert 2 * each_minute <= len(admitted) <= 2 * each_minute + refilled + 2
        assert all(int(one.headers["retry-after"]) >= 1 for one in refused)


def test_a_killed_server_is_not_missed(shared_installation: Installation) -> None:
    with (
        api_processes(shared_installation.settings, 2, NEURIGRAPH_ADMIN_KEY=ADMIN_KEY) as served,
        round_robin([address for address, _ in served]) as address,
        balanced(address) as client,
    ):
        headers = new_user(client, "killed")
        opened = client.post("/v1/conversations", json={}, headers=headers).json()["conversation_id"]
        path = f"/v1/conversations/{opened}/messages"

        def say(number: int) -> int:
            """Send a message until it is answered, as a client does."""
            keyed = {**headers, "Idempotency-Key": f"message-{number}"}
            body = {"messages": [{"role": "user", "content": f"The keel needs {number} bolts."}]}
            for _ in range(20):
                try:
                    answer = client.post(path, json=body, headers=keyed)
                except httpx.TransportError:
                    continue
                if answer.status_code == 200:
                    return int(answer.json()["added"])
                assert answer.status_code == 409, answer.text
                time.sleep(0.1)
            raise AssertionError("never answered")

        with ThreadPoolExecutor(4) as pool:
            sent = [pool.submit(say, number) for number in range(24)]
            sent[5].result()
            served[0][1].kill()
            assert [one.result() for one in sent] == [1] * 24
    said = rows(shared_installation, "SELECT FROM neurigraph.messages WHERE source_id = %s", opened)
    assert len(said) == 24
