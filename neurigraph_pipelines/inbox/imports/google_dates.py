"""Dates of Google Takeout, in the language of the account: ``dateparser`` reads those that are not in English."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from functools import cached_property
from typing import Any

from neurigraph_pipelines.model.errors import InvalidInputError
from neurigraph_pipelines.text.hygiene import spoken

_MONTHS = "january february march april may june july august september october november december".split()
LONGEST_DATE = 80
_NUMBER = re.compile(r"\d+")
_FEWEST_NUMBERS = 4
"""Numbers of a day, a year, an hour and a minute."""

_MOST_FAILED = 2
"""Dates of no known language after which a chat has none: to try all languages takes seconds."""

_DATE = re.compile(
    r"(?:\w+,\s+)?(?:(?P<month>[A-Za-z]+)\s+(?P<day>\d{1,2})|(?P<first>\d{1,2})\s+(?P<named>[A-Za-z]+)),?\s+"
    r"(?P<year>\d{4})\s+(?:at\s+)?(?P<hour>\d{1,2}):(?P<minute>\d\d):(?P<second>\d\d)(?:\s+(?P<half>[AP])M)?\s+UTC"
)


class Dates:
    """Reads the dates of a chat; a language that is found is tried first for the next date."""

    def __init__(self) -> None:
        self._failed = 0

    def read(self, written: str) -> datetime | None:
        """Return a time such as ``lundi 20 mai 2024 à 12:00:00 UTC``; None for a time in an unknown language."""
        time = _time(written)
        if time is not None or len(written) > LONGEST_DATE or self._failed >= _MOST_FAILED:
            return time
        if len(_NUMBER.findall(written)) < _FEWEST_NUMBERS:
            return None
        found = self._parser.get_date_data(written).date_obj
        self._failed += found is None
        try:
            return None if found is None else spoken(found)
        except InvalidInputError:
            return None

    @cached_property
    def _parser(self) -> Any:
        from dateparser.date import DateDataParser

        absolute = {"TIMEZONE": "UTC", "RETURN_AS_TIMEZONE_AWARE": True, "PARSERS": ["absolute-time"]}
        order = {"DATE_ORDER": "DMY", "PREFER_LOCALE_DATE_ORDER": False}  # in English, Google writes months in letters
        return DateDataParser(try_previous_locales=True, settings={"STRICT_PARSING": True, **absolute, **order})


def _time(value: str) -> datetime | None:
    """Return a time such as ``Monday, May 20, 2024 at 12:00:00 PM UTC``."""
    match = _DATE.fullmatch(value)
    month = (match["month"] or match["named"]).lower() if match else ""
    if match is None or month not in _MONTHS:
        return None
    hour = int(match["hour"])
    if match["half"]:
        hour = hour % 12 + (12 if match["half"] == "P" else 0)
    day, year = int(match["day"] or match["first"]), int(match["year"])
    try:
        return datetime(
            year, _MONTHS.index(month) + 1, day, hour, int(match["minute"]), int(match["second"]), tzinfo=UTC
        )
    except ValueError:
        return None
