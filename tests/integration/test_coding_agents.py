"""Settings of coding agents, which are changed and restored, and the hooks that the agents start."""

from __future__ import annotations

import json
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest

from neurigraph_pipelines.faces.cli.coding_agents import BRIEF_TOKENS
from tests.support import cli_runs as cli
from tests.support.command_line import PROGRAM

pytestmark = pytest.mark.slow

SECRET = "ghp_" + "a1B2" * 9
CLAUDE = (
    b'{\n    "model": "opus",\n  "hooks": {"SessionStart": [{"hooks": [{"type": "command", "command": "echo hi"}]}]}}'
)
CODEX = b'# mine\nmodel = "o4"\n\n[features]\nx = true # why\n\n[mcp_servers.other]\ncommand = "o"\n'


@pytest.fixture
def env(home_env: dict[str, str], tmp_path: Path) -> dict[str, str]:
    (tmp_path / ".claude").mkdir()
    (tmp_path / ".codex").mkdir()
    (tmp_path / ".claude" / "settings.json").write_bytes(CLAUDE)
    (tmp_path / ".codex" / "config.toml").write_bytes(CODEX)
    return {**{name: value for name, value in home_env.items() if name != "CODEX_HOME"}, "HOME": str(tmp_path)}


def contents(folder: Path) -> dict[str, bytes]:
    return {str(one.relative_to(folder)): one.read_bytes() for one in folder.rglob("*") if one.is_file()}


def test_settings_are_added_and_restored(env: dict[str, str], tmp_path: Path) -> None:
    before = contents(tmp_path)
    shown = cli.run(env, "agents", "add", "--dry-run").stdout
    assert "+++ " in shown
    assert contents(tmp_path) == before
    refused = cli.run(env, "agents", "add", code=2).stderr
    assert "--yes" in refused
    assert contents(tmp_path) == before
    cli.run(env, "agents", "add", "all", "--yes")
    claude = json.loads((tmp_path / ".claude" / "settings.json").read_text())
    assert claude["model"] == "opus"
    assert claude["hooks"]["SessionStart"][0] == {"hooks": [{"type": "command", "command": "echo hi"}]}
    assert sorted(claude["hooks"]) == ["PreCompact", "SessionEnd", "SessionStart"]
    assert json.loads((tmp_path / ".claude.json").read_text())["mcpServers"]["neurigraph"]["args"] == ["mcp"]
    codex = tomllib.loads((tmp_path / ".codex" / "config.toml").read_text())
    assert (codex["model"], codex["features"]) == ("o4", {"codex_hooks": True, "x": True})
    assert sorted(codex["mcp_servers"]) == ["neurigraph", "other"]
    assert json.loads((tmp_path / ".cursor" / "hooks.json").read_text())["version"] == 1
    assert all(one["installed"] for one in cli.ask(env, "agents", "list")["agents"])
    written = contents(tmp_path)
    assert cli.ask(env, "agents", "add", "--yes")["changes"] == []
    assert contents(tmp_path) == written
    cli.run(env, "agents", "remove", "--yes")
    assert contents(tmp_path) == before
    assert not (tmp_path / ".cursor").exists()


def test_file_that_changed_since_keeps_its_changes(env: dict[str, str], tmp_path: Path) -> None:
    path = tmp_path / ".claude" / "settings.json"
    path.rename(tmp_path / "dotfiles.json")
    path.symlink_to(tmp_path / "dotfiles.json")
    cli.run(env, "agents", "add", "--yes")
    settings = json.loads(path.read_text())
    path.write_text(json.dumps({**settings, "theme": "dark"}))
    cli.run(env, "agents", "add", "--user", "zed", "--yes")
    config = tmp_path / ".codex" / "config.toml"
    config.write_text(config.read_text() + "[later]\ny = 1\n")
    cli.run(env, "agents", "remove", "--yes")
    assert json.loads(path.read_text()) == {**json.loads(CLAUDE), "theme": "dark"}
    assert path.is_symlink()
    assert tomllib.loads(config.read_text()) == {**tomllib.loads(CODEX.decode()), "later": {"y": 1}}
    assert "# why" in config.read_text()


@pytest.mark.parametrize(
    ("name", "content"),
    [
        (".claude/settings.json", b'{"hooks": {'),
        (".claude/settings.json", b'{"hooks": {"SessionStart": "x"}}'),
        (".claude.json", b"[]"),
        (".claude.json", b"\xff\xfe"),
        (".codex/config.toml", b"model = \n"),
        (".codex/config.toml", b'mcp_servers = {other = {command = "o"}}\n'),
        (".cursor/mcp.json", b'{"mcpServers": []}'),
    ],
)
def test_broken_file_is_named_and_nothing_is_written(
    env: dict[str, str], tmp_path: Path, name: str, content: bytes
) -> None:
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_bytes(content)
    before = contents(tmp_path)
    refused = cli.run(env, "agents", "add", "--yes", code=2).stderr
    assert name in refused
    assert contents(tmp_path) == before


def test_read_only_file_is_left_alone(env: dict[str, str], tmp_path: Path) -> None:
    before = contents(tmp_path)
    (tmp_path / ".codex" / "config.toml").chmod(0o444)
    assert "config.toml" in cli.run(env, "agents", "add", "--yes", code=2).stderr
    assert contents(tmp_path) == before


def test_project_has_settings_of_its_own(env: dict[str, str], tmp_path: Path) -> None:
    project = tmp_path / "shop"
    project.mkdir()
    before = contents(tmp_path)
    cli.run(env, "agents", "add", "claude-code", "--project", project, "--yes")
    assert set(contents(tmp_path)) - set(before) == {"shop/.mcp.json", "shop/.claude/settings.json"}
    cli.run(env, "agents", "remove", "claude-code", "--project", project, "--yes")
    assert contents(tmp_path) == before
    assert "no coding agent" in cli.run(env, "agents", "add", "emacs", "--yes", code=2).stderr


def start(env: dict[str, str], line: str, event: dict[str, Any] | str) -> tuple[dict[str, Any], str]:
    """Start a hook as an agent does: its line in a shell, with JSON on standard input."""
    sent = event if isinstance(event, str) else json.dumps(event)
    done = subprocess.run(
        ["sh", "-c", line], env=env, input=sent, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer, done.stderr


def line_of(tmp_path: Path, agent: str) -> str:
    """Return the command line of a hook as it stands in the settings."""
    folder = {"claude-code": ".claude/settings.json", "codex": ".codex/hooks.json", "cursor": ".cursor/hooks.json"}
    (found,) = {
        part["command"]
        for entries in json.loads((tmp_path / folder[agent]).read_text())["hooks"].values()
        for entry in entries
        for part in entry.get("hooks", [entry])
        if "agents hook" in part["command"]
    }
    line = str(found)
    return line.replace(line.split(" agents hook")[0].split()[-1], str(PROGRAM))


def claude_line(number: int, kind: str, content: Any) -> str:
    said = {"role": kind, "content": content}
    line = {"type": kind, "uuid": f"u{number}", "sessionId": "5e551011", "cwd": "/x", "message": said}
    return json.dumps({**line, "timestamp": f"2026-01-20T11:57:{number:02}Z"}) + "\n"


def test_hooks_take_sessions_in_and_brief_the_next(env: dict[str, str], tmp_path: Path) -> None:
    user = cli.new_user(env, "coder")
    cli.run(env, "agents", "add", "--user", user, "--yes")
    shop = tmp_path / "shop"
    shop.mkdir()
    subprocess.run(["git", "init", "-q", shop], check=True)
    subprocess.run(["git", "-C", shop, "remote", "add", "origin", "git@example.org:bob/shop.git"], check=True)
    line = line_of(tmp_path, "claude-code")
    session = tmp_path / "5e551011.jsonl"
    read = {"type": "tool_result", "tool_use_id": "t1", "content": f"DATABASE_PASSWORD=hunter2hunter2\nTOKEN {SECRET}"}
    use = {"type": "tool_use", "id": "t1", "name": "Read", "input": {"file_path": ".env"}}
    session.write_text(
        claude_line(1, "user", "Decision: the login uses UTC, because the clock test failed in winter.")
        + claude_line(2, "assistant", [use])
        + claude_line(3, "user", [read])
        + '{"type": "user", "uuid": "u4", "mess'
    )
    event = {"session_id": "5e551011", "transcript_path": str(session), "cwd": str(shop)}
    assert start(env, line, {**event, "hook_event_name": "PreCompact", "trigger": "auto"})[0] == {}
    assert start(env, line, {**event, "hook_event_name": "SessionEnd", "reason": "exit"})[0] == {}
    talks = cli.ask(env, "source", "list", "conversation", "--user", user)["conversations"]
    assert "claude-code:5e551011" in [one["external_id"] for one in talks]
    cli.run(env, "ingest", "--user", user)
    told, _ = start(env, line, {**event, "hook_event_name": "SessionStart", "source": "startup"})
    brief = told["hookSpecificOutput"]["additionalContext"]
    assert "the login uses UTC" in brief
    assert told["hookSpecificOutput"]["hookEventName"] == "SessionStart"
    assert len(brief) / 3 < BRIEF_TOKENS
    everything = cli.run(env, "search", "DATABASE_PASSWORD TOKEN", "--user", user).stdout + brief
    record = cli.ask(env, "memory", "list", "--user", user)["records"]
    opened = "".join(cli.run(env, "open", one["record_id"], "--user", user).stdout for one in record)
    assert "DATABASE_PASSWORD=[key]" in opened
    for planted in ("hunter2", SECRET):
        assert planted not in opened + everything
    other, _ = start(env, line, {**event, "cwd": str(tmp_path), "hook_event_name": "SessionStart"})
    assert "login uses UTC" not in other["hookSpecificOutput"]["additionalContext"]


def test_hook_never_stops_an_agent(env: dict[str, str], tmp_path: Path) -> None:
    user = cli.new_user(env, "stopper")
    cli.run(env, "agents", "add", "--user", user, "--yes")
    line = line_of(tmp_path, "cursor")
    told, _ = start(env, line, {"hook_event_name": "sessionStart", "workspace_roots": [str(tmp_path)]})
    assert set(told) == {"additional_context"}
    for event in ("", "[]", "{", {"hook_event_name": 3}, {"hook_event_name": "sessionEnd", "transcript_path": None}):
        answer, said = start(env, line, event)
        assert answer == {}
        assert "neurigraph: " in said
    gone = {"hook_event_name": "sessionEnd", "transcript_path": str(tmp_path / "gone.jsonl")}
    assert "gone.jsonl" in start(env, line, gone)[1]
