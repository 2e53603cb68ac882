"""Facts of a conversation: the sentences worth remembering, worded so that each can be understood alone.

``units`` finds what can be understood alone, ``salience`` weighs it and ``telling`` words it, as for summaries. This
module chooses, within bounds, and says when each fact happened and for how long it matters. ``fact_forms`` reads kinds
and slots from the words.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

from neurigraph_pipelines.model import Period
from neurigraph_pipelines.model.facts import MAX_STATEMENT, Fact, FactKind, Impact, bounds_of
from neurigraph_pipelines.text.iso_periods import period_of
from resources.offline.anchors import Anchors
from resources.offline.dates import resolve_dates
from resources.offline.fact_forms import LASTING, ReadFact, read_fact
from resources.offline.names import Names, find_names
from resources.offline.prose import Prose
from resources.offline.salience import Salience
from resources.offline.telling import Teller
from resources.offline.units import Unit, units_of

MIN_WEIGHT = 1.4
"""Least weight of a fact. On LoCoMo, three of four such sentences are among its published observations."""

MAX_SENTENCES = 2
"""Most sentences of a fact: the second one names what the first one is about."""

CONFIDENCE = 0.6
"""Confidence of a sentence that was read by rules."""

SLOT_CONFIDENCE = 0.75
"""Confidence of a statement of a closed form, such as ``works at``."""

_FULL_WEIGHT = 6.0
"""Weight of a sentence of the greatest importance: a decision with a date, a sum and names."""


def extract(prose: Prose) -> list[Fact]:
    """Return the facts of a conversation in order, within the bounds of their number and words."""
    names = find_names(prose)
    salience = Salience(prose, names)
    teller = Teller(prose, names)
    words, count = bounds_of(prose.segment.messages)
    chosen: list[tuple[Unit, str]] = []
    taken: set[int] = set()
    for unit in _by_weight(prose, names, salience):
        if len(chosen) >= count:
            break
        if not taken.isdisjoint(unit.sentences):
            continue
        statement = teller.tell(unit)
        length = len(statement.split())
        if length <= words and len(statement) <= MAX_STATEMENT:
            taken.update(unit.sentences)
            chosen.append((unit, statement))
            words -= length
    chosen.sort(key=lambda pair: pair[0].sentences)
    return [_fact(prose, names, unit, statement, salience) for unit, statement in chosen]


def _by_weight(prose: Prose, names: Names, salience: Salience) -> Iterator[Unit]:
    """Yield what may be a fact, the weightiest first, without what was corrected later."""
    corrected = salience.corrected()
    weighed = [
        (max(map(salience.weight, unit.sentences)), len(unit.sentences), number, unit)
        for number, unit in enumerate(units_of(prose, names))
        if unit.before is None and len(unit.sentences) <= MAX_SENTENCES and corrected.isdisjoint(unit.sentences)
    ]
    anchors = Anchors(prose, names)
    for weight, _, _, unit in sorted(weighed, key=lambda one: (-one[0], one[1], one[2])):
        if weight < MIN_WEIGHT:
            return
        if anchors.stand_alone(unit):
            yield unit


def _fact(prose: Prose, names: Names, unit: Unit, statement: str, salience: Salience) -> Fact:
    sentences = [prose.sentences[number] for number in unit.sentences]
    first, said = sentences[0], " ".join(one.text for one in sentences)
    message = prose.message(first)
    occurred = period_of(resolve_dates(said, message.occurred_at, first.language))
    speaker = names.speakers.get(message.author or "", message.author)
    read = read_fact(statement, said, first.language, is_dated=occurred is not None)
    people = [one.name for one in names.persons if not one.sentences.isdisjoint(unit.sentences)]
    who = dict.fromkeys([*([speaker] if speaker and speaker in statement else []), *people])
    weight = max(map(salience.weight, unit.sentences))
    return Fact(
        statement=statement,
        first_message=message.seq,
        last_message=message.seq,
        author=message.author,
        kind=read.kind,
        stated_as=read.stated_as,
        who=tuple(who),
        where=read.where,
        why=read.why,
        how=read.how,
        slot=read.slot,
        occurred=occurred,
        expires_at=_end_of_plan(read.kind, occurred),
        confidence=CONFIDENCE if read.slot is None else SLOT_CONFIDENCE,
        importance=round(min(1.0, max(0.0, weight / _FULL_WEIGHT)), 2),
        impact=_impact(read),
    )


def _impact(read: ReadFact) -> Impact:
    if read.slot is not None and read.slot.predicate in LASTING:
        return Impact.HIGH
    if read.kind in (FactKind.DECISION, FactKind.RELATION):
        return Impact.HIGH
    return Impact.LOW if read.kind in (FactKind.OTHER, FactKind.PLAN) else Impact.MEDIUM


def _end_of_plan(kind: FactKind, occurred: Period | None) -> datetime | None:
    """Return a day after the time of a plan or a promise."""
    if kind not in (FactKind.PLAN, FactKind.COMMITMENT) or occurred is None or occurred.end is None:
        return None
    return occurred.end + timedelta(days=1)
