"""Commands for compression, storage and verification."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any
from uuid import uuid4

import pytest

from neurigraph_pipelines.faces.cli import entry
from neurigraph_pipelines.lifecycle import transitions
from neurigraph_pipelines.lifecycle.object_keys import durable_key
from neurigraph_pipelines.model import CompressionCause
from neurigraph_pipelines.wiring.installation import Installation
from tests.support.command_line import describe
from tests.support.files import StoredFile, store_file

Ask = Callable[..., Any]


@pytest.fixture
def file(installation: Installation, monkeypatch: pytest.MonkeyPatch) -> StoredFile:
    """A file of an installation that the environment describes."""
    describe(installation.settings, monkeypatch)
    return store_file(installation)


@pytest.fixture
def ask(file: StoredFile, capsys: pytest.CaptureFixture[str]) -> Ask:
    """Runs a command as the file's owner, with ``--json``; gives the one value that it printed."""

    def run(*arguments: object, code: int = 0, user: str | None = file.user.slug) -> Any:
        owner = ("--user", user) if user is not None else ()
        assert entry.run([*map(str, arguments), *owner, "--json"]) == code, (arguments, capsys.readouterr())
        out, err = capsys.readouterr()
        return json.loads(out or err)

    return run


def test_compress_and_open_one_file(file: StoredFile, ask: Ask) -> None:
    record_id = file.row["record_id"]
    planned = ask("memory", "compress", record_id, "--dry-run")
    assert (planned["files"], planned["bytes_freed"], file.state) == (1, file.row["size_bytes"], "active")
    assert ask("memory", "compress", record_id) == planned
    assert ask("memory", "compress", file.file_id)["files"] == 0
    state = ask("memory", "state", file.file_id)
    assert (state["state"], [change["event"] for change in state["history"]]) == (
        "dormant",
        ["compressed", "decompressed"],
    )
    assert ask("memory", "touch", file.file_id)["last_accessed_at"] > state["last_accessed_at"]
    assert file.state == "dormant"
    assert ask("open", record_id)["messages"]
    assert ask("node", "state", "Notes")["active_files"] == 1
    assert ask("node", "state", file.place.node_id)["state"] == "active"


def test_compress_by_node_user_or_due(file: StoredFile, ask: Ask) -> None:
    other = store_file(file.here, "#Work Tea.", user=(file.user, file.claims))
    stranger = store_file(file.here)
    assert ask("memory", "compress", "--node", "Notes")["files"] == 1
    assert (file.state, other.state, stranger.state) == ("dormant", "active", "active")
    file.open()
    assert ask("memory", "compress", "--dry-run")["files"] == 2
    assert ask("memory", "compress")["files"] == 2
    assert (file.state, other.state, stranger.state) == ("dormant", "dormant", "active")
    assert [file.events[-1], other.events[-1]] == ["recompressed", "compressed"]
    file.open()
    for each in (file, stranger):
        each.age(31)
    assert ask("memory", "compress", "--due", user=None)["files"] == 2
    assert (file.state, stranger.state) == ("dormant", "dormant")


def test_file_that_stays_active_is_reported(file: StoredFile, ask: Ask) -> None:
    file.here.objects.delete(file.key)
    done = ask("memory", "compress", code=1)
    assert list(done["failures"]) == [str(file.file_id)]
    assert ask("memory", "compress", file.file_id, code=1)["error"] == "AbsentObjectError"
    assert file.state == "active"


def test_busy_file_exit_code(file: StoredFile, ask: Ask) -> None:
    ask("memory", "compress", file.file_id)
    with file.here.database.pipeline() as tx:
        transitions.begin_rehydration(tx, file.here.settings, file.place, uuid4(), CompressionCause.RETRIEVAL)
    for command in (
        ("open", file.file_id),
        ("open", file.file_id, "--wait", "0.1"),
        ("memory", "compress", file.file_id),
    ):
        report = ask(*command, code=entry.REHYDRATING)
        assert report["error"] == "RehydratingError"
    assert ask("open", file.file_id, "--message", "1")["content"] == "#Notes Hello."


def test_verify_reports_and_repairs(
    file: StoredFile, ask: Ask, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ask("admin", "verify", user=None)["findings"] == []
    file.here.objects.delete(file.copy)
    orphan = durable_key("nobody", ["Notes"], uuid4(), uuid4())
    file.here.objects.put(orphan, [b"left by a crash"])
    found = ask("admin", "verify", "--node", "Notes", code=1)
    assert ([each["fault"] for each in found["findings"]], found["objects"]) == (["working_copy"], None)
    assert ask("admin", "verify", "--quick", code=1)["bytes_read"] == 0
    assert ask("admin", "verify", "--sample", "5", code=1, user=None)["left"] == 1

    young = ask("admin", "verify", "--repair", user=None)["objects"]
    assert (young["orphans"], young["young"], young["removed"]) == ([orphan], 1, 0)
    monkeypatch.setenv("NEURIGRAPH_ORPHAN_GRACE_HOURS", "0")
    assert entry.run(["admin", "verify"]) == 1
    out, _ = capsys.readouterr()
    assert orphan in out
    assert "1 findings are left." in out
    assert ask("admin", "verify", "--repair", user=None)["objects"]["removed"] == 1
    assert entry.run(["admin", "verify"]) == 0
    assert "Nothing is wrong." in capsys.readouterr()[0]


def test_storage_is_counted(file: StoredFile, ask: Ask) -> None:
    row = file.row
    (node,) = ask("admin", "storage")["nodes"]
    assert (node["path"], node["active_files"]) == (f"{file.user.slug}/Notes", 1)
    assert (node["content_bytes"], node["active_bytes"]) == (row["size_bytes"], row["size_bytes"] + row["stored_bytes"])
    ask("memory", "compress")
    (user,) = ask("admin", "storage", user=None)["users"]
    assert (user["dormant_files"], user["saved_bytes"]) == (1, row["size_bytes"] - row["stored_bytes"])
    assert user["saved_bytes"] > 0


def test_invalid_commands_and_unknown_ids(file: StoredFile, ask: Ask) -> None:
    other = store_file(file.here)
    for code, arguments, user in (
        (
            2,
            (
                "memory",
                "compress",
            ),
            None,
        ),
        (2, ("memory", "compress", file.file_id), None),
        (2, ("memory", "compress", file.file_id, "--node", "Notes"), file.user.slug),
        (2, ("memory", "compress", "--node", "Notes", "--due"), file.user.slug),
        (2, ("memory", "touch", "'; DROP SCHEMA neurigraph; --"), file.user.slug),
        (2, ("admin", "verify", "--node", "Notes"), None),
        (2, ("admin", "verify", "--sample", 5, "--repair"), None),
        (2, ("admin", "verify", "--sample", 0), None),
        (3, ("memory", "compress", other.file_id), file.user.slug),
        (3, ("memory", "compress", "--node", other.place.node_id), file.user.slug),
        (3, ("memory", "touch", other.file_id), file.user.slug),
        (3, ("memory", "state", other.file_id), file.user.slug),
        (3, ("node", "state", other.place.node_id), file.user.slug),
        (3, ("node", "state", "No/Such\0\ud800/Node 🦊" + "x" * 300), file.user.slug),
        (3, ("admin", "verify", "--node", other.place.node_id), file.user.slug),
        (
            3,
            (
                "admin",
                "storage",
            ),
            "nobody",
        ),
    ):
        assert ask(*arguments, code=code, user=user)["exit_code"] == code
    assert (file.events, other.events) == (["decompressed"], ["decompressed"])


def test_text_output(file: StoredFile, capsys: pytest.CaptureFixture[str]) -> None:
    for expected, arguments in (
        ("1 file would become dormant", ("memory", "compress", "--dry-run")),
        ("1 file became dormant", ("memory", "compress")),
        ("compressed    manual", ("memory", "state", str(file.file_id))),
        ("dormant files", ("node", "state", "Notes")),
        (f"{file.user.slug}/Notes", ("admin", "storage")),
    ):
        assert entry.run([*arguments, "--user", file.user.slug]) == 0
        assert expected in capsys.readouterr()[0]
