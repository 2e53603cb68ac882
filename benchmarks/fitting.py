"""``python -m benchmarks.fitting``: fit the weights of messages in the ranking on all kinds of questions together.

Stores LoCoMo, BEAM and QMSum of the data folder, asks every question with ``explain``, and moves the weights of
``retrieval/query/weights.py`` to raise the recall of sources. It prints weights and recalls, and changes no file. Half
an hour on two cores; ``--signals FILE`` keeps what was asked, and fits again in a few minutes.
"""

from __future__ import annotations

import argparse
import pickle
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.bench import Bench, forget_own_settings
from benchmarks.quality.measure import WORDS
from benchmarks.quality.questions import ASSISTANT, MEETINGS, beam, locomo, qmsum, together
from benchmarks.report import table
from neurigraph_pipelines.graph.provisioning import create_user
from neurigraph_pipelines.inbox.conversations import Inbox
from neurigraph_pipelines.ingestion.batch import run_due
from neurigraph_pipelines.model import Claims
from neurigraph_pipelines.model.context import Context
from neurigraph_pipelines.retrieval.query.question import Question
from neurigraph_pipelines.retrieval.query.search import search
from neurigraph_pipelines.retrieval.query.weights import BOOSTS, SIGNALS, WEIGHTS
from neurigraph_pipelines.runtime.evaluation.samples import LabelledQuestion, Sample
from neurigraph_pipelines.wiring.installation import Installation

NAMES = (*SIGNALS, *BOOSTS)
CANDIDATES = 300
"""Messages of a question among which weights are fitted: those that are first with the weights as they are."""

FOLDS = 3
KINDS = {"people": 1.0, "assistant": 0.6, "meetings": 0.6}
"""What a kind of conversation counts, however many questions there are about it: the last two have a tenth."""

DEPTHS = {1: 0.4, 5: 0.3, 10: 1.0}
"""What recall at each depth counts."""

OF_WORDS = 0.8
"""What recall within the first words counts."""

SOFTNESS = 0.03
"""Difference of scores within which a message counts as partly found, so that recall has a slope."""

STEPS, RATE, FADE = 50, 0.015, 0.985
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Asked:
    """A question and its candidates, best first.

    Attributes:
        fold: Conversations of one fold are left out together.
        signals: ``(messages, signals)``: what each weight is multiplied by.
        share: What is left of each score: less for an assistant's words, and beside the owner's.
        is_source: Whether each message is.
        sources: How many messages are sources, also of those that are no candidates.
        words: The number of words in each message.
    """

    kind: str
    category: str
    fold: int
    signals: Floats
    share: Floats
    is_source: NDArray[np.bool_]
    sources: int
    words: Floats

    def order(self, weights: Floats) -> tuple[Floats, NDArray[np.intp], dict[int, float]]:
        """Return the scores, the order, and what recall at each depth counts; words end at a depth, too."""
        scores: Floats = self.share * (self.signals @ weights)
        order = np.argsort(-scores, kind="stable")
        within = int(np.searchsorted(np.cumsum(self.words[order]), WORDS, side="right"))
        depths = Counter(DEPTHS) + Counter({max(within, 1): OF_WORDS})
        return scores, order, {depth: counts for depth, counts in depths.items() if depth < len(order)}

    def recalls(self, weights: Floats) -> list[float]:
        """Return recall at 1, 5 and 10, and within the first words."""
        _, order, _ = self.order(weights)
        found = np.cumsum(self.is_source[order]) / self.sources
        within = int(np.searchsorted(np.cumsum(self.words[order]), WORDS, side="right"))
        depths = [min(depth, len(found)) for depth in (*DEPTHS, within)]
        return [float(found[depth - 1]) if depth else 0.0 for depth in depths]

    def slope(self, weights: Floats) -> Floats:
        """Return how the softened recall changes with each weight."""
        scores, order, depths = self.order(weights)
        sources = np.flatnonzero(self.is_source)
        by_score = np.zeros(len(scores))
        for depth, counts in depths.items():
            last, next_ = order[depth - 1], order[depth]
            above = (scores[sources] - (scores[last] + scores[next_]) / 2) / SOFTNESS
            found = 1 / (1 + np.exp(-np.clip(above, -40, 40)))
            slope = counts * found * (1 - found) / SOFTNESS / self.sources
            by_score[sources] += slope
            by_score[[last, next_]] -= slope.sum() / 2
        return (by_score * self.share) @ self.signals


def fit(questions: Sequence[Asked], start: Floats, pull: float) -> Floats:
    """Return the weights with the best softened recall (Adam: Kingma and Ba, 2015).

    Args:
        pull: How strongly the weights are drawn to those at the start.
    """
    number = Counter(asked.kind for asked in questions)
    weights, mean, square, rate = start.copy(), np.zeros_like(start), np.zeros_like(start), RATE
    for step in range(1, STEPS + 1):
        slope = -2 * pull * (weights - start)
        for asked in questions:
            slope += KINDS[asked.kind] / number[asked.kind] * asked.slope(weights)
        mean, square = 0.9 * mean + 0.1 * slope, 0.98 * square + 0.02 * slope**2
        weights = weights + rate * (mean / (1 - 0.9**step)) / (np.sqrt(square / (1 - 0.98**step)) + 1e-8)
        rate *= FADE
    return weights


def collect(installation: Installation, samples: Sequence[Sample]) -> Iterator[Asked]:
    """Store samples, and yield their questions with the signals of what is found."""
    for number, sample in enumerate(samples):
        user, _ = create_user(installation.database, sample.name)
        claims = Claims.of_user(user.user_id)
        with installation.database.agent(claims) as tx:
            for conversation in sample.conversations:
                Inbox(installation.context).add_conversations(tx, user.user_id, [conversation])
        for result in run_due(installation.context, "benchmark"):
            assert not result.returned, result.returned
        context, words = installation.acting_for(claims), {}
        for name, message in sample.messages.items():
            words[name] = len(message.content.split())
        for asked in sample.questions:
            yield _asked(context, asked, words, _fold(number % FOLDS, asked))


def _fold(number: int, asked: LabelledQuestion) -> int:
    """Return the fold of a question: that of its sample, or of meetings, which share a graph, that of its meeting."""
    return zlib.crc32(min(asked.sources).partition(":")[0].encode()) % FOLDS if asked.category == MEETINGS else number


def _asked(context: Context, asked: LabelledQuestion, words: dict[str, int], fold: int) -> Asked:
    found = search(context, Question(asked.text, message_limit=CANDIDATES, explain=True), is_noted=False).messages
    signals = np.array([[(one.explain or {})[name] for name in NAMES] for one in found])
    signals[:, len(SIGNALS) :] /= [WEIGHTS[name] for name in BOOSTS]
    total = signals @ start_weights()
    scores = np.array([one.score for one in found])
    names = [str(one.external_id) for one in found]
    kind = {ASSISTANT: "assistant", MEETINGS: "meetings"}.get(asked.category, "people")
    return Asked(
        kind,
        asked.category if kind == "people" else kind,
        fold,
        signals,
        np.divide(scores, total, out=np.ones_like(scores), where=total > 0),
        np.isin(names, list(asked.sources)),
        len(asked.sources),
        np.array([words[name] for name in names], np.float64),
    )


def start_weights() -> Floats:
    """Return the weights as they are."""
    return np.array([WEIGHTS[name] for name in NAMES])


def _row(label: str, measured: Sequence[tuple[Asked, list[float]]], groups: Sequence[str]) -> list[str]:
    row = [label]
    for group in groups:
        means = np.mean([recalls for asked, recalls in measured if group in (asked.kind, asked.category)], axis=0)
        row.append(" / ".join(f"{mean:.3f}" for mean in means))
    return row


def report(questions: Sequence[Asked], pull: float) -> str:
    """Return recalls with the weights as they are, fitted on other conversations and on all, and the weights."""
    start = start_weights()
    left_out = [fit([asked for asked in questions if asked.fold != fold], start, pull) for fold in range(FOLDS)]
    fitted = fit(questions, start, pull)
    groups = list(dict.fromkeys(group for asked in questions for group in (asked.kind, asked.category)))
    rows = [
        _row(label, [(asked, asked.recalls(weights[asked.fold])) for asked in questions], groups)
        for label, weights in {
            "as they are": [start] * FOLDS,
            "fitted on other conversations": left_out,
            "fitted on all": [fitted] * FOLDS,
        }.items()
    ]
    folds = np.array(left_out)
    weights = [
        [name, f"{before:.3f}", f"{after:.3f}", f"{low:.3f} to {high:.3f}"]
        for name, before, after, low, high in zip(NAMES, start, fitted, folds.min(0), folds.max(0), strict=True)
    ]
    return (
        f"Recall at 1 / 5 / 10 / within {WORDS:,} words:\n\n{table(['weights', *groups], rows)}\n\n"
        f"{table(['signal', 'weight', 'fitted', 'folds'], weights)}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.fitting", description=__doc__)
    parser.add_argument("--signals", type=Path, help="a file that keeps what was asked; it is read if it is there")
    parser.add_argument("--pull", type=float, default=2.0, help="how strongly weights stay (default: %(default)s)")
    chosen = parser.parse_args()
    if chosen.signals is not None and chosen.signals.exists():
        questions: list[Any] = pickle.loads(chosen.signals.read_bytes())
    else:
        samples = [*locomo(), *beam(), together("meetings", qmsum())]
        with Bench(quick=False, own=forget_own_settings()) as bench, bench.installation() as installation:
            questions = list(collect(installation, samples))
        if chosen.signals is not None:
            chosen.signals.write_bytes(pickle.dumps(questions))
    print(report(questions, chosen.pull))


if __name__ == "__main__":
    main()
