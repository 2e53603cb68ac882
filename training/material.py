"""The texts of the training as tokens, and what is held out of it."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from resources.minilm.embedder import load_tokenizer
from resources.minilm.tokens import Tokens, windows_of
from resources.offline.areas import subject_texts
from resources.offline.lexicon import topics
from training.pairs import Pair, message_text, pairs_of, plain_sentences
from training.talks import Talk, read_public, read_talks

_ASKED, _MESSAGE, _BEHIND, _SENTENCE = 64, 96, 144, 40
"""Tokens that are read of each text: longer ones would take most of the time for a few messages."""

_ONE_HELD_OUT_OF = 10


@dataclass(frozen=True, slots=True)
class Material:
    """All texts of the training, as tokens.

    Attributes:
        asked: Of each question or remark.
        sentences: Whose cosines to each other and to ``subjects`` of filing are to stay.
        messages: Of each message by talk and index, behind what was said before it and without that.
    """

    pairs: Sequence[Pair]
    asked: dict[str, Tokens]
    messages: dict[tuple[str, int], tuple[Tokens, Tokens]]
    sentences: Sequence[Tokens]
    subjects: Sequence[Tokens]


def read_all(talks: Path, public: Path, *, every_talk: bool) -> tuple[list[Talk], list[Talk]]:
    """Return the talks of both folders that are trained on, and the written ones that are held out to measure.

    Args:
        every_talk: Hold out none.

    Raises:
        TalkError: A file does not have the format.
    """
    written = read_talks(talks)
    held = [] if every_talk else _held_out(written)
    return [*read_public(public), *(talk for talk in written if talk not in held)], held


def material_of(talks: Sequence[Talk], seed: int) -> Material:
    """Return the texts of talks as tokens."""
    tokenizer = load_tokenizer()

    def first(text: str, most: int) -> Tokens:
        return next(windows_of(tokenizer, text, most))

    pairs, by_name = pairs_of(talks, seed), {talk.name: talk for talk in talks}
    places = dict.fromkeys(place for pair in pairs for place in (pair.answer, pair.negative))
    messages = {}
    for name, index in places:
        talk = by_name[name]
        alone = first(message_text(talk, index, context=False), _MESSAGE)
        messages[name, index] = first(message_text(talk, index), _BEHIND), alone
    asked = {pair.asked: first(pair.asked, _ASKED) for pair in pairs}
    sentences = [first(sentence, _SENTENCE) for sentence in plain_sentences(talks, seed)]
    subjects = [first(text, _SENTENCE) for topic in topics() for text in subject_texts(topic)]
    return Material(pairs, asked, messages, sentences, subjects)


def _held_out(talks: Sequence[Talk]) -> list[Talk]:
    """Return every tenth talk of each language, one at least. Their names decide, not their order."""
    by_language: dict[str, list[Talk]] = {}
    for talk in sorted(talks, key=lambda talk: hashlib.sha256(talk.name.encode()).digest()):
        by_language.setdefault(talk.language, []).append(talk)
    return [talk for some in by_language.values() for talk in some[::_ONE_HELD_OUT_OF]]
