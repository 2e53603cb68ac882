"""The error for an intact file from which no text can be extracted."""

from __future__ import annotations


class UnreadError(Exception):
    """The file has no text that can be extracted; the message is the reason, in one clause."""
