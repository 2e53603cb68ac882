"""Where the program starts: the commands put together, and errors as exit codes.

The one place that knows which error has which exit code. Commands stand in the modules of their subject.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from io import TextIOWrapper
from itertools import takewhile
from typing import Annotated

import typer

import neurigraph_pipelines
from neurigraph_pipelines.cli import (
    backfills,
    exporting,
    failures,
    forgetting,
    graph_changes,
    lifecycle,
    memories,
    operating,
    privacy,
    reading,
    sharing,
    stack,
    storing,
    uploading,
)
from neurigraph_pipelines.cli.output import printable
from neurigraph_pipelines.errors import (
    ConfigurationError,
    InvalidInputError,
    NeurigraphError,
    NotFoundError,
    ProviderError,
    RehydratingError,
    TransientError,
)

INVALID, NOT_FOUND, CONFIGURATION, UNREACHABLE, REHYDRATING, OTHER = 2, 3, 4, 5, 6, 1
INTERRUPTED = 130

_EXIT_CODES: dict[type[NeurigraphError], int] = {
    InvalidInputError: INVALID,
    NotFoundError: NOT_FOUND,
    ConfigurationError: CONFIGURATION,
    TransientError: UNREACHABLE,
    ProviderError: UNREACHABLE,
    RehydratingError: REHYDRATING,
}

app = typer.Typer(
    name="neurigraph",
    help="Long-term memory for AI assistants: import conversations, store them, ask them.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for subject in (
    storing,
    uploading,
    exporting,
    privacy,
    reading,
    memories,
    graph_changes,
    forgetting,
    sharing,
    lifecycle,
    failures,
    backfills,
    operating,
    stack,
):
    app.add_typer(subject.commands)


def _show_version(wanted: bool) -> None:
    if wanted:
        print(neurigraph_pipelines.__version__)
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and stop.")
    ] = False,
) -> None:
    """Hold the options that stand before a command."""


def main() -> None:
    """Run the command that the process was started with, and exit."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a terminal of few letters is no reason to stop
    # A script's background job is started with it ignored; so would be the processes that we start, and stop with it.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))  # so that what is open is closed
    sys.exit(run(sys.argv[1:]))


def run(arguments: list[str]) -> int:
    """Run one command.

    Returns:
        The exit code: 0, 1 for errors of no other kind, 2 invalid input, 3 not found, 4 configuration, 5 a provider
        or the database cannot be reached, 6 a file is being decompressed, 130 interrupted.
    """
    as_json = "--json" in takewhile(lambda argument: argument != "--", arguments)
    try:
        code = app(args=arguments, prog_name="neurigraph", standalone_mode=False)
        sys.stdout.flush()
    except BrokenPipeError:  # whoever read us has seen enough
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
    message = error.format_message()
    return f"{message} See `{context.command_path} --help`." if context is not None and message else message


def _fail(kind: str, message: str, code: int, as_json: bool) -> int:
    if code != OTHER:  # those may quote a log; the others are one sentence, whatever a library put into it
        message = " ".join(message.split())
    if not message:  # the help was shown instead
        return code
    line = json.dumps({"error": kind, "message": message, "exit_code": code}) if as_json else f"neurigraph: {message}"
    print(printable(line), file=sys.stderr)
    return code
