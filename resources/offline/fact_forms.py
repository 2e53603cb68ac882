"""Fields read from the words of a fact: kind, way of stating, place, reason, manner and slot.

Slots are closed forms of English in the third person, such as ``Ana works at Lumen Press``; every expression is linear.
``facts`` chooses which sentences are facts.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from neurigraph_pipelines.model.facts import Slot
from neurigraph_pipelines.text.slots import PROPERTIES
from neurigraph_pipelines.views.kinds import FactKind, StatedAs
from resources.offline.lexicon import english
from resources.offline.properties import property_of
from resources.offline.written_names import NAME

MAX_PART = 120
"""Most characters of a reason, a manner or an object."""

_ADVERBS = r"(?:now|still|also|currently|only|already|just|recently|finally|really)"
_SUBJECT = (
    rf"(?P<subject>{NAME}(?:['’]s?\s[a-z]{{2,20}}){{0,2}}|The\s[a-z]{{2,20}}(?:\s(?!{_ADVERBS}\s)[a-z]{{2,20}})?)"
)
_WHOLE_NAME = re.compile(rf"(?!The\s){NAME}")
_ADVERB = rf"(?:{_ADVERBS}\s){{0,2}}"
_OBJECT = r"(?P<object>[^.;,!?()]{1,120})"
_AFTER_OBJECT = re.compile(
    r"\s(?:any\s?more|because|since|so|and|but|when|while|who|which|that|if|after|before|until|with|for|(?:on|in|from)\s(?=\d)|on\s(?=[A-Z]))\b"
)
"""What begins another part of the sentence."""

_SLOTS = {
    "lives in": r"(?:lives?|lived|is\sliving|has\slived)\s(?:in|at|near|on)\s",
    "moved to": r"(?:moved|is\smoving|has\smoved|relocated)\s(?:back\s)?(?:in)?to\s",
    "works at": r"(?:works?|worked|is\sworking|has\sworked)\s(?:at|for)\s",
    "joined": r"started\s(?:working\s)?at\s(?=[A-Z])",
    "works as": r"(?:works?|worked|is\sworking|has\sworked)\sas\s",
    "studies": r"(?:studies|studied|is\sstudying|majored\sin|majors\sin)\s",
    "married to": r"(?:is|was|got)\smarried\sto\s|married\s(?=[A-Z])",
    "allergic to": r"(?:is|was|isn['’]t)\s(?:not\s|no\slonger\s)?(?:severely\s|very\s)?allergic\sto\s",
    "was born": r"was\sborn\s",
    "owns": r"(?:owns?|owned|bought|has\sbought|got)\s(?=(?:an?|the|two|three|his|her|their|\d))",
    "has": r"(?:has|had|have|does\snot\shave|doesn['’]t\shave)\s(?:got\s)?"
    r"(?=(?:an?|any|one|two|three|four|five|six|seven|eight|nine|ten|no|\d+)\s)",
    "age": r"(?:is|was|turned|turns|will\sbe|will\sturn)\s"
    r"(?=\d{1,3}(?:\syears\sold)?(?:[.;,!]|$|\s(?:on|in|this|next)\b))",
    "started": r"(?:started|has\sstarted|began|took\sup)\s",
    "quit": r"(?:quit|has\squit|left|resigned\sfrom|gave\sup|stopped)\s",
    "prefers": r"(?:prefers?|preferred)\s",
    "likes": r"(?:loves?|likes?|enjoys?|adores?)\s",
    "dislikes": r"(?:hates?|dislikes?|can['’]t\sstand|does\snot\slike|doesn['’]t\slike)\s",
    "favourite": r"(?:['’]s?\s)?favou?rite\s[a-z]{2,20}(?:\s[a-z]{2,20})?\s(?:is|was|are)\s",
    "is": r"(?:is|was|became|has\sbecome)\s(?=(?:an?|the)\s[a-z])",
}
_FORMS = [(name, re.compile(rf"^{_SUBJECT}\s?{_ADVERB}(?:{verb}){_ADVERB}{_OBJECT}")) for name, verb in _SLOTS.items()]
_ROLE = (
    r"(?P<object>(?:[a-z]+[ -]){0,3}(?:lead(?:er)?|manager|director|head(?:\sof\s[a-z]+)?|chief|partner|supervisor|"
    r"foreman|captain|editor|treasurer|secretary|chair(?:man|woman|person)?|president|principal|coach|apprentice))\b"
)
_APPOINTED = [
    re.compile(
        rf"\b(?:made|appointed|named|promoted)\s(?P<subject>{NAME})\s(?:to\s|as\s)?(?:an?\s|the\s|our\s)?{_ROLE}"
    ),
    re.compile(
        rf"^(?P<subject>{NAME})\s(?:(?:was|has\sbeen|got)\s(?:made|appointed|named|promoted)|became|has\sbecome)\s"
        rf"(?:to\s|as\s)?(?:an?\s|the\s|our\s)?{_ROLE}"
    ),
]
"""Somebody gets a post: ``Bob made Dave production lead``."""

LASTING = frozenset(
    ["lives in", "moved to", "works at", "works as", "married to", "allergic to", "was born", "quit", "has", "age"]
)
"""Slots that matter for good."""

_OF_PEOPLE = frozenset(
    [
        "lives in",
        "moved to",
        "works at",
        "joined",
        "works as",
        "studies",
        "married to",
        "allergic to",
        "was born",
        "prefers",
    ]
)
"""Slots whose subject is somebody."""

_STATES = frozenset(["lives in", "works at", "works as", "studies", "owns", "has", "age", "is", *PROPERTIES])

_WHY = re.compile(
    rf"\b(?:because(?:\sof)?|since(?=\s[a-z]+\s[a-z]+ed\b)|due\sto|so\sthat|in\sorder\sto)\s(?P<part>[^.;!?]{{3,{MAX_PART}}})"
)
_HOW = re.compile(rf"\bby\s(?P<part>[a-z]{{2,20}}ing\b[^.;,!?]{{0,{MAX_PART}}})")
_WHERE = re.compile(rf"\s(?:in|at|near|from|to)\s(?:the\s)?(?P<part>{NAME})(?=[\s.,;!?)]|$)")
_HEDGED = re.compile(
    r"\b(?:maybe|perhaps|probably|apparently|might|seems?|supposedly|guess(?:es)?|suppose[sd]?|(?:I|he|she|they)\sthinks?|"
    r"thinks?\s(?:that|it|he|she|they)|looks\slike|sounds\slike|must\shave)\b",
    re.I,
)
_SEEN = re.compile(r"\b(?:noticed|saw|heard|seen|spotted|observed)\b", re.I)
_KINDS = [
    (FactKind.DECISION, re.compile(r"\b(?:decided|agreed|chose|chosen|settled\son|opted|picked|signed|approved)\b")),
    (FactKind.COMMITMENT, re.compile(r"\b(?:promised?s?|committed\sto|(?:I['’]ll|I\swill)\s(?!be\b|probably|never))")),
    (
        FactKind.PLAN,
        re.compile(
            r"\b(?:will|won['’]t|(?:is|are|am|['’]m|['’]re)\s(?:going\sto|planning|hoping|about\sto|thinking\sof)|plans?\s(?:to|on|for)|"
            r"hopes?\sto|wants?\sto|intends?|would\slike\sto|looking\sforward|booked|is\sdue|are\sdue)\b"
        ),
    ),
    (
        FactKind.PREFERENCE,
        re.compile(r"\b(?:loves?|likes?|enjoys?|adores?|prefers?|hates?|dislikes?|favou?rite|fan\sof|allergic|can['’]t\sstand)\b"),
    ),
]  # fmt: skip
_AMOUNT = re.compile(r"(?<![\w.,])[$€£¥]\s?\d|(?<![\w.,-])\d[\d.,]*\s?(?:%|[a-zA-Z]{1,12}\b)")
_KIN = re.compile(r"['’]s\s(?P<kin>[a-z]{3,20})\b")
_PAST = re.compile(r"\b(?:was|were|had|did|went|got|made|took|came|saw|met|bought|found|won|lost|[a-z]{2,}ed)\b")
_STATE = re.compile(r"\b(?:is|are|am|has|have|lives|works|owns|keeps|knows|needs|means|costs|['’]s|['’]re|['’]m)\b")


@dataclass(frozen=True, slots=True)
class ReadFact:
    """What was read from the words of a fact; see ``Fact``."""

    kind: FactKind
    stated_as: StatedAs
    where: str | None = None
    why: str | None = None
    how: str | None = None
    slot: Slot | None = None


def read_fact(statement: str, said: str, language: str, *, is_dated: bool, speaker: str | None = None) -> ReadFact:
    """Return what the words of a fact say; of other languages than English and German only that something was said.

    Args:
        statement: The fact as it is worded.
        said: The words of the speaker.
        language: Their language, such as ``de``.
        is_dated: Whether they name a time.
        speaker: How the speaker is called; None if what they say of themselves does not count.
    """
    slot = property_of(said, speaker)
    if language != "en":
        kind = FactKind.STATE if slot is not None else FactKind.EVENT if is_dated else FactKind.OTHER
        return ReadFact(kind, StatedAs.STATEMENT, slot=slot)
    slot = slot or _slot(statement)
    return ReadFact(
        kind=_kind(said, slot, is_dated=is_dated),
        stated_as=_stated_as(said),
        where=_part(_WHERE, statement),
        why=_part(_WHY, statement),
        how=_part(_HOW, statement),
        slot=slot,
    )


def names_a_person(slot: Slot) -> bool:
    """Whether the subject of a slot is the name of somebody: ``Ana``, but not ``Ana's sister`` or ``The user``."""
    return slot.predicate in _OF_PEOPLE and _WHOLE_NAME.fullmatch(slot.subject) is not None


def _slot(statement: str) -> Slot | None:
    appointed = next((match for form in _APPOINTED if (match := form.search(statement))), None)
    if appointed is not None:
        return Slot(appointed["subject"], "works as", appointed["object"])
    for name, form in _FORMS:
        if match := form.match(statement):
            subject = match["subject"]
            told = _AFTER_OBJECT.split(match["object"], maxsplit=1)[0].strip()
            return Slot(subject, name, told) if told else None
    return None


def _kind(said: str, slot: Slot | None, *, is_dated: bool) -> FactKind:
    for kind, cue in _KINDS:
        if cue.search(said):
            return kind
    if slot is not None and slot.predicate in _STATES:
        return FactKind.STATE
    relations = english().relations
    if any(match["kin"] in relations for match in _KIN.finditer(said)) or (slot and slot.predicate == "married to"):
        return FactKind.RELATION
    if _PAST.search(said) and (is_dated or not _STATE.search(said)):
        return FactKind.EVENT
    if _AMOUNT.search(said):
        return FactKind.QUANTITY
    if slot is not None or _STATE.search(said):
        return FactKind.STATE
    return FactKind.EVENT if is_dated else FactKind.OTHER


def _stated_as(said: str) -> StatedAs:
    if _HEDGED.search(said):
        return StatedAs.INFERENCE
    return StatedAs.OBSERVATION if _SEEN.search(said) else StatedAs.STATEMENT


def _part(pattern: re.Pattern[str], statement: str) -> str | None:
    match = pattern.search(statement)
    return match["part"].strip() if match else None
