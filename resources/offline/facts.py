"""Facts of a conversation: the sentences worth remembering, worded so that each can be understood alone.

``units`` finds what can be understood alone, ``salience`` weighs it and ``telling`` words it, as for summaries. This
module chooses, within bounds, and says when each fact happened and for how long it matters. ``fact_forms`` reads kinds
and slots from the words.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta

from neurigraph_pipelines.model import Message, Role, SourceKind
from neurigraph_pipelines.model.facts import FREE_WORDS, MAX_STATEMENT, THE_USER, ReadFact, bounds_of
from neurigraph_pipelines.text.causes import causes_of, reason_alone, without_opening
from neurigraph_pipelines.text.iso_periods import period_of
from neurigraph_pipelines.views.kinds import FactKind, Impact
from neurigraph_pipelines.views.search import Period
from resources.offline.dates import is_dated, resolve_dates
from resources.offline.fact_forms import (
    LASTING,
    RECURRING,
    FactForm,
    clauses_of,
    names_a_person,
    property_of,
    read_fact,
    slot_said,
)
from resources.offline.lexicon import english, forms
from resources.offline.names import Names, find_names
from resources.offline.prose import Prose
from resources.offline.reasons import reasons_of, worded_reason
from resources.offline.retelling import lacks_subject
from resources.offline.salience import Salience
from resources.offline.standing import Standing
from resources.offline.telling import Teller
from resources.offline.units import Unit, units_of
from resources.offline.whose import tells_of_itself
from resources.offline.written_names import NAME

_FORMS = forms("facts", name=NAME)

MIN_WEIGHT = 1.0
"""Least weight of a fact. On LoCoMo, three of four such sentences are among its published observations."""

NOTE_WEIGHT = 0.5
"""Least weight of a fact of a note: somebody wants each of its sentences remembered."""

COMMONPLACE = 2.0
"""What a sentence has to weigh more if it speaks of nobody and nothing in particular: ``Music can be inspiring``."""

ADDRESSED = 1.0
"""What a sentence has to weigh more if it speaks to somebody: many of these are compliments."""

DENIED = 2.0
"""What a sentence weighs more if its speaker says what they have never done: nothing else said before may show it."""

GIVES_VALUE = 1.0
"""What a sentence weighs more that gives a thing a value, such as the code of a gate."""

GIVES_REASON = 1.0
"""What a sentence weighs more that says why."""

LEAST_WORDS = 4
"""Fewest words of a sentence that is a fact of a short conversation."""

WHOLE = 0.85
"""Least share of the words of its sentences that a unit has unless it is a part of them."""

_FEW = 2
"""Most speakers of a talk with compliments and commonplaces; in meetings people speak to all, and of a matter."""

_PARTICULAR = ("own", "names", "figures", "amounts", "days", "done", "changed")
"""Features of a sentence that speaks of somebody or something: its speaker, a name, a number, a day, a decision."""

MAX_SENTENCES = 2
"""Most sentences of a fact: the second one names what the first one is about."""

CONFIDENCE = 0.6
"""Confidence of a sentence that was read by rules."""

SLOT_CONFIDENCE = 0.75
"""Confidence of a statement of a closed form, such as ``works at``."""

_FULL_WEIGHT = 6.0
"""Weight of a sentence of the greatest importance: a decision with a date, a sum and names."""
_LEADING_FORMS = forms("leading")

MIN_WORDS = 5
"""Fewest words of such a statement."""


def extract(prose: Prose) -> list[ReadFact]:
    """Return the facts of a conversation in order, within the bounds of their number and words."""
    names = find_names(prose)
    salience = Salience(prose, names)
    teller, unnamed = Teller(prose, names), Teller(prose, names, is_named=False)
    words, count = bounds_of(prose.segment.messages)
    chosen: list[tuple[Unit, str]] = []
    taken: dict[int, bool] = {}
    for unit in _by_weight(prose, names, salience):
        if len(chosen) >= count:
            break
        is_part = _is_part(prose, unit)
        if any(not (is_part and taken.get(number, True)) for number in unit.sentences if number in taken):
            continue
        statement = teller.tell(unit)
        length = len(statement.split())
        if length <= words and len(statement) <= MAX_STATEMENT:
            taken.update(dict.fromkeys(unit.sentences, is_part))
            chosen.append((unit, statement))
            words -= length
            for reason in _reasons(prose, names, unit) if len(chosen) < count else ():
                chosen.append((reason, teller.tell(reason)))
    chosen = list({statement: (unit, statement) for unit, statement in reversed(chosen)}.values())
    chosen.sort(key=lambda pair: pair[0].sentences)
    people = _people_by_sentence(names)
    return [_fact(prose, names, people, unit, statement, unnamed.tell(unit), salience) for unit, statement in chosen]


def _by_weight(prose: Prose, names: Names, salience: Salience) -> Iterator[Unit]:
    """Yield the candidates for facts, the weightiest first, without sentences that were corrected later."""
    corrected = salience.corrected()
    values = list(_with_values(prose, names))
    is_short = _words_of_people(prose) <= FREE_WORDS
    weighed = [
        (_weight(prose, salience, unit), len(unit.sentences), number, unit)
        for number, unit in enumerate(
            (
                *values,
                *_effects(prose, names),
                *(_plain(prose, names) if is_short else ()),
                *units_of(prose, names, MAX_SENTENCES),
                *_before_questions(prose, names),
            )
        )
        if unit.before is None and len(unit.sentences) <= MAX_SENTENCES and corrected.isdisjoint(unit.sentences)
        if not _is_of_assistant_itself(prose, unit)
    ]
    speakers = {message.author or message.role for message in prose.segment.messages}
    is_note = prose.segment.ref.source_kind is SourceKind.NOTE
    for weight, _, _, unit in sorted(weighed, key=lambda one: (-one[0], one[1], one[2])):
        if weight < (NOTE_WEIGHT if is_note or is_short else MIN_WEIGHT):
            return
        if unit in values:
            yield unit
            continue
        weightiest = salience.features(max(unit.sentences, key=salience.weight))
        is_of_person = prose.message(prose.sentences[unit.sentences[0]]).role is Role.USER
        if is_note or (is_short and is_of_person and not any(map(_FORMS.you.search, unit.texts))):
            is_clear = len(unit.texts) == 1 or not is_short
            if is_clear and _states(unit) and not any(map(lacks_subject, unit.texts)):
                yield unit
            continue
        if weight < MIN_WEIGHT:
            continue
        is_strict = len(speakers) <= _FEW and not (weightiest["names"] or weightiest["figures"])
        if is_strict and (weight < _least_weight(unit, weightiest) or not _states(unit)):
            continue
        yield unit


def _is_of_assistant_itself(prose: Prose, unit: Unit) -> bool:
    is_of_assistant = prose.message(prose.sentences[unit.sentences[0]]).role is Role.ASSISTANT
    return is_of_assistant and any(map(tells_of_itself, unit.texts))


def _weight(prose: Prose, salience: Salience, unit: Unit) -> float:
    """Return the highest weight of a unit's sentences, raised if it denies a deed or gives a value."""
    is_of_person = prose.message(prose.sentences[unit.sentences[0]]).role is Role.USER
    return max(
        salience.weight(number) + (_raised(text) if is_of_person else 0.0)
        for number, text in zip(unit.sentences, unit.texts, strict=True)
    )


def _raised(text: str) -> float:
    """Return the weight that a sentence of a person gains, if it denies a deed, gives a value or says why."""
    denies, value = _FORMS.denies.search(text) is not None, slot_said(text, THE_USER) is not None
    return DENIED * denies + GIVES_VALUE * value + GIVES_REASON * _gives_reason(text)


def _with_values(prose: Prose, names: Names) -> Iterator[Unit]:
    """Yield people's words in closed forms that lack nothing, such as ``The gate code is 4711``; clause by clause."""
    standing = Standing(prose, names)
    for number, sentence in enumerate(prose.sentences):
        if prose.message(sentence).role is not Role.USER:
            continue
        if property_of(sentence.text, THE_USER) is not None:
            yield Unit((number,), (sentence.text,))
        if sentence.language != "en" or standing.says_nothing(number):
            continue
        for text in clauses_of(_with_name(prose, names, standing, number)):
            if slot_said(text, THE_USER) is not None and standing.references.are_clear(text):
                yield Unit((number,), (text,))


def _with_name(prose: Prose, names: Names, standing: Standing, number: int) -> str:
    """Return a sentence, with a name for its "he" or "she" if its speaker's sentence before tells of nobody else."""
    text = standing.clean(number)
    pronoun = _FORMS.pronoun.match(text)
    before = _said_before(prose, number) if pronoun else None
    if pronoun is None or before is None:
        return text
    told = _FORMS.told_alone.match(standing.clean(before))
    named = {one.name for one in names.persons if not one.sentences.isdisjoint(range(before, number))}
    words = {word.lower.removesuffix("'s") for word in prose.sentences[before].words}
    is_relation = _FORMS.is_mine.match(text) is not None and words.isdisjoint(english().relations)
    is_clear = is_relation or (told is not None and told["who"] in named)
    return f"{named.pop()}{text[pronoun.end() :]}" if is_clear and len(named) == 1 else text


def _said_before(prose: Prose, number: int) -> int | None:
    """Return the sentence before one, or the one before the assistant's reply that it follows, of the same speaker."""
    own, earlier = prose.message(prose.sentences[number]), range(number - 1, -1, -1)
    before = next((n for n in earlier if prose.message(prose.sentences[n]).role is not Role.ASSISTANT), number)
    message = prose.message(prose.sentences[before])
    return before if before < number and message.author == own.author and own.seq - message.seq in (0, 2) else None


def _plain(prose: Prose, names: Names) -> Iterator[Unit]:
    """Yield each sentence of a person that needs no other one; for short conversations. English only."""
    standing = Standing(prose, names)
    for number, sentence in enumerate(prose.sentences):
        if sentence.language != "en" or prose.message(sentence).role is not Role.USER or standing.says_nothing(number):
            continue
        text = standing.clean(number)
        if len(text.split()) >= LEAST_WORDS and not _FORMS.leans.match(text) and standing.references.are_clear(text):
            yield Unit((number,), (text,))


def _effects(prose: Prose, names: Names) -> Iterator[Unit]:
    """Yield what follows from the sentence before, and reasons that are sentences of their own. English only."""
    opened = [
        (number, text)
        for number, sentence in enumerate(prose.sentences)
        if sentence.language == "en" and prose.message(sentence).role is Role.USER
        if (text := without_opening(sentence.text) or _whole_reason(sentence.text)) is not None
    ]
    references = Standing(prose, names).references if opened else None
    for number, text in opened:
        if references and references.are_clear(text):
            yield Unit((number,), (text,))


def _whole_reason(text: str) -> str | None:
    return worded_reason(reason) if (reason := reason_alone(text)) else None


def _words_of_people(prose: Prose) -> int:
    said = (sentence for sentence in prose.sentences if prose.message(sentence).role is Role.USER)
    return sum(len(sentence.words) for sentence in said)


def _gives_reason(text: str) -> bool:
    return next(causes_of(text), None) is not None or reason_alone(text) is not None


def _reasons(prose: Prose, names: Names, unit: Unit) -> Iterator[Unit]:
    """Yield the reasons that a unit gives, as units of their own."""
    number = unit.sentences[-1]
    last = prose.sentences[number]
    if last.language != "en" or prose.message(last).role is not Role.USER:
        return
    before = prose.sentences[number - 1] if number and prose.sentences[number - 1].message == last.message else None
    if before is not None and any(one.cause == before.text.rstrip(".!") for one in causes_of(last.text, before.text)):
        standing = Standing(prose, names)
        if not standing.says_nothing(number - 1) and standing.references.are_clear(standing.clean(number - 1)):
            yield Unit((number - 1,), (standing.clean(number - 1),))
    for reason in reasons_of(unit.texts[-1]):
        yield Unit((number,), (reason,))


def _is_part(prose: Prose, unit: Unit) -> bool:
    """Whether a unit has only some words of its sentences."""
    words = sum(len(prose.sentences[number].text.split()) for number in unit.sentences)
    return sum(len(text.split()) for text in unit.texts) < WHOLE * words


def _before_questions(prose: Prose, names: Names) -> Iterator[Unit]:
    """Yield people's statements about themselves before their questions. English only."""
    asked = [
        (number, stated)
        for number, sentence in enumerate(prose.sentences)
        if sentence.language == "en" and prose.message(sentence).role is Role.USER
        if (stated := stated_before_asking(sentence.text)) is not None
    ]
    references = Standing(prose, names).references if asked else None
    for number, stated in asked:
        if references and references.are_clear(stated):
            yield Unit((number,), (stated,))


def _least_weight(unit: Unit, weightiest: Mapping[str, float]) -> float:
    """Return the weight from which a unit is a fact.

    Args:
        unit: The unit.
        weightiest: The features of its weightiest sentence.
    """
    is_commonplace = not any(weightiest[name] for name in _PARTICULAR)
    is_addressed = any(_FORMS.you.search(text) for text in unit.texts)
    return MIN_WEIGHT + COMMONPLACE * is_commonplace + ADDRESSED * is_addressed


def _states(unit: Unit) -> bool:
    """Return whether a unit is a statement without references to other text; English only."""
    return not any(_FORMS.asks.match(text) or _FORMS.points.search(text) for text in unit.texts)


def _people_by_sentence(names: Names) -> dict[int, list[int]]:
    """Return the places in ``names.persons`` of those whom a sentence names, by sentence."""
    found: dict[int, list[int]] = {}
    for place, person in enumerate(names.persons):
        for number in person.sentences:
            found.setdefault(number, []).append(place)
    return found


def _fact(
    prose: Prose,
    names: Names,
    people: Mapping[int, list[int]],
    unit: Unit,
    statement: str,
    unnamed: str,
    salience: Salience,
) -> ReadFact:
    """Return a unit as a fact; its form is read from the statement that does not name the owner."""
    sentences = [prose.sentences[number] for number in unit.sentences]
    first = sentences[0]
    said = " ".join(unit.texts if _is_part(prose, unit) else (one.text for one in sentences))
    message = prose.message(first)
    dated = is_dated(prose.segment, message)
    occurred = period_of(resolve_dates(said, message.occurred_at, first.language, is_dated=dated))
    speaker = names.speakers.get(message.author or "", message.author)
    is_occurred, speaker_called = occurred is not None, _called(names, message)
    read = read_fact(unnamed, said, first.language, is_dated=is_occurred, speaker=speaker_called)
    named_read = read
    if statement != unnamed:
        named_read = read_fact(statement, said, first.language, is_dated=is_occurred, speaker=speaker_called)
    if read.slot is not None and read.slot.predicate in RECURRING:
        occurred = None
    named = sorted({place for number in unit.sentences for place in people.get(number, ())})
    mentioned = [names.persons[place].name for place in named]
    subject = [read.slot.subject] if read.slot is not None and names_a_person(read.slot) else []
    who = dict.fromkeys([*([speaker] if speaker and speaker in statement else []), *subject, *mentioned])
    weight = max(map(salience.weight, unit.sentences))
    return ReadFact(
        statement=statement,
        first_message=message.seq,
        last_message=message.seq,
        author=message.author,
        kind=read.kind,
        stated_as=read.stated_as,
        who=tuple(who),
        where=read.where,
        why=named_read.why,
        how=named_read.how,
        slot=read.slot,
        occurred=occurred,
        expires_at=_end_of_plan(read.kind, occurred),
        confidence=CONFIDENCE if read.slot is None else SLOT_CONFIDENCE,
        importance=round(min(1.0, max(0.0, weight / _FULL_WEIGHT)), 2),
        impact=_impact(read),
    )


def _called(names: Names, message: Message) -> str | None:
    """Return how a speaker is called; None for the assistant, of whom nothing is remembered."""
    if message.role is not Role.USER:
        return None
    return names.speakers.get(message.author, message.author) if message.author else THE_USER


def _impact(read: FactForm) -> Impact:
    if read.slot is not None and read.slot.predicate in LASTING:
        return Impact.HIGH
    if read.kind in (FactKind.DECISION, FactKind.RELATION):
        return Impact.HIGH
    return Impact.LOW if read.kind in (FactKind.OTHER, FactKind.PLAN) else Impact.MEDIUM


def _end_of_plan(kind: FactKind, occurred: Period | None) -> datetime | None:
    """Return a day after the time of a plan or a promise."""
    if kind not in (FactKind.PLAN, FactKind.COMMITMENT) or occurred is None or occurred.ends_at is None:
        return None
    return occurred.ends_at + timedelta(days=1)


def stated_before_asking(text: str) -> str | None:
    """Return the statement about the speaker that precedes a sentence's request; None if there is none."""
    if not _LEADING_FORMS.own.match(text):
        return None
    asks = _LEADING_FORMS.asks.search(text)
    if asks is None:
        return None
    stated = text[: asks.start()].rstrip(" ,;")
    return stated if len(stated.split()) >= MIN_WORDS else None
