"""Groups of commands whose modules are imported when one of their commands is wanted."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib import import_module
from inspect import getdoc
from typing import Any, ClassVar

import typer
from typer.core import TyperCommand, TyperGroup

from neurigraph_pipelines.faces.cli.output import with_json


@dataclass(frozen=True)
class Group:
    """A group of commands.

    Attributes:
        about: What it is for.
        subjects: Modules of ``faces.operations`` whose operations have commands in it.
        commands: Modules of this room with commands that are written by hand; of some, a part.
        usual: The command that is meant if the next word is the name of none.
    """

    about: str
    subjects: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
    usual: str = ""


GROUPS = {
    "agents": Group("Connect coding agents; `neurigraph mcp` connects others.", (), ("coding_agents",)),
    "memory": Group(
        "Single memories: list, show, change, move, keep.",
        ("memories", "files", "graph_changes", "facts", "links", "retention"),
        ("lifecycle",),
    ),
    "memory archive": Group(
        "Memories that reads leave out: put in, bring back, forget.", ("retention",), ("upkeep.archive",)
    ),
    "memory digest": Group("Memories in a few sentences.", ("digests",), ("upkeep.digests",)),
    "memory quarantine": Group("Put memories out of every retrieval, keep them, put them back.", ("quarantines",)),
    "node": Group(
        "The graph: its tree, nodes, names, edges, standards.", ("nodes", "graph_changes", "evidence"), usual="show"
    ),
    "node alias": Group("Other names and ids of nodes.", ("evidence",)),
    "node evidence": Group("What memories and people say about an edge.", ("evidence",)),
    "node standard": Group("What a node asks of its memories.", ("actions",)),
    "fact": Group("Single statements: list, state, judge, follow.", ("facts", "links", "search")),
    "fact link": Group("Relations of facts and memories, and the keys that sign them.", ("links",), ("links",)),
    "fact link key": Group("Public keys, with which links are signed.", ("links",)),
    "action": Group("What waits for a decision.", ("actions",)),
    "source": Group("What was handed in: lists, progress, privacy, failures.", (), ("listing",)),
    "source failure": Group("Sources that could not be stored or read.", (), ("listing.failures",)),
    "access": Group("Who else may read or write: keys, grants, organisations.", ("sharing",)),
    "access key": Group("API keys of the user, of personas and of third parties.", ("sharing",)),
    "access persona": Group("Nodes that act: they have keys and grants of their own.", ("sharing",)),
    "access retrieval": Group("Who read which memories.", (), ("retrievals",)),
    "access canary": Group("Memories that nobody should ever read.", (), ("retrievals.canary",)),
    "access peer": Group("Mirrored nodes of other installations.", (), ("peers",)),
    "space": Group("Named sets of sources, to limit searches and keys to.", ("spaces",)),
    "space source": Group("What lies in a space.", ("spaces",)),
    "access org": Group("Share a graph with other users.", ("organizations",), ("organizations",)),
    "access org member": Group("Who shares a graph.", ("organizations",)),
    "access org invitation": Group("Codes with which others become members.", ("organizations",)),
    "access org key": Group("Keys of the caller's own membership.", ("organizations",)),
    "access webhook": Group("Have addresses called when something happens.", ("webhooks",)),
    "access webhook delivery": Group("What was sent to an address.", ("webhooks",)),
    "user": Group("Users: make, show, change, export, move.", ("accounts", "search"), ("users", "exporting")),
    "admin": Group(
        "Run, check and repair an installation.",
        (),
        (
            "operating",
            "stack.administration",
            "reporting",
            "lifecycle.administration",
            "forgetting.administration",
            "upkeep",
            "embedding_models",
        ),
    ),
    "admin backup": Group("Back up the whole installation, check backups, restore one.", (), ("backups",)),
    "admin database": Group("Spread users over several databases.", (), ("databases",)),
    "admin encryption": Group("Encrypt raw files with a key for each graph.", (), ("encryption",)),
}
"""The groups by their words, in the order of the help."""


SHAPES = ("list", "show", "add", "edit", "remove")
"""What the commands of groups end in."""

OTHERS = {
    "a decision about one thing, which `edit` would hide": (
        "approve", "reject", "confirm", "retract", "undo", "end", "supersede", "promote", "keep", "adopt",
    ),
    "several things change together": ("move", "merge", "split", "restore", "purge", "sweep", "replay"),
    "one thing from one side, for which `show` has no room": (
        "history", "diff", "facts", "links", "mentions", "profile", "state", "retention", "belief", "tree",
    ),
    "a search": ("find", "duplicates", "why", "changed", "about", "connected", "suggest", "preview"),
    "a file, a clock or a server is touched, and no row is kept": (
        "touch", "compress", "rotate", "test", "pull", "publisher-key", "export", "join", "leave", "password",
    ),
    "a program starts it": ("hook", "install"),
}  # fmt: skip
"""Further last words of commands, by the reason for them; the group ``admin`` is free: it holds an operator's work."""


DAILY = {
    "up": Group("Run everything until Ctrl-C: Postgres, Dagster, the API.", (), ("stack",)),
    "demo": Group("Store sample conversations and ask about them.", (), ("stack",)),
    "import": Group("Take in conversations, exports, mails or any file.", (), ("importing",)),
    "search": Group("Find memories, and quote the best messages.", ("search",)),
    "ask": Group("Answer a question in words, with citations.", ("search",)),
    "open": Group("Open a file, or one message of it.", (), ("reading",)),
    "note": Group("Write a note, remembered as it is.", ("inbox",)),
    "context": Group("Make the block of memory for a prompt.", ("search",)),
    "forget": Group("Erase a memory, fact, node or user for good.", (), ("forgetting",)),
    "ingest": Group("Store what was handed in, in this process.", (), ("ingesting",)),
    "use": Group("Choose the user of commands without --user.", (), ("users.choosing",)),
    "status": Group("Show what runs, and its faults.", (), ("status",)),
    "doctor": Group("Check everything, and name remedies.", (), ("status",)),
    "eval": Group("Measure answers to questions whose answers are known.", (), ("evaluating",)),
}
"""Commands outside of groups, in the order of the help: where each is, and what the help says."""


def add_all(app: typer.Typer, commands: typer.Typer) -> None:
    """Add commands with each paragraph of their help in one line: Typer keeps the line breaks of docstrings."""
    for command in commands.registered_commands:
        text = command.help or getdoc(command.callback) or ""
        assert command.callback is not None
        command.callback = with_json(command.callback)
        command.help = "\n\n".join(" ".join(paragraph.split()) for paragraph in text.split("\n\n"))
    app.add_typer(commands)


def add_daily(app: typer.Typer) -> None:
    """Add the commands that are in no group to a Typer; their modules are imported when one is wanted."""
    for name, group in DAILY.items():
        kind = type(name.title(), (_Later,), {"group": group})
        app.command(name, cls=kind, short_help=group.about)(lambda: None)


def add_groups(app: typer.Typer, within: str = "") -> None:
    """Add the groups that lie directly in a group, or at the top, to a Typer."""
    for words, group in GROUPS.items():
        above, _, name = words.rpartition(" ")
        if above == within:
            kind = type(f"{name.title()}Commands", (_Lazy,), {"words": words})
            app.add_typer(typer.Typer(cls=kind, help=group.about, no_args_is_help=True), name=name)


class _Lazy(TyperGroup):
    """A group that imports its commands when one of them is wanted."""

    words: ClassVar[str]

    def list_commands(self, ctx: Any) -> list[str]:
        return list(_loaded(self.words).list_commands(ctx))

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        return _loaded(self.words).get_command(ctx, cmd_name)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command that the arguments begin with, or the usual one: ``node Family`` shows the node."""
        usual = GROUPS[self.words].usual
        is_other = usual and not args[0].startswith("-") and self.get_command(ctx, args[0]) is None
        return super().resolve_command(ctx, [usual, *args] if is_other else args)


class _Later(TyperCommand):
    """A command whose module is imported when it is wanted."""

    group: ClassVar[Group]

    help: Any = property(lambda self: self._command.help, lambda *_: None)
    params: Any = property(lambda self: self._command.params, lambda *_: None)

    def make_context(self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any) -> Any:
        """Return the context of the command of the module, which runs instead."""
        return self._command.make_context(info_name, args, parent, **extra)

    @property
    def _command(self) -> Any:
        return _made(self.group, "").commands[self.name]


def _loaded(words: str) -> Any:
    """Return a group with its commands."""
    return _made(GROUPS[words], words)


@cache
def _made(group: Group, words: str) -> Any:
    """Return the commands of a group with the words before them; without a group, commands outside of groups."""
    made = typer.Typer()
    made.callback()(lambda: None)  # so that a single command is a group, too
    for name in group.subjects:
        from neurigraph_pipelines.faces.cli.operations import add_commands

        add_commands(made, import_module(f"neurigraph_pipelines.faces.operations.{name}").operation, words)
    for place in group.commands:
        name, _, part = place.partition(".")
        module = import_module(f"neurigraph_pipelines.faces.cli.{name}")
        add_all(made, getattr(module, part or "commands"))
    if words:
        add_groups(made, words)
    return typer.main.get_group(made)
