"""Entry point: assembles the commands and maps errors to exit codes.

The mapping of errors to exit codes belongs here; commands belong in the module of their subject.
"""

from __future__ import annotations

import json
import os
import sys
from io import TextIOWrapper
from itertools import takewhile
from pathlib import Path
from typing import Annotated

import typer

import neurigraph_pipelines
from neurigraph_pipelines.faces.cli import agents
from neurigraph_pipelines.faces.cli.about_user import note_user
from neurigraph_pipelines.faces.cli.groups import add_all, add_daily, add_groups
from neurigraph_pipelines.faces.cli.output import printable
from neurigraph_pipelines.faces.cli.signals import install_handlers
from neurigraph_pipelines.model.errors import (
    AlreadyRunningError,
    ConfigurationError,
    InvalidInputError,
    NeurigraphError,
    NotFoundError,
    ProviderError,
    RehydratingError,
    TransientError,
)

INVALID, NOT_FOUND, CONFIGURATION, UNREACHABLE, REHYDRATING, RUNNING, OTHER = 2, 3, 4, 5, 6, 7, 1
INTERRUPTED = 130

_EXIT_CODES: dict[type[NeurigraphError], int] = {
    InvalidInputError: INVALID,
    NotFoundError: NOT_FOUND,
    ConfigurationError: CONFIGURATION,
    TransientError: UNREACHABLE,
    ProviderError: UNREACHABLE,
    RehydratingError: REHYDRATING,
    AlreadyRunningError: RUNNING,
}

app = typer.Typer(
    name="neurigraph",
    help="Long-term memory for AI assistants: import conversations, store them, and ask questions about them.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
add_daily(app)
add_all(app, agents.commands)
add_groups(app)


def _show_version(wanted: bool) -> None:
    if wanted:
        print(neurigraph_pipelines.__version__)
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[  # noqa: ARG001 - its callback does all
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version and exit.")
    ] = False,
    env_file: Annotated[
        str | None, typer.Option(metavar="FILE", help="Read settings from this file too, such as a project's `.env`.")
    ] = None,
) -> None:
    """Apply the options that precede a command."""
    note_user(None)
    if env_file is not None:
        from neurigraph_pipelines.settings.sources import ENV_FILE

        os.environ[ENV_FILE] = str(Path(env_file).absolute())


def main() -> None:
    """Run the command given on the command line, and exit."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # for terminals that cannot show every character
    install_handlers()
    sys.exit(run(sys.argv[1:]))


def run(arguments: list[str]) -> int:
    """Run one command.

    Returns:
        The exit code: 0 success, 1 any other error, 2 invalid input, 3 not found, 4 configuration, 5 a provider or the
        database cannot be reached, 6 a file is being decompressed, 7 it already runs, 130 interrupted.
    """
    as_json = "--json" in takewhile(lambda argument: argument != "--", arguments)
    try:
        code = app(args=arguments, prog_name="neurigraph", standalone_mode=False)
        sys.stdout.flush()
    except BrokenPipeError:  # the reader of the output has closed it
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return OTHER
    except typer.TyperException as error:  # the command line itself is wrong
        return _fail("UsageError", _usage(error), INVALID, as_json)
    except typer.Abort:
        return INTERRUPTED
    except NeurigraphError as error:
        code = next((_EXIT_CODES[kind] for kind in type(error).__mro__ if kind in _EXIT_CODES), OTHER)
        return _fail(type(error).__name__, str(error), code, as_json)
    except Exception as error:
        from psycopg import OperationalError

        if not isinstance(error, OperationalError):
            raise
        return _fail(TransientError.__name__, f"the database did not answer: {error}", UNREACHABLE, as_json)
    return code if isinstance(code, int) else 0


def _usage(error: typer.TyperException) -> str:
    context = getattr(error, "ctx", None)
    message = error.format_message().replace("Value error, ", "").rstrip(".")
    return f"{message}. See `{context.command_path} --help`." if context is not None and message else message


def _fail(kind: str, message: str, code: int, as_json: bool) -> int:
    if code != OTHER:  # an OTHER error may quote a log; every other message becomes one line
        message = " ".join(message.split())
    if not message:  # the help was printed instead
        return code
    line = json.dumps({"error": kind, "message": message, "exit_code": code}) if as_json else f"neurigraph: {message}"
    print(printable(line), file=sys.stderr)
    return code
