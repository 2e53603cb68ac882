"""Superscripts in plain text."""

from __future__ import annotations

_DIGITS = "0123456789+-−"
_RAISED = str.maketrans(_DIGITS, "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻")


def raised(text: str) -> str:
    """Return a superscript: a number as raised digits, other words as they are."""
    return text.translate(_RAISED) if text and not text.strip(_DIGITS) else text
