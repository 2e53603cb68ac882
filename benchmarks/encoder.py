"""What the trained encoder changes for duplicates and documents, beside the published weights in the same run."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from io import BytesIO
from itertools import cycle
from pathlib import Path
from typing import NamedTuple
from uuid import UUID

import numpy as np
from markdown_it import MarkdownIt
from pypdf import PdfWriter
from pypdf.generic import DecodedStreamObject, DictionaryObject, NameObject

from benchmarks.bench import PROJECT_ROOT, Bench
from benchmarks.report import Section, table
from benchmarks.subjects import START, half_of
from neurigraph_pipelines.graph.provisioning import create_user
from neurigraph_pipelines.ingestion.batch import run_due
from neurigraph_pipelines.ingestion.embed import TextsToEmbed, embed_texts
from neurigraph_pipelines.knowledge.duplicates import SIMILAR, find_duplicates
from neurigraph_pipelines.knowledge.fact_values import FactWords
from neurigraph_pipelines.knowledge.reading import read_waiting
from neurigraph_pipelines.knowledge.stating import NewFact, state_fact
from neurigraph_pipelines.model import Claims, Message, Role
from neurigraph_pipelines.model.context import Context
from neurigraph_pipelines.model.ports import Embedder
from neurigraph_pipelines.retrieval.query.authority import ALIKE, unrepeated
from neurigraph_pipelines.runtime.evaluation.asking import CONTEXT, DEPTHS, HYBRID, SEARCH, Readers, Result
from neurigraph_pipelines.runtime.evaluation.own_questions import read_questions
from neurigraph_pipelines.runtime.evaluation.running import ask_all
from neurigraph_pipelines.text.transcript import Passage
from neurigraph_pipelines.wiring.installation import Installation

SAMPLES = PROJECT_ROOT / "samples"
QUESTIONS = SAMPLES / "document_questions.jsonl"
EMBEDDERS = {"published": "minilm", "trained": "neurigraph"}
"""The settings of the embedders, by the heading of their figures."""

_BUDGET = 1
"""Which of the budgets of a block for a prompt is shown: 1,000 tokens."""

_LINES_OF_A_PAGE = 50
_ESCAPED = str.maketrans({"\\": r"\\", "(": r"\(", ")": r"\)"})


class Statement(NamedTuple):
    """A statement with others that say the same, and with others that differ in one thing, by what that is."""

    name: str
    language: str
    said: str
    same: list[str]
    other: dict[str, str]

    @property
    def pairs(self) -> Iterator[tuple[str, str]]:
        """The other texts, each with what differs, or ``same``."""
        yield from (("same", text) for text in self.same)
        yield from self.other.items()


class Verdict(NamedTuple):
    """Whether a text was taken for a duplicate, and whether it is one."""

    half: str
    difference: str
    is_found: bool


def statements() -> list[Statement]:
    """Return those of ``samples/duplicates.toml``."""
    return [Statement(**one) for one in tomllib.loads((SAMPLES / "duplicates.toml").read_text("utf-8"))["statement"]]


def looked_up(context: Context, given: Sequence[Statement]) -> list[Verdict]:
    """State each statement as a fact, store it, and look up the others, as `POST /v1/duplicates` does."""
    facts = {one.name: state_fact(context, NewFact(FactWords(statement=one.said))).fact_id for one in given}
    _store(context)
    return [
        Verdict(half_of(one.name), difference, facts[one.name] in {fact.fact_id for fact in found.facts})
        for one in given
        for difference, text in one.pairs
        for found in [find_duplicates(context, text)]
    ]


def folded(embedder: Embedder, given: Sequence[Statement], *, in_a_row: bool) -> list[Verdict]:
    """Return which texts pay in a search for the statement of the same source that they stand for.

    Args:
        in_a_row: They are told one after the other, as a flood would be, and not each behind two statements of others.
    """
    verdicts = []
    for place, one in enumerate(given):
        others = cycle(two.said for two in (*given[place + 1 :], *given[:place]))
        told, at = list[str](), list[int]()
        for text in (one.said, *(text for _, text in one.pairs)):
            told += [] if in_a_row else [next(others), next(others)]
            at.append(len(told))
            told.append(text)
        first, *vectors = _vectors(embedder, told)[at]
        for (difference, _), vector in zip(one.pairs, vectors, strict=True):
            paid = unrepeated(np.ones(2), np.stack([first, vector]), ["one source"] * 2)
            verdicts.append(Verdict(half_of(one.name), difference, bool(paid[1] < 1)))
    return verdicts


def _vectors(embedder: Embedder, told: Sequence[str]) -> np.ndarray[tuple[int, int], np.dtype[np.float32]]:
    """Return the vectors of messages as ingestion stores them."""
    messages = [
        Message(number, Role.USER, text, 1, START + timedelta(minutes=number), author="Ana")
        for number, text in enumerate(told, 1)
    ]
    passages = [Passage(message.seq, message, message.content, 0, 0) for message in messages]
    [[(_, found)]] = embed_texts(embedder, [TextsToEmbed(UUID(int=1), "a summary", passages)])
    assert not isinstance(found, Exception), found
    return found.passages.astype(np.float32)


def documents() -> Iterator[tuple[str, bytes]]:
    """Yield the files that are uploaded: pages of this project as Markdown, HTML and PDF, and ``samples/documents``."""
    for path in sorted((PROJECT_ROOT / "docs").glob("*.md")):
        yield path.name, path.read_bytes()
    for number, path in enumerate(sorted((PROJECT_ROOT / "docs" / "adr").glob("*.md"))):
        text = path.read_text(encoding="utf-8")
        yield (f"{path.stem}.html", _html(text)) if number % 2 else (f"{path.stem}.pdf", _pdf(text))
    for path in sorted((SAMPLES / "documents").iterdir()):
        yield path.name, path.read_bytes()


def _html(text: str) -> bytes:
    return f"<!doctype html><html><body>{MarkdownIt().enable('table').render(text)}</body></html>".encode()


def _pdf(text: str) -> bytes:
    """Return a PDF with the lines of a text in a standard font, whose other characters are lost."""
    writer, lines = PdfWriter(), text.splitlines()
    names = {"/Type": "/Font", "/Subtype": "/Type1", "/BaseFont": "/Helvetica"}
    font = DictionaryObject({NameObject(key): NameObject(value) for key, value in names.items()})
    fonts = DictionaryObject({NameObject("/Font"): DictionaryObject({NameObject("/F1"): font})})
    for first in range(0, len(lines), _LINES_OF_A_PAGE):
        page = writer.add_blank_page(612, 792)
        page[NameObject("/Resources")] = fonts
        shown = "".join(f"({line.translate(_ESCAPED)}) Tj T* " for line in lines[first : first + _LINES_OF_A_PAGE])
        drawn = DecodedStreamObject()
        drawn.set_data(f"BT /F1 8 Tf 12 TL 36 750 Td {shown}ET".encode("latin-1", "replace"))
        page[NameObject("/Contents")] = drawn
    written = BytesIO()
    writer.write(written)
    return written.getvalue()


def asked(installation: Installation, slug: str, most: int | None = None) -> list[Result]:
    """Upload all documents as a user, and ask the questions of ``samples/document_questions.jsonl``.

    Args:
        most: Ask only the first questions, of their own pages alone.
    """
    claims, questions = _user(installation, slug), read_questions(QUESTIONS, most)
    pages = {Path(one.category).stem for one in questions}
    for name, content in documents():
        if most is None or name.partition(".")[0] in pages:
            installation.uploads.receive(claims, name, [content], external_id=name, is_document=True)
    for read in installation.uploads.read_due(installation.text_extractor):
        assert read.error is None, read
    context = installation.context.acting_for(claims)
    _store(context)
    return list(ask_all(context, installation.cursors, questions, Readers(is_asked=False)))


def _user(installation: Installation, slug: str) -> Claims:
    return Claims.of_user(create_user(installation.database, slug)[0].user_id)


def _store(context: Context) -> None:
    for result in run_due(context, "benchmark", context.claims.user_id):
        assert not result.returned, result.returned
    read_waiting(context, user_id=context.claims.user_id)


def run(bench: Bench) -> Section:
    """Measure both encoders."""
    given, most = (statements()[:4], 6) if bench.quick else (statements(), None)
    verdicts: dict[tuple[str, str], list[Verdict]] = {}
    results: dict[str, list[Result]] = {}
    for name, setting in EMBEDDERS.items():
        with bench.installation(embedder=setting) as here:
            bench.say(f"{name}: duplicates")
            context = here.context.acting_for(_user(here, "statements"))
            verdicts["`POST /v1/duplicates`", name] = looked_up(context, given)
            verdicts["search, in a row", name] = folded(here.embedder, given, in_a_row=True)
            verdicts["search, among others", name] = folded(here.embedder, given, in_a_row=False)
            bench.say(f"{name}: documents")
            results[name] = asked(here, "documents", most)
    body = f"{_table_of_duplicates(verdicts)}\n\n{_table_of_documents(results)}"
    return Section("Duplicates and documents", _METHOD, body)


_METHOD = f"""The published weights of MiniLM and the trained ones in turn, in installations of their own.

**Duplicates**: 32 statements in ten languages (`samples/duplicates.toml`), each with three others that say the same and
three that differ in a figure, a name, a day, another thing or a denial: 192 pairs. *`POST /v1/duplicates`*: the
statement is stored as a fact, and the others are looked up; words decide, from a share of {SIMILAR} on. *search*: the
other is taken for a repetition of the statement by the same source (cosine of {ALIKE} of the vectors that ingestion
stores, `retrieval/query/authority.py`); told one after the other, and each behind two statements of others. Precision
counts as many pairs that say the same as others, which no graph has. Thresholds may be fitted to the development half.

**Documents**: the pages of `docs` (Markdown), its decision records (HTML and PDF in turn) and three files in German,
Spanish and French (`samples/documents`) are uploaded, read and stored. The questions of
`samples/document_questions.jsonl` were written from the pages, before anything was searched. *@k*: the part with the
answer is among the first k messages of a search; *block*: in the block for a prompt of 1,000 tokens; *fused*: BM25 and
cosine of the same encoder, by rank. The interval is that of now − before at 10 (95 %, bootstrap over questions)."""


def _table_of_duplicates(verdicts: Mapping[tuple[str, str], Sequence[Verdict]]) -> str:
    kinds = ("same", "figure", "name", "day", "thing", "denial")
    rows = [
        [way, name, half, *_precision_and_recall(some), *(_found(some, kind) for kind in kinds)]
        for (way, name), every in verdicts.items()
        for half in ("development", "held out")
        if (some := [one for one in every if one.half == half])
    ]
    return table(
        ["looked up by", "weights", "half", "precision", "recall", *(f"{kind}: found" for kind in kinds)], rows
    )


def _precision_and_recall(some: Sequence[Verdict]) -> tuple[str, str]:
    right = [one.is_found for one in some if one.difference == "same"]
    found = sum(one.is_found for one in some)
    return f"{sum(right) / found:.2f}" if found else "–", f"{np.mean(right):.2f}"


def _found(some: Sequence[Verdict], kind: str) -> str:
    among = [one.is_found for one in some if one.difference == kind]
    return f"{sum(among)} of {len(among)}"


def _table_of_documents(results: Mapping[str, Sequence[Result]]) -> str:
    kinds = {name.partition(".")[0]: name.rpartition(".")[2] for name, _ in documents()}
    before, now = results.values()
    groups: dict[str, list[int]] = {"all": []}
    for place, one in enumerate(before):
        if one.hits:  # a page may have lost the words that the question names
            for group in ("all", kinds[Path(one.asked.category).stem]):
                groups.setdefault(group, []).append(place)
    rows = []
    for group, places in groups.items():
        gained = [now[place].hits[SEARCH][-1] - before[place].hits[SEARCH][-1] for place in places]
        for name, every in results.items():
            some = [every[place] for place in places]
            figures = np.mean(
                [(*one.hits[SEARCH], one.recall[CONTEXT][_BUDGET], one.hits[HYBRID][-1]) for one in some], axis=0
            )
            interval = _interval(gained) if every is now else ""
            rows.append([group, str(len(some)), name, *(f"{figure:.3f}" for figure in figures), interval])
    header = ["files", "questions", "weights", *(f"@{depth}" for depth in DEPTHS), "block", "fused @10", "interval"]
    return table(header, rows)


def _interval(gained: Sequence[float]) -> str:
    chance = np.random.default_rng(1)
    means = chance.choice(gained, (2_000, len(gained))).mean(axis=1)
    return " to ".join(f"{end:.3f}".replace("-", "−") for end in np.percentile(means, (2.5, 97.5)))
