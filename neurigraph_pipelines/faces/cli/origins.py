"""Where memories come from, in one line for people. The caller makes the line printable."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from datetime import datetime

    from neurigraph_pipelines.views.facts import Fact


def described(of_record: Mapping[str, Any], voice: str | None = None) -> str:
    """Return where a record comes from, in one line; ``voice`` is that of a single message."""
    voices = [voice] if voice else [f"{name} ({count})" for name, count in of_record["voices"].items()]
    said = ", ".join(voices).replace("_", " ")
    parts = {
        "said by": said,
        **provenance(of_record["source"]),
        "handed in by": of_record["persona_path"],
        "through": of_record["received_through"],
        "with key": of_record["key_id"],
        "on": of_record["received_at"] and of_record["received_at"][:10],
        "restated": of_record["restated"] if of_record["restated"] > 1 else None,
    }
    return ", ".join(f"{name} {value}" for name, value in parts.items() if value) or "origin unknown"


def provenance(source: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields that the writer of a source stated, by label."""
    return {
        "from": source["origin"],
        "by": source["author"],
        "at": source["url"],
        "version": source["version"] if source["version"] > 1 else None,
    }


def restated(fact: Fact) -> str:
    """Return how often a fact was said and when last, if more than once, to be put behind it."""
    if fact.said_count < 2:
        return ""
    return f", said {fact.said_count} times, last on {fact.last_said_at:%Y-%m-%d}"


def expiry(tier: str, expires_at: datetime | str | None) -> str:
    """Return when a memory is archived unless it is read before, to go after other words; empty for good."""
    return f", {tier}: archived after {str(expires_at).replace(' ', 'T')[:16]}" if expires_at else ""
