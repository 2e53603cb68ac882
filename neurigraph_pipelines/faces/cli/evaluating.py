"""The command ``eval``."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from rich.console import RenderableType
from rich.text import Text

from neurigraph_pipelines.faces.cli import layouts, output
from neurigraph_pipelines.faces.cli.about_user import note_user
from neurigraph_pipelines.faces.cli.session import claims_of, opened, option, positional, usual_user
from neurigraph_pipelines.faces.cli.signals import one_signal
from neurigraph_pipelines.model.errors import InvalidInputError
from neurigraph_pipelines.runtime.evaluation.asking import Readers, Result
from neurigraph_pipelines.runtime.evaluation.figures import Circumstances, Figures, figures_of
from neurigraph_pipelines.runtime.evaluation.own_questions import read_questions
from neurigraph_pipelines.runtime.evaluation.published import count_questions, read_published
from neurigraph_pipelines.runtime.evaluation.report import make_folder, parts_of_report, shortened, write_report
from neurigraph_pipelines.runtime.evaluation.running import ask_all, ask_samples
from neurigraph_pipelines.wiring.databases import settings_of
from neurigraph_pipelines.wiring.installation import Installation
from neurigraph_pipelines.wiring.scratch import scratch_installation

commands = typer.Typer()

_Format = Literal["own", "locomo", "longmemeval", "beam", "personamem"]
_User = Annotated[
    str | None,
    option(
        "Whose graph your own questions are asked of. Default: that of `neurigraph use`, or the only user.",
        "--user",
        "-u",
    ),
]
_Reader = Annotated[str | None, option("Model that reads, at the language model's server.")]
_Judge = Annotated[str | None, option("Model that judges, at the same server.")]
_Price = Annotated[float | None, option("Price of a million tokens.", min=0)]


@commands.command("eval")
def evaluate(
    file: Annotated[Path, positional("Your questions, one JSON object a line, or a file of a published benchmark.")],
    user: _User = None,
    format_name: Annotated[_Format, typer.Option("--format", help="The format of the file.")] = "own",
    limit: Annotated[int | None, option("Ask only the first questions.", min=1)] = None,
    reader: _Reader = None,
    judge: _Judge = None,
    answers: Annotated[bool, typer.Option(help="Answer the questions. With --no-answers, only count sources.")] = True,
    price_in: _Price = None,
    price_out: _Price = None,
    folder: Annotated[Path | None, option("Write report.md and report.html there.", "--output", "-o")] = None,
) -> None:
    """Ask questions whose answers or sources are known, and report the shares found and answered, and the cost.

    Your own questions are asked of a graph that exists, and nothing of it is stored there: no access time, no count, no
    entry in the log of retrievals. The history of a published benchmark is stored in an installation of its own, which
    is removed at the end. A configured language model reads and judges; without one, the offline model quotes.
    """
    if format_name != "own" and user is not None:
        raise InvalidInputError(f"--format {format_name} has a history of its own: leave --user out")
    if (price_in is None) != (price_out is None):
        raise InvalidInputError("--price-in and --price-out belong together: give both, or neither")
    if folder is not None:
        make_folder(folder)
    with one_signal(), ExitStack() as opening:
        run = _Run(file, limit, (reader, judge), answers, opening)
        results = run.own(user) if format_name == "own" else run.published(format_name)
        figures = figures_of(results, run.about(price_in, price_out))
    if folder is not None:
        write_report(folder, figures)

    output.result(figures, lambda: _layout(figures))


def _layout(figures: Figures) -> RenderableType:
    """Return the report for a terminal: each part with its title, its texts, and its table."""
    drawn: list[RenderableType] = []
    for part in parts_of_report(figures):
        drawn += [Text(f"\n{part.title}" if drawn else part.title, "bold"), *map(layouts.plain, part.texts)]
        header, *rows = ([shortened(cell) for cell in row] for row in part.table) if part.table else [[]]
        if any(header):
            drawn.append(layouts.table([dict(zip(header, row, strict=True)) for row in rows]))
        elif rows:
            drawn.append(layouts.fields(dict(rows)))
    return layouts.stacked(*drawn)


@dataclass
class _Run:
    """One evaluation.

    Attributes:
        models: The names of the model that reads and of the one that judges.
        answers: Whether questions are answered at all.
        opening: Closes the installation.
    """

    file: Path
    limit: int | None
    models: tuple[str | None, str | None]
    answers: bool
    opening: ExitStack

    def own(self, user: str | None) -> list[Result]:
        """Ask the user's own questions of the user's graph."""
        questions = read_questions(self.file, self.limit)
        slug = note_user(user or usual_user())
        assert slug is not None
        here = self._opened(self.opening.enter_context(opened()))
        self._subject = f"{self.file.name}, {slug}"
        acting = here.acting_for(claims_of(here, slug))
        return self._followed(ask_all(acting, here.cursors, questions, self._readers), len(questions))

    def published(self, name: Any) -> list[Result]:
        """Store the history of a published benchmark, ask its questions, and remove the history."""
        total = count_questions(name, self.file, self.limit)  # what is broken is known before a server starts
        output.note("Making an installation for this evaluation, which is removed at its end.")
        here = self._opened(self.opening.enter_context(scratch_installation(settings_of(None))))
        self._subject = f"{self.file.name}, {name}"
        samples = read_published(name, self.file)
        asked = ask_samples(here.context, here.cursors, samples, self._readers, self.limit, output.note)
        return self._followed(asked, total)

    def about(self, price_in: float | None, price_out: float | None) -> Circumstances:
        """Return the subject of the figures."""
        here = self._here
        models = (here.tokens.name, here.language_model.name, here.embedder.model)
        return Circumstances(self._subject, *models, self._readers, price_in, price_out)

    def _opened(self, here: Installation) -> Installation:
        self._here = here
        reader, judge = (here.make_examiner(name) if self.answers else None for name in self.models)
        self._readers = Readers(reader, judge, self.answers)
        return here

    def _followed(self, results: Iterator[Result], total: int) -> list[Result]:
        done = []
        with output.progress() as progress:
            task = progress.add_task("asking", total=total)
            for result in results:
                done.append(result)
                progress.advance(task)
        return done
