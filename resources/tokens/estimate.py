"""Estimate the tokens of a text when no encoding is available.

Belongs here: character classes, their costs, and the rules by which byte-pair encodings split text. Real encodings and
the choice of a counter are in ``tokens.tokenizer``.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np
from numpy.typing import NDArray

_BLOCK_CHARACTERS = 262_144
"""Characters per block, so that a long text needs only a few megabytes of working memory."""


# Character classes of the pre-tokeniser; letters of one script form words together. They are numpy integers because
# comparing enumeration members with an array took most of the time of a short message.
_SPACE = np.uint8(0)
_NEWLINE = np.uint8(1)
_LOWER = np.uint8(2)
_UPPER = np.uint8(3)
_ACCENTED = np.uint8(4)
_DIGIT = np.uint8(5)
_PUNCTUATION = np.uint8(6)
_CYRILLIC = np.uint8(7)
_SEMITIC = np.uint8(8)
_INDIC = np.uint8(9)
_HAN = np.uint8(10)
_KANA = np.uint8(11)
_HANGUL = np.uint8(12)
_WIDE_PUNCTUATION = np.uint8(13)
_SYMBOL = np.uint8(14)
_CONTROL = np.uint8(15)
_GREEK = np.uint8(16)
_THAI = np.uint8(17)
_CLASSES = 18

_WORDS = np.arange(_CLASSES, dtype=np.uint8)
"""Maps each class to its word class: all Latin letters are one."""
_WORDS[[_UPPER, _ACCENTED]] = _LOWER

_RANGES: tuple[tuple[int, int, np.uint8], ...] = (
    (0x00, 0x20, _CONTROL),
    (0x20, 0x7F, _PUNCTUATION),
    (0x7F, 0xC0, _WIDE_PUNCTUATION),
    (0xC0, 0x370, _ACCENTED),
    (0x370, 0x400, _GREEK),
    (0x400, 0x590, _CYRILLIC),
    (0x590, 0x900, _SEMITIC),
    (0x900, 0xE00, _INDIC),
    (0xE00, 0x10A0, _THAI),
    (0x1100, 0x1200, _HANGUL),
    (0x1E00, 0x2000, _ACCENTED),
    (0x2000, 0x2070, _WIDE_PUNCTUATION),
    (0x2E80, 0x3000, _HAN),
    (0x3000, 0x3040, _WIDE_PUNCTUATION),
    (0x3040, 0x3130, _KANA),
    (0x3130, 0x3190, _HANGUL),
    (0x3400, 0xA000, _HAN),
    (0xAC00, 0xD7B0, _HANGUL),
    (0xF900, 0xFB00, _HAN),
    (0xFB1D, 0xFE00, _SEMITIC),
    (0xFF00, 0xFFF0, _WIDE_PUNCTUATION),
    (0x20000, 0x33480, _HAN),
    (ord("\t"), ord("\t") + 1, _SPACE),
    (ord("\n"), ord("\n") + 1, _NEWLINE),
    (ord("\r"), ord("\r") + 1, _NEWLINE),
    (ord(" "), ord(" ") + 1, _SPACE),
    (0xA0, 0xA1, _SPACE),
    (ord("0"), ord("9") + 1, _DIGIT),
    (ord("A"), ord("Z") + 1, _UPPER),
    (ord("a"), ord("z") + 1, _LOWER),
)

_RUN_COST: dict[np.uint8, tuple[float, float]] = {
    _CYRILLIC: (0.60, 0.17),
    _SEMITIC: (0.45, 0.23),
    _INDIC: (0.25, 0.27),
    _HAN: (0.12, 0.70),
    _KANA: (0.25, 0.62),
    _HANGUL: (0.45, 0.52),
    _WIDE_PUNCTUATION: (0.35, 0.65),
    _SYMBOL: (0.20, 1.45),
    _CONTROL: (0.00, 0.70),
    _GREEK: (0.45, 0.35),
    _THAI: (0.10, 0.40),
}
"""Tokens of a run of one class: a constant, and a cost per character. Fitted to o200k_base."""


@cache
def _classes() -> NDArray[np.uint8]:
    """Return the class of every code point."""
    table = np.full(0x110000, _SYMBOL, dtype=np.uint8)
    for first, end, kind in _RANGES:
        table[first:end] = kind
    return table


@cache
def _run_costs() -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return ``_RUN_COST`` as two arrays indexed by class; zero for classes with their own rules."""
    pairs = np.array([_RUN_COST.get(kind, (0.0, 0.0)) for kind in map(np.uint8, range(_CLASSES))])
    return pairs[:, 0], pairs[:, 1]


def estimate_tokens(text: str) -> int:
    """Estimate the tokens of ``text`` in the encoding ``o200k_base``, in linear time.

    The text is split into runs as by the encoding's pre-tokeniser (a word with the space before it, three digits at a
    time, punctuation with the line break after it). The cost of a run depends on its script and length. Costs are
    averages over chats, meeting transcripts, code, JSON and prose in a dozen languages.

    Returns:
        0 for the empty string, else at least 1.
    """
    if not text:
        return 0
    total = sum(
        float(_estimate_block([text[start : start + _BLOCK_CHARACTERS]])[0])
        for start in range(0, len(text), _BLOCK_CHARACTERS)
    )
    return max(1, round(total))


def estimate_each(texts: Sequence[str]) -> list[int]:
    """Return ``estimate_tokens`` of each text; a hundred times faster if they are short."""
    found: list[int] = []
    block: list[str] = []
    size = 0
    for text in texts:
        if not text or len(text) > _BLOCK_CHARACTERS // 2:
            found += _rounded(block)
            found.append(estimate_tokens(text))
            block, size = [], 0
        else:
            block.append(text)
            size += len(text)
            if size > _BLOCK_CHARACTERS // 2:
                found += _rounded(block)
                block, size = [], 0
    return found + _rounded(block)


def _rounded(block: Sequence[str]) -> list[int]:
    return [max(1, round(cost)) for cost in _estimate_block(block).tolist()] if block else []


def _estimate_block(texts: Sequence[str]) -> NDArray[np.float64]:
    """Return the estimated tokens of each text, unrounded; none is empty."""
    points = np.frombuffer("".join(texts).encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
    begins = np.concatenate(([0], np.cumsum([len(text) for text in texts])[:-1]))
    kinds = _classes()[points]
    is_upper = kinds == _UPPER
    words = _WORDS[kinds]
    boundary = np.ones(len(points) + 1, dtype=bool)  # the end is a boundary, too
    boundary[1:-1] = (words[1:] != words[:-1]) | (is_upper[1:] & ~is_upper[:-1])
    boundary[begins] = True

    edges = np.flatnonzero(boundary)
    starts = edges[:-1]
    kind = words[starts]
    length = (edges[1:] - starts).astype(np.float64)
    before = np.concatenate(([_NEWLINE], kind[:-1]))
    after = np.concatenate((kind[1:], [_NEWLINE]))
    first = np.searchsorted(starts, begins)  # the first run of each text
    before[first] = _NEWLINE
    after[first[1:] - 1] = _NEWLINE

    constant, per_character = _run_costs()
    cost = constant[kind] + per_character[kind] * length

    accents = np.add.reduceat((kinds == _ACCENTED).astype(np.float64), starts)
    capitals = np.add.reduceat(is_upper.astype(np.float64), starts)
    common = before == _SPACE  # most words of the vocabulary begin with a space
    cost = np.where(kind == _LOWER, _word_costs(length, common, accents, capitals), cost)

    cost = np.where(kind == _DIGIT, np.ceil(length / 3), cost)

    punctuation = kind == _PUNCTUATION
    leads_word = (length == 1) & (after == _LOWER) & ~common  # "(word" is one piece, " (word" is two
    cost = np.where(punctuation, np.where(leads_word, 0.12, 1 + 0.35 * _beyond(length, 3)), cost)
    quote = points[starts]
    elision = punctuation & leads_word & (before == _LOWER) & ((quote == ord("'")) | (quote == 0x2019))
    ending = np.concatenate(([False], elision[:-1])) & (length <= 2)  # the 't and 're of don't and they're
    cost = np.where(ending, 0.0, cost)

    alone = (after == _DIGIT) | (after == _SPACE)  # a digit does not take the space before it
    cost = np.where(kind == _SPACE, np.where(length > 1, 1 + length / 64, 0.0) + alone, cost)
    cost = np.where(kind == _NEWLINE, np.where(before == _PUNCTUATION, 0.1, 1.0) + length / 64, cost)
    tokens: NDArray[np.float64] = np.add.reduceat(cost, first)
    return tokens


def _word_costs(
    length: NDArray[np.float64], common: NDArray[np.bool_], accents: NDArray[np.float64], capitals: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the cost of each run of letters; ``common`` ones follow a space."""
    costs: NDArray[np.float64] = (
        1
        + np.where(common, 0.04 * _beyond(length, 6), 0.09 * _beyond(length, 3))
        + 0.20 * _beyond(length, np.where(common, 12.0, 9.0))
        + 0.30 * accents
        + 0.16 * _beyond(capitals, 3)
    )
    return costs


def _beyond(length: NDArray[np.float64], limit: float | NDArray[np.float64]) -> NDArray[np.float64]:
    """Return by how much each length exceeds the limit."""
    excess: NDArray[np.float64] = np.maximum(length - limit, 0.0)
    return excess
