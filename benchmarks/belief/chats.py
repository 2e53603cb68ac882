"""What belief makes of BEAM's questions about contradictions, updates, order, and what was never said.

The chats are stored, read for facts and compared offline, with everything as it is by default. Skipped if the data
folder is absent.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any, cast
from uuid import UUID

import numpy as np

from benchmarks.bench import Bench
from benchmarks.quality.questions import BELIEF, DATA, BeliefQuestion, beam_beliefs
from benchmarks.report import percentile, spread, table
from neurigraph_pipelines.graph.provisioning import create_user
from neurigraph_pipelines.inbox.conversations import Inbox
from neurigraph_pipelines.ingestion.batch import run_due
from neurigraph_pipelines.knowledge import belief_lists as beliefs
from neurigraph_pipelines.knowledge import fact_lists as listing
from neurigraph_pipelines.knowledge.reading import read_waiting
from neurigraph_pipelines.knowledge.reconciling import reconcile_days, reconcile_waiting
from neurigraph_pipelines.model import Claims
from neurigraph_pipelines.model.context import Context
from neurigraph_pipelines.model.ports import LanguageModel, Transaction
from neurigraph_pipelines.model.verdicts import UNRELATED, Judgement, KnownFact, Pair
from neurigraph_pipelines.retrieval.ask import ask
from neurigraph_pipelines.retrieval.query.question import Question
from neurigraph_pipelines.retrieval.query.search import search
from neurigraph_pipelines.runtime.evaluation.samples import Sample
from neurigraph_pipelines.views.answers import Reply
from neurigraph_pipelines.views.kinds import Verdict
from neurigraph_pipelines.wiring.installation import Installation

DEPTH = 10
QUICK_MESSAGES = 40

METHOD = f"""**BEAM.** Three chats of a user and an assistant over months are stored with MiniLM, read for facts and
compared offline, with `NEURIGRAPH_RECONCILIATION=flag`. *Both among {DEPTH}*: a message of each of the two statements
that contradict or update each other is among the first {DEPTH} messages of a search. *Linked*: a verdict joins facts of
both; *conflict*: it says that they contradict or update each other. *Linked, model* is the same with a stand-in for a
language model, which knows what contradicts or updates what and judges nothing else: it says how many pairs reach a
model, over the facts that the rules read. *Newest first*: the later statement is ahead of the
earlier one, in the search or among the citations of an answer, where one of them is there. *Order*: the share of the
messages that an ordering names among the first {DEPTH}. *Abstains*: the answer to what was never said is that nothing
is known. *Answer of an ingest* is what `GET /v1/records/{{id}}/facts` takes for the first page of a memory."""

_LINKS = """
SELECT
    v.verdict,
    array_agg(DISTINCT l.record_id || ' ' || m) AS later,
    array_agg(DISTINCT e.record_id || ' ' || n) AS earlier
FROM neurigraph.fact_verdicts AS v
INNER JOIN neurigraph.facts AS l ON v.later_id = l.fact_id
INNER JOIN neurigraph.facts AS e ON v.earlier_id = e.fact_id
CROSS JOIN generate_series(l.first_message, l.last_message) AS m
CROSS JOIN generate_series(e.first_message, e.last_message) AS n
WHERE v.user_id = %s
GROUP BY v.later_id, v.earlier_id, v.verdict
"""
_PLACES = """
SELECT i.record_id || ' ' || m.seq AS place, m.external_id AS name
FROM neurigraph.record_index AS i
INNER JOIN neurigraph.messages AS m ON i.source_id = m.source_id
WHERE i.user_id = %s
"""


class _Knowing:
    """Stands in for a language model: it knows which messages are at odds, and says so of their facts."""

    name = "stand-in"
    concurrency = 1

    def __init__(self, places: Mapping[str, str], questions: Sequence[BeliefQuestion]) -> None:
        self._places = places
        self._at_odds = [(one.earlier, one.later, one.kind) for one in questions if one.earlier]

    def judge(self, pairs: Sequence[Pair]) -> list[Judgement]:
        return [self._judged(*(self._places.get(_place_of(one), "") for one in (pair.earlier, pair.later)))
                for pair in pairs]  # fmt: skip

    def _judged(self, one: str, other: str) -> Judgement:
        for earlier, later, kind in self._at_odds:
            if (one in earlier and other in later) or (one in later and other in earlier):
                verdict = Verdict.CONTRADICTS if kind == BELIEF["contradiction_resolution"] else Verdict.UPDATES
                return Judgement(verdict, 0.9, "the two messages are known to be at odds")
        return UNRELATED


def _place_of(fact: KnownFact) -> str:
    return f"{fact.record_id} {fact.message}"


def tables(bench: Bench) -> Iterator[str]:
    """Yield what was found by kind of question, and what comparing costs."""
    found: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    costs: list[list[str]] = []
    with bench.installation() as installation:
        for sample, questions in beam_beliefs():
            if bench.quick and costs:
                break
            given = sample.beginning(QUICK_MESSAGES) if bench.quick else sample
            bench.say(f"{given.name}: storing {len(given.messages):,} messages")
            claims = store(installation, given)
            costs.append([given.name, *_costs(installation, claims)])
            joined, context = _joined(installation, claims.user_id), installation.acting_for(claims)
            bench.say(f"{given.name}: asking {len(questions)} questions")
            answered = [_measured(context, joined, asked) for asked in questions]
            by_model = _judged_again(installation, claims, questions)
            for asked, measured in zip(questions, answered, strict=True):
                if asked.earlier:
                    measured["linked, model"] = float(_is_joined(asked, by_model))
                for name, value in measured.items():
                    found[asked.kind][name].append(value)
    if not costs:
        yield f"BEAM: skipped, because there are no chats in {DATA}."
        return
    columns = list(dict.fromkeys(name for kind in found.values() for name in kind))
    rows = [
        [kind, *(_mean(found[kind].get(name, ())) for name in columns)] for kind in BELIEF.values() if kind in found
    ]
    yield table(["questions", *columns], rows)
    yield table(
        ["chat", "facts", "verdicts", "reading s", "comparing s", "answer of an ingest ms", "99 % of them ms"], costs
    )


def places(tx: Transaction, user_id: UUID) -> dict[str, str]:
    """Return the names of a user's messages, by record and number."""
    return {row["place"]: row["name"] for row in tx.execute(_PLACES, [user_id])}


def store(installation: Installation, given: Sample) -> Claims:
    """Store a sample for a user of its own."""
    user, _ = create_user(installation.database, given.name)
    claims = Claims.of_user(user.user_id)
    with installation.database.agent(claims) as tx:
        for conversation in given.conversations:
            ended = replace(conversation, ended_at=conversation.started_at)
            Inbox(installation.context).add_conversations(tx, user.user_id, [ended])
    for result in run_due(installation.context, "benchmark"):
        assert not result.returned, result.returned
    return claims


def _judged_again(
    installation: Installation, claims: Claims, questions: Sequence[BeliefQuestion]
) -> list[frozenset[str]]:
    """Take back all verdicts, and return the pairs of messages that the stand-in joins."""
    with installation.database.owner() as tx:
        tx.execute("DELETE FROM neurigraph.fact_verdicts WHERE user_id = %s", [claims.user_id])
        names = places(tx, claims.user_id)
    knowing = installation.context.using(language_model=cast("LanguageModel", _Knowing(names, questions)))
    done = reconcile_days(knowing, None, datetime.now(UTC) + timedelta(days=1), claims.user_id)
    assert not done.failed, done.failed
    return [pair for pairs in _joined(installation, claims.user_id).values() for pair in pairs]


def _costs(installation: Installation, claims: Claims) -> list[str]:
    """Read and compare what was stored; return the counts, the processor seconds, and how long an answer takes."""
    context = installation.context
    times = [time.process_time()]
    read = read_waiting(context, user_id=claims.user_id)
    assert not read.failed, read.failed
    times.append(time.process_time())
    compared = reconcile_waiting(context, user_id=claims.user_id)
    times.append(time.process_time())
    assert not compared.failed, compared.failed
    with installation.database.pipeline() as tx:
        query = "SELECT record_id FROM neurigraph.record_index WHERE user_id = %s"
        ids = [row["record_id"] for row in tx.execute(query, [claims.user_id])]
    taken = []
    for record_id in ids:
        started = time.perf_counter()
        wanted = listing.FactFilter(record_id=record_id)
        page = listing.list_facts(installation.listing(claims, limit=50), wanted)
        beliefs.brought(installation.database, claims, record_id, page)
        taken.append((time.perf_counter() - started) * 1_000)
    seconds = [f"{after - before:.1f}" for before, after in pairwise(times)]
    return [f"{read.facts:,}", f"{compared.verdicts:,}", *seconds, spread(taken), f"{percentile(taken, 99):.0f}"]


def _joined(installation: Installation, user_id: UUID) -> dict[str, list[frozenset[str]]]:
    """Return the pairs of messages that verdicts join, by verdict."""
    with installation.database.pipeline() as tx:
        names = places(tx, user_id)
        rows = tx.execute(_LINKS, [user_id]).fetchall()
    joined: dict[str, list[frozenset[str]]] = defaultdict(list)
    for row in rows:
        joined[row["verdict"]] += [
            frozenset((names[one], names[other])) for one in row["later"] for other in row["earlier"]
        ]
    return joined


def _measured(
    context: Context, joined: Mapping[str, Sequence[frozenset[str]]], asked: BeliefQuestion
) -> dict[str, float]:
    reply = ask(context, Question(asked.text))
    if not asked.later:
        return {"abstains": float(not reply.found)}
    answer = search(context, Question(asked.text, message_limit=50))
    ranked = [str(message.external_id) for message in answer.messages]
    if not asked.earlier:
        return {"order": len(asked.later.intersection(ranked[:DEPTH])) / len(asked.later)}
    measured = {
        f"both among {DEPTH}": float(bool(asked.earlier & set(ranked[:DEPTH]) and asked.later & set(ranked[:DEPTH]))),
        "linked": float(_is_joined(asked, [pair for pairs in joined.values() for pair in pairs])),
        "conflict": float(_is_joined(asked, [*joined["updates"], *joined["contradicts"]])),
    }
    for name, order in (("newest first, search", ranked), ("newest first, answer", _cited(reply))):
        first = next((one for one in order if one in asked.earlier | asked.later), None)
        if first is not None:
            measured[name] = float(first in asked.later)
    return measured


def _is_joined(asked: BeliefQuestion, pairs: Sequence[frozenset[str]]) -> bool:
    return any(pair & asked.earlier and pair & asked.later for pair in pairs)


def _cited(reply: Reply) -> list[str]:
    return [one.external_id for one in reply.citations if one.external_id is not None]


def _mean(values: Sequence[Any]) -> str:
    return f"{np.mean(values):.2f} of {len(values)}" if values else ""
