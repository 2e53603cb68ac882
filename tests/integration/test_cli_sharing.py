"""Commands of personas and grants."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from neurigraph_pipelines.faces.cli import entry
from neurigraph_pipelines.model import Claims
from neurigraph_pipelines.wiring.installation import Installation
from tests.support.command_line import describe
from tests.support.shared_graph import SharedGraph, new_shared_graph

Ask = Callable[..., Any]


@pytest.fixture
def graph(shared_installation: Installation, monkeypatch: pytest.MonkeyPatch) -> SharedGraph:
    describe(shared_installation.settings, monkeypatch)
    return new_shared_graph(shared_installation)


@pytest.fixture
def ask(graph: SharedGraph, capsys: pytest.CaptureFixture[str]) -> Ask:
    """Runs a command as the owner, with ``--json``; gives the one value that it printed."""

    def run(*arguments: object, code: int = 0) -> Any:
        command = [*map(str, arguments), "--user", graph.owner.slug, "--json"]
        assert entry.run(command) == code, (arguments, capsys.readouterr())
        out, err = capsys.readouterr()
        return json.loads(out or err)

    return run


def test_persona_is_created_and_granted(graph: SharedGraph, ask: Ask) -> None:
    made = ask("node", "add", "Work", "Finance", "--node-type", "persona", "--writes")["node_id"]
    paths = {one["node_id"]: one["path"] for one in ask("access", "persona", "list")["personas"]}
    assert paths == {
        made: f"{graph.owner.slug}/Work/Finance",
        str(graph.persona_id): f"{graph.owner.slug}/Work/Legal",
    }
    first = ask("access", "add", "Family/Dave", "--persona", "Work/Finance")
    again = ask("access", "add", "Family/Dave", "--persona", made)
    assert again["grant_id"] == first["grant_id"]
    third = ask("access", "add", "Family/Dave", "--third-party", "gmail", "--expires", "2100-01-01")
    assert {one["grant_id"] for one in ask("access", "list", "--node", "Family/Dave")["grants"]} == {
        first["grant_id"],
        third["grant_id"],
    }
    assert ask("access", "remove", third["grant_id"])["revoked_at"] is not None
    assert [one["grant_type"] for one in ask("access", "list")["grants"]] == ["read", "read_write"]
    with graph.installation.database.agent(Claims(made, "persona", graph.owner.user_id)) as tx:
        row = tx.execute("SELECT count(*) AS n FROM neurigraph.graph_index").fetchone()
    assert row == {"n": 2}
