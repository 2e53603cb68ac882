"""The report of an evaluation, as Markdown and as HTML. Every text in it is data: none becomes markup."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from neurigraph_pipelines.model.errors import InvalidInputError
from neurigraph_pipelines.runtime.evaluation.asking import BUDGETS, CONTEXT, DEPTHS, SEARCH
from neurigraph_pipelines.runtime.evaluation.figures import Figures
from neurigraph_pipelines.runtime.evaluation.scoring import KINDS
from neurigraph_pipelines.text.visible import visible

CELL_CHARACTERS = 600
"""Most characters of a text that a report shows."""

_MARKUP = re.compile(r"([\\`*_{}\[\]#|!~])")
_STYLE = """body{font:16px/1.5 system-ui,sans-serif;max-width:70rem;margin:2rem auto;padding:0 1rem}
table{border-collapse:collapse}td,th{border:1px solid #999;padding:.2rem .6rem;text-align:left;vertical-align:top}
@media(prefers-color-scheme:dark){body{background:#111;color:#eee}}"""
_HEAD = f"""<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Evaluation</title>
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<style>{_STYLE}</style></head>"""

_WAYS = """context: the block for a prompt (neurigraph context). search: whole messages in the order of
neurigraph search. plain hybrid: BM25 and cosine of the same embedder, fused by rank. everything: the history from
its end. oracle: the sources alone. All are cut to the same budget."""
_ANSWERS = """right: the share of the scored. exact, contained, other: how the answer compares with the expected one,
word for word. declined: no answer, which is right where nothing that is remembered answers. judged: a judge has decided
twice, with the answers in either order. disputed: the two verdicts differ, and the answer counts as wrong. failed: the
model gave none."""
_SOURCES = """The share of a question's sources that the text within the budget covers, by at least one message each.
A block quotes from long messages and states facts: a message counts if a line rests on it."""
_COST = "Of reading and judging by models; storing, embedding and repeated requests are not counted."


class Part(NamedTuple):
    """A part of a report: its text, and a table with a header, if it has one."""

    title: str
    texts: Sequence[str]
    table: Sequence[Sequence[str]] = ()


_EMPTY = Part("", ())


def parts_of_report(figures: Figures) -> list[Part]:
    """Return the text of a report."""
    return [part for part in _parts(figures) if part.texts or part.table]


def _parts(figures: Figures) -> Iterator[Part]:
    readers = f"Read by {figures['reader']}, judged by {figures['judge'] or 'comparison'}." if figures["reader"] else ""
    yield Part(
        "Evaluation",
        [
            f"{figures['subject']}: {figures['questions']:,} questions, {figures['questions_with_sources']:,} of them "
            f"with stored sources; {figures['sources_not_found']:,} sources were not found. {readers} Embedded by "
            f"{figures['embedder']}. Tokens are counted by {figures['counted_by']}; the median of the "
            f"largest block is {figures['block_tokens']:,}.",
        ],
    )
    yield Part("What was not run", figures["not_run"])
    budgets = {str(most): f"{most:,} tokens" for most in BUDGETS}
    yield _rows("Sources within tokens", [_SOURCES, _WAYS], "way", budgets, figures["sources_within_tokens"])
    depths = {str(depth): str(depth) for depth in DEPTHS}
    yield _rows("Sources among the first messages", [], "ranking", depths, figures["sources_among_first"])
    counts = {name: name for name in ("scored", "right", *KINDS, "disputed")}
    yield _rows("Answers", [_ANSWERS], "way", counts, figures["answers"])
    shares = {way: f"sources, {way}, {budgets[str(BUDGETS[-1])]}" for way in (CONTEXT, SEARCH)}
    names = {"questions": "questions", **shares, "right": "right"}
    yield _rows("By category", [], "category", names, figures["categories"])
    taken = {"p50": "p50 ms", "p95": "p95 ms"}
    yield _rows("Latency", ["Of single calls in this process."], "call", taken, figures["latency_ms"])
    names = {name: name.replace("_", " ") for name in ("calls", "tokens_sent", "tokens_received", "price")}
    yield _rows("Cost", [_COST], "role", names, figures["cost"])
    for number, case in enumerate(figures["worst"], 1):
        yield _case(number, case)


def _rows(title: str, texts: Sequence[str], first: str, names: Mapping[str, str], rows: Figures) -> Part:
    """Return a part with a row of figures for each key; an empty one without rows."""
    body = [[key, *(_share(of[name]) for name in names)] for key, of in rows.items()]
    flat = [" ".join(text.split()) for text in texts]
    return Part(title, flat, [[first, *names.values()], *body]) if body else _EMPTY


def _case(number: int, case: Figures) -> Part:
    said = {
        "question": case["question"],
        "category": case["category"],
        "sample": case["sample"],
        "expected": case["expected"],
        "answer": case["answer"] or case["kind"],
        f"sources within {BUDGETS[-1]:,} tokens": _share(case["sources"]),
        **{f"missed {place}": line for place, line in enumerate(case["missed"], 1)},
        **{f"not found {place}": source for place, source in enumerate(case["sources_not_found"], 1)},
    }
    return Part(f"Worst case {number}", [], [["", ""], *([name, text] for name, text in said.items() if text)])


def as_markdown(figures: Figures) -> str:
    """Return the report as Markdown."""
    blocks = list[str]()
    for place, part in enumerate(parts_of_report(figures)):
        blocks.append(f"{'#' if place == 0 else '##'} {part.title}")
        blocks += map(_plain, part.texts)
        if part.table:
            header, *rows = part.table
            lines = [header, ["---"] * len(header), *([_plain(cell) for cell in row] for row in rows)]
            blocks.append("\n".join(f"| {' | '.join(line)} |" for line in lines))
    return "\n\n".join(blocks) + "\n"


def as_html(figures: Figures) -> str:
    """Return the report as one page that loads and runs nothing."""
    blocks = []
    for place, part in enumerate(parts_of_report(figures)):
        level = 1 if place == 0 else 2
        blocks.append(f"<h{level}>{_escaped(part.title)}</h{level}>")
        blocks += [f"<p>{_escaped(text)}</p>" for text in part.texts]
        if part.table:
            rows = [f"<tr>{''.join(f'<td>{_escaped(cell)}</td>' for cell in row)}</tr>" for row in part.table]
            blocks.append(f"<table>{''.join(rows)}</table>")
    body = "\n".join(blocks)
    return f"{_HEAD}\n<body>\n{body}\n</body></html>\n"


def make_folder(folder: Path) -> None:
    """Make the folder of a report. A report that is there stays until there is another.

    Raises:
        InvalidInputError: Nothing can be written there.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name in _FORMS:
            (folder / name).open("a").close()
    except (OSError, ValueError) as error:  # ValueError: a NUL byte in the path
        raise InvalidInputError(f"cannot write a report to {folder}: {error}. Give --output another folder") from error


def write_report(folder: Path, figures: Figures) -> None:
    """Write the report in both forms."""
    for name, made in _FORMS.items():
        (folder / name).write_text(made(figures), encoding="utf-8", errors="replace")


_FORMS: Mapping[str, Callable[[Figures], str]] = {"report.md": as_markdown, "report.html": as_html}


def _share(value: float | None) -> str:
    """Return a figure: shares with three digits, counts as they are, nothing where nothing was measured."""
    if value is None:
        return ""
    return f"{value:,}" if isinstance(value, int) else f"{value:.3f}" if value < 10 else f"{value:,.1f}"


def shortened(text: str) -> str:
    """Return a text on one line, and of a long one the beginning."""
    flat = " ".join(visible(text).split())
    return flat if len(flat) <= CELL_CHARACTERS else f"{flat[:CELL_CHARACTERS]} …"


def _plain(text: str) -> str:
    """Return a text without characters that Markdown would take for markup."""
    return _MARKUP.sub(r"\\\1", html.escape(shortened(text), quote=False))


def _escaped(text: str) -> str:
    return html.escape(shortened(text))
