"""Dates and times at the beginning of lines, as phones of many languages write them: WhatsApp writes as they do.

Numbers may have the digits of any script, and invisible marks of direction may stand between all of them.
``date_order`` tells which number is the day.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from neurigraph_pipelines.inbox.imports.date_order import Numbers

INVISIBLE = "\u200e\u200f\u061c\u202a-\u202e\u2066-\u2069"
"""Marks of direction, for a class of characters."""

_B = f"[{INVISIBLE}]*"
_GAP = rf"{_B}\s?{_B}"
_MORNING = (
    r"[Aa]\.?\s?[Mm]\.?|[Ππ]\.?\s?[Μμ]\.?|ص|ق\.?\s?ظ\.?|قبل[\s\u200c]?از[\s\u200c]?ظهر|SA|पूर्वाह्न|পূর্বাহ্ণ|ÖÖ|"
    r"לפנה[״\"]צ|пр\.\s?об\.|ก่อนเที่ยง|முற்பகல்|PG|de\.|dop\.|上午|凌晨|早上|清晨|午前|오전"
)
_AFTERNOON = (
    r"[Pp]\.?\s?[Mm]\.?|[Μμ]\.?\s?[Μμ]\.?|م|ب\.?\s?ظ\.?|بعد[\s\u200c]?از[\s\u200c]?ظهر|CH|अपराह्न|অপরাহ্ণ|ÖS|"
    r"אחה[״\"]צ|сл\.\s?об\.|หลังเที่ยง|பிற்பகல்|PTG|du\.|odp\.|下午|晚上|午後|오후"
)
_PARTS = rf"{_AFTERNOON}|{_MORNING}|中午"
"""Parts of the day, which stand before or after the hour."""

_DATE = (
    rf"(?P<date>\d{{1,4}}{_B}[./-]{_GAP}\d{{1,2}}{_B}[./-]{_GAP}\d{{1,4}}|\d{{4}}[年년]\s?\d{{1,2}}[月월]\s?\d{{1,2}}[日일])"
    rf"{_B}\.?(?:\s?(?:г\.?|هـ))?"
)
_TIME = (
    rf"(?:(?P<part>{_PARTS}){_GAP})?(?P<hour>\d{{1,2}})[:.h](?P<minute>\d\d)(?:[:.](?P<second>\d\d))?"
    rf"(?:{_GAP}(?P<half>{_PARTS}))?(?:\s?(?:ч\.?|น\.|Uhr))?{_B}"
)
_END = rf"{_B}(?(open)\]\s|(?(part)(?:\s{_B}-|,)\s|(?:\s{_B}-\s|(?(second):\s|(?!)))))(?P<rest>.*)"
_WORDS = r"(?:(?:klo|kl\.?|à|às|u|um|ob|o|alle)\s)?"
_LINE = re.compile(rf"{_B}(?P<open>\[)?{_B}{_DATE}{_B}[,،]?{_B}\s{_B}{_WORDS}{_TIME}{_END}")
_TIME_FIRST = re.compile(rf"{_B}(?P<open>\[)?{_B}{_TIME}[,،]?{_B}\s{_B}{_DATE}{_END}")
_SEPARATOR = re.compile(rf"{_B}[./年년月월-]{_GAP}")
_AMERICAN = ("AM", "PM")


class Stamp(NamedTuple):
    """The date of a line as three numbers, its time of day, and the words after both.

    Attributes:
        is_american: Whether the clock is one of twelve hours, as phones of the United States write it.
    """

    date: Numbers
    hour: int
    minute: int
    second: int
    is_american: bool
    rest: str


def stamp_of(line: str) -> Stamp | None:
    """Return the date and time with which a line begins; None if it does not begin with both."""
    match = _LINE.match(line) or _TIME_FIRST.match(line)
    if match is None:
        return None
    first, second, third = _SEPARATOR.split(match["date"].rstrip("日일"))
    hour, part = int(match["hour"]), match["half"] or match["part"]
    if part is not None and part != "中午":
        hour = hour % 12 + (12 if re.fullmatch(_AFTERNOON, part) else 0)
    is_american = match["half"] in _AMERICAN
    return Stamp(
        (first, second, third), hour, int(match["minute"]), int(match["second"] or 0), is_american, match["rest"]
    )
