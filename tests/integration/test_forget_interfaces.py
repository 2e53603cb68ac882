"""Erasure on the command line and over HTTP."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any
from uuid import UUID, uuid4

import httpx
import pytest

from neurigraph_pipelines.access.authentication import issue_api_key
from neurigraph_pipelines.graph.provisioning import User
from neurigraph_pipelines.settings import Settings
from neurigraph_pipelines.wiring.installation import Installation
from tests.support.api_calls import SAME_ID
from tests.support.api_server import serving
from tests.support.command_line import run_cli
from tests.support.memories import converse, ingest, new_user, plain_context, rows, stored


def remembered(here: Installation, slug: str) -> tuple[User, UUID]:
    """A user with a record in one node and another below it; gives the first."""
    user, claims = new_user(here, slug)
    converse(here, claims, "#Family I met Ana.", "#Family/Dave I met Dave.")
    records = {record.node_path: record.record_id for record in stored(ingest(plain_context(here)))}
    return user, records[f"{slug}/Family"]


def test_forget_by_cli(settings: Settings, installation: Installation) -> None:
    user, record_id = remembered(installation, "alice")

    def said(*arguments: str, code: int = 0) -> Any:
        done = run_cli(settings, *arguments, "--json")
        assert done.returncode == code, done.stderr
        return json.loads(done.stdout or done.stderr)

    plan = said("forget", "family", "--user", "alice", "--dry-run")
    assert plan["nodes"] == ["alice/Family", "alice/Family/Dave"]
    assert plan["records"] == 2
    assert said("forget", str(record_id)[:8], "--user", "alice", "--dry-run")["subject_id"] == str(record_id)
    assert said("forget", str(record_id), "--user", "alice", code=2)["error"] == "InvalidInputError", "nobody said yes"
    assert len(rows(installation, "SELECT FROM neurigraph.record_index")) == 2

    receipt = said("forget", str(record_id), "--user", "alice", "--yes")
    assert (receipt["subject_kind"], receipt["erased"]["records"]) == ("record", 1)
    assert len(receipt["objects"]) == 2
    assert said("forget", str(record_id), "--user", "alice") == receipt, "the second time there is nothing to ask about"
    said("forget", str(record_id), "--user", "alice", "--dry-run", code=3)
    said("forget", str(uuid4()), "--user", "alice", "--yes", code=3)
    said("forget", "--user", "alice", "--yes", code=2)
    said("forget", "alice", "--user", "alice", "--yes", code=2)
    assert said("forget", "Family", "--user", "alice", "--yes")["erased"]["nodes"] == 2

    last = said("forget", "--everything", "--user", "alice", "--yes")
    assert last["subject_id"] == str(user.user_id)
    said("forget", "--everything", "--user", "alice", "--yes", code=3)
    assert said("admin", "erasures", "--finish")["erasures"][0] == last
    assert "Nothing was erased" not in run_cli(settings, "admin", "erasures").stdout


@pytest.fixture
def client(installation: Installation) -> Iterator[httpx.Client]:
    with (
        serving(installation) as address,
        httpx.Client(base_url=f"{address}/v1", headers=SAME_ID, timeout=60) as client,
    ):
        client.timeout = 60
        yield client


def test_forget_over_http(installation: Installation, client: httpx.Client) -> None:
    user, record_id = remembered(installation, "alice")
    stranger, _ = new_user(installation, "bob")
    key, theirs = (
        {"Authorization": f"Bearer {issue_api_key(installation.database, each.user_id)}"} for each in (user, stranger)
    )
    (family,) = rows(installation, "SELECT node_id FROM neurigraph.graph_index WHERE node_name = 'Family'")
    paths = [f"/records/{record_id}", f"/nodes/{family['node_id']}", f"/users/{user.user_id}"]

    absent = client.delete(f"/records/{uuid4()}", headers=theirs)
    assert absent.status_code == 404
    for path in paths:
        denied = client.delete(path, headers=theirs)
        assert (denied.status_code, denied.content) == (404, absent.content)
    assert client.delete(paths[0]).status_code == 401

    plan = client.delete(paths[1], headers=key, params={"dry_run": True}).json()
    assert (plan["nodes"], plan["records"]) == (["alice/Family", "alice/Family/Dave"], 2)
    assert len(rows(installation, "SELECT FROM neurigraph.record_index")) == 2

    receipt = client.delete(paths[0], headers=key).json()
    assert (receipt["erased"]["records"], len(receipt["objects"])) == (1, 2)
    assert client.delete(paths[0], headers=key).json() == receipt
    assert client.delete(paths[1], headers=key).json()["erased"]["nodes"] == 2
    page = client.get("/erasures", headers=key, params={"limit": 1}).json()
    assert page["erasures"][0]["subject_kind"] == "node"
    rest = client.get("/erasures", headers=key, params={"cursor": page["next_cursor"]}).json()
    assert ([one["subject_kind"] for one in rest["erasures"]], rest["next_cursor"]) == (["record"], None)
    assert client.get("/erasures", headers=theirs).json()["erasures"] == []

    last = client.delete(paths[2], headers=key).json()
    assert (last["subject_id"], last["erased"]["users"]) == (str(user.user_id), 1)
    assert client.delete(paths[2], headers=key).status_code == 410, "their key is gone, too"
