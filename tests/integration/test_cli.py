"""The command line: real processes, a real home folder, the embedded server."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any, Protocol
from uuid import uuid4

import pytest
import typer

from neurigraph_pipelines.faces.cli import entry
from tests.conftest import ROOT
from tests.support.cli_runs import TALK, ask, new_user, run, write_talks
from tests.support.command_line import PROGRAM
from tests.support.embedded_server import new_home


class Here(Protocol):
    """Runs one command; gives what it wrote to stdout and to stderr."""

    def __call__(self, *arguments: str | Path | bytes, code: int = 0) -> tuple[str, str]: ...


@pytest.fixture
def user() -> str:
    """The session shares one home, so each test has a user of its own."""
    return f"user-{uuid4().hex[:12]}"


@pytest.fixture
def talk(tmp_path: Path) -> Path:
    return write_talks(tmp_path / "talks.jsonl", TALK)


@pytest.fixture
def here(home_env: dict[str, str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Here:
    """Runs commands in this process, since a process for each takes a second."""
    for name in ("NEURIGRAPH_HOME", "NEURIGRAPH_SECRET", "NEURIGRAPH_ROLE_SECRET", "NEURIGRAPH_LANGUAGE_MODEL"):
        monkeypatch.setenv(name, home_env[name])

    def run_here(*arguments: str | Path | bytes, code: int = 0) -> tuple[str, str]:
        assert entry.run([os.fsdecode(argument) for argument in arguments]) == code, arguments
        out, err = capsys.readouterr()
        return out, err

    return run_here


def test_retrievals_and_canaries(here: Here, user: str, talk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From planting a canary to who retrieved it, and the log of what was retrieved, for a person and as JSON."""

    def ask_here(*arguments: str | Path) -> Any:
        return json.loads(here(*arguments, "--user", user, "--json")[0])

    here("import", talk, "--user", user)
    planted = ask_here("access", "canary", "add", "--text", "The vault opens with 7c1f3e.")
    assert "not yet" in here("access", "canary", "list", "--user", user)[0]
    here("ingest", "--user", user)
    (canary,) = ask_here("access", "canary", "list")["canaries"]
    assert (canary["source_id"], canary["retrieved_at"], len(canary["record_ids"])) == (planted["source_id"], None, 1)
    (hit, *_) = ask_here("search", "How many trout?", "--limit", "1")["hits"]
    assert "The log of retrievals is off" in here("access", "retrieval", "list", "--user", user)[1]
    assert ask_here("access", "retrieval", "list") == {"retrievals": []}, "nothing was logged"
    monkeypatch.setenv("NEURIGRAPH_RETRIEVAL_LOG_DAYS", "30")
    monkeypatch.setenv("NEURIGRAPH_RETRIEVAL_LOG_QUESTIONS", "true")
    here("search", "What does the vault open with?", "--user", user, "--limit", "1")
    (canary,) = ask_here("access", "canary", "list")["canaries"]
    assert (canary["role"], canary["operation"]) == ("user", "search")
    assert "by the owner" in here("access", "canary", "list", "--user", user)[0]
    here("open", hit["record_id"], "--user", user)
    opened, searched = ask_here("access", "retrieval", "list")["retrievals"]
    assert (opened["operation"], opened["record_ids"]) == ("open", [hit["record_id"]])
    assert (searched["operation"], searched["question"]) == ("search", "What does the vault open with?")
    assert canary["record_ids"][0] in searched["record_ids"]
    assert ask_here("access", "retrieval", "list", "--record", hit["record_id"])["retrievals"][0] == opened
    assert (
        len(ask_here("access", "retrieval", "list", "--limit", "1", "--since", searched["asked_at"])["retrievals"]) == 1
    )
    assert ask_here("access", "retrieval", "list", "--since", "2999-01-01") == {"retrievals": []}
    assert "What does the vault open with?" in here("access", "retrieval", "list", "--user", user)[0]
    here("access", "retrieval", "list", "--user", user, "--record", "no-uuid", code=2)
    here("access", "retrieval", "list", "--user", f"{user}-unknown", code=3)


def test_import_says_what_it_would_add(here: Here, user: str, talk: Path) -> None:
    def planned() -> Any:
        return json.loads(here("import", talk, "--user", user, "--dry-run", "--json")[0])

    assert (planned()["dry_run"], planned()["user_created"], planned()["messages_added"]) == (True, False, 3)
    assert "would be added" in here("import", talk, "--user", user, "--dry-run")[0]
    here("import", talk, "--user", user, "--format", "document", "--dry-run", code=2)
    here("import", talk, "--user", user)
    assert (planned()["messages_added"], planned()["messages_known"]) == (0, 3)


def test_walkthrough_as_json(home_env: dict[str, str], here: Here, user: str, talk: Path, tmp_path: Path) -> None:
    """Each kind of command in a process of its own, and variations of it in this process."""

    def ask_here(*arguments: str | Path) -> Any:
        return json.loads(here(*arguments, "--json")[0])

    imported = ask(home_env, "import", talk, "--user", user)
    assert imported["user_created"] is True
    assert (imported["format"], imported["conversations_added"], imported["messages_added"]) == ("jsonl", 1, 3)
    assert imported["bytes_read"] == talk.stat().st_size

    ingested = ask(home_env, "ingest", "--user", user)
    assert (ingested["stored"], ingested["returned"], ingested["pending_embedding"]) == (1, [], 0)
    assert ingested["models"]["language_model"] == "offline"
    assert (ingested["facts"], ingested["pending_facts"]) == (2, 0)
    assert len(ask_here("fact", "list", "--user", user)["facts"]) == 2

    found = ask(home_env, "search", "How many trout?", "--user", user, "--limit", "1", "--explain")
    (hit,) = found["hits"]
    assert hit["title"]
    assert set(hit["explain"]) == {"passage", "segment_lexical", "summary_dense", "summary_lexical", "boost", "period"}

    record_id, file_id = hit["record_id"], hit["file_id"]
    for identifier in (record_id, file_id):
        opened = ask(home_env, "open", identifier, "--user", user)
        assert [message["content"] for message in opened["messages"]] == [m["content"] for m in TALK["messages"]]
    one = ask_here("open", record_id, "--user", user, "--message", "3")
    assert (one["file_id"], one["seq"], one["role"], one["author"]) == (file_id, 3, "user", "Bob")
    assert (one["external_id"], one["content"]) == ("m3", TALK["messages"][2]["content"])
    copy = tmp_path / "copy.jsonl"
    assert ask_here("open", file_id, "--user", user, "--output", copy)["bytes"] == copy.stat().st_size
    assert [json.loads(line)["external_id"] for line in copy.read_text().splitlines()] == ["m1", "m2", "m3"]

    root = ask(home_env, "node", "tree", "--user", user)
    assert (root["name"], root["kind"]) == (user, "user")
    path = hit["node_path"]
    by_path, by_id = (ask_here("node", "show", place, "--user", user) for place in (path, hit["node_id"]))
    assert by_path["node_id"] == by_id["node_id"] == hit["node_id"]
    (listed,) = ask_here("memory", "list", "--node", path, "--user", user)["records"]
    assert listed["record_id"] == record_id
    assert ask_here("memory", "show", record_id[:8], "--user", user)["record_id"] == record_id
    for identifier in (record_id[:8], file_id[:8]):
        assert ask_here("memory", "state", identifier, "--user", user)["file_id"] == file_id
    assert ask_here("node", "show", hit["node_id"][:8], "--user", user)["node_id"] == hit["node_id"]
    assert ask_here("source", "show", hit["source_id"][:8], "--user", user)["record_ids"] == [record_id]
    below = ask_here("search", "trout", "--user", user, "--node", path)
    assert [found_hit["record_id"] for found_hit in below["hits"]] == [record_id]

    reply = ask(home_env, "ask", "Who fell into the water?", "--user", user)
    assert reply["found"]
    assert reply["citations"][0]["text"] == TALK["messages"][2]["content"]
    assert_narrows(ask_here, user, path, datetime.fromisoformat(hit["occurred_at"]).year)

    (counted,) = ask(home_env, "admin", "stats", "--user", user)["users"]
    assert (counted["user"], counted["records"], counted["messages"], counted["pending"]) == (user, 1, 3, 0)
    assert user in {row["user"] for row in ask_here("admin", "stats")["users"]}


def assert_narrows(ask_here: Callable[..., Any], user: str, path: str, year: int) -> None:
    narrowed = ("--after", f"{year}-01-01", "--kind", "conversation", "--speaker", "bob", "--node", path)
    assert ask_here("ask", "water", "--user", user, *narrowed)["found"]
    assert ask_here("search", "water", "--user", user, *narrowed)["hits"]
    for nothing in (("--before", f"{year}-01-01"), ("--kind", "upload"), ("--speaker", "Eve"), ("--at", "2020-01-01")):
        assert ask_here("search", "water", "--user", user, *nothing)["hits"] == []
        assert not ask_here("ask", "water", "--user", user, *nothing)["found"]


def test_walkthrough_as_text(home_env: dict[str, str], here: Here, user: str, talk: Path) -> None:
    imported = run(home_env, "import", talk, "--user", user)
    assert f"created the user {user}" in imported.stderr
    assert "3 messages added" in imported.stdout
    ingested = run(home_env, "ingest", "--user", user)
    assert "1 record stored in 1 node (offline, neurigraph-minilm-1" in ingested.stdout
    assert ingested.stderr == ""
    found = run(home_env, "search", "Who fell into the water?", "--user", user)
    assert "Dave fell into the water." in found.stdout
    assert "best messages: " in found.stdout
    command = next(line.split() for line in found.stdout.splitlines() if "neurigraph open" in line)
    assert run(home_env, *command[1:]).stdout.strip()
    answered = run(home_env, "ask", "Who fell into the water?", "--user", user)
    assert "Dave fell into the water. [1]" in answered.stdout
    command = next(line.split() for line in answered.stdout.splitlines() if "neurigraph open" in line)
    assert "Dave fell into the water." in run(home_env, *command[1:]).stdout
    assert "preferred: last May" in here("search", "trout last May", "--user", user)[0]
    assert user in here("node", "tree", "--user", user)[0]
    assert "1 record" in here("node", "tree", "--user", user)[0]
    assert user in here("node", "show", "/", "--user", user)[0]
    assert user in here("admin", "stats")[0]
    assert "Nothing found." in here("search", "water", "--user", user, "--speaker", "Eve")[0]


@pytest.mark.parametrize("form", ["auto", "vault", "document", "chatgpt", "neurigraph"])
def test_absent_path_is_named_and_makes_no_user(here: Here, user: str, tmp_path: Path, form: str) -> None:
    _, refused = here("import", tmp_path / "absent", "--user", user, "--format", form, code=2)
    assert refused == f"neurigraph: {tmp_path / 'absent'} does not exist: check the path.\n"
    _, unknown = here("import", tmp_path, "--user", user, "--format", "novel", code=2)
    assert "'novel' is none: use one of chatgpt," in unknown
    assert user not in here("admin", "stats")[0]


def test_first_command_says_that_it_makes_the_database(home_env: dict[str, str], tmp_path: Path) -> None:
    with new_home(tmp_path) as home:
        home.mkdir(exist_ok=True)
        first, second = (run({**home_env, "NEURIGRAPH_HOME": str(home)}, "admin", "stats").stderr for _ in range(2))
    assert first.startswith("Making the database, once.")
    assert second == ""


def test_importing_again_adds_nothing(home_env: dict[str, str], user: str, talk: Path) -> None:
    ask(home_env, "import", talk, "--user", user)
    again = ask(home_env, "import", talk, "--user", user)
    assert (again["user_created"], again["messages_added"], again["messages_known"]) == (False, 0, 3)


def test_rejected_items_are_reported(home_env: dict[str, str], user: str, tmp_path: Path) -> None:
    mixed = tmp_path / "mixed.jsonl"
    mixed.write_text(json.dumps(TALK) + "\n{broken\n", encoding="utf-8")
    done = run(home_env, "import", mixed, "--user", user)
    (rejected,) = [line for line in done.stderr.splitlines() if line.startswith("rejected: ")]
    assert "2" in rejected
    assert "1 item rejected" in done.stdout
    mixed.write_text("{broken\n{broken too\n", encoding="utf-8")
    report = ask(home_env, "import", mixed, "--user", user, "--format", "jsonl", code=2)
    assert (report["conversations_seen"], len(report["rejected"])) == (0, 2)


def test_real_meeting_is_imported_and_found(here: Here, user: str, data_folder: Path, tmp_path: Path) -> None:
    whole = json.loads((data_folder / "qmsum" / "ES2002a.json").read_text(encoding="utf-8"))
    spoken = whole["meeting_transcripts"][:40]  # the whole of it goes through the sensors
    meeting = tmp_path / "ES2002a.json"
    meeting.write_text(json.dumps({**whole, "meeting_transcripts": spoken}), encoding="utf-8")
    imported = json.loads(here("import", meeting, "--user", user, "--format", "qmsum", "--json")[0])
    assert (imported["conversations_added"], imported["rejected"]) == (1, [])
    assert json.loads(here("ingest", "--user", user, "--json")[0])["stored"] >= 1
    longest = max((turn["content"] for turn in spoken), key=len)
    found = json.loads(here("search", longest[:200], "--user", user, "--json")[0])
    hit = found["hits"][0]
    assert (hit["source_kind"], hit["source_external_id"].partition("-")[0]) == ("event", "qmsum")
    best = found["messages"][0]
    shown = here("open", best["record_id"], "--user", user, "--message", str(best["seq"]), "--json")[0]
    assert json.loads(shown)["content"] == spoken[int(best["external_id"])]["content"] == longest


def test_terminal_output_is_escaped(here: Here, user: str, tmp_path: Path) -> None:
    hostile = "\x1b]0;owned\x07\x1b[31mred\u202e [bold]记忆[/bold] :smile: 🐟"
    talks = write_talks(
        tmp_path / "hostile.jsonl",
        {**TALK, "title": hostile, "messages": [{"role": "user", "content": hostile, "author": hostile}]},
    )
    here("import", talks, "--user", user)
    here("ingest", "--user", user)
    found = json.loads(here("search", "记忆 red", "--user", user, "--json")[0])["hits"][0]
    shown = [
        here("search", "记忆 red", "--user", user, "--explain")[0],
        here("open", found["record_id"], "--user", user)[0],
        here("open", found["record_id"], "--user", user, "--message", "1")[0],
        here("node", "tree", "--user", user)[0],
        here("node", "show", found["node_path"], "--user", user)[0],
    ]
    for text in shown:
        assert not {"\x1b", "\x07", "\u202e"} & set(text)
    assert "[bold]记忆[/bold] :smile: 🐟" in shown[2]
    opened, _ = here("open", found["record_id"], "--user", user, "--message", "1", "--json")
    assert json.loads(opened)["content"] == hostile


def wrong_commands(user: str, tmp_path: Path, folder: str, empty: str, notes: str) -> list[tuple[int, tuple[str, ...]]]:
    """Return exit codes, each with a command that ends with it."""
    absent, known = str(uuid4()), ("--user", user)
    return [
        (2, ("nonsense",)),
        (2, ("search",)),
        (2, ("search", "x")),
        (2, ("search", "", *known)),
        (2, ("search", "x" * 4_001, *known)),
        (2, ("search", "x", *known, "--limit", "0")),
        (2, ("search", "x", *known, "--limit", "many")),
        (2, ("search", "x", *known, "--after", "yesterday")),
        (2, ("search", "x", *known, "--after", "2025-01-01", "--before", "2024-01-01")),
        (2, ("search", "x", *known, "--at", "9999-12-31")),
        (2, ("search", "x", *known, "--kind", "letter")),
        (2, ("search", "x", *known, "--speaker", "")),
        (2, ("ask", "", *known)),
        (2, ("ask", "x", *known, "--before", "\ud800")),
        (3, ("ask", "x", "--user", "nobody")),
        (2, ("open", "no-uuid", *known)),
        (3, ("forget", absent, *known, "--yes")),
        (2, ("open", absent, *known, "--message", "0")),
        (2, ("import", folder, *known)),
        (2, ("import", empty, *known)),
        (2, ("import", notes, *known)),
        (2, ("import", str(tmp_path / "absent"), *known)),
        (2, ("import", notes, *known, "--format", "xml")),
        (2, ("import", str(ROOT / "samples" / "bob.jsonl"), "--user", "Not A Slug")),
        (2, ("admin", "serve", "--port", "70000")),
        (3, ("search", "x", "--user", "nobody")),
        (3, ("search", "x", *known, "--node", "No/Such/Node")),
        (3, ("search", "x", *known, "--node", absent)),
        (3, ("open", absent, *known)),
        (3, ("open", absent, *known, "--message", "1")),
        (3, ("node", "tree", "--user", "'; DROP SCHEMA neurigraph; --")),
        (3, ("node", "show", "'; DROP SCHEMA neurigraph; --", *known)),
        (3, ("node", "show", absent, *known)),
        (3, ("admin", "stats", "--user", "nobody")),
        (3, ("ingest", "--user", "nobody")),
        (3, ("access", "key", "list", "--user", "nobody")),
        (4, ("admin", "serve", "--host", "256.256.256.256")),
    ]


def test_errors_are_one_line(home_env: dict[str, str], here: Here, user: str, tmp_path: Path) -> None:
    for slug in (user, f"{user}-2"):  # with one user, a command without --user is about that one
        new_user(home_env, slug)
    folder, empty, notes = tmp_path / "folder", tmp_path / "empty.json", tmp_path / "notes.json"
    folder.mkdir()
    empty.touch()
    notes.write_text('{"what": "is this"}', encoding="utf-8")
    for code, arguments in wrong_commands(user, tmp_path, *map(str, (folder, empty, notes))):
        out, err = here(*arguments, code=code)
        assert out == "", arguments
        assert err.startswith("neurigraph: "), arguments
        assert len(err.splitlines()) == 1, err
    failed = run(home_env, "search", "x", "--user", "nobody", "--json", code=3)
    assert json.loads(failed.stderr) == {
        "error": "NotFoundError",
        "message": "there is no user 'nobody': `neurigraph user list` lists them, and `import` makes one",
        "exit_code": 3,
    }
    assert failed.stdout == ""
    assert json.loads(run(home_env, "nonsense", "--json", code=2).stderr)["error"] == "UsageError"
    assert "'kind': 'letter' is not one of" in run(home_env, "source", "list", "letter", code=2).stderr
    assert "name the kind" in run(home_env, "source", "list", "--cursor", "x", *("--user", user), code=2).stderr


def test_non_utf8_arguments(home_env: dict[str, str], here: Here, user: str) -> None:
    new_user(home_env, user)
    run(home_env, "search", b"caf\xff", "--user", user)
    here("node", "tree", "--user", b"caf\xff", code=3)
    here("node", "show", b"caf\xff", "--user", user, code=3)
    here("open", b"caf\xff", "--user", user, code=2)
    here("import", b"caf\xff", "--user", user, code=2)
    here("access", "key", "add", "--user", user, "--label", b"caf\xff")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("NEURIGRAPH_API_PORT", "many"),
        ("NEURIGRAPH_CHUNK_LIMIT_TOKENS", "1"),
        ("NEURIGRAPH_SECRET", "short"),
        ("NEURIGRAPH_HOME", "/proc/nowhere"),
        ("NEURIGRAPH_DATABASE_URL", "postgresql://127.0.0.1:1/nowhere"),
        ("NEURIGRAPH_DATABASE_URL", "no url"),
        ("NEURIGRAPH_OBJECTS_URL", "ftp://somewhere"),
    ],
)
def test_wrong_settings(home_env: dict[str, str], tmp_path: Path, name: str, value: str) -> None:
    command = ("open", str(uuid4()), "--user", "nobody") if name == "NEURIGRAPH_OBJECTS_URL" else ("admin", "stats")
    done = subprocess.run(
        [PROGRAM, *command], env={**home_env, name: value}, capture_output=True, text=True, timeout=60, cwd=tmp_path
    )
    expected = 3 if name == "NEURIGRAPH_OBJECTS_URL" else 4  # whose file it is comes first
    assert done.returncode == expected, done.stderr
    assert len(done.stderr.splitlines()) == 1, done.stderr


def test_every_command_has_json() -> None:
    described = typer.main.get_command(entry.app)
    assert isinstance(described, typer.core.TyperGroup)
    groups = [command for command in described.commands.values() if isinstance(command, typer.core.TyperGroup)]
    grouped = [pair for group in groups for pair in group.commands.items()]
    for name, command in [*described.commands.items(), *grouped]:
        if command not in groups:
            assert "--json" in [option for parameter in command.params for option in parameter.opts], name
