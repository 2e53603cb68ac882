"""Findings of a look at an installation."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Level(StrEnum):
    """How bad a finding is: nothing to do, something to do soon, or something does not work."""

    OK = "ok"
    WARNING = "warning"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class Finding:
    """The finding of one look.

    Attributes:
        subject: The part that was examined, such as ``disk``.
        found: One sentence, which names no remembered text.
        remedy: What to do about it; None if there is nothing to do.
    """

    subject: str
    level: Level
    found: str
    remedy: str | None = None


def well(subject: str, found: str) -> Finding:
    """Return a finding with nothing to do."""
    return Finding(subject, Level.OK, found)


def warning(subject: str, found: str, remedy: str) -> Finding:
    """Return a finding to look at soon."""
    return Finding(subject, Level.WARNING, found, remedy)


def error(subject: str, found: str, remedy: str) -> Finding:
    """Return a finding that keeps something from working."""
    return Finding(subject, Level.ERROR, found, remedy)
