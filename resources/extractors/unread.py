"""A file that is sound and has no text that could be read here."""

from __future__ import annotations


class UnreadError(Exception):
    """Why there is no text, in one clause."""
