"""The estimate of how many tokens a text has, for when no encoding is at hand.

Belongs here: character classes, their costs, and the rules of pieces that byte-pair encodings cut text into.
Not here: reading real encodings and choosing between them (``tokenizer``).
"""

from __future__ import annotations

from enum import IntEnum
from functools import cache

import numpy as np
from numpy.typing import NDArray

_BLOCK_CHARACTERS = 262_144
"""Characters looked at together, so that a long text needs a few megabytes of working memory and no more."""


class _Class(IntEnum):
    """What a character is to the pre-tokeniser; letters of one script form words together."""

    SPACE = 0
    NEWLINE = 1
    LOWER = 2
    UPPER = 3
    ACCENTED = 4
    DIGIT = 5
    PUNCTUATION = 6
    CYRILLIC = 7
    SEMITIC = 8
    INDIC = 9
    HAN = 10
    KANA = 11
    HANGUL = 12
    WIDE_PUNCTUATION = 13
    SYMBOL = 14
    CONTROL = 15
    GREEK = 16
    THAI = 17


_RANGES: tuple[tuple[int, int, _Class], ...] = (
    (0x00, 0x20, _Class.CONTROL),
    (0x20, 0x7F, _Class.PUNCTUATION),
    (0x7F, 0xC0, _Class.WIDE_PUNCTUATION),
    (0xC0, 0x370, _Class.ACCENTED),
    (0x370, 0x400, _Class.GREEK),
    (0x400, 0x590, _Class.CYRILLIC),
    (0x590, 0x900, _Class.SEMITIC),
    (0x900, 0xE00, _Class.INDIC),
    (0xE00, 0x10A0, _Class.THAI),
    (0x1100, 0x1200, _Class.HANGUL),
    (0x1E00, 0x2000, _Class.ACCENTED),
    (0x2000, 0x2070, _Class.WIDE_PUNCTUATION),
    (0x2E80, 0x3000, _Class.HAN),
    (0x3000, 0x3040, _Class.WIDE_PUNCTUATION),
    (0x3040, 0x3130, _Class.KANA),
    (0x3130, 0x3190, _Class.HANGUL),
    (0x3400, 0xA000, _Class.HAN),
    (0xAC00, 0xD7B0, _Class.HANGUL),
    (0xF900, 0xFB00, _Class.HAN),
    (0xFB1D, 0xFE00, _Class.SEMITIC),
    (0xFF00, 0xFFF0, _Class.WIDE_PUNCTUATION),
    (ord("\t"), ord("\t") + 1, _Class.SPACE),
    (ord("\n"), ord("\n") + 1, _Class.NEWLINE),
    (ord("\r"), ord("\r") + 1, _Class.NEWLINE),
    (ord(" "), ord(" ") + 1, _Class.SPACE),
    (0xA0, 0xA1, _Class.SPACE),
    (ord("0"), ord("9") + 1, _Class.DIGIT),
    (ord("A"), ord("Z") + 1, _Class.UPPER),
    (ord("a"), ord("z") + 1, _Class.LOWER),
)

_RUN_COST: dict[_Class, tuple[float, float]] = {
    _Class.CYRILLIC: (0.60, 0.17),
    _Class.SEMITIC: (0.45, 0.23),
    _Class.INDIC: (0.25, 0.27),
    _Class.HAN: (0.12, 0.70),
    _Class.KANA: (0.25, 0.62),
    _Class.HANGUL: (0.45, 0.52),
    _Class.WIDE_PUNCTUATION: (0.35, 0.65),
    _Class.SYMBOL: (0.20, 1.45),
    _Class.CONTROL: (0.00, 0.70),
    _Class.GREEK: (0.45, 0.35),
    _Class.THAI: (0.10, 0.40),
}
"""Tokens of a run of one class: a constant, and so many a character. Fitted to o200k_base."""


@cache
def _classes() -> NDArray[np.uint8]:
    """The class of every code point of the basic plane."""
    table = np.full(0x10000, _Class.SYMBOL, dtype=np.uint8)
    for first, end, kind in _RANGES:
        table[first:end] = kind
    return table


@cache
def _run_costs() -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """``_RUN_COST`` as two arrays indexed by class; zero for classes with rules of their own."""
    pairs = np.array([_RUN_COST.get(kind, (0.0, 0.0)) for kind in _Class])
    return pairs[:, 0], pairs[:, 1]


def estimate_tokens(text: str) -> int:
    """Estimate the tokens of ``text`` in the encoding ``o200k_base``, in linear time.

    The text is cut into runs the way the encoding's own pre-tokeniser cuts it (a word with the space before
    it, three digits at a time, punctuation with the line break after it), and each run costs by its script
    and length. Costs are averages over chats, meeting transcripts, code, JSON and prose in a dozen languages.

    Returns:
        0 for the empty string, else at least 1.
    """
    if not text:
        return 0
    total = sum(
        _estimate_block(text[start : start + _BLOCK_CHARACTERS]) for start in range(0, len(text), _BLOCK_CHARACTERS)
    )
    return max(1, round(total))


def _estimate_block(text: str) -> float:
    """Estimated tokens of one block of text, unrounded."""
    points = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
    kinds = _classes()[np.minimum(points, 0xFFFF)]
    kinds[(points >= 0x20000) & (points < 0x33480)] = _Class.HAN

    is_upper = kinds == _Class.UPPER
    words = np.where((kinds >= _Class.LOWER) & (kinds <= _Class.ACCENTED), np.uint8(_Class.LOWER), kinds)
    boundary = np.empty(len(points), dtype=bool)
    boundary[0] = True
    boundary[1:] = (words[1:] != words[:-1]) | (is_upper[1:] & ~is_upper[:-1])

    starts = np.flatnonzero(boundary)
    kind = words[starts]
    length = np.diff(starts, append=len(points)).astype(np.float64)
    before = np.concatenate(([_Class.NEWLINE], kind[:-1]))
    after = np.concatenate((kind[1:], [_Class.NEWLINE]))

    constant, per_character = _run_costs()
    cost = constant[kind] + per_character[kind] * length

    word = kind == _Class.LOWER
    accents = np.add.reduceat(kinds == _Class.ACCENTED, starts, dtype=np.int32)
    capitals = np.add.reduceat(is_upper, starts, dtype=np.int32)
    common = before == _Class.SPACE  # the vocabulary knows words best as they stand after a space
    cost = np.where(
        word,
        1
        + np.where(common, 0.04 * np.maximum(0, length - 6), 0.09 * np.maximum(0, length - 3))
        + 0.20 * np.maximum(0, length - np.where(common, 12, 9))
        + 0.30 * accents
        + 0.16 * np.maximum(0, capitals - 3),
        cost,
    )

    cost = np.where(kind == _Class.DIGIT, np.ceil(length / 3), cost)

    punctuation = kind == _Class.PUNCTUATION
    leads_word = (length == 1) & (after == _Class.LOWER) & ~common  # "(word" is one piece, " (word" is two
    cost = np.where(punctuation, np.where(leads_word, 0.12, 1 + 0.35 * np.maximum(0, length - 3)), cost)
    quote = points[starts]
    elision = punctuation & leads_word & (before == _Class.LOWER) & ((quote == ord("'")) | (quote == 0x2019))
    ending = np.concatenate(([False], elision[:-1])) & (length <= 2)  # the 't and 're of don't and they're
    cost = np.where(ending, 0.0, cost)

    alone = (after == _Class.DIGIT) | (after == _Class.SPACE)  # a digit does not take the space before it
    cost = np.where(kind == _Class.SPACE, np.where(length > 1, 1 + length / 64, 0.0) + alone, cost)
    cost = np.where(kind == _Class.NEWLINE, np.where(before == _Class.PUNCTUATION, 0.1, 1.0) + length / 64, cost)
    return float(cost.sum())
