"""Whom a command is about; the options of a user note it, so that its database is found."""

from __future__ import annotations

from contextvars import ContextVar

ABOUT: ContextVar[str | None] = ContextVar("about", default=None)
"""The user as the command names it; None if it is about nobody or everybody."""


def note_user(user: str | None) -> str | None:
    """Note whom a command is about; the callback of options of a user."""
    ABOUT.set(user)
    return user
