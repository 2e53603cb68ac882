"""Evidence recall of Neurigraph's message ranking and of three baseline rankings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np

from benchmarks.bench import Bench
from benchmarks.quality.application import Application, server
from benchmarks.quality.questions import CATEGORIES, MEETINGS, LabelledQuestion, Sample, locomo, qmsum, together
from benchmarks.ranking import Rank, fuse_by_rank, rank_by_bm25, rank_by_cosine
from benchmarks.report import Section, table
from neurigraph_pipelines.ingestion.batch import run_due
from neurigraph_pipelines.ports import Embedder

DEPTHS = (1, 5, 10, 20)
WORDS = 1_000
MESSAGES = 50
"""Number of messages requested for each question."""
ADVERSARIAL = CATEGORIES[5]
QUICK_MESSAGES = 60
"""Messages of the first conversation and of the shortest meeting in a quick run."""

_Found = tuple[str, tuple[float, ...]]
"""The category of a question and the result of ``recalls`` for it."""

_METHOD = f"""Three conversations of LoCoMo (ACL 2024), one user each, and eight meetings of QMSum (NAACL 2021), all of
one user, are sent over HTTP to a server process and stored by the whole job with the offline model and MiniLM. Every
question goes to `POST /v1/search` for {MESSAGES} messages. Recall at k is the share of a question's evidence among the
first k messages. Within {WORDS:,} words, it is the share among the first messages with together at most that many
words, which is fair to rankings of long and of short messages. Figures are means over questions. LoCoMo's adversarial
questions name the wrong speaker. In QMSum the evidence is a run of dozens of turns, so ten messages can only hold a
fraction. Baselines of the same run on the same messages (`Speaker: text`): cosine of MiniLM's vectors, BM25 in Python
with the product's stemming (k1 1.5, b 0.75), and reciprocal rank fusion of the two (k 60)."""


def run(bench: Bench) -> Section:
    """Ask every question of every sample, four ways."""
    conversations, meetings = locomo(), qmsum()
    if bench.quick:
        shortest = min(meetings, key=lambda meeting: len(meeting.messages))
        conversations, meetings = [conversations[0].beginning(QUICK_MESSAGES)], [shortest.beginning(QUICK_MESSAGES)]
    samples = [*conversations, together("meetings", meetings)]
    found: dict[str, list[_Found]] = {}
    with (
        bench.installation() as installation,
        server(bench.environment(installation), installation.home / "api.log") as client,
    ):
        for sample in samples:
            bench.say(f"{sample.name}: storing {len(sample.messages):,} messages")
            application = Application(client, sample.name)
            for conversation in sample.conversations:
                application.remember(conversation)
            for result in run_due(installation.context, "benchmark"):
                assert not result.returned, result.returned
            bench.say(f"{sample.name}: asking {len(sample.questions)} questions")
            baselines = _baselines(sample, installation.embedder)
            ours: Rank = partial(application.search, messages=MESSAGES)
            for name, rank in {"Neurigraph": ours, **baselines}.items():
                found.setdefault(name, []).extend(
                    (asked.category, recalls(rank(asked.text)[:MESSAGES], asked, sample)) for asked in sample.questions
                )
    return Section("Search quality", _METHOD, _means(found))


def _baselines(sample: Sample, embedder: Embedder) -> dict[str, Rank]:
    texts = {name: f"{message.author}: {message.content}" for name, message in sample.messages.items()}
    dense, lexical = rank_by_cosine(texts, embedder), rank_by_bm25(texts)
    return {"BM25 alone": lexical, "MiniLM alone": dense, "reciprocal rank fusion": fuse_by_rank(dense, lexical)}


def recalls(ranked: Sequence[str], asked: LabelledQuestion, sample: Sample) -> tuple[float, ...]:
    """Return the share of a question's evidence in a ranking: at each of ``DEPTHS``, then within ``WORDS``."""
    messages = sample.messages
    words = np.cumsum([len(messages[name].content.split()) for name in ranked])
    within = int(np.searchsorted(words, WORDS, side="right"))
    cuts = [ranked[:depth] for depth in (*DEPTHS, within)]
    return tuple(len(asked.evidence.intersection(cut)) / len(asked.evidence) for cut in cuts)


def _means(found: Mapping[str, Sequence[_Found]]) -> str:
    said = [category for category in CATEGORIES.values() if category != ADVERSARIAL]
    groups = {
        "LoCoMo, all": (*said, ADVERSARIAL),
        f"LoCoMo, without {ADVERSARIAL}": said,
        **{f"LoCoMo, {category}": (category,) for category in CATEGORIES.values()},
        "QMSum": (MEETINGS,),
    }
    rows = []
    for group, categories in groups.items():
        for name, results in found.items():
            counted = [shares for category, shares in results if category in categories]
            if counted:
                means = np.mean(counted, axis=0)
                rows.append([group, str(len(counted)), name, *(f"{mean:.3f}" for mean in means)])
    return table(["questions", "how many", "ranking", *(f"@{depth}" for depth in DEPTHS), f"{WORDS:,} words"], rows)
