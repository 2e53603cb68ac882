"""Canvases of Obsidian (JSON Canvas): cards of text, files and links on a plane, in words.

``vault`` reads the files; the project JSON Canvas documents the format.
"""

from __future__ import annotations

from collections.abc import Iterator

from neurigraph_pipelines.inbox.imports.json_stream import parse_object
from neurigraph_pipelines.text.exact_json import KeepingParser
from neurigraph_pipelines.text.json_fields import JsonObject, objects_of, text_of

SUFFIX = ".canvas"


def words_of(text: str) -> str:
    """Return the cards of a canvas as paragraphs, and then its arrows that say something.

    Raises:
        InvalidInputError: It is no canvas.
    """
    if not text.strip():
        return ""
    canvas = parse_object(text.encode("utf-8", "replace"), KeepingParser())
    cards = objects_of(canvas, "nodes")
    words = {str(card.get("id")): said for card in cards if (said := _card(card))}
    return "\n\n".join([*words.values(), *_arrows(canvas, words)])


def _card(card: JsonObject) -> str:
    file = text_of(card, "file")
    said = (text_of(card, "text"), file and f"[[{file}]]", text_of(card, "url"), text_of(card, "label"))
    return next(filter(None, said), "").strip()


def _arrows(canvas: JsonObject, words: dict[str, str]) -> Iterator[str]:
    for edge in objects_of(canvas, "edges"):
        begin, end = (words.get(str(edge.get(name)), "").partition("\n")[0] for name in ("fromNode", "toNode"))
        if label := text_of(edge, "label"):
            yield f"{begin} → {label} → {end}"
