"""Text as sentences, words and stems, the input of every other module of the offline language model.

Linear in the length of any text: prose, transcripts with markers, code, scripts without spaces.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import Stemmer

from neurigraph_pipelines.model import Message, Role, Segment
from neurigraph_pipelines.text.front_matter import in_words
from neurigraph_pipelines.text.languages import STEMMERS, languages_of
from resources.offline.lexicon import lexicon_of

MAX_SENTENCE = 320
"""Longer sentences are split between words."""

MAX_WORD = 40
"""Characters of a word that are read; longer words are data."""

MAX_MEANINGFUL = 25
"""Longer words count as data: an identifier, a hash, a scream."""

_MARKER = re.compile(r"\{(?:vocalsound|disfmarker|gap|pause|comment|nonvocalsound|qualifier|language)\}", re.I)
_HESITATION = re.compile(r"(?<![\w'])(?:u+m+|u+h+|e+r+m*|h+m+|m+hm+|mm-hmm)(?![\w'])\s*,?\s*", re.I)
_LOOSE_PUNCTUATION = re.compile(r"\s+([,.!?;:])(?=\s|$)|(?<=\w)\s+('(?:s|re|ve|ll|d|m|t)\b|n't\b)")
_REPEATED = re.compile(r"\b([A-Za-z']{1,20})(?:,? \1\b)+", re.I)
_UNSEEN = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
_SPELT = re.compile(r"\b(?:[A-Z]_)+")
_SENTENCE_BREAK = re.compile(r"(?:(?<=[.!?])|(?<=[.!?][\"')\]”’]))\s+|(?<=[。！？])|\n+")
_ABBREVIATION = re.compile(r"(?:\b(?:mr|mrs|ms|dr|prof|hon|st|vs|no|e\.g|i\.e|approx|dept|fig)|\b[A-Z])\.$", re.I)
_WITH_ORDINALS = frozenset(["de", "da", "no", "nn", "nb", "fi", "cs", "sk", "hu", "pl"])
"""Languages that write a day as "13. Januar"."""

_ORDINAL = re.compile(rf"{_ABBREVIATION.pattern}|\b\d{{1,2}}\.$", re.I)
_WORD = re.compile(
    r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+|[^\W\d_](?:[^\W_]|['’&+-](?=[^\W_]))*\+?|\d+(?:[.,:/-]\d+)*%?"
)
_ELIDED = {
    "fr": re.compile(r"\b([cdjlmnst]|(?:jus|lors|puis|quoi)?qu)['’](?=\w)", re.I),
    "it": re.compile(r"\b([^\W\d_]{1,6})['’](?=\w)"),
}
_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")


@dataclass(frozen=True, slots=True)
class Word:
    """A word of a sentence.

    Attributes:
        lower: The word in lower case with straight apostrophes.
        stem: The common form of inflected words.
        empty: Whether it is a stop word or filler.
        content: Whether it carries meaning: neither empty nor very common.
    """

    text: str
    lower: str
    stem: str
    empty: bool
    content: bool


@dataclass(frozen=True, slots=True)
class Sentence:
    """One cleaned sentence of a message.

    Attributes:
        language: The language of its message, such as ``de``.
    """

    message: int
    text: str
    words: tuple[Word, ...]
    language: str

    @property
    def content(self) -> list[Word]:
        """The words that carry meaning."""
        return [word for word in self.words if word.content]


class Prose:
    """A segment as sentences, in order.

    Attributes:
        language: The language of most of it, such as ``de``.
        headline: The conversation's given title, not among the sentences. A part of a segment has none, because the
            title describes the whole.
    """

    def __init__(self, segment: Segment, language: str = "en") -> None:
        """Read ``segment``.

        Args:
            segment: Any content, empty messages included.
            language: The language of a text that does not tell its own.
        """
        self.segment = segment
        self.language, spoken = languages_of(segment.messages, language)
        self._readers: dict[str, Reader] = {}
        self.sentences = [
            self._sentence(number, text, spoken[number])
            for number, message in enumerate(segment.messages)
            if message.role not in (Role.SYSTEM, Role.TOOL)
            for text in sentences(without_code(in_words(message.content)), spoken[number])
        ]
        title = "" if segment.is_part else tidy(segment.ref.title or "")[:MAX_SENTENCE]
        self.headline = self._sentence(0, title, self.language) if title else None

    @cached_property
    def by_message(self) -> dict[int, list[Sentence]]:
        """The sentences of each message that has any."""
        grouped: dict[int, list[Sentence]] = {}
        for sentence in self.sentences:
            grouped.setdefault(sentence.message, []).append(sentence)
        return grouped

    def within(self, first: int, last: int) -> Prose:
        """Return the part with message numbers ``first..last``, both included."""
        return Prose(self.segment.within(first, last), self.language)

    def message(self, sentence: Sentence) -> Message:
        """Return the message that contains ``sentence``."""
        return self.segment.messages[sentence.message]

    def stems(self, phrase: str) -> tuple[str, ...]:
        """Return the stems of a phrase, to search for in sentences."""
        return tuple(word.stem for word in self._reader(self.language).words(phrase))

    def _sentence(self, message: int, text: str, language: str) -> Sentence:
        return Sentence(message, text, self._reader(language).words(text), language)

    def _reader(self, language: str) -> Reader:
        if language not in self._readers:
            self._readers[language] = Reader(language)
        return self._readers[language]


class Reader:
    """Splits text of one language into words and caches their stems; without a stemmer a word is its own stem."""

    def __init__(self, language: str = "en") -> None:
        name = STEMMERS.get(language)
        self._stem: Callable[[str], str] = Stemmer.Stemmer(name).stemWord if name else str
        self._known: dict[str, Word] = {}
        lexicon = lexicon_of(language)
        self._empty = lexicon.stop | lexicon.filler
        self._common = lexicon.common
        # The lists of English have all forms that they mean.
        self._common_stems = frozenset() if language == "en" else frozenset(map(self._stem, lexicon.common))
        self._elided = _ELIDED.get(language)

    def words(self, text: str) -> tuple[Word, ...]:
        """Return the words of ``text``; in scripts without spaces, such as Chinese, pairs of characters."""
        if self._elided is not None:
            text = self._elided.sub(r"\1 ", text)
        known, found = self._known, list[Word]()
        for run in _WORD.findall(text):
            word = known.get(run)
            found.extend(map(self._word, _pieces(run)) if word is None else (word,))
        return tuple(found)

    def _word(self, text: str) -> Word:
        word = self._known.get(text)
        if word is None:
            lower = text.lower().replace("’", "'")
            bare = lower.removesuffix("'s")
            empty = lower in self._empty or bare in self._empty
            stem = self._stem(bare)
            word = Word(text, lower, stem, empty, not empty and self._carries(bare) and stem not in self._common_stems)
            self._known[text] = word
        return word

    def _carries(self, lower: str) -> bool:
        long_enough = 2 < len(lower) <= MAX_MEANINGFUL or without_spaces(lower)
        return long_enough and lower not in self._common and not lower[0].isdigit()


def sentences(text: str, language: str = "en") -> Iterator[str]:
    """Yield the sentences of a text, without transcript markers and hesitations, at most ``MAX_SENTENCE`` long."""
    unfinished = _ORDINAL if language in _WITH_ORDINALS else _ABBREVIATION
    pending = ""
    for piece in _SENTENCE_BREAK.split(text):
        pending = f"{pending} {piece}" if pending else piece
        if len(pending) > MAX_SENTENCE or not unfinished.search(pending[-12:]):
            yield from _cut(tidy(pending, language))
            pending = ""
    yield from _cut(tidy(pending, language))


def without_code(text: str) -> str:
    """Return ``text`` without blocks of code between fences; a fence that is not closed opens none."""
    parts = text.split("```")
    return "\n".join(parts[::2]) if len(parts) % 2 else text


def tidy(text: str, language: str = "en") -> str:
    """Return ``text`` on one line, without markers, hesitations and extra spaces."""
    plain = text
    if len(text) < 100_000:
        plain = _MARKER.sub(" ", text) if "{" in text else text
        plain = _HESITATION.sub("", plain) if language == "en" else plain  # "er" and "um" are words elsewhere
    plain = _LOOSE_PUNCTUATION.sub(lambda match: match[1] or match[2], " ".join(plain.split()))
    plain = _REPEATED.sub(r"\1", plain)
    plain = _SPELT.sub(lambda match: match.group().replace("_", ""), plain) if "_" in plain else plain
    plain = plain if plain.isprintable() else _UNSEEN.sub("", plain)
    return plain.strip(" ,")


def spaced(words: Sequence[str]) -> str:
    """Join words to a phrase; words of scripts without spaces are joined without spaces."""
    return "".join(words) if all(map(without_spaces, words)) else " ".join(words)


def without_spaces(word: str) -> bool:
    """Whether ``word`` belongs to a script without spaces."""
    return bool(_CJK.match(word))


def _pieces(run: str) -> Iterator[str]:
    if _CJK.match(run):
        yield from (run[i : i + 2] for i in range(max(1, len(run) - 1)))
    else:
        yield run[:MAX_WORD]


def _cut(sentence: str) -> Iterator[str]:
    start = 0
    while len(sentence) - start > MAX_SENTENCE:
        space = sentence.rfind(" ", start + MAX_SENTENCE // 2, start + MAX_SENTENCE)
        end = space if space > 0 else start + MAX_SENTENCE
        yield sentence[start:end].strip()
        start = end
        while sentence[start : start + 1].isspace():
            start += 1
    rest = sentence[start:]
    if any(character.isalnum() for character in rest):
        yield rest
