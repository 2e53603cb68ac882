"""Rich text (RTF): the visible words, with headers, footers and footnotes. Hidden and deleted text is left out."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, BinaryIO

from resources.extractors.grouping import Part, grouped

_SHOWN = re.compile(r"\\(?:header|footer)[lrf]?(?![a-z])|\\footnote(?![a-z])|\\annotation(?![a-z])")
"""Beginnings of groups that ``striprtf`` leaves out."""

_HIDDEN = re.compile(r"\\(?:v1?|deleted1?)(?![a-z0-9])[^{}]*?(?=\\v0|\\deleted0|\\plain(?![a-z])|[{}]|\Z)")
_CODE_PAGE = re.compile(r"\\ansicpg(\d+)")


def read(stream: BinaryIO, facts: dict[str, str]) -> Iterator[Part]:
    """Yield groups of lines."""
    from striprtf import striprtf

    data = stream.read()
    if not data.lstrip().startswith(b"{\\rtf"):
        raise ValueError("it does not begin as rich text")
    facts["form"] = "rich text"
    found = _CODE_PAGE.search(data[:4_096].decode("ascii", "replace"))
    encoding = f"cp{found[1]}" if found else "cp1252"
    try:
        text = data.decode(encoding, "replace")
    except LookupError:
        encoding, text = "cp1252", data.decode("cp1252", "replace")
    read_text: Any = striprtf.rtf_to_text  # without types
    words = str(read_text(_HIDDEN.sub("", _SHOWN.sub(r"\\par ", text)), encoding, errors="replace"))
    yield from grouped(((line, None) for line in words.splitlines() if line.strip()), "lines")
