"""Days, months and years as keywords and facts write them: ``2025-05-07``, ``2025-05``, ``2025``."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, date, datetime, timedelta

from neurigraph_pipelines.views.search import Period

_PERIOD = re.compile(r"(?P<year>\d{4})(?:-(?P<month>\d{2})(?:-(?P<day>\d{2}))?)?", re.ASCII)


def is_period(written: str) -> bool:
    """Return whether this is a valid day, month or year."""
    return _days(written) is not None


def period_of(written: Iterable[str]) -> Period | None:
    """Return the period from the first to the last of some days, months or years; None if none of them is valid."""
    spans = [days for one in written if (days := _days(one)) is not None]
    if not spans:
        return None
    first, last = min(day for day, _ in spans), max(day for _, day in spans)
    start = datetime(first.year, first.month, first.day, tzinfo=UTC)
    try:
        end: datetime | None = datetime(last.year, last.month, last.day, tzinfo=UTC) + timedelta(days=1)
    except OverflowError:  # the last day of the calendar
        end = None
    return Period(words="", starts_at=start, ends_at=end, certain=False)


def _days(written: str) -> tuple[date, date] | None:
    """Return the first and the last day."""
    match = _PERIOD.fullmatch(written)
    if match is None:
        return None
    year, month, day = int(match["year"]), int(match["month"] or 0), int(match["day"] or 0)
    try:
        if day:
            return date(year, month, day), date(year, month, day)
        if month:
            following = date(year + 1, 1, 1) if month == 12 else date(year, month + 1, 1)
            return date(year, month, 1), following - timedelta(days=1)
        return date(year, 1, 1), date(year, 12, 31)
    except ValueError:
        return None
