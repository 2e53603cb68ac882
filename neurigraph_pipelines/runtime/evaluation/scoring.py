"""Whether an answer is right: by comparison, or by a judge that is asked twice."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from neurigraph_pipelines.model.ports import Examiner
from neurigraph_pipelines.retrieval.ask import NOTHING_FOUND
from neurigraph_pipelines.runtime.evaluation.samples import LabelledQuestion
from neurigraph_pipelines.text.lexemes import Lexer

Kind = Literal["exact", "contained", "other", "declined", "judged", "failed"]
KINDS: tuple[Kind, ...] = ("exact", "contained", "other", "declined", "judged", "failed")

_WORDS = re.compile(r"\w+")
_LETTER = re.compile(r"\(([a-z])\)")


@dataclass(frozen=True, slots=True)
class Outcome:
    """An answer and its score.

    Attributes:
        kind: ``exact``: the words of the expected answer; ``contained``: they stand in it, in any order; ``other``:
            they do not; ``declined``: no answer; ``judged``: a judge has decided; ``failed``: the model gave none.
        is_right: None if nothing says what is right, or the model failed.
        is_disputed: Whether the judge decided otherwise when the answers stood in the other order.
    """

    kind: Kind
    answer: str
    is_right: bool | None
    is_disputed: bool = False


def compared(asked: LabelledQuestion, answer: str, lexer: Lexer) -> Outcome:
    """Compare an answer with the expected one, word for word and stem for stem."""
    if not answer:
        return Outcome("declined", "", asked.is_unanswerable if _is_known(asked) else None)
    if asked.options:
        is_right = set(_LETTER.findall(answer.lower())) == set(_LETTER.findall(asked.answer[:3].lower()))
        return Outcome("exact" if is_right else "other", answer, is_right)
    if asked.is_unanswerable or not asked.answer:
        return Outcome("other", answer, False if asked.is_unanswerable else None)
    if _words(answer) == _words(asked.answer):
        return Outcome("exact", answer, True)
    wanted = set(lexer.lexemes(asked.answer)) or set(_words(asked.answer))
    is_contained = wanted <= {*lexer.lexemes(answer), *_words(answer)}
    return Outcome("contained" if is_contained else "other", answer, is_contained)


def judged(asked: LabelledQuestion, answer: str, judge: Examiner, lexer: Lexer) -> Outcome:
    """Ask a judge twice, with the answers in either order; right if both calls say so. Options need no judge.

    Raises:
        TransientError: As ``Examiner.judge``.
        ProviderError: As ``Examiner.judge``.
    """
    if not answer or asked.options or not _is_known(asked):
        return compared(asked, answer, lexer)
    expected = NOTHING_FOUND if asked.is_unanswerable else asked.answer
    first, second = (
        judge.judge(asked.text, expected, answer, given_first=given_first) for given_first in (False, True)
    )
    return Outcome("judged", answer, first and second, first != second)


def _is_known(asked: LabelledQuestion) -> bool:
    return asked.is_unanswerable or bool(asked.answer)


def _words(text: str) -> list[str]:
    return _WORDS.findall(text.casefold())
