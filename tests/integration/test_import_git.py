"""``neurigraph import --git``: commits and decisions of a repository, again and again, with planted secrets."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from uuid import uuid4

import pytest

from neurigraph_pipelines.faces.cli.git_history import repository_of, write_history
from neurigraph_pipelines.inbox.imports import read_conversations
from neurigraph_pipelines.model import ImportedConversation, RejectedItem
from neurigraph_pipelines.model.errors import InvalidInputError
from tests.support import cli_runs as cli

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="Git is not installed")

SPACE = "repository:example_org_dev_shop"
SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


def git(folder: Path, *arguments: str, date: str = "2026-01-20T11:57:17+01:00") -> None:
    who = {"GIT_AUTHOR_DATE": date, "GIT_COMMITTER_DATE": date, "GIT_CONFIG_GLOBAL": os.devnull}
    named = ["-c", "user.name=Dev", "-c", "user.email=dev@example.org", "-c", "init.defaultBranch=main"]
    subprocess.run(["git", *named, *arguments], cwd=folder, env={**os.environ, **who}, check=True, capture_output=True)


def commit(folder: Path, path: str, text: str, *said: str, date: str = "2026-01-20T11:57:17+01:00") -> None:
    (folder / path).parent.mkdir(parents=True, exist_ok=True)
    (folder / path).write_text(text, encoding="utf-8")
    git(folder, "add", ".")
    git(folder, "commit", "--quiet", *(part for one in said for part in ("-m", one)), date=date)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "shop"
    folder.mkdir()
    git(folder, "init", "--quiet")
    git(folder, "remote", "add", "origin", "git@example.org:dev/shop.git")
    commit(folder, "store ü.py", "x", "Move to SQLite", "One file less to run.\n\ncommit 12 was wrong.")
    commit(folder, "a.txt", "y", f"Use the token {SECRET}", date="2026-01-21T08:00:00+00:00")
    commit(folder, "docs/adr/0001-store.md", "# Keep orders in SQLite\n\nBecause it is one file.\n", "Decide")
    return folder


def test_history_of_a_repository(repository: Path, tmp_path: Path) -> None:
    log = tmp_path / "history.log"
    with log.open("wb") as target:
        write_history(repository, "example.org/dev/shop", target)
    moved, used, decided, decision = read_conversations(log, "git")
    assert isinstance(moved, ImportedConversation)
    assert (moved.title, moved.messages[0].author, moved.details.author) == ("Move to SQLite", "Dev", "Dev")
    assert moved.messages[0].content == (
        "Move to SQLite\n\nOne file less to run.\n\ncommit 12 was wrong.\n\nFiles: store ü.py"
    )
    assert moved.started_at is not None
    assert moved.started_at.isoformat() == "2026-01-20T11:57:17+01:00"
    assert moved.external_id == f"git:{moved.details.metadata['commit']}"
    assert isinstance(used, ImportedConversation)
    assert isinstance(decided, ImportedConversation)
    assert decided.messages[0].content == "Decide\n\nFiles: docs/adr/0001-store.md"
    assert isinstance(decision, ImportedConversation)
    assert (decision.title, decision.details.metadata) == (
        "Keep orders in SQLite",
        {"repository": "example.org/dev/shop", "path": "docs/adr/0001-store.md"},
    )
    assert decision.messages[0].content == "# Keep orders in SQLite\n\nBecause it is one file."
    text = log.read_text(encoding="utf-8")
    cut = [item for item in _read(tmp_path, text[: text.index("Date:   2026-01-21")]) if item != moved]
    assert [type(item) for item in cut] == [RejectedItem]
    with pytest.raises(InvalidInputError, match="no commits"):
        _read(tmp_path, "hello\n")


def test_a_commit_of_nobody_is_no_statement_of_the_owner(repository: Path, tmp_path: Path) -> None:
    commit(repository, "decision tree.txt", "z", "Plant a tree")
    with (log := tmp_path / "history.log").open("wb") as target:
        write_history(repository, "example.org/dev/shop", target)
    text = log.read_text(encoding="utf-8").replace("Author: Dev <dev@example.org>", "Author:  <>")
    cut = text.replace("    Plant a tree\n", "")
    (refused,) = (item for item in _read(tmp_path, cut) if isinstance(item, RejectedItem))
    assert ", commit " in refused.where
    taken = [item for item in _read(tmp_path, text) if isinstance(item, ImportedConversation)]
    assert [item.messages[0].author for item in taken] == ["unknown author"] * 5
    assert taken[3].messages[0].content == "Plant a tree\n\nFiles: decision tree.txt"


def _read(folder: Path, text: str) -> list[object]:
    (folder / "cut.log").write_text(text, encoding="utf-8")
    return list(read_conversations(folder / "cut.log", "git"))


def test_import_is_incremental_and_redacted(repository: Path, home_env: dict[str, str], tmp_path: Path) -> None:
    user = f"git-{uuid4().hex[:8]}"
    first = ("import", str(repository), "--git", "--user", user)
    assert cli.ask(home_env, *first, "--dry-run")["conversations_added"] == 4
    taken = cli.ask(home_env, *first)
    assert (taken["conversations_added"], taken["rejected"], taken["format"]) == (4, [], "git")
    again = cli.ask(home_env, *first)
    assert (again["conversations_added"], again["messages_added"]) == (0, 0)
    commit(repository, "docs/adr/0001-store.md", "# Keep orders in Postgres\n\nThey grew.\n", "Decide again")
    later = cli.ask(home_env, *first)
    assert (later["conversations_added"], later["messages_added"]) == (1, 2)
    (space,) = cli.ask(home_env, "space", "list", "--user", user)["spaces"]
    assert (space["container_tag"], space["source_count"]) == (SPACE, 5)
    sources = cli.ask(home_env, "source", "list", "conversation", "--user", user)["conversations"]
    assert {one["title"] for one in sources} >= {"Keep orders in Postgres", "Decide again"}
    assert "Keep orders in SQLite" not in {one["title"] for one in sources}
    found = str(cli.ask(home_env, "search", "Use the token", "--user", user))
    assert "Use the token" in found
    assert SECRET not in found


def test_a_repository_is_named_by_its_remote_or_folder(repository: Path, tmp_path: Path) -> None:
    assert repository_of(repository / ".git") == repository_of(repository / "docs") == "example.org/dev/shop"
    git(repository, "clone", "--quiet", "--bare", ".", str(tmp_path / "bare.git"))
    for folder in (repository, tmp_path / "bare.git"):
        git(folder, "remote", "remove", "origin")
    assert repository_of(repository / ".git") == repository_of(repository / "docs") == "shop"
    assert repository_of(tmp_path / "bare.git") == "bare"


def test_decisions_are_read_in_their_encoding(repository: Path, home_env: dict[str, str], tmp_path: Path) -> None:
    decision = "# Größe der Bestellungen\n\nWir wählen für jede Übertragung die kleinere Größe.\n"
    (repository / "docs/adr/0002-latin.md").write_bytes(decision.encode("latin-1"))
    (repository / "docs/adr/0003-none.md").write_bytes("Straße größer 日本語 текст".encode() + bytes(range(128, 200)))
    commit(repository, "x.txt", "x", "Set password=swordfish and api_key: a1b2c3d4e5")
    with (log := tmp_path / "history.log").open("wb") as target:
        (refused,) = write_history(repository, "shop", target)
    assert (refused.where, "encoding" in refused.reason) == ("docs/adr/0003-none.md", True)
    assert "Wir wählen für jede Übertragung" in log.read_text(encoding="utf-8")
    user = f"git-{uuid4().hex[:8]}"
    done = cli.run(home_env, "import", str(repository / ".git"), "--git", "--user", user, "--json")
    assert "docs/adr/0003-none.md" in done.stderr
    found = str(cli.ask(home_env, "search", "Set password and api_key", "--user", user))
    assert "password=[key] and api_key: [key]" in found
    assert not any(planted in found for planted in ("swordfish", "a1b2c3d4e5"))


@pytest.mark.parametrize("is_repository", [False, True])
def test_a_folder_without_commits_is_refused(is_repository: bool, home_env: dict[str, str], tmp_path: Path) -> None:
    if is_repository:
        git(tmp_path, "init", "--quiet")
    refused = cli.run(home_env, "import", str(tmp_path), "--git", "--user", "nobody", code=2).stderr
    assert "is no Git repository with commits" in refused


def test_a_repository_has_no_other_format(home_env: dict[str, str], tmp_path: Path) -> None:
    refused = cli.run(home_env, "import", str(tmp_path), "--git", "--format", "zep", "--user", "nobody", code=2).stderr
    assert "leave --format out" in refused
