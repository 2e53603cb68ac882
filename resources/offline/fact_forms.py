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
from resources.offline.written_names import NAME

MAX_PART = 120
"""Most characters of a reason, a manner or an object."""


_FORMS = forms("fact_forms", name=NAME)
_CLOSED_FORMS = _FORMS.table("slots")
_KINDS = [(FactKind(name), cue) for name, cue in _FORMS.table("kinds")]


_LASTING = "lives in|moved to|works at|works as|married to|allergic to|was born"
LASTING = frozenset([*_LASTING.split("|"), "quit", "has", "age"])
"""Slots that matter for good."""

_OF_PEOPLE = frozenset([*_LASTING.split("|"), "joined", "studies", "prefers"])
"""Slots whose subject is somebody."""

_STATES = frozenset(
    "lives in|works at|works as|studies|owns|has|age|is|is called|belongs to|takes|uses|starts on|meets on|goes to|"
    "leads|teaches|plays|speaks|drives|allergic to".split("|")
) | frozenset(PROPERTIES)
_PROPERTIES_FORMS = forms("properties", name=f"(?-i:{NAME})")


RECURRING = frozenset(["birthday", "anniversary"])
"""Properties whose value is a day of every year: nothing happened on it."""

_READ = _PROPERTIES_FORMS.table("read")
_CALLED = {
    "kennwort": "password",
    "passwort": "password",
    "passphrase": "password",
    "geburtstag": "birthday",
    "hochzeitstag": "anniversary",
}


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
        how=_part(_FORMS.how, statement),
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
    if (person := _FORMS.person.match(sentence)) and not _FORMS.of_another.search(person["what"]):
        told = _FORMS.described.split(person["what"])
        verbs = ["" if _FORMS.does.fullmatch(one) else "is " for one in told]
        is_clear = verbs == sorted(verbs, reverse=True)  # behind "has a cat", "and a dog" tells of another thing
        if len(told) > 1 and is_clear and all(map(_FORMS.description.fullmatch, told)):
            return [f"{person['who']} {verb}{one}." for verb, one in zip(verbs, told, strict=True)]
    parts = [part[:1].upper() + part[1:] for part in _FORMS.clauses.split(sentence)]
    return parts if all(len(part.split()) > 2 and slot_said(part, THE_USER) for part in parts) else [sentence]


def names_a_person(slot: Slot) -> bool:
    """Whether the subject of a slot is the name of somebody: ``Ana``, but not ``Ana's sister`` or ``The user``."""
    return slot.predicate in _OF_PEOPLE and _FORMS.whole_name.fullmatch(slot.subject) is not None


def _slot(statement: str) -> Slot | None:
    appointed = next(
        (match for form in (_FORMS.was_made, _FORMS.became, _FORMS.holds) if (match := form.search(statement))), None
    )
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


def property_of(said: str, speaker: str | None) -> Slot | None:
    """Return the property that a sentence gives a value; None if it asks, or has none of the forms.

    Args:
        said: The words of a speaker.
        speaker: How the speaker is called; None if what they say of themselves does not count.
    """
    for name, form in _READ if "?" not in said else ():
        if match := form.match(said):
            found = {key: value for key, value in match.groupdict().items() if value}
            what = found.get("what", "").casefold()
            value = f"no {found['lost']}" if "lost" in found else _PROPERTIES_FORMS.ordinal.sub("", found["value"])
            predicate = name or _CALLED.get(what, what)
            if what and predicate not in RECURRING and not _is_key(predicate, found, value):
                return None
            subject = _subject(found, speaker)
            return Slot(subject, predicate, value) if subject else None
    return None


def _is_key(predicate: str, found: dict[str, str], value: str) -> bool:
    """Return whether a value opens something: a password of any letters, or else of digits."""
    if predicate == "password":
        return _PROPERTIES_FORMS.no_key.fullmatch(value) is None
    things = found.get("thing", ""), found.get("whose", "") + "s"
    return any(map(str.isdigit, value)) and not any(map(_PROPERTIES_FORMS.formulaic.match, things))


def _subject(found: dict[str, str], speaker: str | None) -> str:
    """Return whose thing it is, and the thing. The things of a speaker without a name have no owner."""
    words = [found[name].casefold().rstrip("-") for name in ("thing", "part") if name in found]
    thing = " ".join(words[:1] if words[1:] and words[1] in words[0].split() else words)
    owner = found.get("whose", "")
    if "mine" in found or "lost" in found:
        if speaker is None:
            return ""
        owner = "" if thing and speaker == THE_USER else speaker
    return f"{owner}'s {thing}" if owner and thing else owner or thing
