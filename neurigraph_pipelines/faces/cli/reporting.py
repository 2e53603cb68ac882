"""The ``report`` command: figures of the installation, for analysts."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from neurigraph_pipelines.faces.cli import layouts, output
from neurigraph_pipelines.faces.cli.output import counted
from neurigraph_pipelines.faces.cli.session import AnyUserSlug, opened, option, user_id_of
from neurigraph_pipelines.model.errors import InvalidInputError

if TYPE_CHECKING:
    import pandas

commands = typer.Typer()

Form = Literal["markdown", "csv", "parquet"]


@commands.command()
def report(
    by: Annotated[Literal["day", "node", "user"], typer.Option(help="The subject of a row.")] = "day",
    since: Annotated[str | None, option("The first day (UTC), such as 2026-05-31.", metavar="DAY")] = None,
    until: Annotated[str | None, option("The last day.", metavar="DAY")] = None,
    user: AnyUserSlug = None,
    form: Annotated[Form, typer.Option("--format", help="Parquet needs `--output`, and pyarrow.")] = "markdown",
    file: Annotated[Path | None, option("Write the table to this file.", "--output", metavar="FILE")] = None,
) -> None:
    """Count what was stored: memories, segments, tokens, facts, failures, and bytes of files in the object store.

    A day is the day (UTC) on which a memory was stored, by whatever program. Segments and failures have no node.
    """
    first, last = _day("--since", since), _day("--until", until)
    if form == "parquet" and file is None:
        raise InvalidInputError("Parquet is not text: name a file with --output")
    from neurigraph_pipelines.runtime.figures import figures

    with opened() as installation:
        user_id = user_id_of(installation, user)
        frame = figures(installation.database, by, first, last, user_id)
    if file is not None:
        _write(frame, form, file)

    def layout() -> Any:
        if file is not None:
            return layouts.lines(f"{counted(len(frame), 'row')} written to {file}")
        return layouts.unbroken(_text(frame, form))

    rows = frame.reset_index().to_dict("records")
    output.result({"by": by, "rows": rows, "output": file}, layout)


def _day(option: str, text: str | None) -> date | None:
    try:
        return date.fromisoformat(text) if text is not None else None
    except ValueError:
        raise InvalidInputError(f"{option} is {text!r}: give a day such as 2026-05-31") from None


def _text(frame: pandas.DataFrame, form: Form) -> str:
    from neurigraph_pipelines.runtime.figures import as_markdown

    text: str = as_markdown(frame) if form == "markdown" else frame.to_csv()
    return text.rstrip()


def _write(frame: pandas.DataFrame, form: Form, path: Path) -> None:
    from neurigraph_pipelines.runtime.figures import write_parquet

    try:
        if form == "parquet":
            write_parquet(frame, path)
        else:
            path.write_text(_text(frame, form) + "\n", encoding="utf-8")
    except OSError as error:
        raise InvalidInputError(f"cannot write {path}: {error.strerror}") from error
