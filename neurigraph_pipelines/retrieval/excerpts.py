"""Excerpts: the part of a long text that a question is about. Pure functions of text."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator

from neurigraph_pipelines.model.enriching import enriched
from neurigraph_pipelines.text.front_matter import in_words
from neurigraph_pipelines.text.lexemes import Lexer

LEFT_OUT = "…"

_SENTENCE = re.compile(r"[^.!?\n。！？]*[.!?\n。！？]+\s*|[^.!?\n。！？]+")
_RUN = re.compile(r"[^\s.!?。！？]{1,200}")
_UNSPACED_RUN = re.compile(r"[\u3005-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3]+")

Span = tuple[int, int]


def asked_words(query: str, lexer: Lexer) -> frozenset[str]:
    """Return the lexemes of a question; none if a defect ends that."""
    return enriched("stems", lambda: frozenset(lexer.lexemes(query)), frozenset)


def excerpt(text: str, asked: frozenset[str], lexer: Lexer, characters: int) -> str:
    """Return at most ``characters`` of a text in words, around the sentence that shares most lexemes with the question.

    If a defect keeps that sentence from being found, the text begins at its beginning.

    Args:
        asked: The lexemes of the question.
        characters: Without the marks of omissions.
    """
    text = in_words(text)
    if len(text) <= characters:
        return text
    return enriched(
        "excerpt", lambda: _around_best(text, asked, lexer, characters), lambda: text[:characters].rstrip() + LEFT_OUT
    )


def _around_best(text: str, asked: frozenset[str], lexer: Lexer, characters: int) -> str:
    spans = [part for match in _SENTENCE.finditer(text) for part in _parts(*match.span(), characters)]
    best_start, best_end = _best(text, spans, asked, lexer)
    middle = (best_start + best_end) // 2
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


def _parts(start: int, end: int, characters: int) -> Iterator[Span]:
    """Yield a sentence, or the parts of one that is longer than an excerpt."""
    step = max(1, characters // 2) if end - start > characters else end - start
    return ((first, min(first + step, end)) for first in range(start, end, step))


def _best(text: str, spans: list[Span], asked: frozenset[str], lexer: Lexer) -> Span:
    """Return the first of the sentences that share most lexemes with the question.

    Each distinct run of characters is split into lexemes once, and only if it may share one.
    """
    may_share = _may_share(asked, lexer)
    shared = {
        run: found
        for run in set(_RUN.findall(text))
        if may_share(run) and (found := asked.intersection(lexer.found_by(run)))
    }
    starts = [start for start, _ in spans]
    found_in: dict[int, frozenset[str]] = {}
    for match in _RUN.finditer(text) if shared else ():
        if match[0] in shared:
            number = bisect_right(starts, match.start()) - 1
            found_in[number] = found_in.get(number, frozenset()) | shared[match[0]]
    return spans[max(found_in, key=lambda number: (len(found_in[number]), -number), default=0)]


def _may_share(asked: frozenset[str], lexer: Lexer) -> Callable[[str], bool]:
    """Return a function that rules out most runs without splitting them.

    Words and their stems begin with the same two characters, and runs in scripts without spaces hold their lexemes.
    """
    words = {form[:2] for lexeme in asked for form in lexer.forms_of(lexeme)}
    words |= {prefix[0] + "y" for prefix in words if prefix[1:] == "i"}  # dying, die
    begins = re.compile(rf"(?<![^\W_])(?:{'|'.join(map(re.escape, words))})", re.I) if words else None
    holds = re.compile("|".join(map(re.escape, asked))) if asked else None

    def may_share(run: str) -> bool:
        if run.isascii():
            return begins is not None and begins.search(run) is not None
        return _UNSPACED_RUN.fullmatch(run) is None or (holds is not None and holds.search(run) is not None)

    return may_share
