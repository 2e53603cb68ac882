"""Disguises of text: characters that are not seen, and letters of other alphabets that look like Latin ones.

The index and comparisons use the text as a reader sees it. The stored text stays as it was written.
"""

from __future__ import annotations

import re

_INVISIBLE = re.compile(
    "[\u00ad\u034f\u061c\u180e\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufe00-\ufe0f\ufeff\ufff9-\ufffb"
    "\U000e0000-\U000e01ef]+"
)
"""Default-ignorable characters: bidirectional controls, soft hyphens, tags and variation selectors."""

_JOINERS = re.compile("(?<=[\u0041-\u052f])[\u200b-\u200d]+(?=[\u0041-\u052f])")
"""Zero-width spaces and joiners inside Latin, Greek and Cyrillic words; other scripts need them."""

_WORD = re.compile(r"[^\W\d_]{3,}")
_LATIN = re.compile("[A-Za-z]")

_LOOKALIKES = {
    **dict(zip("аеорсухіјѕһԁԛԝѵӏвкмнтгѡ", "aeopcyxijshdqwvlbkmhtrw", strict=True)),
    **dict(zip("αορινυγσβεζκτχηϳ", "aopivuyobezktxnj", strict=True)),
    **dict(zip("ոսօհցգզք", "nuohgqqf", strict=True)),
}
"""Cyrillic, Greek and Armenian letters and the Latin letters that they pass for in either case, from the confusables
of Unicode Technical Standard 39, version 15.1. A library has 6,000 pairs more, which take 900 kB and 50 ms to read."""

_FOLDED = str.maketrans(_LOOKALIKES | {a.upper(): b.upper() for a, b in _LOOKALIKES.items() if len(a.upper()) == 1})


def undisguised(text: str) -> str:
    """Return a text without invisible characters, and with its look-alikes of Latin letters replaced.

    Only words that mix Latin with look-alikes change: a Russian or Greek word stays as it is, and so do units such as
    μm.
    """
    if text.isascii():
        return text
    text = _JOINERS.sub("", _INVISIBLE.sub("", text))
    return _WORD.sub(_with_latin_letters, text)


def _with_latin_letters(match: re.Match[str]) -> str:
    word = match[0]
    return word.translate(_FOLDED) if not word.isascii() and _LATIN.search(word) else word
