"""Rich text (RTF): the visible words, with headers, footers and footnotes. Hidden and deleted text is left out."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, BinaryIO

from resources.extractors.grouping import Part, grouped

_SHOWN = re.compile(r"(?:\\\*)?\\(?:(?:header|footer)[lrf]?|footnote|annotation|shptxt)(?![a-z])")
"""Beginnings of groups that ``striprtf`` leaves out."""

_SHAPE = re.compile(r"(?:\\\*)?\\shp(?:inst|grp)?(?![a-z])")
"""Beginnings of groups around a text box."""

_HIDDEN = re.compile(r"\\(?:v1?|deleted1?)(?![a-z0-9])[^{}]*?(?=\\v0|\\deleted0|\\plain(?![a-z])|[{}]|\Z)")
_CODE_PAGE = re.compile(r"\\ansicpg(\d+)|\\(mac|pca?)(?![a-z])")
_CODECS = {"mac": "mac_roman", "10000": "mac_roman", "pc": "cp437", "pca": "cp850"}
_OF_TWO_BYTES = ("cp932", "cp936", "cp949", "cp950")
_PAIR = re.compile(r"(\\'[89a-f][0-9a-f])(?:\\'([0-9a-f]{2})|\\([\\{}])|([^\\{}\r\n\x80-\U0010ffff]))", re.IGNORECASE)
"""A character of two bytes, of which the second one may be a letter."""


def read(stream: BinaryIO, facts: dict[str, str]) -> Iterator[Part]:
    """Yield groups of lines."""
    from striprtf import striprtf

    data = stream.read()
    if not data.lstrip().startswith(b"{\\rtf"):
        raise ValueError("it does not begin as rich text")
    facts["form"] = "rich text"
    encoding, text = _decoded(data)
    text = _HIDDEN.sub("", _SHAPE.sub("", _SHOWN.sub(r"\\par ", text)))
    read_text: Any = striprtf.rtf_to_text  # without types
    words = str(read_text(text, encoding, errors="replace"))
    yield from grouped(((line, None) for line in words.splitlines() if line.strip()), "lines")


def _decoded(data: bytes) -> tuple[str, str]:
    """Return the encoding of the characters that are written as numbers, and the text around them."""
    found = list(_CODE_PAGE.finditer(data[:4_096].decode("ascii", "replace")))
    stated = next((one[1] for one in found if one[1]), None) or next((one[2] for one in found), "1252")
    encoding = _CODECS.get(stated, f"cp{stated}")
    try:
        text = data.decode(encoding, "replace")
    except LookupError:
        encoding, text = "cp1252", data.decode("cp1252", "replace")
    if encoding in _CODECS.values():  # ``striprtf`` does not know it by its number
        text = _CODE_PAGE.sub("", text, count=len(found))
    if encoding in _OF_TWO_BYTES:
        text = _PAIR.sub(_in_numbers, text)
    return encoding, text


def _in_numbers(pair: re.Match[str]) -> str:
    return f"{pair[1]}\\'{pair[2] or format(ord(pair[3] or pair[4]), '02x')}"
