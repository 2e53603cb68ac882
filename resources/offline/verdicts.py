"""Verdicts on pairs of facts by rule: negation, another value in a slot, words of change, other figures, containment.

What the owner says without a name is about the owner, so that proves nothing: two such facts are at odds only where one
denies what the other says was done, or says that a figure of the same thing has changed.

English only. Every expression is linear. What follows from a verdict is decided in the domain; here nothing is certain
beyond ``MOST_CERTAIN``.
"""

from __future__ import annotations

from functools import lru_cache

from neurigraph_pipelines.model.verdicts import UNRELATED, Judgement, KnownFact, Pair
from neurigraph_pipelines.text.assertions import differences
from neurigraph_pipelines.text.ended import ends
from neurigraph_pipelines.text.lexemes import lexer_of
from neurigraph_pipelines.text.slots import LASTING, PlainSlot, may_be_one, plain_slot
from neurigraph_pipelines.views.kinds import FactKind, Verdict
from resources.offline.lexicon import english, forms

_FORMS = forms("verdicts")

MOST_CERTAIN = 0.85
"""Greatest confidence of a rule: another value in a slot, said with a word of change."""

_PLAIN = 0.8
"""Another value in a slot of which people have one."""

_CLOSED = 0.75
"""What the owner's own statements deny, or say of figures, in closed forms."""

_LIKELY = 0.7
"""Another value in a slot of which some people have several, such as employers."""

_GUESSED = 0.6
_LEAST_SHARED = 2
"""Least number of words that two facts without a slot share, besides whom they are about."""

_ALIKE = 0.5
"""Least share of the shorter fact's words that the other has, too."""

_DENIED = 0.45
"""Least share of the words of a denial that what was done has, too."""

_FEW = frozenset(["employer", "occupation"])
_CHANGES = frozenset(["moved to", "joined", "becomes"])
_REPLACED = frozenset(["drives"])
"""Relations with several values, of which a new one replaces the old one only with a word of change."""

_BEGIN = 60
"""Characters at the beginning of a statement that say whom it is about."""

_HEAD = 24
"""Characters after the subject in which the verb of a slot stands."""

_LEXER = lexer_of("english")


def judge(pair: Pair) -> Judgement:
    """Return the effect of the later of two facts on the earlier one."""
    later, earlier = pair.later, pair.earlier
    if _key(later.statement) == _key(earlier.statement):
        return Judgement(Verdict.SAME, MOST_CERTAIN, "the same words")
    mine, theirs = plain_slot(later.slot, later.statement), plain_slot(earlier.slot, earlier.statement)
    have_slots = (
        mine is not None
        and theirs is not None
        and (mine.subject == theirs.subject or may_be_one(later.slot, earlier.slot))
    )
    is_said = (
        not _FORMS.tentative.search(_FORMS.quoted.sub(r"\1", later.statement)) and earlier.kind is not FactKind.EVENT
    )
    thing = earlier.slot.object if earlier.slot is not None else ""
    if is_said and ends(later.statement, earlier.statement, thing) and _whose(later) == _whose(earlier):
        return Judgement(Verdict.UPDATES, _CLOSED, "it says that something is no longer so")
    if later.is_own and earlier.is_own and not have_slots:
        if _whose(later) != _whose(earlier):
            return Judgement(Verdict.UNRELATED, _GUESSED, "they speak of different people")
        return _of_the_owner(later, earlier)
    if any(_FORMS.tentative.search(_of_slot(one)) for one in (later, earlier)):
        return Judgement(Verdict.UNRELATED, _GUESSED, "one of them is not said as so")
    if mine is not None and theirs is not None and have_slots:
        found = _by_slots(pair, mine, theirs)
        if found is not None:
            return found
    return _by_words(later, earlier)


def _of_slot(fact: KnownFact) -> str:
    """Return the words of a statement up to the end of its slot."""
    said = _FORMS.quoted.sub(r"\1", fact.statement)
    place = said.find(fact.slot.object) if fact.slot is not None else -1
    return said if fact.slot is None or place < 0 else said[: place + len(fact.slot.object)]


def _whose(fact: KnownFact) -> frozenset[str]:
    """Return the relatives of the owner whom the beginning of a statement is about."""
    begin = _FORMS.quoted.sub(r"\1", fact.statement)[:_BEGIN]
    return frozenset(
        match["kin"].lower() for match in _FORMS.kin.finditer(begin) if match["kin"].lower() in english().relations
    )


def _of_the_owner(later: KnownFact, earlier: KnownFact) -> Judgement:
    """Return the verdict on two facts that the owner said."""
    found = UNRELATED
    for one in differences(later.statement, earlier.statement):
        if one.is_denial and len(one.shared) >= _DENIED * len(one.of):
            return Judgement(Verdict.CONTRADICTS, _CLOSED, "it denies what was said before")
        if not one.is_denial and len(one.shared) >= _LEAST_SHARED:
            found = Judgement(Verdict.UPDATES, _CLOSED, "another figure, with a word of change")
    return _by_words(later, earlier) if found is UNRELATED and set(later.who) & set(earlier.who) else found


def _by_slots(pair: Pair, later: PlainSlot, earlier: PlainSlot) -> Judgement | None:
    if later.relation == "quit" and _share(later.value, earlier.value):
        return Judgement(Verdict.UPDATES, MOST_CERTAIN, "what was so has ended")
    if later.relation != earlier.relation:
        return _of_having(pair)
    slot = pair.later.slot
    predicate = slot.predicate if slot is not None else ""
    changes = bool(_FORMS.change.search(pair.later.statement)) or predicate in _CHANGES
    if may_be_one(slot, pair.earlier.slot):
        return UNRELATED if later.value == earlier.value else Judgement(Verdict.UPDATES, _CLOSED, "it may be one thing")
    if later.value == earlier.value:
        return _of_one_value(pair, changes=changes)
    if not (later.is_single or (changes and later.relation in _REPLACED)):
        return UNRELATED
    if _FORMS.besides.search(pair.later.statement):
        return Judgement(Verdict.UNRELATED, _GUESSED, "both can be true: one is told beside the other")
    if later.relation not in LASTING and (_is_past(pair.later) or _is_past(pair.earlier)):
        return Judgement(Verdict.UNRELATED, _GUESSED, "one of them tells of earlier times")
    if set(later.value.split()) >= set(earlier.value.split()):
        return Judgement(Verdict.ELABORATES, _LIKELY, "it says the same more exactly")
    if set(later.value.split()) <= set(earlier.value.split()):
        return Judgement(Verdict.SUPPORTS, _LIKELY, "it says the same less exactly")
    if later.relation in LASTING or (later.relation == "age" and _number(later.value) < _number(earlier.value)):
        return Judgement(Verdict.CONTRADICTS, MOST_CERTAIN, f"both cannot be true: {later.relation} does not change so")
    if pair.later.said_at == pair.earlier.said_at and not changes:
        return Judgement(Verdict.CONTRADICTS, _PLAIN, f"another {later.relation} at the same time")
    certain = MOST_CERTAIN if changes else _LIKELY if later.relation in _FEW else _PLAIN
    return Judgement(Verdict.UPDATES, certain, f"another {later.relation}" + (", with a word of change" * changes))


def _of_having(pair: Pair) -> Judgement | None:
    """Return the verdict on a thing that somebody has and has not; None on everything else.

    Having no rash denies each rash; having none on the arm denies no rash elsewhere.
    """
    having, lacking = sorted((pair.later, pair.earlier), key=_is_negated)
    if {one.slot.predicate for one in (having, lacking) if one.slot} != {"has"} or _is_negated(having):
        return None
    if not _is_negated(lacking):
        return None
    has, lacks = (_lexemes(one.slot.object) for one in (having, lacking) if one.slot)
    if not (lacks and lacks <= has):
        return UNRELATED
    if pair.later is lacking and (
        _FORMS.change.search(pair.later.statement) or _FORMS.gone.search(pair.later.statement)
    ):
        return Judgement(Verdict.UPDATES, _CLOSED, "it says that something is no longer so")
    return Judgement(Verdict.CONTRADICTS, _CLOSED, "one of them denies what the other one says")


def _of_one_value(pair: Pair, *, changes: bool) -> Judgement:
    """Return the verdict on two facts that give a slot the same value: one may deny it, or turn it round."""
    later, earlier = pair.later, pair.earlier
    predicates = {one.slot.predicate for one in (later, earlier) if one.slot is not None}
    if _is_negated(later) != _is_negated(earlier) or {"likes", "dislikes"} <= predicates:
        verdict = Verdict.UPDATES if changes else Verdict.CONTRADICTS
        return Judgement(verdict, _PLAIN, "one of them denies what the other one says")
    words = _words(later), _words(earlier)
    if words[0] > words[1]:
        return Judgement(Verdict.ELABORATES, _LIKELY, "it adds details")
    return Judgement(Verdict.SAME, _PLAIN, "the same value in the same slot")


def _by_words(later: KnownFact, earlier: KnownFact) -> Judgement:
    """Return the verdict on two facts by the words that they share."""
    if later.who and earlier.who and not set(later.who) & set(earlier.who):
        return UNRELATED
    about = frozenset(_LEXER.lexemes(" ".join((*later.who, *earlier.who))))
    mine, theirs = _words(later) - about, _words(earlier) - about
    shared = mine & theirs
    if later.why is not None:
        reasons = frozenset(_LEXER.lexemes(later.why)) - about
        if len(reasons & theirs) >= _LEAST_SHARED and len(reasons & theirs) >= _ALIKE * len(reasons):
            return Judgement(Verdict.DEPENDS_ON, _GUESSED, "its reason is what the earlier one says")
    if len(shared) < _LEAST_SHARED or len(shared) < _ALIKE * min(len(mine), len(theirs)):
        return UNRELATED
    if _is_negated(later) != _is_negated(earlier):
        if _FORMS.change.search(later.statement):
            return Judgement(Verdict.UPDATES, _LIKELY, "it says that something is no longer so")
        certain = _CLOSED if _without_negation(later) == _without_negation(earlier) else _GUESSED
        return Judgement(Verdict.CONTRADICTS, certain, "one of them denies what the other one says")
    figures = _figures(later), _figures(earlier)
    if figures[0] and figures[1] and figures[0].isdisjoint(figures[1]):
        return Judgement(Verdict.UPDATES, _GUESSED, "another figure")
    if mine == theirs:
        return Judgement(Verdict.SAME, _PLAIN, "the same words in another order")
    if theirs < mine:
        return Judgement(Verdict.ELABORATES, _GUESSED, "it adds details")
    return Judgement(Verdict.SUPPORTS, _GUESSED, "it says much of the same")


def _is_past(fact: KnownFact) -> bool:
    """Whether a fact with a slot tells of what was so before it was said."""
    subject = len(fact.slot.subject) if fact.slot is not None else 0
    head = fact.statement[subject : subject + _HEAD]
    is_changed = _FORMS.change.search(head) is not None or (fact.slot is not None and fact.slot.predicate in _CHANGES)
    return _FORMS.past.search(head) is not None and not is_changed


def _is_negated(fact: KnownFact) -> bool:
    if fact.slot is not None and fact.slot.predicate == "has" and fact.slot.object.startswith("no "):
        return True
    return len(_FORMS.negation.findall(fact.statement)) % 2 == 1


def _without_negation(fact: KnownFact) -> frozenset[str]:
    """The words of a statement without those that deny it: equal if one only denies the other."""
    return _lexemes(_FORMS.denying.sub(" ", fact.statement))


def _share(one: str, other: str) -> bool:
    return bool(set(one.split()) & set(other.split()))


def _number(value: str) -> float:
    found = _FORMS.figure.search(value)
    return float(found.group().replace(",", "").replace(":", ".").split(".")[0]) if found else 0.0


def _figures(fact: KnownFact) -> set[str]:
    return set(_FORMS.figure.findall(fact.statement))


def _words(fact: KnownFact) -> frozenset[str]:
    return _lexemes(fact.statement)


@lru_cache(maxsize=20_000)
def _lexemes(statement: str) -> frozenset[str]:
    return frozenset(_LEXER.lexemes(statement))


def _key(statement: str) -> str:
    return statement.casefold().rstrip(".! ")
