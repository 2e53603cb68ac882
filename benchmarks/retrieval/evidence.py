"""What a search finds of the evidence of real questions, and how long it takes.

The data lies beside the project; without it the benchmark is skipped.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from benchmarks.bench import PROJECT_ROOT, Bench, SkippedError
from benchmarks.ranking import rank_by_bm25, rank_by_cosine
from benchmarks.report import Section, number, percentile, table
from neurigraph_pipelines.graph.provisioning import create_user
from neurigraph_pipelines.ingestion.batch import run_due
from neurigraph_pipelines.ingestion.importing import import_file
from neurigraph_pipelines.ingestion.imports import read_conversations
from neurigraph_pipelines.model import Claims, NewConversation
from neurigraph_pipelines.ports import Embedder
from neurigraph_pipelines.retrieval.search import Question, search
from neurigraph_pipelines.wiring import Installation

LOCOMO = PROJECT_ROOT.parent / "shared" / "data" / "locomo"
DEPTHS = (5, 10, 20)
ADVERSARIAL = 5
"""The category whose questions are about things that were not said."""
EMBEDDED_EVERY = 5
"""Every so manyth question is asked once more with the embedding of the question in the time."""

_METHOD = """Three conversations of LoCoMo (ACL 2024), each in the graph of a user of its own, imported and stored
by the whole job with the offline model and MiniLM; each of their questions asked through `retrieval.search` for 10
records and 20 messages. Evidence recall at k is the share of a question's evidence turns among the first k messages,
averaged over the questions with usable evidence; category 5 asks about things that were not said. Baselines of the
same run over the same turns (`Speaker: text`): cosine of MiniLM's vectors, and BM25 in Python with the same stemming
(k1 1.5, b 0.75)."""


@dataclass(frozen=True, slots=True)
class _Asked:
    """A question, the turns that answer it, and its category."""

    text: str
    evidence: frozenset[str]
    category: int


@dataclass(frozen=True, slots=True)
class _Ranked:
    """What one ranking made of one question."""

    asked: _Asked
    turns: list[str]
    seconds: float

    def recall(self, depth: int) -> float:
        """The share of the evidence among the first ``depth``."""
        return len(self.asked.evidence.intersection(self.turns[:depth])) / len(self.asked.evidence)


class CachedEmbedder:
    """An embedder that has each text embedded once."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._vectors: dict[str, NDArray[np.float32]] = {}
        self.model = embedder.model
        self.dimensions = embedder.dimensions
        self.prefix_trained = embedder.prefix_trained
        self.max_tokens = embedder.max_tokens

    def embed(self, texts: Sequence[str], kind: Literal["document", "query"] = "document") -> NDArray[np.float32]:
        """Vectors from the cache, or embedded now and kept."""
        missing = [text for text in dict.fromkeys(texts) if text not in self._vectors]
        self._vectors.update(zip(missing, self._embedder.embed(missing, kind), strict=True))
        return np.stack([self._vectors[text] for text in texts])


def run(bench: Bench) -> Section:
    """Rank the turns of each conversation three ways, question by question."""
    samples = sorted(LOCOMO.glob("*.json"))[: 1 if bench.quick else None]
    if not samples:
        raise SkippedError(f"there is no data in {LOCOMO}")
    found: dict[str, list[_Ranked]] = {"Neurigraph": [], "BM25 alone": [], "MiniLM alone": []}
    uncached: list[float] = []
    with bench.installation() as installation:
        for path in samples:
            turns = _turns(path)
            asked = _questions(path, turns.keys())[: 20 if bench.quick else None]
            bench.say(f"{path.stem}: storing {len(turns)} turns")
            claims = _store(installation, path)
            bench.say(f"{path.stem}: asking {len(asked)} questions")
            embedder = CachedEmbedder(installation.embedder)
            embedder.embed([question.text for question in asked], "query")
            for name, rank in {
                "Neurigraph": _searcher(installation, embedder, claims),
                "BM25 alone": rank_by_bm25(turns),
                "MiniLM alone": rank_by_cosine(turns, embedder),
            }.items():
                rank("a first question, which opens connections")
                found[name] += [_ask(rank, question) for question in asked]
            live = _searcher(installation, installation.embedder, claims)
            uncached += [_ask(live, question).seconds for question in asked[::EMBEDDED_EVERY]]
    return Section("Retrieval", _METHOD, f"{_recalls(found)}\n\n{_latencies(found, uncached)}")


def _turns(path: Path) -> dict[str, str]:
    """The text of every turn as the importer reads it, with its speaker, by its id."""
    return {
        message.external_id: f"{message.author}: {message.content}"
        for item in read_conversations(path, "locomo")
        if isinstance(item, NewConversation)
        for message in item.messages
        if message.external_id is not None
    }


def _questions(path: Path, turns: Collection[str]) -> list[_Asked]:
    """The questions with usable evidence: ids that several in one string are split, and what is no turn is dropped."""
    asked = []
    for item in json.loads(path.read_text(encoding="utf-8"))["qa"]:
        words = re.split(r"[;\s]+", " ".join(item.get("evidence") or ()))
        evidence = frozenset(word for word in words if word in turns)
        if evidence:
            asked.append(_Asked(item["question"], evidence, item["category"]))
    return asked


def _store(installation: Installation, path: Path) -> Claims:
    """Import one sample for a new user, and store it to the end."""
    user, _ = create_user(installation.database, path.stem.lower())
    claims = Claims.of_user(user.user_id)
    report = import_file(installation.database, installation.tokens, installation.settings, claims, path, "locomo")
    assert not report.rejected, report.rejected
    for result in run_due(installation.adapters, installation.settings, "benchmark", user.user_id):
        assert not result.returned, result.returned
    return claims


def _searcher(installation: Installation, embedder: Embedder, claims: Claims) -> Callable[[str], list[str]]:
    def rank(text: str) -> list[str]:
        question = Question(text, limit=10, message_limit=max(DEPTHS))
        answer = search(installation.database, embedder, installation.settings, claims, question)
        return [message["external_id"] for message in answer.messages]

    return rank


def _ask(rank: Callable[[str], list[str]], asked: _Asked) -> _Ranked:
    started = time.perf_counter()
    turns = rank(asked.text)
    return _Ranked(asked, turns, time.perf_counter() - started)


def _recalls(found: Mapping[str, Sequence[_Ranked]]) -> str:
    rows = []
    for name, ranked in found.items():
        said = [one for one in ranked if one.asked.category != ADVERSARIAL]
        means = [[float(np.mean([one.recall(k) for one in group])) for k in DEPTHS] for group in (ranked, said)]
        rows.append([name, *(f"{mean:.3f}" for group in means for mean in group)])
    everything = next(iter(found.values()))
    counts = len(everything), sum(one.asked.category != ADVERSARIAL for one in everything)
    header = [
        "evidence recall of single messages",
        *(f"@{k}, all {counts[0]} questions" for k in DEPTHS),
        *(f"@{k}, the {counts[1]} without category {ADVERSARIAL}" for k in DEPTHS),
    ]
    return table(header, rows)


def _latencies(found: Mapping[str, Sequence[_Ranked]], uncached: Sequence[float]) -> str:
    seconds = {
        "search, vector of the question cached": [one.seconds for one in found["Neurigraph"]],
        "search, question embedded": uncached,
        "BM25 in memory": [one.seconds for one in found["BM25 alone"]],
    }
    rows = [
        [name, str(len(taken)), *(number(percentile(taken, p) * 1_000) for p in (50, 95))]
        for name, taken in seconds.items()
    ]
    return table(["latency", "questions", "p50 ms", "p95 ms"], rows)
