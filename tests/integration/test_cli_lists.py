"""Commands that list nodes, records, keys, grants and quarantines: their filters, and their pages."""

from __future__ import annotations

import json
from typing import Any

import pytest

from neurigraph_pipelines.faces.cli import entry
from neurigraph_pipelines.lifecycle.quarantine.holding import quarantine
from neurigraph_pipelines.lifecycle.quarantine.rules import QuarantineRule
from neurigraph_pipelines.wiring.installation import Installation
from tests.support.command_line import describe
from tests.support.shared_graph import SharedGraph, new_shared_graph


@pytest.fixture
def graph(shared_installation: Installation, monkeypatch: pytest.MonkeyPatch) -> SharedGraph:
    describe(shared_installation.settings, monkeypatch)
    return new_shared_graph(shared_installation)


def test_lists_filter_and_page(graph: SharedGraph, capsys: pytest.CaptureFixture[str]) -> None:
    slug = graph.owner.slug

    def listed(*command: str, limit: int = 50) -> list[Any]:
        """Return a whole list, page after page."""
        found: list[Any] = []
        more: list[str] = []
        while True:
            assert entry.run([*command, "--user", slug, "--limit", str(limit), "--json", *more]) == 0, (
                capsys.readouterr()
            )
            page = json.loads(capsys.readouterr().out)
            (name,) = page.keys() - {"next_cursor"}
            found += page[name]
            if page["next_cursor"] is None:
                return found
            more = ["--cursor", page["next_cursor"]]

    assert [
        one["path"].removeprefix(f"{slug}/") for one in listed("node", "list", "--below", "Work", limit=1)
    ] == sorted(("Work/Legal", "Work/Marketing"), key=lambda path: str(graph.node(path)))
    (dave,) = listed("node", "list", "--path", "Family/Dave")
    assert listed("node", "list", "--name", "DAVE") == [dave]
    assert listed("memory", "list", "--node", "dave") == listed("memory", "list", "--node", "Family/Dave") != []
    for words in (["node", "show", "Dave"], ["node", "Dave"]):
        assert entry.run([*words, "--user", slug]) == 0
        assert "Family/Dave" in capsys.readouterr().out
    everything = listed("memory", "list", limit=2)
    assert len(everything) == 5
    work = listed("memory", "list", "--node", "Work")
    assert [one["record_id"] for one in work] == [
        one["record_id"] for one in everything if one["node_id"] != dave["node_id"]
    ]
    assert len(listed("memory", "list", "--node", "Work", "--no-below")) == 1
    assert listed("memory", "list", "--source", work[0]["source_id"]) == [
        one for one in everything if one["source_id"] == work[0]["source_id"]
    ]
    assert len(listed("memory", "list", "--no-superseded", "--content-type", "conversation", "--topic", "TESTING")) == 5
    assert listed("memory", "list", "--superseded") == listed("memory", "list", "--before", "2001-01-01") == []
    assert entry.run(["memory", "list", "--user", slug, "--limit", "2"]) == 0
    assert "More: --cursor " in capsys.readouterr().out
    assert entry.run(["node", "list", "--user", slug]) == 0
    assert "Family/Dave" in capsys.readouterr().out

    graph.key()
    assert len(listed("access", "key", "list", limit=1)) == 2, "and the first key of the user"
    grants = [graph.grant("Family/Dave", "gmail"), graph.grant("Work", "gmail")]
    assert [one["grant_id"] for one in listed("access", "list", limit=1)] == [str(one) for one in reversed(grants)]
    assert [one["grant_id"] for one in listed("access", "list", "--node", "Work")] == [str(grants[1])]
    for reason in ("first", "second"):
        of_source = QuarantineRule(source_id=everything[0 if reason == "first" else -1]["source_id"])
        quarantine(graph.installation.acting_for(graph.owners), of_source, reason)
    assert [one["reason"] for one in listed("memory", "quarantine", "list", limit=1)] == ["second", "first"]


def test_list_of_sources_shows_each_kind(graph: SharedGraph, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["source", "list", "--user", graph.owner.slug, "--limit", "1"]
    assert entry.run(command) == 0
    table = capsys.readouterr().out
    assert "More: neurigraph source list conversation" in table
    assert "No uploads." in table
    assert entry.run([*command, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert {kind: len(sources) for kind, sources in found.items()} == {
        "conversations": 1, "events": 0, "uploads": 0, "notes": 0,
    }  # fmt: skip
