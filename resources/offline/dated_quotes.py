"""Relative dates with the days that they mean: beside the words of a quote, or in their place in a retold sentence."""

from __future__ import annotations

from datetime import date, datetime

from resources.offline.date_changes import Mention
from resources.offline.date_scene import DAY, MONTH
from resources.offline.date_words import date_words
from resources.offline.dates import held_mentions
from resources.offline.lexicon import forms
from resources.offline.sentence_language import language_of_short

_FORMS = forms("dated_quotes")
_PARTS = ("morning", "afternoon", "evening", "night")
RELATIVE = ("near", "weekday", "unit", "ago", "ahead", "ordinal", "holiday")
"""Kinds of phrases that leave the month or the year to the reader."""

MOST_BEFORE = 600
"""Characters of the message before that are read: ``the 14th`` may be a day that it named."""


def dated(quote: str, spoken_at: datetime, language: str, before: str = "") -> str:
    """Return a quote in which each relative date is followed by the day, month or year that it surely means.

    A date that the quote has already, and the day on which it was said, are not repeated. A date with a month is
    followed by its year if that is not the year of the message.

    Args:
        quote: One line.
        language: The language of the text around it.
        before: The message just before it.
    """
    today, words = spoken_at.date(), date_words(language_of_short(quote, language))
    shown = {today.isoformat()}
    pieces, at = [], 0
    for one in held_mentions(quote, before[-MOST_BEFORE:], today, words):
        start, end, meant, is_relative = one.start, one.end, one.dates[0], one.kind in RELATIVE
        is_clear = meant in shown or meant[:4] in (quote[start:end] if is_relative else f"{quote} {today.year}")
        if one.certain and not is_clear:
            pieces += [quote[at:end], f" ({_written(meant) if is_relative else meant[:4]})"]
            at = end
        shown.add(meant)
    return "".join(pieces) + quote[at:]


def with_dates(sentence: str, spoken_at: datetime, year: int | None, context: str = "") -> str:
    """Return an English sentence with absolute dates in place of relative ones; those that are not certain stay.

    Args:
        sentence: One sentence.
        spoken_at: When it was said.
        year: The year that needs no mention; None if each does.
        context: What was said just before. A weekday that it gives a number, or "the 7th" where it names a month, which
            need not be the nearest, stays.
    """
    if not _FORMS.relative.search(
        sentence
    ):  # most sentences: the context, which is longer, is read for the others only
        return sentence
    pieces, at = [], 0
    named = {match[1].lower() for match in _FORMS.named.finditer(context)}
    for one in held_mentions(sentence, context, spoken_at.date(), date_words("en")):
        text, before = sentence[one.start : one.end], sentence[: one.start]
        is_known = named.intersection(text.lower().split()) or (one.kind == "ordinal" and _FORMS.month.search(context))
        is_other = _FORMS.is_date.match(sentence, one.end) or _FORMS.weeks_away.search(before)
        if len(one.dates) == 1 and not is_known and not is_other:
            shown = _absolute(one, text, before, year)
            pieces += [sentence[at : one.start], shown[:1].upper() + shown[1:] if not before.strip() else shown]
            at = one.end
    return "".join(pieces) + sentence[at:]


def _absolute(one: Mention, text: str, before: str, year: int | None) -> str:
    """Return a relative date made absolute, such as ``on Saturday 1 March``; any other date stays."""
    meant, last = one.dates[0], text.lower().split()[-1]
    if one.kind == "unit" and len(meant) < DAY and _FORMS.unit.fullmatch(text):
        return f"{text} ({_written(meant)})"
    if one.kind == "ordinal" and " the " in f" {text.lower()}":
        return f"{text} of {written(date.fromisoformat(meant), year).split(' ', 1)[1]}"
    follows = _FORMS.preposition.search(before)
    weekday = _FORMS.weekday.fullmatch(text)
    if len(meant) != DAY or not (one.kind == "near" or (weekday and (follows or weekday["which"]))):
        return text
    day = date.fromisoformat(meant)
    shown = f"{day:%A} {written(day, year)}" if weekday and "week" not in text.lower() else written(day, year)
    part = "evening" if last == "tonight" else last if last in _PARTS else ""
    if part and not follows:
        return f"on the {part} of {shown}"
    return shown if follows else f"on {shown}"


def written(day: date, year: int | None) -> str:
    """Format a day, such as ``1 March``, with its year unless it is ``year``."""
    return f"{day.day} {day:%B}" if day.year == year else f"{day.day} {day:%B %Y}"


def _written(day: str) -> str:
    """Format an ISO day, month or year, such as ``3 May 2025``, ``May 2025`` or ``2025``."""
    if len(day) == DAY:
        return f"{int(day[8:])} {date.fromisoformat(day):%B %Y}"
    return f"{date.fromisoformat(f'{day}-01'):%B %Y}" if len(day) == MONTH else day
