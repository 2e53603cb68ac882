"""Slots of facts in one form: their subjects and relations, and whether a slot has one true value at a time.

Whether one fact replaces another is decided in ``knowledge``; offline verdicts are in ``resources.offline``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from neurigraph_pipelines.model.facts import Slot

_FAMILIES = {
    "lives in": "home",
    "moved to": "home",
    "resides in": "home",
    "works at": "employer",
    "works for": "employer",
    "joined": "employer",
    "works as": "occupation",
    "studies": "studies",
    "married to": "spouse",
    "age": "age",
    "was born": "birth",
    "likes": "liking",
    "dislikes": "liking",
    "prefers": "preference",
    "costs": "cost",
    "weighs": "weight",
    "amounts to": "amount",
    "becomes": "amount",
    "starts on": "start",
    "is at": "time",
    "is assigned to": "assignment",
    "meets on": "days",
    "happens on": "days",
    "is called": "name",
    **{f"is {where}": "place" for where in ("in", "on", "under", "behind", "inside", "beside", "above", "below")},
}
"""Predicates that fill one slot; others are slots of their own."""

KEYS = frozenset(["code", "pin", "combination", "password"])
"""Predicates that say what opens a thing."""

PROPERTIES = frozenset(["expires", "renews", "birthday", "anniversary", "blood type", "landlord", *KEYS])
"""Predicates that state the present value of a thing, or of a day of somebody."""

_ONE_VALUE = frozenset(
    [
        *(
            "home",
            "employer",
            "occupation",
            "spouse",
            "age",
            "birth",
            "cost",
            "weight",
            "amount",
            "start",
            "time",
            "days",
        ),
        *("assignment", "place", "name", "leader", "phone number", *PROPERTIES),
    ]
)
_ONE_VALUE_OF_A_THING = ("favourite ", "number of ", "dose of ", "means for ")
LASTING = frozenset(["birth", "birthday", "anniversary", "blood type"])
"""Slots whose value never changes: two values contradict each other."""

_FAVOURITE = re.compile(r"\bfavou?rite\s(?P<thing>[a-z]{2,20}(?:\s[a-z]{2,20})?)\s(?:is|was|are)\b")
_NUMBERS = {"no": "0", "one": "1", "a": "1", "an": "1"} | {
    word: str(number)
    for number, word in enumerate("two three four five six seven eight nine ten eleven twelve".split(), start=2)
}
_OF_MEDICINE = re.compile(r"(?P<whose>.+)\s(?P<thing>[a-z-]{4,30}): (?P<dose>\d[\d.,]*\s?(?:mg|mcg|µg|ml)).*")
_PRICE = re.compile(r"(?:price|cost) (?:of|for) (?:the )?(?P<thing>.+)|(?P<whose>.+) price")
_OF_SOMEBODY = re.compile(r"(?P<whose>.+)\s(?P<what>weight|age)")
_DOSE = re.compile(
    r"(?P<dose>\d[\d.,]*\s?(?:mg|mcg|µg|g|ml|units?|drops|tablets?|pills?))\s(?:of\s)?(?P<thing>[a-z-]{3,30})", re.I
)
_MEANS = re.compile(
    r"(?P<means>.{1,60}?)\sfor\s(?!now\b)(?P<purpose>[^.,;]{2,60}?)(?=\s(?:for now|instead of|now)\b|$)", re.I
)
_COUNTED = re.compile(r"^(?P<count>\d{1,9}|[a-z]{1,6})\s(?P<thing>[a-z][\w-]{1,30}(?:\s[a-z][\w-]{1,30})?)")
_APART = frozenset("back bike front guest lower main office other second side spare upper work".split())
"""Words that tell a thing from another one of its kind."""

_POSSESSIVE = re.compile(r"['’]s?\b")
_WORD = re.compile(r"\w+")
_ARTICLES = frozenset(["a", "an", "any", "the", "his", "her", "their", "its", "my"])
_ARTICLES_OF_SUBJECTS = frozenset(["the"])


@dataclass(frozen=True, slots=True)
class PlainSlot:
    """A slot in one form.

    Attributes:
        subject: Its words in lower case.
        relation: Such as ``home``, ``favourite colour`` or ``number of dogs``.
        value: Its words in lower case, without articles; a number in digits.
        is_single: Whether only one value can be true at a time.
    """

    subject: str
    relation: str
    value: str
    is_single: bool


def plain_slot(slot: Slot | None, statement: str) -> PlainSlot | None:
    """Return the slot of a fact in one form; None if the fact has none."""
    if slot is None:
        return None
    predicate = slot.predicate.casefold()
    relation, value = _FAMILIES.get(predicate, predicate), plain_words(slot.object)
    if predicate in ("favourite", "favorite") and (found := _FAVOURITE.search(statement)):
        relation = f"favourite {found['thing']}"
    elif predicate in ("has", "owns") and (counted := _count(slot.object)):
        relation, value = f"number of {counted[1]}", counted[0]
    elif relation == "amount" and (medicine := _OF_MEDICINE.fullmatch(f"{plain_subject(slot.subject)}: {slot.object}")):
        return PlainSlot(medicine["whose"], f"dose of {medicine['thing']}", plain_words(medicine["dose"]), True)
    elif relation == "amount" and (named := _OF_SOMEBODY.fullmatch(plain_subject(slot.subject))):
        return PlainSlot(named["whose"], named["what"], value, True)
    elif relation == "amount" and (priced := _PRICE.fullmatch(plain_subject(slot.subject))):
        return PlainSlot(priced["thing"] or priced["whose"], "cost", value, True)
    elif predicate == "leads":
        return PlainSlot(value, "leader", plain_subject(slot.subject), True)
    elif predicate == "takes" and (dose := _DOSE.match(slot.object)):
        relation, value = f"dose of {dose['thing'].lower()}", plain_words(dose["dose"])
    elif predicate == "uses" and (means := _MEANS.search(_told(slot, statement))):
        relation, value = f"means for {plain_words(means['purpose'])}", plain_words(means["means"])
    elif relation in ("liking", "allergic to", "reacts to", "owns", "has"):
        relation = f"{relation} {value}"
    is_single = relation in _ONE_VALUE or relation.startswith(_ONE_VALUE_OF_A_THING)
    return PlainSlot(plain_subject(slot.subject), relation, value, is_single)


def may_be_one(one: Slot | None, other: Slot | None) -> bool:
    """Return whether a slot names the thing of another one more exactly: a gate, and the gate of a workshop."""
    if one is None or other is None or one.predicate != other.predicate or one.predicate not in KEYS:
        return False
    mine, theirs = (set(plain_subject(slot.subject).split()) for slot in (one, other))
    is_owned = any(_POSSESSIVE.search(slot.subject) for slot in (one, other))
    return (mine < theirs or theirs < mine) and not is_owned and _APART.isdisjoint(mine ^ theirs)


def _told(slot: Slot, statement: str) -> str:
    """Return the object of a slot with the words after it."""
    return statement[statement.find(slot.object) :].strip(' ."')


def plain_subject(subject: str) -> str:
    """Return whom a slot is about, in lower case and without possessives: ``Bob's sister`` is ``bob sister``."""
    words = _WORD.findall(_POSSESSIVE.sub("", subject.casefold()))
    return " ".join(word for word in words if word not in _ARTICLES_OF_SUBJECTS)


def plain_words(text: str) -> str:
    """Return the words of a text in lower case, without articles."""
    return " ".join(word for word in _WORD.findall(text.casefold()) if word not in _ARTICLES)


def _count(value: str) -> tuple[str, str] | None:
    """Return a number and its noun; None unless the text counts several things, or says that there are none."""
    found = _COUNTED.match(value.casefold())
    if found is None:
        return None
    count = _NUMBERS.get(found["count"], found["count"])
    if not count.isdigit() or found["count"] in ("a", "an"):
        return None
    return count, found["thing"].removesuffix("s")
