"""Split a part of a segment where the person or project that it is about changes.

Dynamic programming finds the split that explains the weights best at a price per change (Viterbi, 1967; for text,
Utiyama and Isahara, 2001). The exact position of a change is where the words of the two sides differ most (depth of a
lexical valley, Hearst, 1997). ``names`` counts the weights; ``segmentation`` finds where the subject changes.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from itertools import pairwise

from neurigraph_pipelines.model import Role
from resources.offline.cohesion import Weights
from resources.offline.prose import Prose
from resources.offline.segmentation import Part

TURN_PRICE = 5.0
"""Weight that a change of the label must gain, in a segment of ``USUAL_MESSAGES``."""

USUAL_MESSAGES = 20
"""Length from which the price grows with its square root, so that a long conversation is not cut into many pieces."""

MIN_MESSAGES = 4
MIN_WORDS = 50
"""Least content of a part; fewer messages are enough if they have ``LONG_WORDS``."""

LONG_WORDS = 300
MIN_CONTRAST = 2.5
"""Least ratio of a part's weight for its own label to that for its neighbour's."""

MAX_PARTS = 8
MAX_LABELS = 64
"""Most labels that are compared, the most evident first: each costs a step for each message."""

WINDOW = 4
"""Messages on each side of a possible change whose words are compared."""


@dataclass(frozen=True, slots=True)
class _Stretch:
    """A part with its number of words and its weight for each label."""

    part: Part
    words: int
    weight: Counter[str]

    @classmethod
    def of(cls, prose: Prose, weights: Weights, part: Part) -> _Stretch:
        """Sum up the words and weights of ``part``."""
        weight: Counter[str] = Counter()
        words = 0
        for number in range(part.start, part.end):
            weight.update(weights.get(number, {}))
            words += sum(len(sentence.words) for sentence in prose.by_message.get(number, ()))
        return cls(part, words, weight)

    @property
    def label(self) -> str:
        """The label with the greatest weight."""
        return max(sorted(self.weight), key=self.weight.__getitem__, default="")

    @property
    def small(self) -> bool:
        """Whether it is too short for a part."""
        messages = self.part.end - self.part.start
        return self.words < LONG_WORDS and (messages < MIN_MESSAGES or self.words < MIN_WORDS)

    def joined(self, following: _Stretch) -> _Stretch:
        """Join this stretch with the next one."""
        part = Part(self.part.start, following.part.end)
        return _Stretch(part, self.words + following.words, self.weight + following.weight)


def split_at_persons(prose: Prose, weights: Weights, whole: Part) -> list[Part]:
    """Split a part into consecutive parts: one, unless the label clearly changes.

    Linear in the number of messages for a bounded number of labels.

    Args:
        prose: The segment.
        weights: The persons and projects of its messages.
        whole: The part to split.
    """
    spoken = {number: weights[number] for number in range(whole.start, whole.end) if weights.get(number)}
    parts = [
        _Stretch.of(prose, spoken, Part(start, end))
        for start, end in pairwise(
            [whole.start, *(max(turn, whole.start) for turn in _turns(prose, spoken)), whole.end]
        )
        if start < end
    ]
    strengths = [_strength(one, other) for one, other in pairwise(parts)]
    while len(parts) > 1:
        weakest = strengths.index(min(strengths))
        if strengths[weakest] >= 1 and len(parts) <= MAX_PARTS:
            break
        parts[weakest : weakest + 2] = [parts[weakest].joined(parts[weakest + 1])]
        # Only the changes on both sides of the joined part have become clearer or less clear.
        begin, around = max(0, weakest - 1), parts[max(0, weakest - 1) : weakest + 2]
        strengths[begin : weakest + 2] = [_strength(one, other) for one, other in pairwise(around)]
    return [stretch.part for stretch in parts]


def _turns(prose: Prose, weights: Weights) -> list[int]:
    """Return the positions at which the label changes, in order."""
    spoken = sorted(weights)
    price = TURN_PRICE * math.sqrt(max(1.0, len(prose.by_message) / USUAL_MESSAGES))
    totals: Counter[str] = Counter()
    for number in spoken:
        totals.update(weights[number])
    labels = sorted(label for label, total in totals.most_common(MAX_LABELS) if total >= price)
    if len(labels) < 2:
        return []
    scores = dict.fromkeys(labels, 0.0)
    came_from: list[dict[str, str]] = []
    for number in spoken:
        best = max(labels, key=scores.__getitem__)
        floor = scores[best] - price
        came_from.append({label: best for label in labels if scores[label] < floor})
        for label in labels:
            scores[label] = max(scores[label], floor) + weights[number].get(label, 0.0)
    label = max(labels, key=scores.__getitem__)
    turns: list[int] = []
    for index in range(len(spoken) - 1, 0, -1):
        before = came_from[index].get(label, label)
        if before != label:
            last = next((spoken[i] for i in range(index - 1, -1, -1) if before in weights[spoken[i]]), spoken[0])
            turns.append(_valley(prose, last, spoken[index]))
            label = before
    return sorted(turns)


def _valley(prose: Prose, last: int, first: int) -> int:
    """Return the position of a change after message ``last`` of one label, at the latest at ``first`` of the next.

    A part begins with a user's message, never with an answer or the result of a tool.
    """
    messages = prose.segment.messages
    openings = [position for position in range(last + 1, first + 1) if messages[position].role is Role.USER]
    if not openings:
        return next((position for position in range(last, 0, -1) if messages[position].role is Role.USER), 0)
    return max(openings, key=lambda position: _depth(prose, position))


def _depth(prose: Prose, position: int) -> float:
    """Return how different (0 to 1) the words before and after ``position`` are."""
    before = _vocabulary(prose, range(max(0, position - WINDOW), position))
    after = _vocabulary(prose, range(position, position + WINDOW))
    shared = sum(before[stem] * after[stem] for stem in before.keys() & after.keys())
    lengths = math.sqrt(sum(n * n for n in before.values()) * sum(n * n for n in after.values()))
    return 1 - shared / lengths if lengths else 0.0


def _vocabulary(prose: Prose, positions: range) -> Counter[str]:
    return Counter(
        word.stem for number in positions for sentence in prose.by_message.get(number, ()) for word in sentence.content
    )


def _strength(one: _Stretch, other: _Stretch) -> float:
    """Return how clear the change between two stretches is; below 1 there is none."""
    if one.small or other.small or one.label == other.label:
        return 0.0
    return min(
        mine.weight[mine.label] / (MIN_CONTRAST * mine.weight[theirs.label]) if mine.weight[theirs.label] else math.inf
        for mine, theirs in ((one, other), (other, one))
    )
