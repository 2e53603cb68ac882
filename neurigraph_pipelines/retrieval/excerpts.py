"""Excerpts: the part of a long text that a question is about. Pure functions of text."""

from __future__ import annotations

import re

from neurigraph_pipelines.enriching import enriched
from neurigraph_pipelines.text.lexemes import Lexer

LEFT_OUT = "…"
MAX_SCANNED = 400_000
"""Most characters of a text in which the best sentence is searched for."""

_SENTENCE = re.compile(r"[^.!?\n。！？]*[.!?\n。！？]+\s*|[^.!?\n。！？]+")


def asked_words(query: str, lexer: Lexer) -> frozenset[str]:
    """Return the lexemes of a question; none if a defect ends that."""
    return enriched("stems", lambda: frozenset(lexer.lexemes(query)), frozenset)


def excerpt(text: str, asked: frozenset[str], lexer: Lexer, characters: int) -> str:
    """Return at most ``characters`` of a text, around the sentence that shares most lexemes with the question.

    If a defect keeps that sentence from being found, the text begins at its beginning.

    Args:
        asked: The lexemes of the question.
        characters: Without the marks of omissions.
    """
    if len(text) <= characters:
        return text
    return enriched(
        "excerpt", lambda: _around_best(text, asked, lexer, characters), lambda: text[:characters].rstrip() + LEFT_OUT
    )


def _around_best(text: str, asked: frozenset[str], lexer: Lexer, characters: int) -> str:
    spans = [(match.start(), match.end()) for match in _SENTENCE.finditer(text, 0, MAX_SCANNED)]
    best_start, best_end = max(spans, key=lambda span: len(asked.intersection(lexer.lexemes(text[slice(*span)]))))
    middle = (best_start + min(best_end, best_start + characters)) // 2
    start = min(max(0, middle - characters // 2), len(text) - characters)
    end = start + characters
    # The excerpt begins with a sentence where there is room for it, and never cuts a word.
    start = next((first for first, _ in spans if start <= first <= best_start), start)
    if start > 0 and not text[start - 1].isspace():
        space = text.find(" ", start, start + 40)
        start = space + 1 if space >= 0 else start
    if end < len(text):
        space = text.rfind(" ", end - 40, end)
        end = space if space > start else end
    head, tail = LEFT_OUT if start > 0 else "", LEFT_OUT if end < len(text) else ""
    return f"{head}{text[start:end].strip()}{tail}"
