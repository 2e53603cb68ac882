"""Recall of the sources of answers by Neurigraph's message ranking and of three baseline rankings."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import numpy as np

from benchmarks.bench import Bench
from benchmarks.quality.application import Application, Found, server
from benchmarks.quality.questions import ASSISTANT, MEETINGS, beam, locomo, qmsum, together
from benchmarks.report import Section, table
from neurigraph_pipelines.ingestion.batch import run_due
from neurigraph_pipelines.model.ports import Embedder
from neurigraph_pipelines.runtime.evaluation.published import CATEGORIES
from neurigraph_pipelines.runtime.evaluation.ranking import Rank, fuse_by_rank, rank_by_bm25, rank_by_cosine
from neurigraph_pipelines.runtime.evaluation.samples import LabelledQuestion, Sample

DEPTHS = (1, 5, 10, 20)
WORDS = 1_000
MESSAGES = 50
"""Number of messages requested for each question."""
SESSIONS = (1, 5)
ADVERSARIAL = CATEGORIES[5]
QUICK_MESSAGES, QUICK_LONG_MESSAGES = 60, 12
"""Messages of the first conversation and of the shortest meeting in a quick run, and of the first chat."""

_COLUMNS = (
    *(f"@{depth}" for depth in DEPTHS),
    f"{WORDS:,} words",
    "hit@1",
    "MRR",
    *(f"sessions @{depth}" for depth in SESSIONS),
)
Search = Callable[[str], Found]
_Measured = tuple[str, tuple[float, ...]]
"""The category of a question and what ``scores`` gives for it."""

_METHOD = f"""Three conversations of LoCoMo (ACL 2024) and three chats of BEAM between a user and an assistant, one
user each, and eight meetings of QMSum (NAACL 2021), all of one user, are sent over HTTP to a server process and stored
by the whole job with the offline model and the local embedder. Every question goes to `POST /v1/search` for {MESSAGES}
messages. Recall at k is the share of a question's sources among the first k messages. Within {WORDS:,} words, it is
the share among the first messages with together at most that many words, which is fair to rankings of long and of
short messages. Hit@1 says whether the first message is a source, and MRR is the mean of 1 / place of the first that
is. Sessions at k is the share of the conversations and meetings with sources among those of the first k records; of a
baseline, among those of its messages in order. Figures are means over questions. LoCoMo's adversarial questions name
the wrong speaker. In QMSum the sources are a run of dozens of turns, so ten messages can only hold a fraction.
Baselines of the same run on the same messages (`Speaker: text`): cosine of published MiniLM's vectors, BM25 in Python
with the product's stemming (k1 1.5, b 0.75), and reciprocal rank fusion of the two (k 60)."""


def run(bench: Bench) -> Section:
    """Ask every question of every sample, four ways."""
    conversations, chats, meetings = locomo(), beam(), qmsum()
    if bench.quick:
        shortest = min(meetings, key=lambda meeting: len(meeting.messages))
        conversations, meetings = [conversations[0].beginning(QUICK_MESSAGES)], [shortest.beginning(QUICK_MESSAGES)]
        chats = [chats[0].beginning(QUICK_LONG_MESSAGES)]
    samples = [*conversations, *chats, together("meetings", meetings)]
    found: dict[str, list[_Measured]] = {}
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
            ours: Search = partial(application.search, messages=MESSAGES)
            for name, search in {
                "Neurigraph": ours,
                **_baselines(sample, installation.make_embedder("minilm")),
            }.items():
                found.setdefault(name, []).extend(
                    (asked.category, scores(search(asked.text), asked, sample)) for asked in sample.questions
                )
    return Section("Search quality", _METHOD, _means(found))


def _baselines(sample: Sample, embedder: Embedder) -> dict[str, Search]:
    texts = {name: f"{message.author}: {message.content}" for name, message in sample.messages.items()}
    dense, lexical = rank_by_cosine(texts, embedder), rank_by_bm25(texts)
    ranks = {"BM25 alone": lexical, "MiniLM alone": dense, "reciprocal rank fusion": fuse_by_rank(dense, lexical)}
    sessions = sample.sessions

    def search(rank: Rank, question: str) -> Found:
        ranked = rank(question)
        return Found(ranked[:MESSAGES], list(dict.fromkeys(map(sessions.__getitem__, ranked))))

    return {name: partial(search, rank) for name, rank in ranks.items()}


def scores(found: Found, asked: LabelledQuestion, sample: Sample) -> tuple[float, ...]:
    """Return the worth of a question's sources in a ranking, in the order of ``_COLUMNS``."""
    ranked, messages, sessions = found.messages, sample.messages, sample.sessions
    words = np.cumsum([len(messages[name].content.split()) for name in ranked])
    within = int(np.searchsorted(words, WORDS, side="right"))
    first = next((place for place, name in enumerate(ranked, 1) if name in asked.sources), None)
    in_sessions = frozenset(sessions[name] for name in asked.sources)
    return (
        *(_recall(ranked[:depth], asked.sources) for depth in (*DEPTHS, within)),
        float(first == 1),
        1 / first if first is not None else 0.0,
        *(_recall(found.sessions[:depth], in_sessions) for depth in SESSIONS),
    )


def _recall(found: Sequence[str], wanted: frozenset[str]) -> float:
    return len(wanted.intersection(found)) / len(wanted)


def _means(found: Mapping[str, Sequence[_Measured]]) -> str:
    said = [category for category in CATEGORIES.values() if category != ADVERSARIAL]
    groups = {
        "LoCoMo, all": (*said, ADVERSARIAL),
        f"LoCoMo, without {ADVERSARIAL}": said,
        **{f"LoCoMo, {category}": (category,) for category in CATEGORIES.values()},
        "BEAM": (ASSISTANT,),
        "QMSum": (MEETINGS,),
    }
    rows = []
    for group, categories in groups.items():
        for name, results in found.items():
            counted = [shares for category, shares in results if category in categories]
            if counted:
                means = np.mean(counted, axis=0)
                rows.append([group, str(len(counted)), name, *(f"{mean:.3f}" for mean in means)])
    return table(["questions", "how many", "ranking", *_COLUMNS], rows)
