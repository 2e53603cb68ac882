"""Chunks: messages that were found in a document, joined with those beside them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from neurigraph_pipelines.model.context import Context
from neurigraph_pipelines.model.ports import TokenCounter
from neurigraph_pipelines.retrieval.excerpts import asked_words, excerpt
from neurigraph_pipelines.text.lexemes import lexer_of

CHUNK_TOKENS = 800
"""Most tokens of a chunk."""

_GAP = 2
"""Messages whose numbers differ by so much are joined, with the one between them."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """Passages of a document that follow each other, with the score of the best of them, and who speaks in them."""

    content: str
    score: float
    first_message: int
    last_message: int
    voices: Sequence[str] = ()


def with_gaps(numbers: Sequence[int]) -> list[int]:
    """Return sorted numbers of messages, with those between two that lie near each other."""
    filled = list(numbers[:1])
    for number in numbers[1:]:
        filled += range(filled[-1] + 1, number) if number - filled[-1] <= _GAP else ()
        filled.append(number)
    return filled


def joined(
    context: Context, query: str, texts: Mapping[int, str], scores: Mapping[int, float], separator: str
) -> Iterator[Chunk]:
    """Yield texts that follow each other as chunks of at most ``CHUNK_TOKENS``; each holds one that was found."""
    lexer = lexer_of(context.settings.language)
    asked = asked_words(query, lexer)
    numbers = sorted(texts)
    sizes = dict(zip(numbers, context.tokens.count_each([f"{texts[one]}{separator}" for one in numbers]), strict=True))
    run: list[int] = []
    content, size = "", 0
    for number in [*numbers, None]:
        if run and (number is None or number != run[-1] + 1 or size + sizes[number] > CHUNK_TOKENS):
            found = [scores[one] for one in run if one in scores]
            if found:
                yield Chunk(content, round(min(1.0, max(found)), 6), run[0], run[-1])
            run = []
        if number is None:
            return
        if run:
            content, size = f"{content}{separator}{texts[number]}", size + sizes[number]
        elif sizes[number] <= CHUNK_TOKENS:
            content, size = texts[number], sizes[number]
        else:
            content = _cut(excerpt(texts[number], asked, lexer, 4 * CHUNK_TOKENS), context.tokens)
            size = context.tokens.count(content)
        run.append(number)


def _cut(text: str, tokens: TokenCounter) -> str:
    """Return a text, or as much of its beginning as has ``CHUNK_TOKENS``."""
    while (size := tokens.count(text)) > CHUNK_TOKENS:
        text = text[: len(text) * CHUNK_TOKENS // size - 1]
    return text
