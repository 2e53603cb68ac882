"""Words as lexical search counts them: one tokenisation for what is stored and for what is asked.

Stemming is Snowball's; stop words carry nothing and are dropped. Characters of scripts without spaces are taken in
overlapping pairs, which is how such text is searched without a dictionary.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from functools import lru_cache

import Stemmer

MAX_LEXEME_LENGTH = 64
"""Longer words are cut: they are hashes and encodings, and nobody asks for their end."""

MAX_FREQUENCY = 32_767
"""What the frequency column holds (smallint)."""

_WORD = re.compile(r"[^\W_]+(?:['’][^\W\d_]+)?")
_UNSPACED = re.compile(r"[぀-ヿ㐀-䶿一-鿿豈-﫿]+")
_POSSESSIVE = re.compile(r"['’]s?$")

# The stop words of Postgres' english configuration that carry no meaning in a question either (Snowball's list).
_ENGLISH_STOP_WORDS = frozenset(
    """i me my myself we our ours ourselves you your yours yourself yourselves he him his himself she her hers herself
    it its itself they them their theirs themselves what which who whom this that these those am is are was were be
    been being have has had having do does did doing a an the and but if or because as until while of at by for with
    about against between into through during before after above below to from up down in out on off over under again
    further then once here there when where why how all any both each few more most other some such no nor not only
    own same so than too very s t can will just don should now d ll m re ve""".split()
)
_STOP_WORDS = {"english": _ENGLISH_STOP_WORDS}


class Lexer:
    """Turns text into lexemes of one language.

    Args:
        language: A Snowball algorithm such as ``english`` or ``german``.

    Raises:
        ValueError: Snowball knows no such language.
    """

    def __init__(self, language: str = "english") -> None:
        if language not in Stemmer.algorithms():
            raise ValueError(f"no stemmer for {language!r}; known: {', '.join(sorted(Stemmer.algorithms()))}")
        self._language = language
        self._stop_words = _STOP_WORDS.get(language, frozenset())

    def lexemes(self, text: str) -> list[str]:
        """All lexemes of ``text`` in order, repeated as often as they occur."""
        found: list[str] = []
        for match in _WORD.finditer(unicodedata.normalize("NFKC", text).casefold()):
            word = match.group()
            if _UNSPACED.search(word):
                found.extend(_pairs(word))
                continue
            word = _POSSESSIVE.sub("", word)[:MAX_LEXEME_LENGTH]
            if word and word not in self._stop_words:
                found.append(_stem(self._language, word))
        return found

    def count(self, text: str) -> tuple[list[str], list[int], int]:
        """Distinct lexemes in alphabetical order, how often each occurs, and how many there are in all."""
        counted = Counter(self.lexemes(text))
        distinct = sorted(counted)
        return distinct, [min(counted[lexeme], MAX_FREQUENCY) for lexeme in distinct], counted.total()


def _pairs(word: str) -> list[str]:
    """Overlapping pairs of unspaced characters; what stands between them stays whole."""
    found: list[str] = []
    for part in re.split(r"([぀-ヿ㐀-䶿一-鿿豈-﫿]+)", word):
        if not part:
            continue
        if _UNSPACED.fullmatch(part) and len(part) > 1:
            found.extend(part[i : i + 2] for i in range(len(part) - 1))
        else:
            found.append(part[:MAX_LEXEME_LENGTH])
    return found


@lru_cache(maxsize=131_072)
def _stem(language: str, word: str) -> str:
    # PyStemmer objects are not thread-safe, so each call has its own; the cache makes that cheap.
    stem: str = Stemmer.Stemmer(language, 0).stemWord(word)
    return stem
