"""The command ``report``: figures by day, user and node, against what is stored, and its formats."""

from __future__ import annotations

import io
import json
import sys
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import nbformat
import pandas
import pytest

from neurigraph_pipelines.faces.cli import entry
from neurigraph_pipelines.graph.provisioning import User, create_user
from neurigraph_pipelines.knowledge.reading import read_waiting
from neurigraph_pipelines.lifecycle.storage_report import storage_report
from neurigraph_pipelines.runtime.figures import as_markdown, figures
from neurigraph_pipelines.wiring.installation import Installation
from tests.conftest import ROOT
from tests.support.command_line import describe
from tests.support.failed_segments import fail
from tests.support.memories import plain_context
from tests.support.vectors import end_conversation, store

COUNTS = ["memories", "segments", "facts", "failures"]
WORK, FAMILY = "#Work/Plans The walnut tree fell onto the barn.", "#Family The dog sleeps on the sofa."


@pytest.fixture
def bob(installation: Installation, monkeypatch: pytest.MonkeyPatch) -> User:
    """A user with three memories and a failure of today, beside Ana with one memory of three days ago."""
    describe(installation.settings, monkeypatch)
    context = plain_context(installation)
    ana, _ = create_user(installation.database, "ana")
    end_conversation(installation, ana, "old", FAMILY)
    store(installation, context)
    read_waiting(context)
    with installation.database.owner() as tx:
        for table, column in (
            ("record_index", "created_at"),
            ("storage_triggers", "stored_at"),
            ("facts", "recorded_at"),
        ):
            tx.execute(f"UPDATE neurigraph.{table} SET {column} = {column} - interval '3 days'".encode())
    user, _ = create_user(installation.database, "bob")
    end_conversation(installation, user, "both", WORK, FAMILY)
    end_conversation(installation, user, "again", FAMILY)
    store(installation, context)
    read_waiting(context)
    fail(installation, user, "broken")
    return user


def test_figures_are_those_of_the_day_the_user_and_the_node(installation: Installation, bob: User) -> None:
    database = installation.database
    by_user = figures(database, "user")
    assert by_user[COUNTS].to_dict("index") == {
        "ana": {"memories": 1, "segments": 1, "facts": 1, "failures": 0},
        "bob": {"memories": 3, "segments": 2, "facts": 3, "failures": 1},
    }
    assert (by_user["tokens"] > 0).all()
    by_day = figures(database, "day")
    assert by_day.to_numpy().tolist() == by_user.to_numpy().tolist(), "each user stored on one day"
    today, long_ago = datetime.now(UTC).date(), datetime.now(UTC).date() - timedelta(days=3)
    assert set(by_day.index) <= {today, today - timedelta(days=1), long_ago, long_ago - timedelta(days=1)}
    by_node = figures(database, "node")
    assert by_node[["memories", "facts"]].to_dict("index") == {
        "ana/Family": {"memories": 1, "facts": 1},
        "bob/Family": {"memories": 2, "facts": 2},
        "bob/Work/Plans": {"memories": 1, "facts": 1},
    }
    stored = {
        node.path: node.totals.active_bytes - node.totals.content_bytes
        for user in storage_report(database)
        for node in user.nodes
    }
    assert by_node["stored_bytes"].to_dict() == stored, "all files are awake: a working copy lies beside each"
    assert by_user["stored_bytes"].sum() == sum(stored.values())


def test_figures_of_a_period_and_of_one_user(installation: Installation, bob: User) -> None:
    database = installation.database
    (old, new) = figures(database, "day").index
    assert list(figures(database, "user", since=old, until=old).index) == ["ana"]
    assert list(figures(database, "user", since=old + timedelta(days=1)).index) == ["bob"]
    assert list(figures(database, "node", until=new - timedelta(days=1)).index) == ["ana/Family"]
    assert list(figures(database, "day", user_id=bob.user_id).index) == [new]
    nothing = figures(database, "node", since=date(2001, 1, 1), until=date(2001, 1, 2))
    assert nothing.empty
    assert list(nothing.columns) == ["memories", "facts", "stored_bytes"]


def test_command_prints_each_format(bob: User, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    def shown(*options: str, code: int = 0) -> str:
        assert entry.run(["admin", "report", *options]) == code
        captured = capsys.readouterr()
        return captured.out if code == 0 else captured.err

    head, rule, *rows = shown("--by", "user").splitlines()
    assert head.split()[1:4] == ["user", "|", "memories"]
    assert set(rule) == set("|:-")
    assert [row.split()[1] for row in rows] == ["ana", "bob"]
    frame = pandas.read_csv(io.StringIO(shown("--by", "node", "--format", "csv")), index_col="node")
    assert frame.loc["bob/Family", "memories"] == 2
    found: dict[str, Any] = json.loads(shown("--user", "bob", "--json"))
    assert [(row["memories"], row["failures"]) for row in found["rows"]] == [(3, 1)]
    date.fromisoformat(found["rows"][0]["day"])
    target = tmp_path / "figures.csv"
    assert shown("--by", "user", "--format", "csv", "--output", str(target)) == f"2 rows written to {target}\n"
    assert target.read_text().startswith("user,memories,")
    assert "2 rows" not in shown("--by", "user", "--json", "--output", str(target))
    assert "give a day such as" in shown("--since", "yesterday", code=2)
    assert "cannot write" in shown("--output", str(tmp_path / "none" / "file.md"), code=2)
    assert "there is no user" in shown("--user", "nobody", code=3)


def test_parquet_keeps_types(
    installation: Installation, bob: User, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    pytest.importorskip("pyarrow")
    target = tmp_path / "figures.parquet"
    assert entry.run(["admin", "report", "--format", "parquet", "--output", str(target)]) == 0
    read = pandas.read_parquet(target).set_index("day")
    pandas.testing.assert_frame_equal(read, figures(installation.database, "day"))


def test_parquet_without_its_library_or_a_file_says_what_to_do(
    bob: User, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert entry.run(["admin", "report", "--format", "parquet"]) == 2
    assert "name a file with --output" in capsys.readouterr().err
    monkeypatch.setitem(sys.modules, "pyarrow", None)  # as if it were not installed
    target = tmp_path / "figures.parquet"
    assert entry.run(["admin", "report", "--format", "parquet", "--output", str(target)]) == 4
    assert "pip install 'neurigraph[parquet]'" in capsys.readouterr().err
    assert not target.exists()


def test_names_do_not_break_the_table() -> None:
    frame = pandas.DataFrame({"memories": [1200]}, index=pandas.Index(["bob/a|b"], name="node"))
    *_, row = as_markdown(frame).splitlines()
    assert row.replace(" ", "") == "|bob/a\\|b|1,200|"


def test_notebook_of_an_analyst_runs(installation: Installation, bob: User) -> None:
    """The cells of `docs/analysis.ipynb`, one after the other, on an installation with memories and a failure."""
    notebook = json.loads((ROOT / "docs" / "analysis.ipynb").read_text())
    nbformat.validate(notebook)
    cells: dict[str, Any] = {}
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            exec(compile("".join(cell["source"]), "analysis.ipynb", "exec"), cells)
    assert cells["growth"]["memories"].iloc[-1] == 4
    assert len(cells["failed"]) == 1
    assert cells["fullest"]["memories"].sum() == 4
    assert cells["facts"]["facts"].sum() == 4
