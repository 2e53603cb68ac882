"""How much a text counts by who says it, and how often a source may repeat itself.

What others wrote (a tool's result, a document, a fetched page, a persona's key, another person) yields to what the
owner said where both speak to a question; other people yield least. Without a statement of the owner nothing changes,
and nothing is ever left out. Pure functions of arrays; ``rank`` calls them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from neurigraph_pipelines.model import OTHERS, Voice
from neurigraph_pipelines.retrieval.index.postings import Floats
from neurigraph_pipelines.text.search_segments import VOICES

SPEAKS = 0.95
"""Share of the best coverage of the question's words by others from which the owner speaks to the question, too. Words
tell it better than scores, which are high for any message about the same person or the same kind of thing."""

YIELDED = 0.6
"""Share of their score that is left to others than people where the owner speaks."""

YIELDED_BY_PEOPLE = 0.9
"""Share that is left to other people there: who speaks in the owner's meetings is mostly honest."""

ALIKE = 0.85
"""The cosine from which two messages of one source say the same. Repetitions in a row reach it, and those behind other
words do not: 0.75 finds some of them and costs LoCoMo .009 of its recall at 10, and 0.7 costs .033."""

REPEATED = 0.7
"""Share of its score that is left to a message for each better one of its source that says the same."""

FIRST, SHARE = 10, 3
"""How many of the first messages one source may take by saying the same."""

COMPARED_FOR_REPETITION = 150
"""How many more messages are ranked if a source repeats itself, to fill the places that it loses."""

_LEFT = np.array(
    [YIELDED_BY_PEOPLE if voice is Voice.OTHER_PERSON else YIELDED if voice in OTHERS else 1.0 for voice in VOICES]
)
_OTHERS = np.array([voice in OTHERS for voice in VOICES])
_IN_PERSON = np.array([voice in (None, Voice.OWNER, Voice.OTHER_PERSON) for voice in VOICES])
_OWNERS = np.array([voice is Voice.OWNER for voice in VOICES])


def are_in_person(voice: NDArray[np.int8]) -> NDArray[np.bool_]:
    """Return a mask of the passages that people said in a conversation; roles that documents state count nothing."""
    spoken: NDArray[np.bool_] = _IN_PERSON[voice]
    return spoken


def shares_left(
    score: NDArray[np.float64], coverage: Callable[[], NDArray[np.float64]], voice: NDArray[np.int8]
) -> NDArray[np.float64] | None:
    """Return the share of its score that is left to each passage beside the owner's words; None if all keep theirs.

    Args:
        score: Of each passage; -inf for one that is left out.
        coverage: Gives the share of the question's words in each passage; called if owner and others were found.
        voice: Who speaks in each passage, as a number in ``VOICES``.
    """
    found = score > 0
    others: NDArray[np.bool_] = found & _OTHERS[voice]
    owners: NDArray[np.bool_] = found & _OWNERS[voice]
    if not others.any() or not owners.any():
        return None
    covered = coverage()
    of_owner = covered.max(where=owners, initial=0.0)
    speaks = of_owner > 0 and of_owner >= SPEAKS * covered.max(where=others, initial=0.0)
    return _LEFT[voice] if speaks else None


def repeats_itself(vectors: Callable[[], Floats], sources: Sequence[str]) -> bool:
    """Return whether one source takes more than its share of the first messages by saying the same.

    Args:
        vectors: Gives the unit vector of each message, ``(n, dimensions)``, zeros if unknown; called if one source
            handed in more than its share.
        sources: What handed in each message.
    """
    if max(Counter(sources).values(), default=0) <= SHARE:
        return False
    found = vectors()
    alike = found @ found.T >= ALIKE
    if np.count_nonzero(alike) - np.count_nonzero(alike.diagonal()) < 2 * SHARE:  # too few pairs, of whichever source
        return False
    return bool((_alike(found, sources).sum(axis=1) >= SHARE).any())


def unrepeated(score: NDArray[np.float64], vectors: Floats, sources: Sequence[str]) -> NDArray[np.float64]:
    """Return the scores of some messages after each has paid for the better ones of its source that say the same.

    Args:
        score: Highest first.
        vectors: The unit vector of each message, ``(n, dimensions)``; zeros if unknown.
        sources: What handed in each message.
    """
    paid: NDArray[np.float64] = score * REPEATED ** _alike(vectors, sources).sum(axis=1)
    return paid


def _alike(vectors: Floats, sources: Sequence[str]) -> NDArray[np.bool_]:
    """Return ``(n, n)``: whether a message says the same as a better one of its source."""
    numbers = {one: number for number, one in enumerate(dict.fromkeys(sources))}
    group = np.fromiter(map(numbers.__getitem__, sources), np.intp, len(sources))
    alike: NDArray[np.bool_] = np.tril((vectors @ vectors.T >= ALIKE) & (group[:, None] == group), -1)
    return alike
