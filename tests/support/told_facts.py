"""Seeded worlds of people whose lives change, told as facts with known truth.

Each story tells something that memory gets wrong easily: moves, quits, corrections, lies, late arrivals, returns,
counts, negations, suppositions, two people of one name. ``superseding`` holds what replaces what; nothing else may.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from uuid import UUID, uuid5

from neurigraph_pipelines.knowledge.candidates import distinct, pairs_of, shared_first_names
from neurigraph_pipelines.knowledge.superseding import Decision, decide, within_limit
from neurigraph_pipelines.model.facts import Slot
from neurigraph_pipelines.model.verdicts import Authority, Judgement, KnownFact, Pair
from neurigraph_pipelines.views.kinds import Effect, FactKind, StatedAs
from resources.offline.fact_forms import read_fact

_SPACE = UUID("6f1b2c3d-0000-4000-8000-000000000074")
_START = datetime(2024, 1, 1, 9, tzinfo=UTC)
_FIRST = (
    "Ana Bela Carla Dora Elena Fatima Greta Hanna Ines Jana Karim Leon Mateo Nuno Oskar Pavel Quentin Rafael".split()
)
_LAST = "Abreu Bauer Costa Dias Ekberg Ferreira Grimm Hoffman Ivanov Jansen Kowalski Lindt Moreau Novak Ortiz".split()
_CITIES = "Porto Lisbon Madrid Oslo Vienna Prague Dublin Athens Zagreb Turin Lyon Bergen Krakow Seville Ghent".split()
_FIRMS = "Northwind Lumen Acme Globex Initech Umbra Vertex Hooli Stark Wayne Tyrell Cyberdyne Aperture Soylent".split()
_COLOURS = "green blue red yellow purple orange white black teal crimson".split()
_PETS = "dogs cats parrots rabbits turtles".split()
_FOODS = "walnuts shellfish gluten peanuts pollen eggs".split()
_TOLD_APART = 0.85
_AT_ONCE = 200
_COUNTS = "two three four five six seven".split()

_HOMES = [
    "{who} lives in {value}.",
    "{who} now lives in {value}.",
    "{who} currently lives in {value}.",
    "{who} has moved to {value}.",
    "{who} is living in {value} now.",
    "{who}'s home is {value} these days.",
    "{who} has settled down in {value}.",
]
_JOBS = [
    "{who} works at {value}.",
    "{who} now works at {value}.",
    "{who} is now working for {value}.",
    "{who} has a new employer: {value}.",
]
_HUES = [
    "{who}'s favourite colour is {value}.",
    "{who}'s favourite colour is now {value}.",
    "{who} likes {value} best of all colours.",
]
"""Sentences of each slot. Two of three have a form that the offline rules read."""

_SLOTS = {"home": "lives in", "employer": "works at", "colour": "favourite"}
_FORMS = {"home": _HOMES, "employer": _JOBS, "colour": _HUES}
_VALUES = {"home": _CITIES, "employer": _FIRMS, "colour": _COLOURS}


@dataclass(frozen=True, slots=True)
class Told:
    """A fact of a world.

    Attributes:
        day: When it was said or happened, in days since the beginning.
        arrives: When it reaches the memory, in days.
        slot: What a language model would read.
        story: What it is a part of.
    """

    number: int
    statement: str
    day: float
    arrives: float
    who: str
    slot: Slot | None = None
    kind: FactKind = FactKind.STATE
    stated_as: StatedAs = StatedAs.STATEMENT
    authority: Authority = Authority.STATEMENT
    story: str = ""

    @property
    def fact_id(self) -> UUID:
        return uuid5(_SPACE, str(self.number))

    @property
    def record_id(self) -> UUID:
        return uuid5(_SPACE, f"record {self.number}")

    def known(self, *, by_model: bool) -> KnownFact:
        """Return it as an extraction by a model, or by rules, would have it."""
        read = read_fact(self.statement, self.statement, "en", is_dated=False)
        slot = self.slot if by_model else read.slot
        kind = self.kind if by_model else read.kind
        authority = self.authority
        if authority > Authority.INFERENCE and StatedAs.INFERENCE in (self.stated_as if by_model else read.stated_as,):
            authority = Authority.INFERENCE
        return KnownFact(
            fact_id=self.fact_id,
            record_id=self.record_id,
            statement=self.statement,
            kind=kind,
            confidence=0.9 if by_model else 0.6 if slot is None else 0.75,
            authority=authority,
            said_at=_START + timedelta(days=self.day),
            slot=slot,
            who=(self.who,),
        )


@dataclass(slots=True)
class World:
    """Facts in the order in which they arrive, and which of them replaces which.

    Attributes:
        superseding: All pairs (later, earlier) of numbers in which the later one replaces the earlier one.
        replaced: The numbers of the facts that something replaces.
    """

    facts: list[Told] = field(default_factory=list)
    superseding: set[tuple[int, int]] = field(default_factory=set)

    @property
    def replaced(self) -> set[int]:
        return {earlier for _, earlier in self.superseding}

    def by_story(self) -> dict[str, World]:
        """Return the parts of the world by kind of story."""
        parts: dict[str, World] = {}
        kinds = {told.number: told.story for told in self.facts}
        for told in self.facts:
            parts.setdefault(told.story, World()).facts.append(told)
        for later, earlier in self.superseding:
            parts[kinds[later]].superseding.add((later, earlier))
        return parts


class _Teller:
    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.world = World()
        self.story = ""

    def add(self, statement: str, day: float, who: str, slot: Slot | None = None, **more: object) -> Told:
        arrives = more.pop("arrives", day)
        told = Told(len(self.world.facts), statement, day, arrives, who, slot, story=self.story, **more)  # type: ignore[arg-type]
        self.world.facts.append(told)
        return told

    def say(self, family: str, who: str, value: str, day: float, **more: object) -> Told:
        form = self.chance.choice(_FORMS[family])
        return self.add(form.format(who=who, value=value), day, who, Slot(who, _SLOTS[family], value), **more)

    def replaces(self, *chain: Told) -> None:
        """Note that each of some facts replaces all before it."""
        for place, later in enumerate(chain):
            self.world.superseding |= {(later.number, earlier.number) for earlier in chain[:place]}

    def values(self, family: str, count: int) -> list[str]:
        return self.chance.sample(_VALUES[family], count)

    def day(self) -> float:
        return self.chance.uniform(0, 300)


def _move(t: _Teller, who: str) -> None:
    family = t.chance.choice(["home", "employer", "colour"])
    day = t.day()
    chain = [t.say(family, who, value, day + 90 * place) for place, value in enumerate(t.values(family, 3))]
    t.replaces(*chain)


def _quit(t: _Teller, who: str) -> None:
    (firm,) = t.values("employer", 1)
    day = t.day()
    t.say("employer", who, firm, day)
    t.add(f"{who} quit {firm}.", day + 60, who, Slot(who, "quit", firm), kind=FactKind.EVENT)


def _correction(t: _Teller, who: str) -> None:
    wrong, right = t.values("home", 2)
    day = t.day()
    first = t.say("home", who, wrong, day)
    second = t.add(f"{who} actually lives in {right}.", day + 1, who, Slot(who, "lives in", right))
    t.replaces(first, second)


def _lie(t: _Teller, who: str) -> None:
    true, false = t.values("home", 2)
    day = t.day()
    t.say("home", who, true, day)
    authority = t.chance.choice([Authority.DOCUMENT, Authority.ASSISTANT, Authority.OBSERVATION])
    t.add(f"{who} now lives in {false}.", day + 40, who, Slot(who, "lives in", false), authority=authority)


def _late(t: _Teller, who: str) -> None:
    first, second, third = t.values("home", 3)
    day = t.day()
    chain = [t.say("home", who, first, day)]
    last = t.say("home", who, third, day + 100)
    late = t.say("home", who, second, day + 50, arrives=day + 200)
    t.replaces(*chain, late, last)


def _back(t: _Teller, who: str) -> None:
    first, second = t.values("employer", 2)
    day = t.day()
    t.replaces(*(t.say("employer", who, firm, day + 70 * place) for place, firm in enumerate([first, second, first])))


def _count(t: _Teller, who: str) -> None:
    kind, other = t.chance.sample(_PETS, 2)
    few, more = t.chance.sample(_COUNTS, 2)
    day = t.day()
    chain = [
        t.add(f"{who} has {count} {kind}.", day + 80 * place, who, Slot(who, "has", f"{count} {kind}"))
        for place, count in enumerate([few, more])
    ]
    t.replaces(*chain)
    t.add(f"{who} has {more} {other}.", day + 120, who, Slot(who, "has", f"{more} {other}"))


def _negation(t: _Teller, who: str) -> None:
    food = t.chance.choice(_FOODS)
    day = t.day()
    t.add(f"{who} is allergic to {food}.", day, who, Slot(who, "allergic to", food))
    t.add(f"{who} is not allergic to {food}.", day + 30, who)


def _supposed(t: _Teller, who: str) -> None:
    home, other = t.values("home", 2)
    day = t.day()
    t.say("home", who, home, day)
    form = t.chance.choice(
        [
            "{who} might move to {value}.",
            "If it works out, {who} lives in {value} soon.",
            "Tom thinks that {who} lives in {value}.",
        ]
    )
    slot = Slot(who, "lives in", other)
    t.add(form.format(who=who, value=other), day + 20, who, slot, stated_as=StatedAs.INFERENCE)
    t.add(f"{who} lived in {t.values('home', 1)[0]} as a child.", day + 25, who)


def _beside(t: _Teller, who: str) -> None:
    first, second = t.values("employer", 2)
    day = t.day()
    t.say("employer", who, first, day)
    t.add(f"{who} also works at {second}.", day + 30, who)
    t.add(f"{who} went to {t.values('home', 1)[0]} for a week.", day + 35, who, kind=FactKind.EVENT)


def _namesakes(t: _Teller, who: str) -> None:
    """Two people who are sometimes called by their first name; now and then nothing says that they are two."""
    given, last = who.split()
    first = f"{given}{last[:3].lower()}"  # nobody else of the world is called so
    homes = t.values("home", 3)
    day = t.day()
    t.say("home", first, homes[0], day)
    t.say("home", first, homes[1], day + 30)
    if t.chance.random() < _TOLD_APART:
        t.say("employer", f"{first} {last}son", t.values("employer", 1)[0], day - 5)
        t.say("colour", f"{first} {last}", t.values("colour", 1)[0], day - 4)


STORIES: dict[str, tuple[Callable[[_Teller, str], None], int]] = {
    "moves": (_move, 5),
    "quits": (_quit, 2),
    "corrections": (_correction, 2),
    "lies of low authority": (_lie, 2),
    "late arrivals": (_late, 2),
    "returns (A, B, A)": (_back, 2),
    "counts": (_count, 2),
    "negations": (_negation, 1),
    "suppositions": (_supposed, 2),
    "second jobs": (_beside, 1),
    "two people of one name": (_namesakes, 1),
}
"""What is told, with how often."""


def world_of(seed: int, count: int) -> World:
    """Return a world with at least ``count`` facts, the same for the same seed."""
    teller = _Teller(seed)
    names, weights = list(STORIES), [weight for _, weight in STORIES.values()]
    people = 0
    while len(teller.world.facts) < count:
        first, last = _FIRST[people % len(_FIRST)], _LAST[people // len(_FIRST) % len(_LAST)]
        # A story has its own person: nothing is true of two of them.
        who = f"{first}{_syllable(people // (len(_FIRST) * len(_LAST)))} {last}"
        teller.story = teller.chance.choices(names, weights)[0]
        STORIES[teller.story][0](teller, who)
        people += 1
    teller.world.facts.sort(key=lambda told: (told.arrives, told.number))
    return teller.world


def reconciled(
    world: World, judge: Callable[[Sequence[Pair]], Sequence[Judgement]], *, by_model: bool
) -> Iterator[Decision]:
    """Yield what follows from each fact of a world as it arrives, without a database."""
    pairs = [pair for of_one in _compared(world, by_model=by_model) for pair in of_one]
    judged: list[Judgement] = []
    for first in range(0, len(pairs), _AT_ONCE):
        judged += judge(pairs[first : first + _AT_ONCE])
    verdicts = iter(judged)
    for told, of_one in zip(world.facts, _compared(world, by_model=by_model), strict=True):
        decisions = [decide(pair, next(verdicts), is_automatic=True) for pair in of_one]
        yield from within_limit(decisions, told.record_id)


def _compared(world: World, *, by_model: bool) -> Iterator[list[Pair]]:
    known: dict[str, list[KnownFact]] = {}
    full: dict[str, set[str]] = {}
    for told in world.facts:
        fact = told.known(by_model=by_model)
        first = told.who.split()[0]
        full.setdefault(first, set()).add(told.who)
        fact = replace(fact, is_ambiguous=told.who == first and first.casefold() in shared_first_names(full[first]))
        before = known.setdefault(told.who, [])
        yield distinct(pairs_of(fact, before, "english"))
        before.append(fact)


@dataclass(frozen=True, slots=True)
class Score:
    """How many supersessions were right, wrong, and missed."""

    made: int
    wrong: int
    replaced: int
    found: int

    @property
    def wrong_share(self) -> float:
        return self.wrong / max(1, self.made)

    @property
    def recall(self) -> float:
        return self.found / max(1, self.replaced)


def score(world: World, pairs: set[tuple[UUID, UUID]]) -> Score:
    """Compare supersessions, as pairs of (later, earlier) ids, with the truth."""
    numbers = {told.fact_id: told.number for told in world.facts}
    made = {(numbers[later], numbers[earlier]) for later, earlier in pairs}
    right = made & world.superseding
    return Score(len(made), len(made - right), len(world.replaced), len({earlier for _, earlier in right}))


def superseding_of(decisions: Sequence[Decision]) -> set[tuple[UUID, UUID]]:
    """Return the pairs that supersede by themselves."""
    return {(one.pair.later.fact_id, one.pair.earlier.fact_id) for one in decisions if one.effect is Effect.SUPERSEDES}


def _syllable(number: int) -> str:
    letters = ""
    while number:
        number, digit = divmod(number, 20)
        letters += "bcdfghjklmnpqrstvwxz"[digit] + "a"
    return letters
