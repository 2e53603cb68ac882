"""Output of commands: results go to stdout, progress and messages to stderr.

With ``--json`` stdout holds one JSON value and nothing else. ``views`` lays results out for a person.
"""

from __future__ import annotations

import inspect
import json
import re
import sys
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from datetime import datetime
from functools import wraps
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, get_type_hints

import typer

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.progress import Progress

Json = Annotated[bool, typer.Option("--json", help="Print the result as one JSON value.")]
_AS_JSON: ContextVar[bool] = ContextVar("as_json", default=False)
_Function = TypeVar("_Function", bound=Callable[..., None])
_NO_WRAP_WIDTH = 10_000
_UNPRINTABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def printable(text: str) -> str:
    """Replace control characters and direction marks, which a terminal would interpret, in untrusted text."""
    return _UNPRINTABLE.sub("\ufffd", text)


def _plain(value: object) -> Any:
    """Return a view as its fields, and a value that JSON has no type for as text; times are RFC 3339."""
    if hasattr(value, "model_dump"):  # commands start without pydantic
        return value.model_dump()
    return value.isoformat() if isinstance(value, datetime) else str(value)


def with_json(function: Callable[..., None]) -> Callable[..., None]:
    """Return the function of a command with the option ``--json``, which every command has."""
    hints = get_type_hints(function, include_extras=True)
    own = inspect.signature(function).parameters
    if "as_json" in own:  # a module may lie in several groups
        return function

    @wraps(function)
    def run(as_json: bool, **given: Any) -> None:
        _AS_JSON.set(as_json)
        function(**given)

    parameters = [one.replace(annotation=hints[name], kind=one.KEYWORD_ONLY) for name, one in own.items()]
    json_option = inspect.Parameter("as_json", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=Json)
    return with_parameters(run, [*parameters, json_option])


def with_parameters(function: _Function, parameters: Sequence[inspect.Parameter]) -> _Function:
    """Give a function the parameters that Typer reads, and return it."""
    function.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    function.__annotations__ = {one.name: one.annotation for one in parameters}
    return function


def is_json() -> bool:
    """Return whether the command prints its result as JSON."""
    return _AS_JSON.get()


def result(value: Any, layout: Callable[[], RenderableType]) -> None:
    """Print a value as JSON with ``--json``, else ``layout`` for a person."""
    data(value)
    show(layout)


def said(value: Any, *lines: str) -> None:
    """Print a value as JSON with ``--json``, else lines for a person."""

    def layout() -> RenderableType:
        from neurigraph_pipelines.faces.cli import layouts

        return layouts.lines(*lines)

    result(value, layout)


def data(value: Any) -> None:
    """Print the whole result as JSON; nothing without ``--json``."""
    if is_json():
        print(json.dumps(value, default=_plain), flush=True)  # `serve` keeps running, and its reader waits for it


def show(layout: Callable[[], RenderableType]) -> None:
    """Print a result for a person; nothing with ``--json``."""
    if not is_json():
        draw(layout())


def draw(drawn: RenderableType) -> None:
    """Print something for a person."""
    from rich.console import Console

    # Lines wrap only on a terminal: a program that reads the output needs whole lines.
    size = None if sys.stdout.isatty() else _NO_WRAP_WIDTH
    console = Console(markup=False, highlight=False, emoji=False, width=size, height=size)
    console.print(drawn, soft_wrap=size is not None)


def note(text: str) -> None:
    """Print a message to stderr."""
    print(printable(text), file=sys.stderr, flush=True)


def progress(*, in_bytes: bool = False) -> Progress:
    """Return a progress bar to use as a context; silent if stderr is not a terminal."""
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    console = Console(stderr=True, markup=False, highlight=False, emoji=False)
    amount = DownloadColumn() if in_bytes else MofNCompleteColumn()
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), amount, TimeElapsedColumn())
    return Progress(*columns, console=console, transient=True, disable=not console.is_terminal)


def counted(number: int, noun: str, plural: str | None = None) -> str:
    """Return a count with its noun, such as ``1 record`` and ``2 records``."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def more(next_cursor: str | None) -> list[str]:
    """Return the line that says how to see the next page of a list; none on the last page."""
    return [f"More: --cursor {next_cursor}"] if next_cursor else []
