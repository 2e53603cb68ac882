"""The words of passages as a commit counts them: languages, stems, and the keys of statements.

A defect in one leaves it out: words are then found as they are written.
"""

from __future__ import annotations

from collections.abc import Sequence

from neurigraph_pipelines.model import Message
from neurigraph_pipelines.model.enriching import enriched
from neurigraph_pipelines.text.languages import languages_of
from neurigraph_pipelines.text.lexemes import LANGUAGE_MARK, count_plainly, lexer_of
from neurigraph_pipelines.text.statement_key import statement_key
from neurigraph_pipelines.text.transcript import Passage

Counts = tuple[list[str], list[int], int]
"""Lexemes, how often each occurs, and how many there are."""


def count_lexemes(passage: Passage, language: str, usual: str) -> Counts:
    """Return the lexemes of a passage with their frequencies and total, and its language if that is not the usual."""
    lexemes, frequencies, total = lexer_of(language).count_passage(passage.message.author, passage.text)
    if language == usual:
        return lexemes, frequencies, total
    return [LANGUAGE_MARK + language, *lexemes], [1, *frequencies], total


def counted(passage: Passage, language: str, usual: str, left_out: list[str]) -> Counts:
    """Return ``count_lexemes``, or its words as they are written if a defect ends that."""
    return enriched(
        "stems", lambda: count_lexemes(passage, language, usual), lambda: count_plainly(passage.text), left_out
    )


def languages_spoken(messages: Sequence[Message], usual: str, left_out: list[str]) -> tuple[str, list[str]]:
    """Return ``languages_of``, or the usual language if a defect ends that."""
    return enriched(
        "languages", lambda: languages_of(messages, usual), lambda: (usual, [usual] * len(messages)), left_out
    )


def key_of_statement(passage: Passage, left_out: list[str]) -> int | None:
    """Return the key of a passage's words; None if a defect ends that."""
    return enriched("statements", lambda: statement_key(passage.text), lambda: None, left_out)
