"""Quotes with the days that their relative dates mean: ``yesterday (3 May 2025)``. The words themselves stay."""

from __future__ import annotations

from datetime import date, datetime

from resources.offline.date_scene import DAY, MONTH
from resources.offline.date_words import date_words
from resources.offline.dates import held_mentions
from resources.offline.sentence_language import language_of_short

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


def _written(day: str) -> str:
    """Format an ISO day, month or year, such as ``3 May 2025``, ``May 2025`` or ``2025``."""
    if len(day) == DAY:
        return f"{int(day[8:])} {date.fromisoformat(day):%B %Y}"
    return f"{date.fromisoformat(f'{day}-01'):%B %Y}" if len(day) == MONTH else day
