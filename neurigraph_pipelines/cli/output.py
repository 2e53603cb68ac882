"""What goes to stdout and what to stderr: results there, progress and messages here.

With ``--json`` stdout holds one JSON value and nothing else. What a result looks like to a person is for ``views``.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.progress import Progress

Json = Annotated[bool, typer.Option("--json", help="Print one JSON value, for programs.")]
"""The option that every command has."""

_UNBROKEN = 10_000
_UNPRINTABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def printable(text: str) -> str:
    """Text of others without what a terminal would obey: control characters and changes of direction."""
    return _UNPRINTABLE.sub("\ufffd", text)


class Output:
    """Where a command says what it has to say."""

    def __init__(self, as_json: bool) -> None:
        self._as_json = as_json

    def result(self, data: Any, view: Callable[[], RenderableType]) -> None:
        """The result of a command: ``data`` for programs, or ``view`` for a person."""
        self.data(data)
        self.show(view)

    def data(self, data: Any) -> None:
        """What a program gets, all of it at once; a person sees nothing of it."""
        if self._as_json:
            print(json.dumps(data, default=str), flush=True)  # `serve` goes on, and whoever reads waits for its address

    def show(self, view: Callable[[], RenderableType]) -> None:
        """What a person sees; a program gets nothing of it."""
        if self._as_json:
            return
        from rich.console import Console

        # Lines are broken for the eye alone: a program that reads them wants them whole.
        size = None if sys.stdout.isatty() else _UNBROKEN
        console = Console(markup=False, highlight=False, emoji=False, width=size, height=size)
        console.print(view(), soft_wrap=size is not None)

    def note(self, text: str) -> None:
        """A message beside the result."""
        print(printable(text), file=sys.stderr, flush=True)

    def progress(self, *, in_bytes: bool = False) -> Progress:
        """A progress bar, for a context; silent where stderr is no terminal."""
        from rich.console import Console
        from rich.progress import BarColumn, DownloadColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

        console = Console(stderr=True, markup=False, highlight=False, emoji=False)
        amount = DownloadColumn() if in_bytes else MofNCompleteColumn()
        columns = (TextColumn("{task.description}", markup=False), BarColumn(), amount, TimeElapsedColumn())
        return Progress(*columns, console=console, transient=True, disable=not console.is_terminal)
