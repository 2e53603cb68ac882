"""``forget`` as an agent uses it: a dry run, its token, and what the token is good for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from mcp import Client

from neurigraph_pipelines.model import Claims
from neurigraph_pipelines.wiring.installation import Installation
from tests.support.agents import call_over_http, failure, found, over_http, owner_of, owners_key
from tests.support.api_server import serving
from tests.support.memories import converse, ingest, plain_context


@pytest.fixture(scope="module")
def address(shared_installation: Installation) -> Iterator[str]:
    with serving(shared_installation) as base:
        yield base


def test_forgetting_needs_the_token_of_its_dry_run(address: str, here: Installation) -> None:
    user, key = owner_of(here, "#Old The red boat sank.", "#Boats/Blue The blue boat floats.")
    _, others_key = owner_of(here, "#Old Nothing of the kind.")

    async def session(client: Client) -> None:
        hits = found(await client.call_tool("search_memory", {"query": "boat"}))["hits"]
        red = next(hit["record_id"] for hit in hits if "red" in hit["summary"])
        node = found(await client.call_tool("browse_graph", {"node": "Boats"}))["node_id"]
        dry = found(await client.call_tool("forget", {"record_ids": [red], "node_ids": [node]}))
        assert (dry["is_dry_run"], [one["records"] for one in dry["would_erase"]]) == (True, [1, 1])
        assert len(found(await client.call_tool("search_memory", {"query": "boat"}))["hits"]) == 2
        token = dry["token"]
        for arguments, said in (
            ({"record_ids": [red], "token": token}, "something else"),
            ({"record_ids": [red], "node_ids": [node], "token": token[:-2]}, "not valid"),
            ({"record_ids": [red], "node_ids": [node], "token": "yes"}, "not valid"),
            ({"record_ids": [red], "node_ids": [node], "token": "\u00e9."}, "not valid"),
        ):
            assert said in failure(await client.call_tool("forget", arguments)), arguments
        converse(here, Claims.of_user(user.user_id), "#Boats/Blue Another blue boat.")
        ingest(plain_context(here), user)
        asked: dict[str, Any] = {"node": "Boats/Blue", "limit": 1}
        first = found(await client.call_tool("browse_graph", asked))
        second = await client.call_tool("browse_graph", asked | {"cursor": first["next_cursor"]})
        shown = [one["summary"] for one in first["records"] + found(second)["records"]]
        assert sorted("Another" in one for one in shown) == [False, True]
        assert found(second)["next_cursor"] is None
        asked |= {"node": "Old", "cursor": first["next_cursor"]}
        assert "cursor is not valid" in failure(await client.call_tool("browse_graph", asked))
        confirmed = {"record_ids": [red], "node_ids": [node], "token": token}
        assert "more or less to erase" in failure(await client.call_tool("forget", confirmed))
        dry = found(await client.call_tool("forget", {"record_ids": [red], "node_ids": [node]}))
        confirmed["token"] = dry["token"]
        receipts = [found(await client.call_tool("forget", confirmed))["receipts"] for _ in range(2)]
        assert receipts[0] == receipts[1]
        assert [one["subject_id"] for one in receipts[0]] == [red, node]
        assert all(one["requested_through"] == "mcp" and one["finished_at"] for one in receipts[0])
        assert found(await client.call_tool("search_memory", {"query": "boat"}))["hits"] == []

    over_http(address, key, session)
    assert found(call_over_http(address, others_key, "search_memory", query="kind"))["hits"]


def test_token_belongs_to_one_key_and_expires(
    address: str, here: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    user, key = owner_of(here, "#Old The green boat leaks.")
    other_key = owners_key(here, user)
    (hit,) = found(call_over_http(address, key, "search_memory", query="boat"))["hits"]
    asked: dict[str, Any] = {"record_ids": [hit["record_id"]]}
    token = found(call_over_http(address, key, "forget", **asked))["token"]
    assert "not valid" in failure(call_over_http(address, other_key, "forget", **asked, token=token))
    monkeypatch.setattr("neurigraph_pipelines.lifecycle.erasure.confirmation.LIFETIME_SECONDS", -1)
    late = found(call_over_http(address, key, "forget", **asked))["token"]
    assert "has expired" in failure(call_over_http(address, key, "forget", **asked, token=late))
    assert found(call_over_http(address, key, "search_memory", query="boat"))["hits"]
    assert found(call_over_http(address, key, "forget", **asked, token=token))["receipts"]
