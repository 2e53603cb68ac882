"""Times in the names of recordings, as Zoom, Google Meet and people write them."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone

from neurigraph_pipelines.model.errors import InvalidInputError
from neurigraph_pipelines.text.hygiene import utc

_ZOOM = re.compile(r"GMT(\d{4})(\d\d)(\d\d)-(\d\d)(\d\d)(\d\d)?")
_WRITTEN = re.compile(
    r"(?<!\d)(\d{4})[-_./](\d\d)[-_./](\d\d)(?:[ T_,-]{1,3}(?:at )?(\d{1,2})[:.h_-](\d\d)(?:[:._-](\d\d))?(?!\d)"
    r"(?: ?(?P<half>[AP])M)?(?: ?(?:GMT|UTC)(?P<hours>[+-]\d{1,2})?(?::(?P<minutes>\d\d))?)?)?(?!\d)"
)


def time_in(name: str) -> datetime | None:
    """Return the time in a name; without a zone it is taken as UTC, and a day alone begins at midnight.

    Args:
        name: Such as ``GMT20240520-080000_Recording`` or ``Weekly (2024-05-20 10:00 GMT+2)``.
    """
    match = _ZOOM.search(name) or _WRITTEN.search(name)
    if match is None:
        return None
    year, month, day, hour, minute, second = (int(match[number] or 0) for number in range(1, 7))
    offset = timedelta(0)
    if match.re is _WRITTEN:
        if match["half"]:
            hour = hour % 12 + (12 if match["half"] == "P" else 0)
        sign = -1 if (match["hours"] or "").startswith("-") else 1
        offset = timedelta(hours=int(match["hours"] or 0), minutes=sign * int(match["minutes"] or 0))
    try:
        time = datetime(year, month, day, hour, minute, second, tzinfo=timezone(offset) if offset else UTC)
        utc(time)
    except (ValueError, OverflowError, InvalidInputError):
        return None
    return time
