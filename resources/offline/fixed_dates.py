"""Relative dates of English sentences made absolute, as far as ``dates`` resolves them: "on Saturday 1 March"."""

from __future__ import annotations

import re
from datetime import date, datetime, timedelta

from resources.offline.date_words import date_words
from resources.offline.dates import held_mentions
from resources.offline.lexicon import forms

MONTHS = "January February March April May June July August September October November December".split()
_WEEKDAY = r"(?:mon|tues|wednes|thurs|fri|satur|sun)day"

_FORMS = forms("fixed_dates", weekday=_WEEKDAY)
_RELATIVE = re.compile(
    r"(?<!this )(?<!next )(?<!last )(?P<week>\b(?:a week (?:on )?(?:today|tomorrow|"
    rf"{_WEEKDAY})|(?:on )?(?:today|tomorrow|{_WEEKDAY}) week)\b(?!['’]s))"
    r"|(?P<near>\b(?:the day before yesterday|the day after tomorrow|yesterday|today|tomorrow|tonight|last night|"
    r"this morning|this afternoon|this evening)\b(?!['’]s?|\s(?:week|fortnight)\b)"
    rf"(?!,?\s(?:the\s)?\d{{1,2}}(?:st|nd|rd|th)?\s(?:of\s)?(?:{'|'.join(MONTHS)})))"
    rf"|(?P<before>\b(?:every|each)\s(?:{_WEEKDAY}(?:,|\sand|\sor)\s){{0,3}})?"
    r"\b(?P<word>(?:last|next|this|this coming|on|by|until|till|since|before|after)\s)"
    rf"(?P<weekday>{_WEEKDAY})\b(?!['’]s|,?\s(?:the\s)?\d|\s(?:week|fortnight)\b)"
    r"|\b(?P<ordinal>the \d{1,2}(?:st|nd|rd|th))\b(?! of\b)"
    r"|\b(?P<unit>(?:last|next|this) (?:month|year))\b(?!['’])",
    re.I,
)
_WEEKS_AWAY_CHARACTERS = 20
_DIRECTIONS = {"last", "next", "this", "this coming"}
_MONTH = re.compile(rf"\b(?:{'|'.join(MONTHS)})\b")
_DAYS_AWAY = {
    "the day before yesterday": -2, "yesterday": -1, "last night": -1, "tomorrow": 1, "the day after tomorrow": 2,
}  # fmt: skip
_PARTS = {
    "this morning": "on the morning of", "this afternoon": "on the afternoon of",
    "this evening": "on the evening of", "tonight": "on the evening of", "last night": "on the night of",
}  # fmt: skip


def with_dates(sentence: str, spoken_at: datetime, year: int | None, context: str = "") -> str:
    """Return ``sentence`` with absolute dates in place of relative ones; what cannot be resolved stays.

    Args:
        sentence: One English sentence.
        spoken_at: When it was said.
        year: The year that needs no mention; None if each does.
        context: What was said just before, such as the days of a journey. A weekday whose day it names is not resolved
            again, nor is "the 7th" where it names a month, which need not be the nearest.
    """
    relative = [match for match in _RELATIVE.finditer(sentence) if not _is_moved(match, sentence)]
    if not relative:  # most sentences: the context, which is longer, is read for the others only
        return sentence
    named = {match[1].lower() for match in _FORMS.named.finditer(context)}
    matches = [
        match
        for match in relative
        if (match["weekday"] or "").lower() not in named and not (match["ordinal"] and _MONTH.search(context))
    ]
    if not matches:
        return sentence
    meant = list(held_mentions(sentence, context, spoken_at.date(), date_words("en")))
    pieces: list[str] = []
    at = 0
    for match in matches:
        if match["near"]:
            found = [(spoken_at.date() + timedelta(_DAYS_AWAY.get(match["near"].lower(), 0))).isoformat()]
        else:
            last = match.end() if match["week"] else match.start() + 1
            inside = (one.dates for one in meant if one.start < match.end() and last <= one.end)
            found = next(inside, [])
        shown = _shown(match, sentence[: match.start()], found[0], year) if len(found) == 1 else None
        if shown is not None:
            pieces += [sentence[at : match.start()], shown]
            at = match.end()
    return "".join(pieces) + sentence[at:]


def _is_moved(match: re.Match[str], sentence: str) -> bool:
    """Return whether words before a relative date mean another day, or many."""
    if match["near"] or match["weekday"]:
        before = sentence[max(match.start() - _WEEKS_AWAY_CHARACTERS, 0) : match.start()]
        return bool(match["before"] or _FORMS.weeks_away.search(before))
    return False


def written(day: date, year: int | None) -> str:
    """Format a day, such as ``1 March``, with its year unless it is ``year``."""
    month = MONTHS[day.month - 1]
    return f"{day.day} {month}" if day.year == year else f"{day.day} {month} {day.year}"


def _shown(match: re.Match[str], before: str, found: str, year: int | None) -> str | None:
    preposition = _FORMS.preposition.search(before)
    opening = not before.strip()
    if match["unit"]:
        if len(found) == 10:
            return None
        named = found if len(found) == 4 else f"{MONTHS[int(found[5:7]) - 1]} {found[:4]}"
        return f"{match['unit']} ({named})"
    if len(found) != 10:
        return None
    day = date.fromisoformat(found)
    if match["ordinal"]:
        return f"{match['ordinal']} of {written(day, year).split(' ', 1)[1]}"
    shown = written(day, year)
    if match["weekday"]:
        shown = f"{match['weekday'].capitalize()} {shown}"
        word = match["word"].strip()
        if word.lower() not in _DIRECTIONS:
            return f"{word} {shown}"
        return shown if preposition else f"{'On' if opening else 'on'} {shown}"
    part = _PARTS.get((match["near"] or "").lower())
    if part and not preposition:
        shown = f"{part} {shown}"
    elif not preposition:
        shown = f"on {shown}"
    return shown[0].upper() + shown[1:] if opening else shown
