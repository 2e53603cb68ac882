"""Relations that a text says have ended, or never were: ``Dave no longer works at Acme``, ``Tom is not my brother``.

Closed forms of English in the past and present. What is supposed, asked or only reported from others is left out.
``relations`` reads those that are asserted.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from neurigraph_pipelines.model import Ending, Role
from neurigraph_pipelines.text.iso_periods import period_of
from resources.offline.dates import resolve_dates
from resources.offline.kin_words import singular
from resources.offline.lexicon import forms
from resources.offline.prose import Prose, Sentence
from resources.offline.relations import person_in, speaker_of
from resources.offline.written_names import NAME

_FORMS = forms("endings", name=NAME)

MAX_ENDINGS = 12

COUPLES = ("spouse", "wife", "husband", "partner", "girlfriend", "boyfriend", "fiancé", "fiancée", "married to")
"""What edges call the relation of a couple."""

WORKPLACES = ("works at", "works for", "employed by", "member of", "teaches at", "studies at", "employer")
"""What edges call where somebody works or learns."""


def stated_endings(prose: Prose, speakers: Mapping[str, str], owner: str | None) -> tuple[Ending, ...]:
    """Return the things that ended or never were, as people say, in order.

    Args:
        prose: The segment.
        speakers: Names of people by author line.
        owner: Author line of the account's user, whose relations have no ``whose``.
    """
    found: dict[Ending, None] = {}
    before: Sentence | None = None
    for sentence in prose.sentences:
        message = prose.message(sentence)
        said = _FORMS.cue.search(sentence.text) and sentence.language == "en" and message.role is not Role.ASSISTANT
        if said and not (sentence.text.endswith("?") or _FORMS.hedged.search(sentence.text)):
            same = before is not None and before.message == sentence.message
            me = speaker_of(message, speakers, owner)
            period = period_of(resolve_dates(sentence.text, message.occurred_at, sentence.language))
            is_past = period is not None and period.starts_at is not None and period.starts_at <= message.occurred_at
            until = period.starts_at if period is not None and is_past else message.occurred_at
            for one in _read(sentence.text, me, before.text if before is not None and same else ""):
                found[one if one.denied else one.ended_at(until or message.occurred_at)] = None
        before = sentence
        if len(found) >= MAX_ENDINGS:
            break
    return tuple(found)[:MAX_ENDINGS]


def _read(text: str, me: str | None, before: str) -> Iterator[Ending]:
    for match in _FORMS.kin.finditer(text):
        label, holder = singular(match["label"]), match["holder"]
        other, whose = _named(match["who"]), me if match["mine"] else person_in(holder)
        if label and other and (match["mine"] or whose) and other != whose:
            yield Ending(other, whose, (label,), denied=not (match["ended"] or match["more"]))
    for match in _FORMS.work.finditer(text):
        yield from _of_work(match["who"], match["other"], me, denied=not (match["ended"] or match["more"]))
    for match in _FORMS.left.finditer(text):
        yield from _of_work(match["who"], match["other"], me, denied=False)
    for match in _FORMS.divorce.finditer(text):
        pair = match if match["who"] else None if match["leaver"] else _FORMS.couple.search(before)
        one, other = (
            (match["leaver"], match["left"]) if match["leaver"] else (pair["who"], pair["other"]) if pair else ("", "")
        )
        yield from _of_couple(one, other, me)


def _of_work(who: str, other: str, me: str | None, *, denied: bool) -> Iterator[Ending]:
    whose = me if who == "I" else person_in(who)
    if who == "I" or whose:
        yield Ending(other, whose, WORKPLACES, denied=denied)


def _of_couple(one: str, other: str, me: str | None) -> Iterator[Ending]:
    """Yield both directions; the user, who has no name, is only whose a relation is."""
    first, second = (me if name == "I" else person_in(name) if name else None for name in (one, other))
    for whose, name, is_user in ((first, second, one == "I"), (second, first, other == "I")):
        if name and (whose or is_user) and name != whose:
            yield Ending(name, whose, COUPLES)


def _named(who: str) -> str | None:
    return None if who == "I" else person_in(who)
