"""What an encoder finds by cosine alone, and what it still takes for similar, on data that it never saw."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from benchmarks.bench import PROJECT_ROOT, SkippedError
from benchmarks.quality.questions import beam, locomo, qmsum
from neurigraph_pipelines.runtime.evaluation.published import CATEGORIES
from neurigraph_pipelines.runtime.evaluation.samples import Sample
from neurigraph_pipelines.text.in_context import in_context
from training.pairs import message_text, word_rows
from training.talks import Talk

Embed = Callable[[Sequence[str]], NDArray[np.float32]]
"""Turns texts into unit vectors."""

DEPTHS = (1, 10, 50)
FORMS = {"each message alone": "alone", "behind the two messages before it": "behind"}
"""The texts of messages that are compared, and the field of ``Set`` with them."""

LABELLED = PROJECT_ROOT / "samples" / "labelled"
_ADVERSARIAL = CATEGORIES[5]


@dataclass(frozen=True, slots=True)
class Set:
    """Messages of one user, and questions about them with the rows of their sources.

    Attributes:
        alone: Each message with its speaker.
        behind: Each message behind the ends of the two before it.
    """

    kind: str
    alone: list[str]
    behind: list[str]
    asked: list[tuple[str, str, list[int]]]


def public_sets() -> Iterator[Set]:
    """Yield the conversations of the data folder beside the project, if it is there; none of them is trained on."""
    for kind, read in (("LoCoMo", locomo), ("BEAM", beam), ("QMSum", qmsum)):
        with suppress(SkippedError):
            yield from [_set(kind, sample) for sample in read()]


def talk_sets(talks: Sequence[Talk]) -> Iterator[Set]:
    """Yield talks as sets: those of one source and language together, questions apart from remarks."""

    def kind(talk: Talk) -> str:
        return f"{talk.source} {talk.language}"

    for name, group in groupby(sorted(talks, key=kind), key=kind):
        alone: list[str] = []
        behind: list[str] = []
        asked: list[tuple[str, str, list[int]]] = []
        for talk in group:
            start = len(alone)
            places = range(len(talk.messages))
            alone += [message_text(talk, place, context=False) for place in places]
            behind += [message_text(talk, place) for place in places]
            asked += [
                ("remarks" if one.is_remark else "questions", one.text, [start + place for place in one.sources])
                for one in talk.asked
                if one.sources
            ]
        yield Set(name, alone, behind, asked)


@dataclass(frozen=True, slots=True)
class Measured:
    """What was measured of the model before and after.

    Attributes:
        recalls: By form and kind of question, the recall of sources at ``DEPTHS`` before and after, in percent.
        alike: By kind of sentence, as ``likeness`` returns them.
    """

    recalls: dict[str, dict[str, tuple[list[float], list[float]]]]
    alike: dict[str, tuple[float, float]]

    def table(self) -> str:
        """Return both as Markdown."""
        rows = ["| recall @1 / @10 / @50 | text of a message | published | trained |", "| --- | --- | --- | --- |"]
        for form, by_kind in self.recalls.items():
            rows += [f"| {kind} | {form} | {_shown(old)} | {_shown(new)} |" for kind, (old, new) in by_kind.items()]
        rows += ["", "| sentences | correlation of their cosines | mean difference |", "| --- | --- | --- |"]
        rows += [f"| {kind} | {same:.3f} | {apart:.3f} |" for kind, (same, apart) in self.alike.items()]
        return "\n".join(rows)


def measure(before: Embed, after: Embed, sets: Sequence[Set]) -> Measured:
    """Measure two models on sets that neither was trained on."""
    recalls = {}
    for name, form in FORMS.items():
        old, new = recall(sets, before, form), recall(sets, after, form)
        recalls[name] = {kind: (old[kind], new[kind]) for kind in old}
    return Measured(recalls, likeness(before, after))


def recall(sets: Sequence[Set], embed: Embed, form: str) -> dict[str, list[float]]:
    """Return the recall of sources at each depth by kind, in percent, for one form of messages."""
    found: dict[str, list[list[float]]] = {}
    for one in sets:
        scores = embed([text for _, text, _ in one.asked]) @ embed(getattr(one, form)).T
        for (category, _, sources), row in zip(one.asked, scores, strict=True):
            first = np.argsort(-row, kind="stable")
            ranks = np.flatnonzero(np.isin(first, sources))
            result = [100 * int(np.count_nonzero(ranks < depth)) / len(sources) for depth in DEPTHS]
            for name in _names(one.kind, category):
                found.setdefault(name, []).append(result)
    return {name: [float(mean) for mean in np.mean(results, axis=0)] for name, results in found.items()}


def likeness(old: Embed, new: Embed) -> dict[str, tuple[float, float]]:
    """Return how alike two models see sentences: Spearman's correlation of their cosines, and the mean difference."""
    kinds = {"English": [], "German and Spanish": [], "58 languages": word_rows(random.Random(1), 400)}  # noqa: S311
    for path in sorted(LABELLED.glob("*.json")):
        item = json.loads(path.read_text(encoding="utf-8"))
        kinds["English" if item["language"] == "english" else "German and Spanish"] += [
            message["content"][:200].split(". ")[0] for message in item["messages"][::4]
        ]
    results = {}
    for kind, sentences in kinds.items():
        above = np.triu_indices(len(sentences), 1)
        first, second = ((vectors @ vectors.T)[above] for vectors in (old(sentences), new(sentences)))
        ranks = np.array([np.argsort(np.argsort(values)) for values in (first, second)], float)
        results[kind] = float(np.corrcoef(ranks)[0, 1]), float(np.abs(first - second).mean())
    return results


def _names(kind: str, category: str) -> list[str]:
    if kind != "LoCoMo":
        return [f"{kind} {category}" if kind.startswith(("own", "talks")) else kind]
    every = ["LoCoMo", f"LoCoMo {category}"]
    return every if category == _ADVERSARIAL else [*every, "LoCoMo 1 to 4"]


def _set(kind: str, sample: Sample) -> Set:
    alone: list[str] = []
    behind: list[str] = []
    for conversation in sample.conversations:
        said = [(message.author or message.role.value, message.content) for message in conversation.messages]
        alone += [in_context(*one) for one in said]
        behind += [in_context(*one, said[max(0, place - 2) : place]) for place, one in enumerate(said)]
    rows = {
        message.external_id: row
        for row, message in enumerate(m for conversation in sample.conversations for m in conversation.messages)
    }
    asked = [(one.category, one.text, sorted(rows[name] for name in one.sources)) for one in sample.questions]
    return Set(kind, alone, behind, asked)


def _shown(recalls: Sequence[float]) -> str:
    return " / ".join(f"{recall / 100:.3f}" for recall in recalls)
