"""How far a text answers a question, on one scale for all questions.

The ranking scales its signals by the best of an answer, so that its scores compare within that answer alone.
"""

from __future__ import annotations

from neurigraph_pipelines.retrieval.query.weights import NEAR
from neurigraph_pipelines.text.lexemes import Lexer


def relevance(asked: frozenset[str], text: str, lexer: Lexer, cosine: float | None) -> float:
    """Return the share of a question's words that a text has, or the cosine of both if that is more; 0 to 1.

    Args:
        asked: The lexemes of the question.
        cosine: None if the vectors could not be compared. A cosine that the ranking takes for noise counts nothing.
    """
    shared = len(asked.intersection(lexer.lexemes(text))) / len(asked) if asked else 0.0
    near = cosine if cosine is not None and cosine >= NEAR else 0.0
    return min(1.0, max(shared, near))
