"""Commands that connect coding agents for good: their settings, and the hook that they start.

A hook is started with JSON on standard input. It never keeps an agent from going on: what fails is a line on standard
error, and the exit code is 0.
"""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from neurigraph_pipelines.faces.cli import layouts, output
from neurigraph_pipelines.faces.cli.agent_settings import EVENTS, Change, Command, Kept, as_data, changes, write_all
from neurigraph_pipelines.faces.cli.agents import MemoryOf
from neurigraph_pipelines.faces.cli.git_history import repository_of, space_of
from neurigraph_pipelines.faces.cli.output import printable
from neurigraph_pipelines.faces.cli.session import UserSlug, argument, claims_of, installed, opened, option, positional
from neurigraph_pipelines.inbox.importing import import_file
from neurigraph_pipelines.model.chat import Turn
from neurigraph_pipelines.model.errors import InvalidInputError, NeurigraphError
from neurigraph_pipelines.model.sources import SourceDetails
from neurigraph_pipelines.retrieval.prompt import PromptRequest, prompt_context
from neurigraph_pipelines.views.scalars import ValuesByName
from neurigraph_pipelines.wiring.installation import Installation

commands = typer.Typer()

AGENTS = tuple(EVENTS)
BRIEF_TOKENS = 800
"""Most tokens of what an agent is told at the beginning of a session."""

_MOST_BYTES = 1_000_000
_BEGINS = ("SessionStart", "sessionStart")
_ASKED = "decisions, conventions, preferences, what failed and what mended it, what is open"

Agents = Annotated[str, positional(f"One of {', '.join(AGENTS)}, or all.", "AGENT")]
Project = Annotated[
    Path | None, option("Settings of this project. Default: those of the user.", "--project", metavar="FOLDER")
]
Confirmed = Annotated[bool, option("Do not ask for confirmation.", "--yes")]
DryRun = Annotated[bool, option("Show the changes, and write nothing.", "--dry-run")]


@commands.command("add")
def add(
    agent: Agents = "all",
    project: Project = None,
    user: MemoryOf = None,
    yes: Confirmed = False,
    dry_run: DryRun = False,
) -> None:
    """Add the server and hooks to the settings of coding agents, beside other entries. The changes are shown first.

    At the beginning of a session the agent is told what is remembered about the repository, in at most 800 tokens.
    Before a session is shortened and at its end it is taken in, without keys and passwords.
    """
    with installed() as installation:
        home = installation.home
    command = Command((str(Path(sys.argv[0]).absolute()),), _environment(home))
    _change(agent, project, command, None if user is None else argument(user), home, yes=yes, dry_run=dry_run)


@commands.command("remove")
def remove(
    agent: Agents = "all",
    project: Project = None,
    yes: Confirmed = False,
    dry_run: DryRun = False,
) -> None:
    """Restore the settings of coding agents. Of a file that changed since, only our entries are taken out."""
    with installed() as installation:
        home = installation.home
    _change(agent, project, None, None, home, yes=yes, dry_run=dry_run)


@commands.command("list")
def list_agents(project: Project = None) -> None:
    """Show which coding agents are connected."""
    with installed() as installation:
        home = installation.home
    folder = _folder(project)
    found = list[ValuesByName]()
    for one in AGENTS:
        kept, here = Kept(home, one, folder), project is not None
        left = changes(one, folder, None, None, is_project=here) if kept.is_there else []
        found.append({"agent": one, "installed": kept.is_there, "files": [str(each.path) for each in left]})

    output.result(
        {"agents": found}, lambda: layouts.page([{**one, "files": ", ".join(one["files"])} for one in found], None)
    )


def _change(
    agent: str,
    project: Path | None,
    command: Command | None,
    user: str | None,
    home: Path,
    *,
    yes: bool,
    dry_run: bool,
) -> None:
    """Show the changes of the settings of agents, ask, and write them."""
    if agent not in (*AGENTS, "all"):
        raise InvalidInputError(f"{printable(agent)!r} is no coding agent: give one of {', '.join(AGENTS)}, or all")
    folder, made = _folder(project), list[tuple[Kept, list[Change]]]()
    for one in AGENTS if agent == "all" else (agent,):
        kept = Kept(home, one, folder)
        wanted = changes(one, folder, command, user, is_project=project is not None)
        made.append((kept, wanted if command is not None else list(kept.restored(wanted))))
    every = [change for _, listed in made for change in listed]
    shown = "\n".join(change.shown() for change in every) or "Nothing to change."
    output.show(lambda: _lines(shown))
    if every and not dry_run:
        _require_consent(yes=yes)
        for kept, listed in made:
            if command is not None:
                kept.add(listed)
            else:
                write_all(listed)
    if command is None and not dry_run:
        for kept, _ in made:
            kept.drop()
    output.data({"changes": as_data(every), "written": bool(every) and not dry_run})


def _lines(text: str) -> Any:
    """Return a text of several lines for a terminal."""
    return layouts.unbroken(*text.splitlines())


def _require_consent(*, yes: bool) -> None:
    if yes:
        return
    if not sys.stdin.isatty():
        raise InvalidInputError("nobody can be asked: repeat it with --yes, or see the changes with --dry-run")
    typer.confirm("Write these changes?", abort=True, err=True)


def _folder(project: Path | None) -> Path:
    if project is not None and not project.is_dir():
        raise InvalidInputError(f"{project} is no folder")
    return (project or Path.home()).absolute()


def _environment(home: Path) -> dict[str, str]:
    return {"NEURIGRAPH_HOME": str(home)} if "NEURIGRAPH_HOME" in os.environ else {}


@commands.command(hidden=True)
def hook(agent: Agents, user: UserSlug) -> None:
    """Answer a hook of a coding agent, which sends JSON on standard input."""
    try:
        event = _event(sys.stdin.buffer.read(_MOST_BYTES + 1))
        with opened() as installation:
            answer = _answer(installation, agent, user, event)
    except (NeurigraphError, OSError) as error:
        print(f"neurigraph: {printable(' '.join(str(error).split()))}", file=sys.stderr)
        answer = {}
    print(json.dumps(answer))


def _event(sent: bytes) -> dict[str, object]:
    try:
        event = json.loads(sent) if len(sent) <= _MOST_BYTES else None
    except (ValueError, RecursionError):
        event = None
    if not isinstance(event, dict) or not isinstance(event.get("hook_event_name"), str):
        raise InvalidInputError("a hook sends a JSON object with hook_event_name")
    return event


def _answer(installation: Installation, agent: str, user: str, event: dict[str, object]) -> dict[str, object]:
    roots = event.get("workspace_roots")
    folder = event.get("cwd") or (roots[0] if isinstance(roots, list) and roots else None) or Path.cwd()
    repository = repository_of(Path(str(folder)))
    if event["hook_event_name"] not in _BEGINS:
        _take_in(installation, agent, user, event, repository)
        return {}
    text = _brief(installation, user, repository)
    if agent == "cursor":
        return {"additional_context": text}
    told = {"hookEventName": event["hook_event_name"], "additionalContext": text}
    return {"hookSpecificOutput": told}


def _brief(installation: Installation, user: str, repository: str) -> str:

    wanted = PromptRequest([Turn("user", f"{repository}: {_ASKED}")], BRIEF_TOKENS, within=(space_of(repository),))
    context = installation.acting_for(claims_of(installation, user))
    return prompt_context(context, wanted).text or ""


def _take_in(installation: Installation, agent: str, user: str, event: dict[str, object], repository: str) -> None:
    """Import the transcript of a session, in the space of its repository."""
    path = _transcript(agent, event)
    details = SourceDetails(container_tags=(space_of(repository),), metadata={"repository": repository})
    import_file(installation.acting_for(claims_of(installation, user)), path, agent, details=details)


def _transcript(agent: str, event: dict[str, object]) -> Path:
    stated = event.get("transcript_path")
    if isinstance(stated, str) and stated:
        return Path(stated).expanduser()
    key = str(event.get("session_id") or event.get("conversation_id") or "")
    if agent == "cursor" and re.fullmatch(r"[\w-]{1,100}", key):
        for found in Path.home().glob(f".cursor/projects/*/agent-transcripts/**/{key}.jsonl"):
            return found
    raise InvalidInputError("the hook names no transcript")
