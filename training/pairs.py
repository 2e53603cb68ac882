"""What the encoder learns from: questions and remarks with the messages that answer or explain them.

Each pair has a hard negative: the message of the same talk that BM25 finds first and that is no source.
"""

from __future__ import annotations

import math
import random
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
import stopwordsiso
from numpy.typing import NDArray

from neurigraph_pipelines.text.in_context import in_context
from neurigraph_pipelines.text.languages import stemmer_of
from neurigraph_pipelines.text.lexemes import Lexer, is_language
from training.talks import Said, Talk

SOURCES_OF_A_QUESTION = 3
"""Most pairs of one question: the meetings of QMSum mark runs of fifty turns, of which few answer."""

FEWEST_CHARACTERS = 20
"""Shorter messages of a longer run of sources teach nothing: "Mm-hmm.", "Yeah."."""

_SENTENCE = re.compile(r"(?<=[.!?。！？])\s*")
_K1, _B = 1.2, 0.75


@dataclass(frozen=True, slots=True)
class Pair:
    """A question or remark with one message that answers it and one that does not.

    Attributes:
        answers: All messages that answer it, by talk and index: no negatives, in whatever pair they stand.
        answer: The message that answers it, among them.
        negative: Another message of the talk.
    """

    asked: str
    answers: frozenset[tuple[str, int]]
    answer: tuple[str, int]
    negative: tuple[str, int]


def pairs_of(talks: Sequence[Talk], seed: int) -> list[Pair]:
    """Return the pairs of all talks, shuffled."""
    chance = random.Random(seed)  # noqa: S311 - not a secret
    pairs = [pair for talk in talks for pair in _pairs(talk, chance)]
    chance.shuffle(pairs)
    return pairs


def message_text(talk: Talk, index: int, context: bool = True) -> str:
    """Return the text of a message for the encoder, with what was said before it on the same day or without."""
    said = talk.messages[index]
    before = [
        (one.speaker, one.text) for one in talk.messages[max(0, index - 2) : index] if context and one.day == said.day
    ]
    return in_context(said.speaker, said.text, before)


def plain_sentences(talks: Sequence[Talk], seed: int, most: int = 12_000) -> list[str]:
    """Return sentences whose similarity is to stay: of talks, and words in a row of 58 languages."""
    chance = random.Random(seed)  # noqa: S311 - not a secret
    by_source: dict[str, list[str]] = {}
    for talk in talks:
        sentences = by_source.setdefault(f"{talk.source} {talk.language}", [])
        for text in (*(said.text for said in talk.messages), *(asked.text for asked in talk.asked)):
            sentences += [sentence for sentence in _SENTENCE.split(text[:1_000]) if len(sentence) > FEWEST_CHARACTERS]
    kinds = [chance.sample(found, min(len(found), most // 4)) for _, found in sorted(by_source.items())]
    return [*(sentence for kind in kinds for sentence in kind), *word_rows(chance, most // 4)]


def word_rows(chance: random.Random, number: int) -> list[str]:
    """Return rows of frequent words, each row in one of the languages that have lists of them."""
    languages = sorted(stopwordsiso.langs())
    return [
        " ".join(chance.sample(words, min(len(words), chance.randint(3, 12))))
        for language in (chance.choice(languages) for _ in range(number))
        if (words := sorted(stopwordsiso.stopwords(language)))
    ]


def bm25(talk: Talk, asked: str) -> NDArray[np.float64]:
    """Return the score of each message of a talk for a question, by the words that it and its speaker say."""
    lexer, counts, lengths = _counts(talk)
    scores = np.zeros(len(counts))
    for lexeme in set(lexer.lexemes(asked)):
        found = np.array([count[lexeme] for count in counts], float)
        rarity = math.log(1 + (len(counts) - np.count_nonzero(found) + 0.5) / (np.count_nonzero(found) + 0.5))
        scores += rarity * found * (_K1 + 1) / (found + _K1 * (1 - _B + _B * lengths))
    return scores


def _pairs(talk: Talk, chance: random.Random) -> Iterator[Pair]:
    for asked in talk.asked:
        if not asked.sources:
            continue
        scores = bm25(talk, asked.text)
        others = [index for index in range(len(talk.messages)) if index not in asked.sources]
        if not others:
            continue
        negatives = sorted(others, key=lambda index: -scores[index])[:SOURCES_OF_A_QUESTION]
        answers = frozenset((talk.name, index) for index in asked.sources)
        for answer in _telling(talk.messages, asked.sources, scores):
            yield Pair(asked.text, answers, (talk.name, answer), (talk.name, chance.choice(negatives)))


def _telling(messages: Sequence[Said], sources: Sequence[int], scores: NDArray[np.float64]) -> list[int]:
    """Return the messages of the sources that say most: of long runs those with words of the question, and long."""
    if len(sources) <= SOURCES_OF_A_QUESTION:
        return list(sources)
    long = [index for index in sources if len(messages[index].text) >= FEWEST_CHARACTERS] or list(sources)
    return sorted(long, key=lambda index: -scores[index] - math.log(len(messages[index].text) + 1))[
        :SOURCES_OF_A_QUESTION
    ]


@cache
def _counts(talk: Talk) -> tuple[Lexer, list[Counter[str]], NDArray[np.float64]]:
    stemmer = stemmer_of(talk.language)
    lexer = Lexer(stemmer if is_language(stemmer) else "english")
    counts = [Counter(lexer.lexemes(f"{said.speaker} {said.text}")) for said in talk.messages]
    lengths = np.array([count.total() for count in counts], float)
    return lexer, counts, lengths / max(1.0, lengths.mean())
