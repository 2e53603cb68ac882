"""What stories told as ordinary chats leave in a graph: facts, links, updates, contradictions, and graph questions.

``python -m benchmarks.stories FILE ...`` prints what was found in some stories, for reading.
"""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from benchmarks.bench import PROJECT_ROOT, Bench, forget_own_settings
from benchmarks.report import Section, table
from neurigraph_pipelines.database.paging import Listing
from neurigraph_pipelines.ingestion.batch import run_due
from neurigraph_pipelines.knowledge.fact_lists import FactFilter, list_facts
from neurigraph_pipelines.knowledge.fact_queries import QueryFacts, QueryKind, query_facts
from neurigraph_pipelines.knowledge.link_lists import LinkFilter, list_links
from neurigraph_pipelines.knowledge.reading import read_waiting
from neurigraph_pipelines.knowledge.reconciling import reconcile_waiting
from neurigraph_pipelines.model import Claims
from neurigraph_pipelines.runtime.stack.demo import tell_story
from neurigraph_pipelines.text.lexemes import lexer_of
from neurigraph_pipelines.views.facts import Fact
from neurigraph_pipelines.views.links import Link
from neurigraph_pipelines.wiring.installation import Installation

FOLDER = PROJECT_ROOT / "samples" / "stories"
DEVELOPMENT = "development"

_METHOD = """Each story of `samples/stories` is stored for a user of its own, as an ordinary chat whose messages have no
author. Its labels are what a careful reader expects. A fact is found if one statement has all words of its label; a
*slot* is right if subject, predicate and object are; a link is right if both its ends and its relation are. An update
counts if the later fact supersedes the earlier one, or is proposed to; *alarms* are superseded or proposed pairs that
no label has. A question is answered if the expected fact is among the first five matches or related facts; *paths* are
those of `why` that lead there from another fact."""


@dataclass(frozen=True, slots=True)
class Told:
    """What a story left in its graph."""

    facts: Sequence[Fact]
    links: Sequence[Link]
    actions: Sequence[dict[str, Any]]
    answers: Sequence[tuple[bool, bool]]


@dataclass(slots=True)
class Scores:
    """Counts by measure, each with how many there are; lines for reading."""

    right: Counter[str] = field(default_factory=Counter)
    of: Counter[str] = field(default_factory=Counter)
    lines: list[str] = field(default_factory=list)

    def add(self, measure: str, label: object, *, is_right: bool) -> None:
        """Count one label."""
        self.right[measure] += is_right
        self.of[measure] += 1
        self.lines.append(f"{'+' if is_right else '-'} {measure}: {label}")

    def shown(self, measure: str) -> str:
        """Return a measure for the table."""
        return f"{self.right[measure]} of {self.of[measure]}" if self.of[measure] else "–"


STATED = ("caused_by", "influenced_by", "depends_on", "part_of", "instance_of", "decided_by")
"""Relations of links; the others follow from verdicts."""

COLUMNS = ("facts", "slots", "links", "wrong links", "updates", "contradictions", "alarms", "why", "paths", "changed",
           "about", "connected")  # fmt: skip


def run(bench: Bench) -> Section:
    """Tell the stories, and count what was found, per half."""
    rows = []
    stories = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(FOLDER.glob("*.json"))]
    for half in dict.fromkeys(story["half"] for story in stories):
        for kind, chosen in (("stories", True), ("single sentences", False)):
            some = [one for one in stories if one["half"] == half and bool(one["questions"]) is chosen]
            scores = _sum([score(one, tell(bench, one)) for one in some])
            rows.append([f"{half}, {kind}", *map(scores.shown, COLUMNS)])
    return Section("Stories", _METHOD, table(["", *COLUMNS], rows))


def tell(bench: Bench, story: dict[str, Any]) -> Told:
    """Store a story, and read what it left."""
    with bench.installation(own_model=True) as installation:
        claims = tell_story(installation, story, story["account"].lower())
        for _ in run_due(installation.context, "benchmark", claims.user_id):
            pass
        read_waiting(installation.context)
        reconcile_waiting(installation.context)
        return read_story(installation, claims, story)


def read_story(installation: Installation, claims: Claims, story: dict[str, Any]) -> Told:
    database, cursors = installation.database, installation.cursors
    facts = list_facts(Listing(database, cursors, claims, limit=200), FactFilter()).items
    found: dict[object, Link] = {}
    for record in {one.record_id for one in facts}:
        for link in list_links(Listing(database, cursors, claims, limit=200), LinkFilter(record_id=record)).items:
            found[link.link_id] = link
    with database.pipeline() as tx:
        query = "SELECT kind, reason, fact_id, other_fact_id, state FROM neurigraph.actions WHERE fact_id IS NOT NULL"
        actions = tx.execute(query).fetchall()
    context = installation.acting_for(claims)
    answers = []
    for kind, query, label, _ in story["questions"]:
        answer = query_facts(context, QueryFacts(query=query, kind=QueryKind(kind)))
        matches = any(says(one.statement, label) for one in answer.matches[:5])
        related = any(says(one.fact.statement, label) for one in answer.related[:5])
        answers.append((matches or related, related))
    return Told(facts, list(found.values()), actions, answers)


def score(story: dict[str, Any], told: Told) -> Scores:
    """Compare what a story left with its labels."""
    scores = Scores()
    for label in (one.replace(story["account"], "") for one in story["facts"]):
        scores.add("facts", label, is_right=any(says(one.statement, label) for one in told.facts))
    for slot in story.get("slots", ()):
        slot = [re.sub(rf"{story['account']}(?:'s )?", "", slot[0]), *slot[1:]]
        right = any(_fills(one, slot) for one in told.facts)
        scores.add("slots", slot, is_right=right)
    known = set()
    for label in story["links"]:
        met = [one for one in told.links if _is(one, label)]
        known |= {one.link_id for one in met}
        scores.add("links", label, is_right=bool(met))
    for one in told.links:
        if one.relation in STATED and (one.relation, one.to_text) != ("decided_by", story["account"].lower()):
            wrong = one.link_id not in known
            scores.add("wrong links", f"{one.from_text} | {one.relation} | {one.to_text}", is_right=wrong)
    _score_changes(scores, story, told)
    for (kind, query, label, _), (is_found, is_path) in zip(story["questions"], told.answers, strict=True):
        scores.add(kind, f"{query} {label}", is_right=is_found)
        if kind == "why":
            scores.add("paths", f"{query} {label}", is_right=is_path)
    return scores


def _score_changes(scores: Scores, story: dict[str, Any], told: Told) -> None:
    texts = {one.fact_id: one.statement for one in told.facts}
    pairs = [(one.superseded_by, one.fact_id) for one in told.facts if one.superseded_by]
    pairs += [(one["other_fact_id"], one["fact_id"]) for one in told.actions if one["kind"] == "supersede"]
    disputed = [(one.fact_id, other) for one in told.facts for other in one.disputed_by]
    disputed += [(one["fact_id"], one["other_fact_id"]) for one in told.actions if one["reason"] == "contradiction"]
    good = set()
    for measure, found in (("updates", pairs), ("contradictions", [*disputed, *pairs])):
        for later, earlier in story[measure]:
            met = {
                pair for pair in found if says(texts.get(pair[0], ""), later) and says(texts.get(pair[1], ""), earlier)
            }
            good |= {frozenset(pair) for pair in met}
            scores.add(measure, (later, earlier), is_right=bool(met))
    for pair in {frozenset(pair) for pair in (*pairs, *disputed)}:
        scores.add("alarms", " / ".join(texts.get(one, "?") for one in pair), is_right=pair not in good)


def says(statement: str, label: str) -> bool:
    """Whether a statement has all words of a label."""
    return bool(statement) and _words(label) <= _words(statement)


@cache
def _words(text: str) -> frozenset[str]:
    return frozenset(lexer_of("english").lexemes(text))


def _fills(fact: Fact, slot: Sequence[str]) -> bool:
    parts = (fact.subject, fact.predicate, fact.object)
    return all(part is not None and _words(label) <= _words(part) for part, label in zip(parts, slot, strict=True))


def _is(link: Link, label: Sequence[str]) -> bool:
    start, relation, end = label
    relations = {relation, "influenced_by"} if relation == "caused_by" else {relation}
    return link.relation in relations and says(link.from_text or "", start) and says(link.to_text or "", end)


def _sum(scores: Sequence[Scores]) -> Scores:
    total = Scores()
    for one in scores:
        total.right += one.right
        total.of += one.of
    return total


def main() -> None:
    """Print what was found in some stories."""
    with Bench(quick=False, own=forget_own_settings()) as bench:
        for path in map(Path, sys.argv[1:]):
            story = json.loads(path.read_text(encoding="utf-8"))
            told = tell(bench, story)
            scores = score(story, told)
            print(f"\n## {path.stem}: " + ", ".join(f"{name} {scores.shown(name)}" for name in COLUMNS))
            if story["half"] != DEVELOPMENT:
                continue
            for fact in sorted(told.facts, key=lambda one: (one.said_at, one.seq)):
                slot = f"{fact.subject} | {fact.predicate} | {fact.object}" if fact.subject else "-"
                print(f"  {fact.kind:10} {fact.statement}  [{slot}] why={fact.why} where={fact.where}")
            print("\n".join(scores.lines))


if __name__ == "__main__":
    main()
