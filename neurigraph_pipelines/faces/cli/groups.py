"""Groups of commands whose modules are imported when one of their commands is wanted."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any, ClassVar

import typer
from typer.core import TyperGroup


@dataclass(frozen=True)
class Group:
    """A group of commands.

    Attributes:
        about: What it is for.
        subjects: Modules of ``faces.operations`` whose operations have commands in it.
        commands: Modules of this room with commands that are written by hand.
    """

    about: str
    subjects: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()


GROUPS = {
    "memory": Group(
        "Show, change, move, keep and link single memories.",
        ("memories", "graph_changes", "facts", "links", "retention"),
    ),
    "archive": Group("Memories that reads leave out: put in, bring back, forget.", ("retention",), ("retention",)),
    "node": Group(
        "Show and change the graph: nodes, their names, edges and standards.",
        ("nodes", "graph_changes", "evidence", "actions"),
    ),
    "fact": Group("Single statements: list, state, change and judge them.", ("facts", "links", "search")),
    "link": Group("Relations of facts and memories, and the keys that sign them.", ("links",), ("links",)),
    "digest": Group("Memories in a few sentences.", ("digests",), ("digests",)),
    "action": Group("What waits for a decision.", ("actions",)),
    "quarantine": Group("Put memories out of every retrieval, keep them, and put them back.", ("quarantines",)),
    "access": Group("Who else may read or write: personas and grants.", ("sharing",)),
    "key": Group("API keys of the user, of personas and of third parties.", ("sharing",)),
    "space": Group("Named sets of sources, which searches and keys can be limited to.", ("spaces",)),
    "org": Group("Share a graph with other users.", ("organizations",), ("organizations",)),
    "account": Group("A user's profile, and the password of the page.", ("accounts",), ("accounts",)),
    "webhook": Group("Let addresses of yours be called when something happens.", ("webhooks",)),
}
"""The groups by name, in the order of the help."""


def add_groups(app: typer.Typer) -> None:
    """Add the groups to the command line."""
    for name, group in GROUPS.items():
        kind = type(f"{name.title()}Commands", (_Lazy,), {"words": name})
        app.add_typer(typer.Typer(cls=kind, help=group.about, no_args_is_help=True), name=name)


class _Lazy(TyperGroup):
    """A group that imports its commands when one of them is wanted."""

    words: ClassVar[str]

    def list_commands(self, ctx: Any) -> list[str]:
        return list(_loaded(self.words).list_commands(ctx))

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        return _loaded(self.words).get_command(ctx, cmd_name)


@cache
def _loaded(words: str) -> Any:
    """Return a group with its commands."""
    from neurigraph_pipelines.faces.cli.operations import add_commands

    group = typer.Typer()
    group.callback()(lambda: None)  # so that a single command is a group, too
    for name in GROUPS[words].subjects:
        add_commands(group, import_module(f"neurigraph_pipelines.faces.operations.{name}").operation, words)
    for name in GROUPS[words].commands:
        group.add_typer(import_module(f"neurigraph_pipelines.faces.cli.{name}").commands)
    return typer.main.get_command(group)
