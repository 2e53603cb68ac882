"""Canvases of Obsidian (JSON Canvas): cards of text, files and links on a plane, in words.

``vault`` reads the files; the project JSON Canvas documents the format.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from neurigraph_pipelines.inbox.imports.assemble import objects_of, text_of
from neurigraph_pipelines.inbox.imports.json_stream import parse_object
from neurigraph_pipelines.text.exact_json import KeepingParser

SUFFIX = ".canvas"


def words_of(text: str) -> str:
    """Return the cards of a canvas as paragraphs, and then its arrows that say something.

    Raises:
        InvalidInputError: It is no canvas.
    """
    if not text.strip():
        return ""
    canvas = parse_object(text.encode("utf-8", "replace"), KeepingParser())
    cards = objects_of(canvas.get("nodes"))
    words = {str(card.get("id")): said for card in cards if (said := _card(card))}
    return "\n\n".join([*words.values(), *_arrows(canvas, words)])


def _card(card: dict[str, Any]) -> str:
    file = text_of(card.get("file"))
    said = (text_of(card.get("text")), file and f"[[{file}]]", text_of(card.get("url")), text_of(card.get("label")))
    return next(filter(None, said), "").strip()


def _arrows(canvas: dict[str, Any], words: dict[str, str]) -> Iterator[str]:
    for edge in objects_of(canvas.get("edges")):
        begin, end = (words.get(str(edge.get(name)), "").partition("\n")[0] for name in ("fromNode", "toNode"))
        if label := text_of(edge.get("label")):
            yield f"{begin} → {label} → {end}"
