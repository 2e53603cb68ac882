"""Where memories come from, in one line for people. The caller makes the line printable."""

from __future__ import annotations

from datetime import datetime

from neurigraph_pipelines.views.facts import Fact
from neurigraph_pipelines.views.search import Origin
from neurigraph_pipelines.views.sources import Provenance


def described(origin: Origin, voice: str | None = None) -> str:
    """Return where a record comes from, in one line; ``voice`` is that of a single message."""
    voices = [voice] if voice else [f"{name} ({count})" for name, count in origin.voices.items()]
    said = ", ".join(voices).replace("_", " ")
    parts = {
        "said by": said,
        **provenance(origin.source),
        "handed in by": origin.persona_path,
        "through": origin.received_through,
        "with key": origin.key_id,
        "on": origin.received_at and f"{origin.received_at:%Y-%m-%d}",
        "restated": origin.restated if origin.restated > 1 else None,
    }
    return ", ".join(f"{name} {value}" for name, value in parts.items() if value) or "origin unknown"


def provenance(source: Provenance) -> dict[str, str | int | None]:
    """Return the fields that the writer of a source stated, by label."""
    return {
        "from": source.origin,
        "by": source.author,
        "at": source.url,
        "version": source.version if source.version > 1 else None,
    }


def restated(fact: Fact) -> str:
    """Return how often a fact was said and when last, if more than once, to be put behind it."""
    if fact.said_count < 2:
        return ""
    return f", said {fact.said_count} times, last on {fact.last_said_at:%Y-%m-%d}"


def expiry(tier: str, expires_at: datetime | str | None) -> str:
    """Return when a memory is archived unless it is read before, to go after other words; empty for good."""
    return f", {tier}: archived after {str(expires_at).replace(' ', 'T')[:16]}" if expires_at else ""
