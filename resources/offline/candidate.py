"""A sentence that may answer a question, with all that speaks for it. ``candidates`` judges sentences."""

from __future__ import annotations

from dataclasses import dataclass

from resources.offline import questions
from resources.offline.questions import Trust

SUPPORT_OF_MEANING = 0.3

PROOF, CLAUSE, PURITY, OWN, AROUND, RELATION, PLACE = 0.5, 1.0, 1.2, 1.0, 0.9, 2.5, 1.1
"""What speaks for an amount, a count, a measure, a name or a number as the answer, in logits.

Fitted by logistic regression to the best sentence of each such question of the development half of the labelled
conversations: those that can be answered, the same without the sentences that hold the answer, and those that cannot.
Each conversation was judged by weights fitted to the others, then they were rounded.
"""

LEAST = 3.65
"""Least sum of these: more unanswerable questions would be declined with more, and more answers lost."""

SUPPORT_OF_PLACE, SUPPORT_OF_ANYTHING = 0.15, 0.25
"""Least fit times match for a time, a person or a place, and for what cannot be checked. The sum above gains nothing
there."""


@dataclass(slots=True)
class Candidate:
    """A sentence of the passage ``number``, which counts from 0, judged.

    Attributes:
        said: Lexemes of the sentence and of its speaker's name.
        near: These, and those of the sentences beside it and of the question that it replies to.
        title: Lexemes of its record's title.
        context: The text embedded with it: the question that it replies to, or the sentence before a short one.
        person: The person that it is about, if it has no subject of its own and is not about the speaker.
        own, around: Weighted shares of the question's words in ``said``, and in ``near`` and the title.
        fit: How well it has the kind of answer that is asked for.
        proof: The same where all that is asked for can be checked; otherwise 1.
        clause: The share of the question's words in the clause that has it.
        purity: How much of that clause the question speaks of.
        understood: Lexemes of its speaker, of whom it speaks to, and of the question that it replies to.
        rest: The share of the question's ``rest`` in ``near`` and the title.
        place: 1 for the first passage of the search, near 0 for the last.
        meaning: Its cosine to the question.
        relation: The same where both have no names: whether it says what is asked, of whomever.
        is_foreign: Whether it speaks of somebody else than the question.
        sets_date: Whether it says that it gives the date that is asked for.
        is_of_other: The same, where the question is about somebody who speaks, too.
    """

    number: int
    text: str
    said: frozenset[str]
    near: frozenset[str]
    title: frozenset[str]
    context: str
    understood: frozenset[str]
    person: str = ""
    own: float = 0.0
    around: float = 0.0
    fit: float = 0.0
    proof: float = 0.0
    clause: float = 0.0
    purity: float = 0.0
    place: float = 0.0
    meaning: float = 0.0
    rest: float = 0.0
    relation: float = 0.0
    is_foreign: bool = False
    is_of_other: bool = False
    sets_date: bool = False
    score: float = 0.0

    @property
    def is_question(self) -> bool:
        """Whether it asks."""
        return self.text.rstrip(" \"'”»)").endswith(questions.ASKS)

    @property
    def match(self) -> float:
        """How well the sentence matches the question, wherever the search placed it."""
        return (self.own + self.around) / 2 + SUPPORT_OF_MEANING * self.meaning

    @property
    def may_support(self) -> bool:
        """Whether it has the kind of answer, and is of nobody else."""
        return not self.is_question and not self.is_foreign and bool(self.proof and self.match)

    def supports(self, trust: Trust) -> bool:
        """Return whether the sentence may answer the question at all; ``trust`` is how surely a sentence shows it."""
        if not self.may_support:
            return False
        if trust is not Trust.STRICT:
            least = SUPPORT_OF_PLACE if trust is Trust.LOOSE else SUPPORT_OF_ANYTHING
            return self.proof * self.match >= least
        found = (
            PROOF * self.proof
            + CLAUSE * self.clause
            + PURITY * self.purity
            + OWN * self.own
            + AROUND * self.around
            + RELATION * self.relation
            + PLACE * self.place
        )
        return found >= LEAST
