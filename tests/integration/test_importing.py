"""Imports on the command line: what is rejected, replaced, finished and watched."""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest

from neurigraph_pipelines.faces.cli import entry
from neurigraph_pipelines.graph.provisioning import User
from neurigraph_pipelines.inbox.importing import count_file, import_file
from neurigraph_pipelines.model import Claims
from neurigraph_pipelines.model.sources import SourceDetails
from neurigraph_pipelines.settings import Settings
from neurigraph_pipelines.wiring.installation import Installation
from tests.support.command_line import PROGRAM, describe, environment
from tests.support.memories import new_user, rows
from tests.support.uploads import user
from tests.support.waiting import wait_for_process, wait_until

PATIENCE_SECONDS = 60.0


def write_conversations(path: Path, conversations: Sequence[Sequence[str]]) -> Path:
    """A file of conversations, ``talk-0`` and so on, with these messages."""
    with path.open("w", encoding="utf-8") as file:
        for number, contents in enumerate(conversations):
            said = [{"role": "user", "content": text, "external_id": f"m{i}"} for i, text in enumerate(contents)]
            file.write(json.dumps({"external_id": f"talk-{number}", "messages": said}) + "\n")
    return path


def taken_in(here: Installation, user: User) -> dict[str, int]:
    """How many messages of each conversation are there."""
    found = rows(
        here,
        """SELECT s.external_id, count(m.seq) AS n, s.last_message FROM neurigraph.sources AS s
        LEFT JOIN neurigraph.messages AS m USING (source_id) WHERE s.user_id = %s GROUP BY s.source_id""",
        user.user_id,
    )
    assert all(row["n"] == row["last_message"] for row in found)
    return {row["external_id"]: row["n"] for row in found}


@pytest.mark.parametrize("bad", [0, 2, 4])
def test_rejected_items_fail_alone(here: Installation, bob: tuple[User, Claims], tmp_path: Path, bad: int) -> None:
    user, claims = bob
    settings = here.settings.changed(unstorable_text="reject")
    talks = [["hello", "good-bye"] for _ in range(5)]
    talks[bad] = ["nothing but \0"]
    talks[3] = ["kept", "a lone \ud800", "kept too"]
    path = write_conversations(tmp_path / "talks.jsonl", talks)
    report = import_file(here.acting_for(claims).using(settings=settings), path, "jsonl")
    assert taken_in(here, user) == {f"talk-{number}": 2 for number in range(5) if number != bad}
    assert (report.conversations_added, report.messages_added) == (4, 8)
    reasons = {item.where: item.reason for item in report.rejected}
    assert set(reasons) == {f"talk-{bad}", f"talk-{bad}, message m0", "talk-3, message m1"}
    assert "lone surrogate" in reasons["talk-3, message m1"]


def test_dry_run_adds_nothing_and_counts_as_the_import_does(
    here: Installation, bob: tuple[User, Claims], tmp_path: Path
) -> None:
    user, claims = bob
    context = here.acting_for(claims)
    first = write_conversations(tmp_path / "first.jsonl", [["one", "two"], ["three"]])
    import_file(context, first, "jsonl")
    before = taken_in(here, user)
    path = write_conversations(tmp_path / "all.jsonl", [["one", "two", "more"], ["three"], ["new"], []])
    planned = import_file(context, path, "jsonl", dry_run=True)
    assert taken_in(here, user) == before
    assert (planned.conversations_added, planned.messages_added, planned.messages_known) == (1, 2, 3)
    assert import_file(context, path, "jsonl") == planned
    assert taken_in(here, user) == {"talk-0": 3, "talk-1": 1, "talk-2": 1}
    counted = count_file(here.settings, path, "jsonl")
    assert (counted.conversations_added, counted.messages_added, len(counted.rejected)) == (3, 5, 1)


def test_import_says_what_it_replaces(here: Installation, bob: tuple[User, Claims], tmp_path: Path) -> None:
    user, claims = bob
    context = here.acting_for(claims)
    import_file(context, write_conversations(tmp_path / "first.jsonl", [["It is blue."]]), "jsonl")

    def versions() -> list[tuple[str, int, UUID]]:
        found = rows(
            here, "SELECT * FROM neurigraph.sources WHERE user_id = %s ORDER BY version, external_id", user.user_id
        )
        return [(row["external_id"], row["version"], row["source_id"]) for row in found]

    ((_, _, first),) = versions()
    said = [{"role": "user", "content": "It is green."}]
    lines = [
        {"replaces": str(first), "messages": said},
        {"replaces": str(uuid4()), "messages": said},
        {"replaces": "the first one", "messages": said},
        {"replaces": str(first), "external_id": "another", "messages": said},
        {"external_id": "talk-1", "messages": said},
    ]
    path = tmp_path / "second.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    report = import_file(context, path, "jsonl")
    assert report.conversations_added == 2
    assert {item.reason.partition(":")[0] for item in report.rejected} == {
        "you have handed in no source that it could replace",
        "its replaces is not the id of a source",
        "a version has the external id of the source that it replaces",
    }
    assert [found[:2] for found in versions()] == [("talk-0", 1), ("talk-1", 1), ("talk-0", 2)]
    assert import_file(context, path, "jsonl").conversations_added == 0, "the same file again"
    second = versions()[2][2]
    path = write_conversations(tmp_path / "third.jsonl", [["It is red."], ["It is grey."]])
    report = import_file(context, path, "jsonl", details=SourceDetails(replaces=second))
    assert [found[:2] for found in versions()][2:] == [("talk-0", 2), ("talk-0", 3)]
    assert [item.where for item in report.rejected] == ["talk-1"]


def test_commands_say_what_is_replaced(
    here: Installation, bob: tuple[User, Claims], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    user, _ = bob
    describe(here.settings, monkeypatch)

    def run(*arguments: object, is_refused: bool = False) -> None:
        assert bool(entry.run([*map(str, arguments), "--user", user.slug, "--json"])) is is_refused

    def newest(kind: str) -> dict[str, Any]:
        query = "SELECT * FROM neurigraph.sources WHERE user_id = %s AND kind = %s ORDER BY created_at DESC LIMIT 1"
        (row,) = rows(here, query, user.user_id, kind)
        return row

    guide = tmp_path / "guide.md"
    guide.write_text("# Boats\n\nThe boat is blue.")
    talk = write_conversations(tmp_path / "talk.jsonl", [["It is blue."]])
    for kind, path in (("conversation", talk), ("upload", guide)):
        run("import", path)
        first = newest(kind)
        path.write_text(path.read_text().replace("blue", "green").replace("talk-0", ""))
        run("import", path, "--replaces", first["source_id"])
        later = newest(kind)
        assert (later["replaces"], later["version"]) == (first["source_id"], 2), kind
        run("import", path, "--replaces", uuid4(), is_refused=True)
    run("note", "The boat is blue.")
    first = newest("note")
    run("note", "The boat is green.", "--replaces", first["source_id"])
    (written,) = rows(here, "SELECT replaces FROM neurigraph.notes WHERE source_id = %s", newest("note")["source_id"])
    assert written["replaces"] == first["source_id"]
    run("note", "The boat is red.", "--replaces", uuid4(), is_refused=True)


def test_killed_import_is_finished(here: Installation, tmp_path: Path) -> None:
    talks = [[f"message {number} of talk {talk}" for number in range(5)] for talk in range(1_000)]
    path = write_conversations(tmp_path / "talks.jsonl", talks)
    user, claims = new_user(here)
    command = [str(PROGRAM), "import", str(path), "--user", user.slug, "--format", "jsonl"]
    importing = subprocess.Popen(
        command, env=environment(here.settings), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    query = "SELECT FROM neurigraph.sources WHERE user_id = %s LIMIT 1"
    wait_for_process(lambda: rows(here, query, user.user_id), importing)
    importing.kill()
    assert importing.wait() < 0
    before = taken_in(here, user)
    assert 0 < len(before) < len(talks)
    assert set(before.values()) == {5}
    report = import_file(here.acting_for(claims), path, "jsonl")
    assert taken_in(here, user) == {f"talk-{number}": 5 for number in range(len(talks))}
    assert (report.messages_known, report.messages_added) == (5 * len(before), 5 * (len(talks) - len(before)))


_CHAT = '{"external_id": "c1", "messages": [{"role": "user", "content": "Grey grout."}]}\n'


def test_watched_folder(settings: Settings, installation: Installation, tmp_path: Path) -> None:
    folder = tmp_path / "watched"
    folder.mkdir()
    bob = user(installation, "bob")
    (folder / "broken.json").write_text("[{")
    (folder / "chat.jsonl").write_text(_CHAT)
    (folder / "ferry.md").write_text("# Ferry\nIt leaves at nine.\n")
    (folder / ".draft.md").write_text("hidden")
    (folder / "link.md").symlink_to(folder / "ferry.md")
    with _watching(settings, folder) as first:
        wait_until(lambda: _stored(installation, bob) == (1, [1]), "both files are imported", seconds=120)
        first.kill()
    second = _watching(settings, folder)
    (folder / "chat.jsonl").write_text(_CHAT.replace("}]}", '}, {"role": "assistant", "content": "Number 12."}]}'))
    (folder / "ferry.md").write_text("# Ferry\nIt leaves at ten.\n")
    wait_until(lambda: _stored(installation, bob) == (2, [1, 2]), "the changes are imported", seconds=120)
    second.send_signal(signal.SIGTERM)
    _, notes = second.communicate(timeout=60)
    assert second.returncode == 0
    assert "not imported: " in notes
    assert "broken.json" in notes
    assert _stored(installation, bob) == (2, [1, 2])


def _watching(settings: Settings, folder: Path) -> subprocess.Popen[str]:
    given = environment(settings, NEURIGRAPH_DROP_SETTLE_SECONDS="0", NEURIGRAPH_OCR_SECONDS="0")
    return subprocess.Popen(
        [PROGRAM, "import", "--watch", str(folder), "--user", "bob"],
        env=given,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )


def _stored(installation: Installation, claims: Claims) -> tuple[int, list[Any]]:
    """Return the number of messages of conversations, and the versions of documents."""
    with installation.database.owner() as tx:
        row = tx.execute(
            "SELECT (SELECT count(*) FROM neurigraph.messages AS m JOIN neurigraph.sources AS s USING (source_id) "
            "WHERE s.user_id = %(user_id)s AND s.kind = 'conversation') AS messages, "
            "ARRAY(SELECT s.version FROM neurigraph.sources AS s "
            "WHERE s.user_id = %(user_id)s AND s.kind = 'upload' ORDER BY s.version) AS versions",
            {"user_id": claims.user_id},
        ).fetchone()
    assert row is not None
    return row["messages"], row["versions"]
