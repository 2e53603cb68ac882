"""Fields read from the words of a fact: kind, way of stating, place, reason, manner and slot.

Slots are closed forms of English in the third person, such as ``Ana works at Lumen Press``; every expression is linear.
``facts`` chooses which sentences are facts.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from neurigraph_pipelines.model.facts import THE_USER, Slot
from neurigraph_pipelines.text.causes import causes_of
from neurigraph_pipelines.text.slots import PROPERTIES
from neurigraph_pipelines.views.kinds import FactKind, StatedAs
from resources.offline.lexicon import english, forms
from resources.offline.properties import property_of
from resources.offline.written_names import NAME

MAX_PART = 120
"""Most characters of a reason, a manner or an object."""

_ADVERBS = r"(?:now|still|also|currently|only|already|just|recently|finally|really)"
_NOUNS = r"(?:[a-z][\w-]{1,20}\s){0,3}?[a-z][\w-]{1,20}"
_SUBJECT = (
    rf"(?P<subject>(?:{NAME}|The\suser)(?:['’]s?\s{_NOUNS}(?:\s{NAME})?)?|(?:The|A|An)\s(?!user\b){_NOUNS}"
    rf"(?:\s(?:of|with|for)\s(?:the\s)?[\w-]{{2,20}}(?:\s[\w-]{{1,20}})?)??|The\s(?:{NAME}\s){_NOUNS})"
)
_CALENDAR = (
    r"(?:January|February|March|April|May|June|July|August|September|October|November|December|(?:Mon|Tues|Wednes|Thurs|"
    r"Fri|Satur|Sun)day|Easter|Christmas)s?\b"
)
_ADVERB = rf"(?:{_ADVERBS}\s){{0,2}}"
_OBJECT = r"(?P<object>(?:[^.;,!?()]|(?<=\d)[.,](?=\d)){1,120})"

_FORMS = forms("fact_forms", name=NAME, calendar=_CALENDAR, nouns=_NOUNS, object=_OBJECT, subject=_SUBJECT)

_PUT = (
    r"(?:(?:is|was|were|has\sbeen)\s)?(?:moved|postponed|rescheduled|pushed\sback|pushed|brought\sforward|changed|"
    r"shifted)"
)
_SLOTS = {
    "lives in": r"(?:lives?|lived|is\sliving|has\slived)\s(?:in|at|near|on)\s",
    "moved to": r"(?:moved|is\smoving|has\smoved|relocated)\s(?:back\s)?(?:in)?to\s(?!\d)",
    "works at": r"(?:works?|worked|is\sworking|has\sworked)\s(?:at|for)\s",
    "joined": r"(?:started\s(?:working\s)?at|joined)\s(?=[A-Z])",
    "works as": r"(?:works?|worked|is\sworking|has\sworked)\sas\s",
    "studies": r"(?:studies|studied|is\sstudying|majored\sin|majors\sin)\s",
    "married to": r"(?:is|was|got)\smarried\sto\s|married\s(?=[A-Z])",
    "allergic to": r"(?:is|was|isn['’]t)\s(?:not\s|no\slonger\s)?(?:severely\s|very\s)?allergic\sto\s",
    "was born": r"was\sborn\s",
    "owns": r"(?:owns?|owned|bought|has\sbought|got)\s(?=(?:an?|the|two|three|his|her|their|\d))",
    "has": r"(?:has|had|have|does\snot\shave|doesn['’]t\shave)\s(?:got\s)?"
    r"(?=(?:an?|any|one|two|three|four|five|six|seven|eight|nine|ten|no|type|\d+)\s)",
    "is called": r"(?:is|are)\s(?:called|named)\s",
    **{
        f"is {place}": rf"(?:is|are)\s{_ADVERB}(?:kept\s|stored\s|parked\s)?{place}\s(?!{_CALENDAR})"
        r"(?=(?:the|an?|my|our|his|her|their)\b|[A-Z])"
        for place in ("in", "on", "under", "behind", "inside", "beside", "above", "below", "next to", "near")
    },
    "is at": r"(?:is|are)\sat\s(?=\d|noon|midnight)|(?:(?:was|were|has\sbeen)\s)?(?:moved|postponed|"
    r"changed|pushed|brought\sforward)\sto\s(?=\d{1,2}(?::\d\d|\s?[ap]m)\b)",
    "belongs to": r"belongs?\sto\s",
    "takes": r"takes?\s(?=(?:\d|an?\s|the\s|half|one|two|some\s|[a-z]+(?:in|ol|ne|ide|ate)\b))",
    "uses": r"uses?\s(?=\S)",
    "costs": r"costs?\s(?=\D{0,12}\d)",
    "weighs": r"weighs?\s(?=\D{0,12}\d)",
    "starts on": r"(?:starts?|begins?)\s(?:on|at|in)\s",
    "meets on": r"meets?\s(?:on|every)\s",
    "goes to": r"goes?\sto\s(?=(?:the|an?)\b|[A-Z])",
    "leads": r"(?:leads?|heads|manages?|chairs?)\s(?=(?:the|an?|our)\b|[A-Z])",
    "teaches": r"(?:teaches?)\s",
    "plays": r"plays?\s(?:the\s)?(?=[a-z])",
    "speaks": r"speaks?\s(?=[A-Z])",
    "drives": r"drives?\s(?=an?\s|the\s|[A-Z])",
    "age": r"(?:is|was|turned|turns|will\sbe|will\sturn)\s"
    r"(?=\d{1,3}(?:\syears\sold)?(?:[.;,!](?!\d)|$|\s(?:on|in|this|next)\b))",
    "started": r"(?:started|has\sstarted|began|took\sup)\s",
    "quit": r"(?:quit|has\squit|has\sleft|left|resigned\sfrom|gave\sup|stopped)\s",
    "prefers": r"(?:prefers?|preferred)\s",
    "likes": r"(?:loves?|likes?|enjoys?|adores?)\s",
    "dislikes": r"(?:hates?|dislikes?|can['’]t\sstand|does\snot\slike|doesn['’]t\slike)\s",
    "favourite": r"(?:['’]s?\s)?favou?rite\s[a-z]{2,20}(?:\s[a-z]{2,20})?\s(?:is|was|are)\s",
    "becomes": r"(?:(?:is|was|were|has\sbeen|have\sbeen)\s)?(?:raised|lowered|increased|reduced|cut|changed|rose|fell|"
    r"dropped|went\s(?:up|down))\s(?:from\s[^.;,]{1,40}?\s)?to\s(?=\D{0,10}\d)",
    "happens on": rf"(?:is|are)\s{_ADVERB}(?:on\s)?(?:the\s)?(?={_CALENDAR}|\d{{1,2}}(?:st|nd|rd|th)?\s(?:of\s)?[A-Z])|"
    rf"{_PUT}\sto\s(?:the\s)?(?={_CALENDAR}|\d{{1,2}}(?:st|nd|rd|th)?\s(?:of\s)?[A-Z])",
    "is assigned to": r"(?:is|was|has\sbeen|got)\s(?:now\s)?(?:re)?assigned\sto\s",
    "amounts to": rf"(?:is|are)\s{_ADVERB}(?:about\s|around\s)?(?=[$€£]?\d[\d.,]*\s?(?:%|[a-z]+))",
    "is": r"(?:is|was|became|has\sbecome|is\sno\slonger|is\snot)\s"
    r"(?=(?:an?|the|my|our|The user['’]s)\s[a-z]|(?!(?:not|very|so|too|also|there|here|it|that|"
    r"going|about|sure|sorry|glad|happy|fine|ok|okay|true|right|what|why|how|where|when|because|[a-z]+ing|[a-z]+ed)\b)"
    r"[a-zO][\w-]*(?:\s[a-z][\w-]*){0,2}[.!]?$)",
}
_CLOSED_FORMS = [
    (name, re.compile(rf"^{_SUBJECT}(?:\s|(?=['’])){_ADVERB}(?:{verb}){_ADVERB}{_OBJECT}"))
    for name, verb in _SLOTS.items()
]


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

_STATES = frozenset(
    [
        *(
            "lives in",
            "works at",
            "works as",
            "studies",
            "owns",
            "has",
            "age",
            "is",
            "is called",
            "belongs to",
            "takes",
        ),
        *("uses", "starts on", "meets on", "goes to", "leads", "teaches", "plays", "speaks", "drives"),
        *("allergic to", *PROPERTIES),
    ]
)

_HOW = re.compile(rf"\bby\s(?P<part>[a-z]{{2,20}}ing\b[^.;,!?]{{0,{MAX_PART}}})")
_KINDS = [
    (
        FactKind.DECISION,
        re.compile(r"\b(?:deci(?:ded|sion)|agreed|chose|chosen|settled\son|opted|picked|signed|approved)\b"),
    ),
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


@dataclass(frozen=True, slots=True)
class FactForm:
    """The values read from the words of a fact; see ``ReadFact``."""

    kind: FactKind
    stated_as: StatedAs
    where: str | None = None
    why: str | None = None
    how: str | None = None
    slot: Slot | None = None


def read_fact(statement: str, said: str, language: str, *, is_dated: bool, speaker: str | None = None) -> FactForm:
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
        return FactForm(kind, StatedAs.STATEMENT, slot=slot)
    slot = slot or _slot(statement) or (slot_said(said, speaker) if speaker else None)
    return FactForm(
        kind=_kind(said, slot, is_dated=is_dated),
        stated_as=_stated_as(said),
        where=_part(_FORMS.where, statement),
        why=next(
            (
                one.cause[:MAX_PART]
                for one in causes_of(_FORMS.quoted.sub(r"\1", statement))
                if one.relation == "caused_by"
            ),
            None,
        ),
        how=_part(_HOW, statement),
        slot=slot,
    )


def slot_said(said: str, speaker: str) -> Slot | None:
    """Return the slot of a sentence in the words of a speaker, who may say "I"; None if it asks or guesses."""
    if "?" in said or _FORMS.hedged.search(said):
        return None
    found = property_of(said, speaker)
    match = _FORMS.mine.match(said)
    if found is not None or match is None:
        return found or _slot(said)
    lead = match["said"].lower().strip()
    told = {"i": speaker, "we": speaker, "my": f"{speaker}'s", "our": f"{speaker}'s"}.get(lead)
    verb = "is" if lead.endswith(("m", "am")) else "has"
    return _slot(f"{told or f'{speaker} {verb}'} {said[match.end() :]}")


def clauses_of(sentence: str) -> list[str]:
    """Return the clauses of a sentence, if each of several is a closed form; else the sentence."""
    parts = [part[:1].upper() + part[1:] for part in _FORMS.clauses.split(sentence)]
    return parts if all(len(part.split()) > 2 and slot_said(part, THE_USER) for part in parts) else [sentence]


def names_a_person(slot: Slot) -> bool:
    """Whether the subject of a slot is the name of somebody: ``Ana``, but not ``Ana's sister`` or ``The user``."""
    return slot.predicate in _OF_PEOPLE and _FORMS.whole_name.fullmatch(slot.subject) is not None


def _slot(statement: str) -> Slot | None:
    appointed = next((match for form in _APPOINTED if (match := form.search(statement))), None)
    if appointed is not None:
        return Slot(appointed["subject"], "works as", appointed["object"])
    if match := _FORMS.changed_by.match(statement):
        changed = match["subject"]
        return _slot(f"{changed[:1].upper()}{changed[1:]} was changed to {match['object']}")
    if match := _FORMS.cannot.match(statement):
        return Slot(
            match["subject"],
            f"cannot {match['verb']}",
            _FORMS.after_object.split(match["object"], maxsplit=1)[0].strip(),
        )
    if match := _FORMS.allergy.match(statement):
        return Slot(match["subject"], "allergic to", (match["object"] or match["to"]).strip())
    for name, form in _CLOSED_FORMS:
        if match := form.match(statement):
            subject = _FORMS.auxiliary.sub("", _FORMS.relative.sub("", match["subject"]))
            told = _FORMS.after_object.split(match["object"], maxsplit=1)[0].strip()
            return Slot(subject, name, told) if told else None
    return None


def _kind(said: str, slot: Slot | None, *, is_dated: bool) -> FactKind:
    for kind, cue in _KINDS:
        if cue.search(said):
            return kind
    if slot is not None and slot.predicate in _STATES:
        return FactKind.STATE
    relations = english().relations
    if any(match["kin"] in relations for match in _FORMS.kin.finditer(said)) or (
        slot and slot.predicate == "married to"
    ):
        return FactKind.RELATION
    if _FORMS.past.search(said) and (is_dated or not _FORMS.state.search(said)):
        return FactKind.EVENT
    if _FORMS.amount.search(said):
        return FactKind.QUANTITY
    if slot is not None or _FORMS.state.search(said):
        return FactKind.STATE
    return FactKind.EVENT if is_dated else FactKind.OTHER


def _stated_as(said: str) -> StatedAs:
    if _FORMS.hedged.search(said):
        return StatedAs.INFERENCE
    return StatedAs.OBSERVATION if _FORMS.seen.search(said) else StatedAs.STATEMENT


def _part(pattern: re.Pattern[str], statement: str) -> str | None:
    match = pattern.search(statement)
    return match["part"].strip() if match else None
