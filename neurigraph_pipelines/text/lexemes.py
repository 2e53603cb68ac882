"""Tokenisation for lexical search, the same for stored text and for queries.

Stems come from Snowball; stop words are dropped. A text is split in its own language, and a question in those of the
texts that it may find. Lexemes have no accents, because people often omit them. Text in scripts without spaces is split
into overlapping pairs of characters, the usual method without a dictionary. So are Korean words, which end in
particles; they are lexemes as a whole, too. A stored text is also found by its single Chinese characters, by the first
syllables of its Korean words, and by its emoji. Invisible characters and look-alikes of Latin letters make no
difference.
"""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from importlib.resources import files

import Stemmer

from neurigraph_pipelines.text.disguises import undisguised

MAX_LEXEME_LENGTH = 64
"""Longer words are truncated: they are hashes and encodings, and nobody searches for their end."""

WINDOW_WEIGHTS = {-3: 0.3, -2: 0.5, -1: 0.7, 0: 1.0, 1: 0.5, 2: 0.25}
"""Weight of a neighbouring passage in a passage's window, by distance in passages."""

WINDOW_LENGTH = sum(WINDOW_WEIGHTS.values())
"""Sum of the weights: the length of a full window, in passages."""

ASKING = "?"
"""Stands among the lexemes of a passage that ends with a question. No word is like it."""

MAX_FREQUENCY = 32_767
"""Largest frequency: search segments have 16 bits for it."""

# Vowels of Indian scripts and points of Arabic and Hebrew are marks, which \w does not match.
_MARKS = "".join(chr(code) for code in range(0x300, 0x1AB0) if unicodedata.category(chr(code)) in ("Mn", "Mc"))
_EMOJI = "[\u2600-\u27bf\u2b00-\u2bff\U0001f100-\U0001f3fa\U0001f400-\U0001faff]"  # without tones of skin
_WORD = re.compile(rf"[^\W_]+(?:[{_MARKS}]+[^\W_]*)*(?:['’][^\W\d_]+)?|{_EMOJI}")
_UNSPACED = re.compile(
    r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff]+"
)
_SINGLE = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]")
_KOREAN = re.compile(r"[\uac00-\ud7a3]+")
_KOREAN_PARTS = re.compile(f"{_KOREAN.pattern}|[^\uac00-\ud7a3]+")
_NAME_WORD = re.compile(rf"(?:[^\W_]|[{_MARKS}])+")
_DROPPED_MARKS = re.compile(r"[\u0300-\u036f\u0591-\u05c7\u064b-\u065f\u0670]")
_QUESTION_MARKS = ("?", "\uff1f", "\u061f")
_PLAIN = str.maketrans("ıłøđ", "ilod")
_POSSESSIVE = re.compile(r"['’]s?$")
_CONTRACTED = {"english": re.compile(r"'(?:s|m|d|re|ve|ll)?$")}
_ELIDED = {"french": re.compile(r"^(?:[cdjlmnst]|(?:jus|lors|puis|quoi)?qu)'")}

# The stop words of Postgres' english configuration (Snowball's list); they carry no meaning in queries either.
_ENGLISH_STOP_WORDS = frozenset(
    """i me my myself we our ours ourselves you your yours yourself yourselves he him his himself she her hers herself
    it its itself they them their theirs themselves what which who whom this that these those am is are was were be
    been being have has had having do does did doing a an the and but if or because as until while of at by for with
    about against between into through during before after above below to from up down in out on off over under again
    further then once here there when where why how all any both each few more most other some such no nor not only
    own same so than too very s t can will just don should now d ll m re ve""".split()
)
_ENGLISH_NEGATIONS = frozenset(
    f"{verb}n't"
    for verb in """ai are ca could did do does had has have is might must need sha should was were wo would""".split()
)
_LISTED = files(__package__).joinpath("stop_words.toml")

# Irregular forms that a stemmer does not know. The first form of each group replaces the others.
_ENGLISH_IRREGULAR = """
begin began begun / break broke broken / bring brought / build built / buy bought / catch caught / choose chose
chosen / come came / deal dealt / draw drew drawn / drink drank drunk / drive drove driven / eat ate eaten / fall
fell fallen / feel felt / fight fought / find found / fly flew flown / forget forgot forgotten / get got gotten /
give gave given / go went gone goes / grow grew grown / hang hung / hear heard / hide hid hidden / hold held / keep
kept / know knew known / learn learnt / leave left / lend lent / lose lost / make made / mean meant / meet met / pay
paid / ride rode ridden / ring rang rung / run ran / say said / see saw seen / seek sought / sell sold / send sent /
shake shook shaken / shine shone / shoot shot / show shown / sing sang sung / sit sat / sleep slept / speak spoke
spoken / spend spent / stand stood / steal stole stolen / stick stuck / strike struck / swim swam swum / take took
taken / teach taught / tear tore torn / tell told / think thought / throw threw thrown / understand understood /
wake woke woken / wear wore worn / win won / write wrote written / child children / man men / woman women / person
people / foot feet / tooth teeth / mouse mice / life lives / wife wives / knife knives / good better best / bad
worse worst
"""
_BASES = {
    "english": {
        form: forms[0] for group in _ENGLISH_IRREGULAR.split("/") for forms in [group.split()] for form in forms[1:]
    }
}


UNSTEMMED = "simple"
"""The language without a stemmer and without stop words, as Postgres calls it."""


class Lexer:
    """Splits text into lexemes of one language.

    Args:
        language: A Snowball algorithm such as ``english`` or ``german``, or ``UNSTEMMED``.

    Raises:
        ValueError: Snowball does not know the language.
    """

    def __init__(self, language: str = "english") -> None:
        if not is_language(language):
            raise ValueError(f"no stemmer for {language!r}; known: {', '.join(sorted(Stemmer.algorithms()))}")
        self.language = language
        self._stop_words = stop_words(language)
        self._elided = _ELIDED.get(language)
        self._bases = _BASES.get(language, {})
        self._ending = _CONTRACTED.get(language, _POSSESSIVE)

    def lexemes(self, text: str) -> list[str]:
        """Return all lexemes of ``text`` in order, with repetitions."""
        return [plain(stem) for stem in self.stems(text)]

    def found_by(self, text: str) -> list[str]:
        """Return all lexemes by which a stored text is found: its own, and single characters that are words."""
        found = self.lexemes(text)
        return found if text.isascii() else [*found, *(one for word in _words(text) for one in _singles(word))]

    def stems(self, text: str, without: frozenset[str] = frozenset()) -> list[str]:
        """Return the stems of ``text`` with their accents, as Postgres' own parser gives them.

        Args:
            text: Any text.
            without: Words to leave out beside the stop words, such as those of the text's own language.
        """
        return [stem for word in _words(text) if word not in without for stem in self._stems_of(word)]

    def _stems_of(self, word: str) -> Sequence[str]:
        if _UNSPACED.search(word):
            return _pairs(word)
        if _KOREAN.search(word):
            parts = (self._korean_part(part) for part in _KOREAN_PARTS.findall(word)) if len(word) > 2 else ()
            return (*(stem for part in parts for stem in part), word[:MAX_LEXEME_LENGTH])
        word = self._ending.sub("", word.replace("’", "'"))[:MAX_LEXEME_LENGTH]
        if self._elided is not None:
            word = self._elided.sub("", word)
        if not word or word in self._stop_words:
            return ()
        # A number is its own stem; the cache is for words, which come again.
        return (word if word.isdigit() else _stem(self.language, self._bases.get(word, word)),)

    def _korean_part(self, part: str) -> Sequence[str]:
        """Return the pairs of a run of syllables, or the stem before a particle, as in ``iPhone을``."""
        return tuple(_pairs_of(part)) if _KOREAN.fullmatch(part) else self._stems_of(part)

    def forms_of(self, lexeme: str) -> Iterator[str]:
        """Yield a lexeme and the irregular forms that it stands for."""
        yield lexeme
        yield from (form for form, base in self._bases.items() if plain(_stem(self.language, base)) == lexeme)

    def is_stop_word(self, word: str) -> bool:
        """Return whether a word in lower case is a stop word."""
        return word in self._stop_words

    def count(self, text: str) -> tuple[list[str], list[int], int]:
        """Return the distinct lexemes in alphabetical order, their frequencies, and the total count."""
        counted = Counter(self.found_by(text))
        distinct = sorted(counted)
        return distinct, [min(counted[lexeme], MAX_FREQUENCY) for lexeme in distinct], counted.total()

    def count_passage(self, author: str | None, text: str) -> tuple[list[str], list[int], int]:
        """Return ``count`` of somebody's words; if it ends with a question, ``ASKING`` is in front, zero times."""
        distinct, frequencies, total = self.count(f"{author or ''} {text}")
        if text.rstrip().endswith(_QUESTION_MARKS):
            return [ASKING, *distinct], [0, *frequencies], total
        return distinct, frequencies, total


def count_plainly(text: str) -> tuple[list[str], list[int], int]:
    """Return the words of a text as ``Lexer.count`` returns its lexemes, for a text that it cannot split."""
    counted = Counter(word[:MAX_LEXEME_LENGTH] for word in text.lower().split())
    distinct = sorted(counted)
    return distinct, [min(counted[word], MAX_FREQUENCY) for word in distinct], counted.total()


def _words(text: str) -> Iterator[str]:
    # Case folding turns a dotted capital I into an i and a combining dot.
    seen = undisguised(unicodedata.normalize("NFKC", text)).casefold().replace("\u0307", "")
    return (match.group() for match in _WORD.finditer(seen))


def _pairs(word: str) -> list[str]:
    """Split runs of unspaced characters into overlapping pairs; other parts stay whole."""
    found: list[str] = []
    for part in re.split(f"({_UNSPACED.pattern})", word):
        if not part:
            continue
        if _UNSPACED.fullmatch(part) and len(part) > 1:
            found.extend(_pairs_of(part))
        else:
            found.append(part[:MAX_LEXEME_LENGTH])
    return found


def _pairs_of(run: str) -> Iterator[str]:
    return (run[i : i + 2] for i in range(len(run) - 1))


def _singles(word: str) -> Iterator[str]:
    """Yield the characters of a word by which it is found alone: each Chinese one, and the first syllable in Korean."""
    if _KOREAN.fullmatch(word):
        yield from word[:1] if len(word) > 1 else ()
    elif _UNSPACED.search(word):
        yield from (one for part in _UNSPACED.findall(word) if len(part) > 1 for one in _SINGLE.findall(part))


@lru_cache(maxsize=131_072)
def _stem(language: str, word: str) -> str:
    # PyStemmer objects are not thread-safe, so each call creates one; the cache makes that cheap.
    if language == UNSTEMMED:
        return word
    stem: str = Stemmer.Stemmer(language, 0).stemWord(word)
    return stem


@cache
def is_language(name: str) -> bool:
    """Whether a ``Lexer`` knows a language."""
    return name == UNSTEMMED or name in Stemmer.algorithms()


@cache
def stop_words(language: str) -> frozenset[str]:
    """Return the stop words of a stemmer's language; none if there is no list of them."""
    if language == "english":
        return _ENGLISH_STOP_WORDS | _ENGLISH_NEGATIONS | {"let"}
    return frozenset(_listed().get(language, "").split())


@cache
def _listed() -> dict[str, str]:
    return tomllib.loads(_LISTED.read_text(encoding="utf-8"))


lexer_of = cache(Lexer)
"""Return the lexer of a language."""


def plain(stem: str) -> str:
    """Return a stem without accents; a stem that consists only of marks stays as it is."""
    return stem if stem.isascii() else without_marks(stem) or stem


def without_marks(text: str) -> str:
    """Return ``text`` without accents and without the vowel points of Arabic and Hebrew."""
    letters = _DROPPED_MARKS.sub("", unicodedata.normalize("NFD", text)).translate(_PLAIN)
    return unicodedata.normalize("NFC", letters)


def name_words(text: str) -> list[str]:
    """Return the words of a text for comparing names: without case, width, accents and punctuation."""
    if text.isascii():
        return _NAME_WORD.findall(text.lower())
    words = map(without_marks, _NAME_WORD.findall(unicodedata.normalize("NFKC", text).casefold()))
    return [word for word in words if word]


def window_lengths(counts: Sequence[int]) -> list[float]:
    """Return the weighted lexeme count of each passage's window.

    Args:
        counts: Lexemes of each passage, in the order of the record.
    """
    return [
        sum(weight * counts[i + step] for step, weight in WINDOW_WEIGHTS.items() if 0 <= i + step < len(counts))
        for i in range(len(counts))
    ]
