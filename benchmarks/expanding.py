"""What would be gained if a search followed links, and if it read digests.

Each question is asked once. What its first hits lead to, and what the digests nearest to it cover, then gets a bonus.
The recall of the new order is counted.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from typing import Any, Literal
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from benchmarks.belief.chats import places, store
from benchmarks.bench import Bench
from benchmarks.quality.questions import CATEGORIES, LabelledQuestion, Sample, beam, locomo
from benchmarks.report import Section, table
from neurigraph_pipelines.knowledge.digesting import DAYS, sweep
from neurigraph_pipelines.knowledge.reading import read_waiting
from neurigraph_pipelines.knowledge.reconciling import reconcile_waiting
from neurigraph_pipelines.model.ports import Embedder
from neurigraph_pipelines.retrieval.query.question import Question
from neurigraph_pipelines.retrieval.query.search import search
from neurigraph_pipelines.text.lexemes import lexer_of
from neurigraph_pipelines.wiring.installation import Installation

MESSAGES, FACTS, DIGESTS = 300, 10, 3
STARTS = (3, 10)
BONUSES = (0.01, 0.02, 0.05, 0.1, 0.2)
IN_COMMON = 0.5
"""Least share of the words of the shorter of two statements that the other one has."""
DEPTHS = (10, 20)
MULTI_HOP, GOAL, LOSS = CATEGORIES[1], (0.56, 0.72), 0.002
QUICK_MESSAGES = 60

_METHOD = f"""The conversations of LoCoMo and the chats of BEAM are stored by the whole job with the offline model and
MiniLM, read for facts, compared, and put into digests. Each question goes to `search` for {MESSAGES} messages. What the
first {STARTS[0]} or {STARTS[1]} messages lead to then gets a bonus, and so does what the {DIGESTS} digests cover whose
texts are nearest to the question, by cosine. Of each way, the row has the start and the bonus
({", ".join(map(str, BONUSES))}) with which LoCoMo's multi-hop questions gain most. Columns are recall among the first
{DEPTHS[0]} and {DEPTHS[1]} messages; *most lost* is the greatest loss of another column. *Gained without a loss* is the
greatest gain of any column with a start and a bonus for which no column loses more than {LOSS}. The goals of multi-hop
are {GOAL[0]} and {GOAL[1]} with no other column losing more. The table of answers says how often all words of one are
in the first {DEPTHS[0]} messages, in these with the nearest digests, and in these with as many words
of what follows."""

_FACTS = """
SELECT f.fact_id, f.statement, f.who, array_agg(f.record_id || ' ' || m) AS places
FROM neurigraph.facts AS f CROSS JOIN generate_series(f.first_message, f.last_message) AS m
WHERE f.user_id = %s GROUP BY f.fact_id
"""
_VERDICTS = "SELECT v.later_id AS one, v.earlier_id AS other FROM neurigraph.fact_verdicts AS v WHERE v.user_id = %s"
_LINKS = """
SELECT l.from_id AS one, l.to_id AS other FROM neurigraph.links AS l
WHERE l.user_id = %s AND l.from_fact_id IS NOT NULL AND l.to_fact_id IS NOT NULL
"""
_MENTIONS = """
SELECT m.node_id, s.seq, m.record_id || ' ' || s.seq AS place
FROM neurigraph.mentions AS m CROSS JOIN unnest(m.messages) AS s (seq)
WHERE m.user_id = %s AND m.node_id IS NOT NULL
"""
_DIGESTS = """
SELECT d.days, d.title || E'\\n' || d.text AS text, array_agg(r.record_id::text) AS records
FROM neurigraph.digests AS d INNER JOIN neurigraph.digest_records AS r ON d.digest_id = r.digest_id
WHERE d.user_id = %s GROUP BY d.digest_id
"""
Reached = dict[str, float]
"""Messages and how much of the bonus each gets."""


@dataclass(frozen=True, slots=True)
class _Asked:
    """A question with what the search returned for it, and what each way of expanding reaches."""

    question: LabelledQuestion
    scores: Mapping[str, float]
    reached: Mapping[tuple[str, int], Reached]
    answer: tuple[bool, bool, bool] | None

    def recall(self, bonus: float, way: tuple[str, int] | None) -> list[float]:
        """Return the recall at each depth with a bonus for what a way reaches."""
        scores = dict(self.scores)
        for name, weight in (self.reached[way] if way else {}).items():
            scores[name] = scores.get(name, 0.0) + bonus * weight
        ranked = sorted(scores, key=lambda name: -scores[name])
        wanted = self.question.evidence
        return [len(wanted.intersection(ranked[:depth])) / len(wanted) for depth in DEPTHS]


class _Graph:
    """What was read out of the memories of one user."""

    def __init__(self, installation: Installation, user_id: UUID) -> None:
        with installation.database.pipeline() as tx:
            self.names = places(tx, user_id)
            facts = tx.execute(_FACTS, [user_id]).fetchall()
            self.digests = tx.execute(_DIGESTS, [user_id]).fetchall()
            pairs = {
                "verdicts between facts": [(row["one"], row["other"]) for row in tx.execute(_VERDICTS, [user_id])],
                "links of rules": [(row["one"], row["other"]) for row in tx.execute(_LINKS, [user_id])],
            }
            mentions = tx.execute(_MENTIONS, [user_id]).fetchall()
        self.said = {row["fact_id"]: [self.names[place] for place in row["places"]] for row in facts}
        lexer = lexer_of("english")
        words = {row["fact_id"]: (frozenset(lexer.lexemes(row["statement"])), set(row["who"])) for row in facts}
        pairs["facts of one person with words in common"] = list(_alike(words))
        self.neighbours = {name: _both_ways(each) for name, each in pairs.items()}
        self.facts_of: dict[str, list[UUID]] = defaultdict(list)
        for fact_id, names in self.said.items():
            for name in names:
                self.facts_of[name].append(fact_id)
        by_node: dict[UUID, set[str]] = defaultdict(set)
        for row in mentions:
            by_node[row["node_id"]].add(self.names[row["place"]])
        self.nodes = list(by_node.values())
        self.vectors = _embedded(installation.embedder, [row["text"] for row in self.digests])
        self.covered = [self._of_records(set(row["records"])) for row in self.digests]

    def _of_records(self, records: set[str]) -> list[str]:
        return [name for place, name in self.names.items() if place.partition(" ")[0] in records]

    def walked(self, neighbours: Mapping[UUID, set[UUID]], hops: int, starts: Sequence[str]) -> Reached:
        """Return the messages of the facts that are reached from those of the first messages."""
        seen = frontier = {fact for name in starts for fact in self.facts_of.get(name, ())}
        for _ in range(hops):
            frontier = {other for fact in frontier for other in neighbours.get(fact, ())} - seen
            seen = seen | frontier
        begun = {fact for name in starts for fact in self.facts_of.get(name, ())}
        return {name: 1.0 for fact in seen - begun for name in self.said[fact]}

    def with_same_node(self, starts: Sequence[str]) -> Reached:
        """Return the messages that mention a node which a first message mentions."""
        return {name: 1.0 for node in self.nodes if not node.isdisjoint(starts) for name in node}

    def beside(self, starts: Sequence[str]) -> Reached:
        """Return the messages before and after the first ones."""
        where = {name: place.split() for place, name in self.names.items()}
        found: Reached = {}
        for record, seq in (where[name] for name in starts):
            for other in (int(seq) - 1, int(seq) + 1):
                if (name := self.names.get(f"{record} {other}")) is not None:
                    found[name] = 1.0
        return found

    def digested(self, days: int, vector: NDArray[Any]) -> tuple[Reached, str]:
        """Return the messages that the nearest digests of a length cover, and what these say."""
        near = self.vectors @ vector if self.digests else np.zeros(0)
        best = [one for one in np.argsort(-near) if self.digests[one]["days"] == days][:DIGESTS]
        reached: Reached = {}
        for one in best:
            for name in self.covered[one]:
                reached[name] = max(reached.get(name, 0.0), float(near[one]))
        return reached, " ".join(self.digests[one]["text"] for one in best)


def run(bench: Bench) -> Section:
    """Ask every question, and count each way of expanding."""
    samples = [*locomo(), *beam()]
    if bench.quick:
        samples = [samples[0].beginning(QUICK_MESSAGES)]
    asked, sizes = [], []
    with bench.installation() as installation:
        for sample in samples:
            bench.say(f"{sample.name}: storing {len(sample.messages):,} messages, asking {len(sample.questions)}")
            found, size = _asked_of(installation, sample)
            asked += found
            sizes.append([sample.name, *size])
    ways = list(dict.fromkeys(name for one in asked for name, _ in one.reached))
    columns = [name for name in (*CATEGORIES.values(), "user and assistant") if any(_of(asked, name))]
    parts = [
        table(
            ["expanded by", *columns, "most lost", "gained without a loss"],
            [_row(asked, None, columns), *(_row(asked, way, columns) for way in ways)],
        ),
        _missing(asked, ways),
        _answers(asked),
        table(["stored", "facts", "verdicts", "links of rules", "digests"], sizes),
    ]
    return Section("Links and digests in search", _METHOD, "\n\n".join(parts))


def _asked_of(installation: Installation, sample: Sample) -> tuple[list[_Asked], list[str]]:
    claims = store(installation, sample)
    context = installation.acting_for(claims)
    assert not read_waiting(installation.context, user_id=claims.user_id).failed
    assert not reconcile_waiting(installation.context, user_id=claims.user_id).failed
    while sweep(installation.context, user_id=claims.user_id).written:
        pass
    graph = _Graph(installation, claims.user_id)
    found = []
    for question in sample.questions:
        answer = search(context, Question(question.text, message_limit=MESSAGES, include_facts=True))
        scores = {str(one.external_id): float(one.score) for one in answer.messages}
        first = list(scores)
        vector = _embedded(installation.embedder, [question.text], "query")[0]
        said = [graph.said[one.fact_id] for one in (answer.facts or ())[:FACTS]]
        digests = {days: graph.digested(days, vector) for days in DAYS}
        reached = {
            **_walks(graph, first),
            ("the ten best facts themselves", FACTS): {name: 1.0 for names in said for name in names},
            **{(f"digests of {days} days", DIGESTS): digests[days][0] for days in DAYS},
        }
        texts = [sample.messages[name].content for name in first]
        answers = _answered(question.answer, texts, " ".join(text for _, text in digests.values()))
        found.append(_Asked(question, scores, reached, answers))
    links, verdicts = (len(graph.neighbours[name]) // 2 for name in ("links of rules", "verdicts between facts"))
    return found, [str(len(graph.said)), str(verdicts), str(links), str(len(graph.digests))]


def _walks(graph: _Graph, first: Sequence[str]) -> dict[tuple[str, int], Reached]:
    walks: dict[str, Callable[[Sequence[str]], Reached]] = {
        f"{name}, {hops} hop{'s' * (hops > 1)}": partial(graph.walked, neighbours, hops)
        for name, neighbours in graph.neighbours.items()
        for hops in (1, 2)
    }
    walks["messages that mention the same node"] = graph.with_same_node
    walks["messages before and after"] = graph.beside
    return {(name, starts): walk(first[:starts]) for name, walk in walks.items() for starts in STARTS}


def _alike(words: Mapping[UUID, tuple[frozenset[str], set[str]]]) -> Iterable[tuple[UUID, UUID]]:
    for one, other in combinations(words, 2):
        (first, whose), (second, whose_too) = words[one], words[other]
        if whose & whose_too and len(first & second) >= IN_COMMON * max(1, min(len(first), len(second))):
            yield one, other


def _both_ways(pairs: Iterable[tuple[UUID, UUID]]) -> dict[UUID, set[UUID]]:
    found: dict[UUID, set[UUID]] = defaultdict(set)
    for one, other in pairs:
        found[one].add(other)
        found[other].add(one)
    return found


def _embedded(
    embedder: Embedder, texts: Sequence[str], kind: Literal["document", "query"] = "document"
) -> NDArray[np.float32]:
    vectors = embedder.embed(list(texts), kind) if texts else np.zeros((0, 1), np.float32)
    unit: NDArray[np.float32] = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)
    return unit


def _answered(answer: str, messages: Sequence[str], digests: str) -> tuple[bool, bool, bool] | None:
    """Return whether the words of an answer are in the first messages, with digests, and with as many words more."""
    lexer = lexer_of("english")
    wanted = set(lexer.lexemes(answer))
    if not wanted:
        return None
    said = set(lexer.lexemes(" ".join(messages[: DEPTHS[0]])))
    more = " ".join(messages[DEPTHS[0] :]).split()[: len(digests.split())]
    return (
        wanted <= said,
        wanted <= said | set(lexer.lexemes(digests)),
        wanted <= said | set(lexer.lexemes(" ".join(more))),
    )


def _of(asked: Sequence[_Asked], category: str) -> list[_Asked]:
    return [one for one in asked if one.question.category == category]


def _means(
    asked: Sequence[_Asked], columns: Sequence[str], bonus: float, way: tuple[str, int] | None
) -> list[NDArray[Any]]:
    return [np.mean([one.recall(bonus, way) for one in _of(asked, name)], axis=0) for name in columns]


def _row(asked: Sequence[_Asked], name: str | None, columns: Sequence[str]) -> list[str]:
    """Return the row of a way, with the start and the bonus that are best for the first column."""
    plain = _means(asked, columns, 0.0, None)
    if name is None:
        return ["nothing: the search as it is", *map(_shown, plain), "", ""]
    tried = [
        (_means(asked, columns, bonus, way), f"{name} (first {way[1]}, {bonus})")
        for way in asked[0].reached
        if way[0] == name
        for bonus in BONUSES
    ]
    gains = [
        [float(value) for after, before in zip(means, plain, strict=True) for value in after - before]
        for means, _ in tried
    ]
    harmless = [max(each) for each in gains if min(each) >= -LOSS]
    means, chosen = max(tried, key=lambda one: float(one[0][0].sum()))
    lost = max((float((before - after).max()) for before, after in zip(plain[1:], means[1:], strict=True)), default=0.0)
    return [chosen, *map(_shown, means), f"{max(0.0, lost):.3f}", f"{max(harmless, default=0.0):.3f}"]


def _shown(mean: NDArray[Any]) -> str:
    return ", ".join(f"{value:.3f}" for value in mean)


def _missing(asked: Sequence[_Asked], ways: Sequence[str]) -> str:
    """Return the table of what each way reaches of the evidence that the first messages do not have."""
    rows = []
    of = _of(asked, MULTI_HOP)
    firsts = [set(sorted(one.scores, key=lambda name: -one.scores[name])[: DEPTHS[0]]) for one in of]
    missing = [one.question.evidence - first for one, first in zip(of, firsts, strict=True)]
    total = sum(map(len, missing))
    for name in ways:
        way = max((key for key in of[0].reached if key[0] == name), key=lambda key: key[1]) if of else (name, 0)
        hit = sum(len(wanted & one.reached[way].keys()) for one, wanted in zip(of, missing, strict=True))
        others = [
            len(one.reached[way].keys() - one.question.evidence - first) for one, first in zip(of, firsts, strict=True)
        ]
        rows.append([name, str(hit), f"{np.mean(others) if others else 0:.1f}"])
    deep = {50: 0, MESSAGES: 0}
    for one in of:
        ranked = sorted(one.scores, key=lambda name: -one.scores[name])
        for depth in deep:
            deep[depth] += len(one.question.evidence.intersection(ranked[:depth]))
    all_of = sum(len(one.question.evidence) for one in of)
    text = (
        f"The multi-hop questions have {all_of} messages of evidence; {total} of them are not among the first "
        f"{DEPTHS[0]}, {all_of - deep[50]} not among the first 50."
    )
    header = [f"from the first {STARTS[1]} by", f"of the {total} reached", "other messages reached, a question"]
    return f"{text}\n\n{table(header, rows)}"


def _answers(asked: Sequence[_Asked]) -> str:
    """Return the table of the answers whose words all are there."""
    rows = []
    for category in CATEGORIES.values():
        known = [one.answer for one in _of(asked, category) if one.answer is not None]
        if known:
            rows.append([category, str(len(known)), *(f"{np.mean(shares):.3f}" for shares in zip(*known, strict=True))])
    header = ["questions", "how many", f"in the first {DEPTHS[0]} messages", "with digests", "with as many words more"]
    return table(header, rows)
