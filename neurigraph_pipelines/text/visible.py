"""Stored text as language models are shown it: nothing in it is hidden from the person who reads along."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

_UNSEEN = re.compile(
    "[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\u00ad\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff"
    "\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e007f]"
)
"""Control characters, marks of direction, and the tags that hide ASCII text; joiners of scripts and emoji stay."""


def visible(text: str) -> str:
    """Return a text with every character that a reader would not see replaced."""
    return text if text.isascii() and text.isprintable() else _UNSEEN.sub("\ufffd", text)


def all_visible(value: Any) -> Any:
    """Return a value in which every text is visible, also those in mappings and lists."""
    if isinstance(value, str) and type(value) is str:
        return visible(value)
    if isinstance(value, Mapping):
        return {all_visible(name): all_visible(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [all_visible(one) for one in value]
    return value
