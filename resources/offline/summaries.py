"""Extractive summaries and titles.

Sentences are chosen greedily by the weight per word of the terms that they add (the maximum coverage objective of
Filatova and Hatzivassiloglou 2004) and shown in order with their speakers. Terms come from ``prose``; names and phrases
of the title from ``names`` and ``keywords``.
"""

from __future__ import annotations

import heapq
import math
from collections import Counter
from itertools import groupby

from neurigraph_pipelines.model import Role, Summary
from resources.offline.keywords import ASSISTANT_WEIGHT, key_phrases
from resources.offline.lexicon import english
from resources.offline.names import Names, find_names
from resources.offline.prose import Prose, Sentence, tidy

MAX_WORDS = 180
"""Limit of a summary: the local embedder truncates at 256 tokens."""

MAX_TITLE = 80
FIGURE_WEIGHT = 0.6

_DANGLING = frozenset(
    ["it", "that", "this", "these", "those", "they", "he", "she", "him", "them", "and", "but", "so", "or", "which"]
)
_CHEERS = frozenset(["you", "you're", "your", "you've", "you'll"])
_OWN = frozenset(["i", "we", "my", "our", "i'm", "i've"])


def summarize(prose: Prose, words: int) -> Summary:
    """Return a summary of about ``words`` words, at most ``MAX_WORDS``, and a title; neither is empty."""
    names = find_names(prose)
    title = _title(prose, names)
    day = prose.segment.occurred_at
    date = f"{day.day} {day:%B %Y}"
    budget = max(10, min(words, MAX_WORDS) - 6)
    chosen = sorted(_choose(prose, names, budget))
    lines = []
    for speaker, numbers in groupby(chosen, key=lambda n: _speaker(prose, names, prose.sentences[n])):
        lines.append(f"{speaker}: {' '.join(_shown(prose.sentences[n].text) for n in numbers)}")
    return Summary(title=title, text=f"{date}. {' '.join(lines) or _fallback(prose, title)}")


def _choose(prose: Prose, names: Names, budget: int) -> list[int]:
    """Choose sentences by lazy greedy coverage; linear except for the heap. Returns their numbers."""
    weights = _term_weights(prose, names)
    covered: set[str] = set()
    heap = [
        (-gain, number)
        for number in range(len(prose.sentences))
        if (gain := _gain(prose, number, weights, covered)) > 0
    ]
    heapq.heapify(heap)
    chosen: list[int] = []
    left = budget
    while heap and left > 3:
        _, number = heapq.heappop(heap)
        gain = _gain(prose, number, weights, covered)
        if gain <= 0:
            continue
        if heap and gain < -heap[0][0]:
            heapq.heappush(heap, (-gain, number))
            continue
        length = len(prose.sentences[number].text.split()) + 1
        if length <= left or not chosen:
            chosen.append(number)
            covered.update(word.stem for word in prose.sentences[number].words)
            left -= length
    return chosen


def _term_weights(prose: Prose, names: Names) -> dict[str, float]:
    """Return the weight of each term: by its frequency in the segment, higher for names."""
    counts = Counter[str]()
    spread = Counter[str]()
    for sentences in prose.by_message.values():
        stems = [word.stem for sentence in sentences for word in sentence.content]
        counts.update(stems)
        spread.update(set(stems))
    # A figure that is not shown yet is new information, even in a sentence whose words are.
    figures = {word.stem for sentence in prose.sentences for word in sentence.words if word.text[0].isdigit()}
    weights = dict.fromkeys(figures, FIGURE_WEIGHT)
    weights |= {stem: math.log1p(counts[stem]) * (1 + 0.3 * math.log1p(spread[stem])) for stem in counts}
    speakers = {stem for name in names.speakers.values() for stem in prose.stems(name)}
    for one in (*names.persons, *names.projects, *names.others):
        for stem in prose.stems(one.name):
            # The speaker precedes every line, so repeating a speaker's name adds nothing.
            weights[stem] = 0.0 if stem in speakers else 1.5 * weights.get(stem, 1.0)
    return weights


def _gain(prose: Prose, number: int, weights: dict[str, float], covered: set[str]) -> float:
    sentence = prose.sentences[number]
    length = len(sentence.text.split())
    if length < 4 and len(sentence.text) < 20:
        return 0.0
    new = {word.stem for word in sentence.words} - covered
    gain = sum(weights.get(stem, 0.0) for stem in new)
    lowers = [word.lower for word in sentence.words]
    if gain <= 0:
        return 0.0
    lexicon = english()
    gain += 1.0 * min(2, sum(word in lexicon.decision for word in lowers))
    gain += 0.8 * min(2, sum(word[0].isdigit() for word in lowers))
    if sentence.text.rstrip(" \"')").endswith("?"):
        gain *= 0.35
    elif lowers[0] in _DANGLING:
        gain *= 0.7
    if length < 6:
        gain *= 0.7
    if sentence.text[0] in "[<{|":
        gain *= 0.3  # a caption or markup, not speech
    if sentence.text.rstrip().endswith("!") and len(sentence.content) < 4:
        gain *= 0.6
    if lowers[0] in lexicon.filler and len(sentence.content) < 4:
        gain *= 0.6
    if _OWN.intersection(lowers):
        gain *= 1.2
    elif _CHEERS.intersection(lowers):
        gain *= 0.6
    if prose.message(sentence).role is Role.ASSISTANT:
        gain *= ASSISTANT_WEIGHT
    return float(gain / (length + 8) ** 0.75)


def _shown(sentence: str) -> str:
    """Format a sentence: with a capital at the beginning and punctuation at the end."""
    ended = (
        sentence if sentence[-1] in ".!?…。！？\"')”’:;" else f"{sentence}…" if sentence[-1] == "," else f"{sentence}."
    )
    return ended[0].upper() + ended[1:]


def _speaker(prose: Prose, names: Names, sentence: Sentence) -> str:
    message = prose.message(sentence)
    if message.author:
        return names.speakers.get(message.author, message.author)[:60]
    return message.role.value.capitalize()


def _fallback(prose: Prose, title: str) -> str:
    """Return a summary of content without an informative sentence: its beginning, or that there is no text."""
    for message in prose.segment.messages:
        beginning = tidy(message.content[:400])[:200]
        if beginning:
            return f"{message.author or message.role.value.capitalize()}: {beginning}"
    return f"{title}: no text."


def _title(prose: Prose, names: Names) -> str:
    """Return the given title, else names and phrases, such as ``Dave, product launch and budget``.

    The parts of one conversation get names and phrases first, so that their titles differ.
    """
    given = " ".join((prose.segment.ref.title or "").split())
    part = prose.segment.is_part
    if given and not part:
        return _shortened(given)
    phrases = key_phrases(prose, names)
    speakers = [name for name in dict.fromkeys(names.speakers.values()) if name != names.owner]
    if len(speakers) == 2 and phrases:
        return _shortened(f"{' and '.join(speakers)}: {_listed(phrases[:2])}")
    meeting = len({m.author for m in prose.segment.messages if m.author}) > 2
    subjects = (
        []
        if meeting or len(speakers) > 1
        else [one.name for one in (*names.projects, *names.persons) if one.mentions >= 2][:1]
    )
    if not subjects and not meeting and len(speakers) < 2:
        subjects = [relation.person for relation in names.relations if relation.whose is None][:1]
    parts = [*subjects, *phrases[: 3 - len(subjects)]]
    if parts:
        listed = _listed(parts)
        return _shortened(listed[0].upper() + listed[1:])
    if given:
        return f"{_shortened(given)} (from message {prose.segment.messages[0].seq})"
    day = prose.segment.occurred_at
    first = next((s.text for s in prose.sentences if any(word.content for word in s.words)), "")
    return (
        _shortened(first) if first else f"{prose.segment.ref.source_kind.value.capitalize()} of {day.day} {day:%B %Y}"
    )


def _listed(parts: list[str]) -> str:
    return " and ".join(filter(None, (", ".join(parts[:-1]), parts[-1])))


def _shortened(text: str) -> str:
    if len(text) <= MAX_TITLE:
        return text
    return text[:MAX_TITLE].rsplit(" ", 1)[0].rstrip(" ,;:-") + "…"
