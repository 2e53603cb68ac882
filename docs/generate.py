"""Generates ``settings.md`` and the methods of the Python client from the code.

The site has further pages from the code (``site_hooks.py``). Other pages are prose.

Arguments name the pages; without any, all are written. ``--check`` writes nothing, and fails if a page is stale.
"""

from __future__ import annotations

import inspect
import json
import re
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import python_client
import typer
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined
from typer.core import TyperCommand, TyperGroup

from neurigraph_pipelines.faces.api.app import create_app
from neurigraph_pipelines.faces.cli import entry
from neurigraph_pipelines.faces.operations import subjects
from neurigraph_pipelines.settings import Settings, list_settings
from neurigraph_pipelines.wiring.installation import Installation

DOCS = Path(__file__).resolve().parent
WRITTEN = "<!-- Written by docs/generate.py: change the code instead, then run `make docs`. -->"


def settings_page() -> str:
    """Return the page of settings: the variable, default and purpose of each."""
    lines = [
        "# Settings",
        "",
        WRITTEN,
        "",
        "Read from the environment, then from the file that `NEURIGRAPH_ENV_FILE` names, then from `settings.env` in "
        "the home folder; the first one that has a setting counts. A `.env` of the current folder is read only if "
        "`NEURIGRAPH_ENV_FILE` or `neurigraph --env-file` names it. Names do not depend on case.",
        "",
        "| variable | default | what it is for |",
        "| --- | --- | --- |",
    ]
    lines += [
        f"| `{setting.variable}` | {_default(setting.field)} | {_cell(setting.field.description or '')} |"
        for setting in list_settings()
    ]
    return "\n".join(lines) + "\n"


def _default(field: FieldInfo) -> str:
    if field.default_factory is not None:
        return _cell(inspect.getdoc(field.default_factory) or "").replace("``", "`").rstrip(".")
    if field.default in (None, PydanticUndefined, ()):
        return "unset"
    value = field.default
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"


def cli_page() -> str:
    """Return the page of commands, with their arguments and options."""
    group = typer.main.get_command(entry.app)
    assert isinstance(group, TyperGroup)
    lines = ["# Command line", "", WRITTEN, "", inspect.cleandoc(group.help or ""), ""]
    lines += [
        "With `--json` a command prints one JSON value on stdout; progress, messages and JSON errors go to stderr.",
        "Without `--json`, results are laid out for a terminal; piped output has no wrapped lines.",
        "",
        "| exit code | meaning |",
        "| --- | --- |",
        "| 0 | success |",
        "| 1 | any other error, or the reader of the output closed it |",
        f"| {entry.INVALID} | the command line or the input is not valid |",
        f"| {entry.NOT_FOUND} | no such user, node, record or file |",
        f"| {entry.CONFIGURATION} | a setting is wrong, or the database has not been migrated |",
        f"| {entry.UNREACHABLE} | a provider or the database cannot be reached, or nothing could be stored |",
        f"| {entry.REHYDRATING} | another process is decompressing the file: try again in a moment |",
        f"| {entry.RUNNING} | it already runs on this home folder; the message says where |",
        f"| {entry.INTERRUPTED} | interrupted; unfinished segments return to the queue |",
        "",
    ]
    for name, command in _commands(group):
        lines += _command(name, command)
    return "\n".join(lines).rstrip() + "\n"


def _commands(group: TyperGroup, prefix: str = "") -> Iterator[tuple[str, TyperCommand | TyperGroup]]:
    context = typer.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if isinstance(command, TyperGroup):
            if command.invoke_without_command:
                yield f"{prefix}{name}", command
            yield from _commands(command, f"{prefix}{name} ")
        else:
            assert isinstance(command, TyperCommand)
            yield f"{prefix}{name}", command


def _command(name: str, command: TyperCommand | TyperGroup) -> Iterator[str]:
    arguments = [p for p in command.params if p.param_type_name == "argument"]
    options = [p for p in command.params if p.param_type_name == "option"]
    required = [f" {option.opts[0]} VALUE" for option in options if option.required]
    usage = "".join(f" {argument.metavar or str(argument.name).upper()}" for argument in arguments) + "".join(required)
    yield from [f"## {name}", "", inspect.cleandoc(command.help or ""), ""]
    yield from ["```text", f"neurigraph {name}{usage} [OPTIONS]", "```", ""]
    yield from ["| argument or option | default | meaning |", "| --- | --- | --- |"]
    for parameter in [*arguments, *options]:
        shown = ", ".join(f"`{option}`" for option in parameter.opts)
        if parameter.param_type_name == "argument":
            shown = f"`{parameter.metavar or str(parameter.name).upper()}`"
        default = "required" if parameter.required else _shown_default(parameter.default)
        yield f"| {shown} | {default} | {_cell(getattr(parameter, 'help', None) or '')} |"
    yield ""


def _shown_default(value: object) -> str:
    return "" if value is None or value is False or value == "" else f"`{value}`"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


@cache
def openapi_document() -> str:
    """Return the OpenAPI description of the HTTP API; no server is started."""
    with tempfile.TemporaryDirectory() as home:
        settings = Settings.model_validate({"home": home})
        return json.dumps(create_app(Installation(settings)).openapi(), indent=2) + "\n"


def operations_page() -> str:
    """Return the list of all operations: name, route, command and first sentence, a line each."""
    declared = {(one.method, f"/v1{one.path}"): one for subject in subjects() for one in subject.operations}
    lines = ["# Operations", "", WRITTEN, "", "Each route of the API, with the command that does the same.", ""]
    by_tag: dict[str, list[str]] = {}
    for path, methods in json.loads(openapi_document())["paths"].items():
        for method, described in methods.items():
            one = declared.get((method.upper(), path))
            commands = [*([one.command] if one and one.command else []), *(one.presets if one else ())]
            command = ", ".join(f"`{command}`" for command in commands)
            said = _cell(described.get("description", "").split("\n\n")[0])
            row = f"| `{method.upper()} {path}` | {command} | {_cell(_first_sentence(said))} |"
            by_tag.setdefault(described.get("tags", ["others"])[0], []).append(row)
    for tag, rows in by_tag.items():
        lines += [f"## {tag.capitalize()}", "", "| route | command | what it does |", "| --- | --- | --- |", *rows, ""]
    return "\n".join(lines).rstrip() + "\n"


def _first_sentence(text: str) -> str:
    return re.split(r"(?<=[.:]) ", text, maxsplit=1)[0]


def client_operations() -> str:
    """Return the module of the Python client with a method for each operation."""
    return python_client.written(json.loads(openapi_document()))


_BUILT: dict[str, Callable[[], str]] = {"../build/openapi.json": openapi_document}
"""Files that are in no commit, written if they are named."""


def main() -> int:
    """Write the pages, or report which are stale."""
    makers: dict[str, Callable[[], str]] = {
        "settings.md": settings_page,
        "../clients/python/neurigraph_client/operations.py": client_operations,
    }
    wanted = [argument for argument in sys.argv[1:] if argument != "--check"] or list(makers)
    pages = {name: (makers | _BUILT)[name]() for name in wanted}
    if "--check" not in sys.argv[1:]:
        for name, text in pages.items():
            (DOCS / name).parent.mkdir(exist_ok=True)
            (DOCS / name).write_text(text, encoding="utf-8")
        return 0
    stale = [name for name, text in pages.items() if not _is(DOCS / name, text)]
    for name in stale:
        print(f"docs/{name} is stale: run `make docs`", file=sys.stderr)
    return 1 if stale else 0


def _is(path: Path, text: str) -> bool:
    return path.is_file() and path.read_text(encoding="utf-8") == text


if __name__ == "__main__":
    sys.exit(main())
