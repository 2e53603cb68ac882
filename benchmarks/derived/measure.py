"""The tables of derived content: scores by half, form and language, and seconds by step."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import get_args

from benchmarks.bench import Bench, SkippedError
from benchmarks.derived.fact_turns import fact_table
from benchmarks.derived.labels import HALVES, Form, Labelled, Language, load
from benchmarks.derived.locomo_answers import answers_table
from benchmarks.derived.observations import observation_table
from benchmarks.derived.observe import Observer
from benchmarks.derived.scoring import MEASURES, Derived, Share, scores, shared_titles
from benchmarks.derived.step_times import STEPS, StepTimes
from benchmarks.report import Section, number, table

QUICK = 2
"""Conversations of each half in a quick run."""

Result = tuple[Labelled, Derived]

_FIRST = {
    "development": "0.68 0.66 0.71 0.87 0.95 0.22 0.32 0.37 0.05 0.24 0.81 0.47 0.81 0.00",
    "held out": "0.69 0.67 0.67 0.85 0.76 0.32 0.20 0.36 0.14 0.43 0.72 0.49 0.75 0.08",
}
"""Scores of the offline model on 2026-11-22, before its rules were worked on, to compare with."""

_FIRST_SECONDS = {
    "model.place": 0.031,
    "model.summarize": 0.013,
    "model.extract_keywords": 0.024,
    "model.answer": 0.020,
}
"""Seconds for a conversation at that time, without the embedder."""

_METHOD = """The conversations of `samples/labelled` are stored one by one through the whole job, each for a new user
with the name of its owner, with {model} and MiniLM; then their questions go through `retrieval.ask`. What is derived is
compared with what a careful person wrote. Half of the conversations are held out: rules are not fitted to them. P is
precision, R is recall: dates must be equal; of two names one must contain the other as whole words; a relation needs
its name and its word. *facts*: the labelled facts whose words stand in one sentence of a summary, whatever their
endings ("29th" counts as "29"). *dependent*: sentences of summaries that begin with a pronoun, a figure or a
conjunction (lower is better; a proxy, since only a reader can tell). *node*: records in the labelled node or a parent
of it, compared by common words; *area*: records whose first name is right. *quoted*, *first*: the answer stands in the
statements, or in the first one; *cited*: in the messages behind them. *declined*: questions without an answer that get
none. The last three tables need the data folder. Two take the offline model alone: the observations that LoCoMo's
authors have of each session, and how many of their words (without the speakers' names) stand in the session's summary,
title or keywords; and the facts of each session, against the turns that these observations name. The last is of
LoCoMo's questions: *cited* and *first* are answers behind which a source stands, *quoted* those with
most words of the gold answer; adversarial questions name the wrong speaker, and should be declined.
`NEURIGRAPH_LANGUAGE_MODEL` or `NEURIGRAPH_LANGUAGE_MODEL_URL` choose another model, and `python -m benchmarks.derived`
prints sentences and mistakes of the development half."""


def run(bench: Bench) -> Section:
    """Derive everything from every labelled conversation, and compare."""
    given = load()
    if bench.quick:
        given = [one for half in HALVES for one in [one for one in given if one.half == half][:QUICK]]
    observer = Observer(bench)
    results = list(observer.observe(given))
    parts = [score_table(results), _first_table(), title_table(results), _step_table(observer.times, len(results))]
    with suppress(SkippedError):
        parts += [] if bench.quick else [observation_table(), fact_table()]
        parts.append(answers_table(bench))
    return Section("Derived content", _METHOD.format(model=f"`{observer.model}`"), "\n\n".join(parts))


def score_table(results: Sequence[Result]) -> str:
    """Return the scores of each half, of all and by form and language."""
    rows: list[list[str]] = []
    for half in HALVES:
        chosen = [result for result in results if result[0].half == half]
        for group, among in _groups(chosen):
            rows.append([half, group, str(len(among)), *map(str, _sums(among))])
    return table(["half", "which", "conversations", *MEASURES], rows)


def _groups(results: Sequence[Result]) -> Iterable[tuple[str, list[Result]]]:
    """Yield all, each form and each language, unless there are none."""
    for name in ("all", *get_args(Form), *get_args(Language)):
        among = [result for result in results if name in ("all", result[0].form, result[0].language)]
        if among:
            yield name, among


def _sums(results: Sequence[Result]) -> list[Share]:
    each = [scores(given, derived) for given, derived in results]
    return [sum((one[measure] for one in each), Share()) for measure in MEASURES]


def _first_table() -> str:
    """Return what the offline model scored at first."""
    return "Offline on 2026-11-22, before its rules were worked on:\n\n" + table(
        ["half", *MEASURES], [[half, *scored.split()] for half, scored in _FIRST.items()]
    )


def title_table(results: Sequence[Result]) -> str:
    """Return how many records share a title with another of the half, and how long the summaries are."""
    rows = []
    for half in HALVES:
        derived = [one for given, one in results if given.half == half]
        if derived:
            shared = shared_titles([title for one in derived for title in one.titles])
            words = sum(len(summary.split()) for one in derived for summary in one.summaries)
            rows.append([half, str(len(derived)), str(shared.of), str(shared.right), number(words / max(1, shared.of))])
    return table(["half", "conversations", "records", "records that share a title", "words of a summary"], rows)


def _step_table(times: StepTimes, conversations: int) -> str:
    rows = []
    for name, what in STEPS.items():
        if times.calls[name]:
            seconds = (times.seconds[name], times.embedding.get(name, 0.0))
            first = f"{_FIRST_SECONDS[name]:.3f}" if name in _FIRST_SECONDS else ""
            rest = f"{(seconds[0] - seconds[1]) / conversations:.3f}"
            rows.append([what, f"{times.calls[name]:,}", f"{seconds[0] / conversations:.3f}", rest, first])
    return table(["step", "calls", "seconds for a conversation", "without the embedder", "at first"], rows)
