"""The time zone in which the people of an export live, for formats whose times do not say it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from zoneinfo import ZoneInfo

from neurigraph_pipelines.model import ImportedConversation, RejectedItem
from neurigraph_pipelines.model.errors import InvalidInputError
from neurigraph_pipelines.model.sources import SourceDetails
from neurigraph_pipelines.text.hygiene import offset_of, spoken

NAME = "time_zone"
"""The name among the metadata of a source under which its time zone stands."""

_CLOCKS = ("whatsapp", "subtitles", "text", "locomo", "qmsum")
"""Formats whose times are those of a clock on a wall; the others have moments, in UTC if they name no zone."""


def zone_named(name: object) -> ZoneInfo:
    """Return a time zone by its name, such as ``Europe/Berlin``.

    Raises:
        InvalidInputError: There is none.
    """
    try:
        return ZoneInfo(str(name))
    except (LookupError, ValueError, OSError):
        raise InvalidInputError(
            f"The time zone {str(name)[:50]!r} is unknown: name it as the IANA does, such as Europe/Berlin."
        ) from None


def zone_of(details: SourceDetails, default: str | None) -> ZoneInfo | None:
    """Return the time zone among the metadata of a source, else that of the settings."""
    stated = details.metadata.get(NAME)
    with suppress(InvalidInputError):  # a word of the sender's own
        if stated is not None:
            return zone_named(stated)
    return zone_named(default) if default is not None else None


def with_zone(details: SourceDetails, name: str | None) -> SourceDetails:
    """Return details with a time zone among their metadata.

    Raises:
        InvalidInputError: There is no such zone.
    """
    if name is None:
        return details
    return replace(details, metadata={**details.metadata, NAME: zone_named(name).key})


def in_zone(
    items: Iterator[ImportedConversation | RejectedItem], format_name: str, zone: ZoneInfo
) -> Iterator[ImportedConversation | RejectedItem]:
    """Yield conversations with the times of a zone, where their format says of none in which zone it is."""

    def placed(moment: datetime | None, is_clock: bool) -> datetime | None:
        if moment is None or offset_of(moment) is not None:
            return moment
        return spoken(moment.replace(tzinfo=zone) if is_clock else moment.astimezone(zone))

    for item in items:
        if not isinstance(item, ImportedConversation):
            yield item
            continue
        is_clock = format_name in _CLOCKS or (format_name == "discord" and _has_only_minutes(item))
        messages = tuple(replace(one, occurred_at=placed(one.occurred_at, is_clock)) for one in item.messages)
        started_at, ended_at = (placed(moment, is_clock) for moment in (item.started_at, item.ended_at))
        yield replace(item, messages=messages, started_at=started_at, ended_at=ended_at)


def _has_only_minutes(item: ImportedConversation) -> bool:
    """Whether the times are those of a text of Discord, which has the clock of its exporter; its JSON has fractions."""
    return all(one.occurred_at is None or one.occurred_at.second == 0 for one in item.messages)
