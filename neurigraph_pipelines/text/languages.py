"""The language of a text, by Chromium's detector CLD2, and the Snowball stemmer of a language.

Languages are ISO 639-1 codes, such as ``de``. Detection is deterministic, takes linear time and knows no user.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from neurigraph_pipelines.model import Message, Role

MAX_READ = 20_000
"""Characters of a text that are read to tell its language."""

MAX_OF_PART = 1_000
"""Characters of one part that are read to tell the language of several."""

LEAST_ALONE = 20
"""Bytes from which a text of unknown company tells its language."""

LEAST_AMONG = 40
"""Bytes from which a text can be in another language than the text around it."""

STEMMERS = {
    "ar": "arabic", "hy": "armenian", "eu": "basque", "ca": "catalan", "da": "danish", "nl": "dutch", "en": "english",
    "fi": "finnish", "fr": "french", "de": "german", "el": "greek", "hi": "hindi", "hu": "hungarian",
    "id": "indonesian", "ga": "irish", "it": "italian", "lt": "lithuanian", "ne": "nepali", "no": "norwegian",
    "pt": "portuguese", "ro": "romanian", "ru": "russian", "sr": "serbian", "es": "spanish", "sv": "swedish",
    "ta": "tamil", "tr": "turkish", "yi": "yiddish",
}  # fmt: skip
"""The stemmers that Snowball and every Postgres from version 15 have, by language."""

CODES = {stemmer: code for code, stemmer in STEMMERS.items()}
"""The language of each stemmer."""

OTHER = "other"
"""The language of texts for which there is no stemmer, where languages are shown by their stemmers."""

# Codes of the detector for variants that Snowball's stemmer of a neighbour serves.
_VARIANTS = {"nn": "no", "nb": "no", "sco": "en", "gl": "pt", "iw": "he", "zh-Hant": "zh"}
# What the detector takes for damaged UTF-8: controls, halves of pairs, and what Unicode leaves open for good.
_OPEN = "".join(chr(plane << 16 | last) for plane in range(17) for last in (0xFFFE, 0xFFFF))
_UNREADABLE = re.compile(f"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufdd0-\ufdef{_OPEN}]")


def language_of(text: str, among: str | None = None) -> str | None:
    """Return the language of a text.

    Args:
        text: Any text; the first ``MAX_READ`` characters are read.
        among: The language of the text around it, which wins unless the text is surely in another one.

    Returns:
        None if the text is too short or too mixed to tell and there is nothing around it.
    """
    import pycld2

    plain = readable(text[:MAX_READ])
    size = len(plain.encode())
    if size < (LEAST_AMONG if among else LEAST_ALONE):
        return among
    is_sure, _, found = pycld2.detect(plain, hintLanguage=among) if among else pycld2.detect(plain)
    code = found[0][1]
    return _VARIANTS.get(code, code) if is_sure and code != "un" else among


def readable(text: str) -> str:
    """Return a text without the characters that the detector takes for damaged UTF-8."""
    return _UNREADABLE.sub(" ", text)


def languages_of(messages: Sequence[Message], default: str) -> tuple[str, list[str]]:
    """Return the language of most of a conversation, and that of each message.

    What systems and tools say does not decide.

    Args:
        messages: The conversation, or a part of it.
        default: The language of a text that does not tell its own.
    """
    said = (message.content for message in messages if message.role not in (Role.SYSTEM, Role.TOOL))
    most = language_of_parts(said) or default
    return most, [language_of(message.content[:MAX_OF_PART], most) or most for message in messages]


def stemmer_of(language: str) -> str:
    """Return the name of the stemmer of a language, as Snowball and Postgres call it; ``simple`` if there is none."""
    return STEMMERS.get(language, "simple")


def code_of(stemmer: str) -> str:
    """Return the language of a stemmer, such as ``de``; ``other`` for ``simple``."""
    return CODES.get(stemmer, OTHER)


def language_of_parts(parts: Iterable[str]) -> str | None:
    """Return the language in which most of several texts is written, such as the messages of a conversation."""
    read: list[str] = []
    left = MAX_READ
    for part in parts:
        if left <= 0:
            break
        read.append(part[: min(MAX_OF_PART, left)])
        left -= len(read[-1]) + 1
    return language_of("\n".join(read))
