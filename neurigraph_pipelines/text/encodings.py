"""The encoding of text: as it is declared, as its bytes show, or unknown. Text in a wrong encoding is never returned.

``charset-normalizer`` names the encodings that fit, and the language detector decides between these.
"""

from __future__ import annotations

import codecs
import re
from typing import NamedTuple

from neurigraph_pipelines.model.errors import UnreadableFileError

UNKNOWN = "the encoding of its text is not recognised: save it as UTF-8"
"""Why a text is refused."""

MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"),  # before UTF-16, whose mark it begins with
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
    (codecs.BOM_UTF8, "utf-8-sig"),
)
"""Byte order marks, with the codecs that they tell."""

_MEANT = {
    "ascii": "utf-8",
    "utf-8": "utf-8",
    "iso8859-1": "cp1252",
    "iso8859-9": "cp1254",
    "iso8859-11": "cp874",
    "tis-620": "cp874",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "shift_jis": "cp932",
    "euc_kr": "cp949",
    "big5": "big5hkscs",
}
"""What writers mean by the names that they declare: supersets with the characters that they use."""

_ALIASES = {
    "x-sjis": "cp932",
    "windows-31j": "cp932",
    "x-gbk": "gb18030",
    "x-euc-jp": "euc_jp",
    "unicode-1-1-utf-8": "utf-8",
}
_LATIN = ("cp1252", "cp1250", "cp1254", "mac_roman", "cp850")
_LANGUAGES = {
    "gb18030": {"zh"},
    "big5": {"zh-Hant"},
    "cp932": {"ja"},
    "euc_jp": {"ja"},
    "cp949": {"ko"},
    "cp1251": {"ru", "uk", "bg", "be", "sr", "mk"},
    "koi8_r": {"ru", "uk"},
    "cp866": {"ru"},
    "cp1253": {"el"},
    "cp1254": {"tr"},
    "cp1255": {"iw"},
    "cp1256": {"ar", "fa", "ur"},
    "cp874": {"th"},
}
"""Encodings of one script, with their languages; the Latin ones serve all others."""

_NAMES = {"cp1252": "Windows-1252", "cp1250": "Windows-1250", "cp1251": "Windows-1251", "gb18030": "GB 18030"}
_NAMES |= {"cp932": "Shift JIS", "euc_jp": "EUC-JP", "cp949": "EUC-KR", "big5": "Big5", "koi8_r": "KOI8-R"}
_SAMPLE_BYTES = 32_768
_LONGEST_READ = 20_000
_NEAR = 0.05
"""Difference in disorder up to which two encodings fit alike."""

_LEAST_KANA = 0.15
_LEAST_LETTERS = 10
_DAMAGED = 0.02
"""Share of characters that may be broken in a text that is UTF-8 otherwise."""

_KANA = re.compile("[\u3040-\u30ff]")
_FOREIGN = re.compile("[^\x00-\x7f]")
_BESIDE_LETTERS = re.compile(
    r"[a-zA-ZÀ-ÿ][^\x00-\x7fÀ-ÖØ-öø-ÿœŒ’‘·\xad][a-zA-ZÀ-ÿ]"
    r"|[a-z][À-ÖØ-Þ][a-z]|[þðýÞÐÝ][bcdfg]|[\x80-\x9f]"
)
"""Signs or capitals within words, which texts of Western Europe do not have."""

_RARE = re.compile("[¢¤-¦¨¬¯±´¶¸¹×÷ƒˆ˜†‡‰Š‹ŒŽšžŸ]|[À-ÿ]{3}")


class Encoding(NamedTuple):
    """An encoding, and what people are told of it if it was assumed."""

    codec: str
    said: str | None = None


def declared(name: str | None) -> str | None:
    """Return the codec that is meant by a declared character set; None for one that is unknown."""
    try:
        known = codecs.lookup(_ALIASES.get((name or "").strip().lower(), (name or "").strip().lower())).name
    except (LookupError, ValueError):
        return None
    return _MEANT.get(known, known)


def encoding_of(data: bytes, *, is_cut: bool = False) -> Encoding:
    """Return the encoding of bytes: by their mark, as UTF-8, else as they show.

    Args:
        data: All of a text, or its beginning.
        is_cut: Whether the last character may be incomplete.

    Raises:
        UnreadableFileError: They show none.
    """
    for mark, codec in MARKS:
        if data.startswith(mark):
            return Encoding(codec)
    try:
        codecs.getincrementaldecoder("utf-8")().decode(data, final=not is_cut)
    except UnicodeDecodeError:
        found = _guessed(data)
        if found is None:
            raise UnreadableFileError(UNKNOWN) from None
        return found
    return Encoding("utf-8")


def decoded(data: bytes, stated: str | None = None, *, is_cut: bool = False) -> tuple[str, str | None]:
    """Return a text, and what was assumed of its encoding.

    Args:
        stated: The character set that is declared for it.

    Raises:
        UnreadableFileError: Neither that fits nor do the bytes show another one.
    """
    codec = declared(stated)
    if codec is not None and not any(data.startswith(mark) for mark, _ in MARKS):
        try:
            return codecs.getincrementaldecoder(codec)().decode(data, final=not is_cut), None
        except (UnicodeDecodeError, LookupError, TypeError):
            pass
    encoding = encoding_of(data, is_cut=is_cut)
    return data.decode(encoding.codec, "replace"), encoding.said


def _guessed(data: bytes) -> Encoding | None:
    """Return the encoding of bytes that are not UTF-8, if they show one."""
    text = data.decode("utf-8", "replace")
    broken, foreign = text.count("\ufffd"), len(_FOREIGN.findall(text))
    if foreign - broken > broken / _DAMAGED:
        return Encoding("utf-8", f"taken as UTF-8 with {broken:,} broken characters")
    lines = [line for line in data.splitlines(keepends=True) if not line.isascii()]
    sample = b"".join(lines)[:_SAMPLE_BYTES] if len(data) > _SAMPLE_BYTES else data
    codec = _fitting(sample)
    return None if codec is None else Encoding(codec, f"taken as {_NAMES.get(codec, codec)}")


def _fitting(sample: bytes) -> str | None:
    from charset_normalizer import from_bytes

    codecs_known = [*_LATIN, *_LANGUAGES]
    found = [one for one in from_bytes(sample, cp_isolation=codecs_known) if one.encoding in codecs_known]
    least = min((one.chaos for one in found), default=0)
    near = {one.encoding: str(one) for one in found if one.chaos <= least + _NEAR}
    for codec in ("cp932", "euc_jp"):
        if len(_KANA.findall(near.get(codec, ""))) > _LEAST_KANA * len(near.get(codec, "")):
            return codec
    western = sample.decode("cp1252", "replace")
    is_western = not _BESIDE_LETTERS.search(western) and "\ufffd" not in western
    if is_western:
        near.setdefault("cp1252", western)
    sure = {codec: score for codec, text in near.items() if (score := _score(codec, text))}
    scripts = {codec if codec in _LANGUAGES and codec != "cp1254" else "Latin" for codec in sure}
    if len(scripts) == 1:
        return max(sure, key=lambda codec: (sure[codec], codec == "cp1252"))
    if not sure and is_western and not _RARE.search(western):
        return "cp1252"
    alone = next(iter(near)) if len(near) == 1 else None
    letters = sum(one.isalpha() for one in near.get(alone or "", ""))
    return alone if alone in _LATIN and letters >= _LEAST_LETTERS else None


def _score(codec: str, text: str) -> float:
    """Return how well a text reads in a language of the encoding; 0 if it does not."""
    import pycld2

    from neurigraph_pipelines.text.languages import readable

    is_sure, _, languages = pycld2.detect(readable(text[:_LONGEST_READ]), isPlainText=True)
    _, code, _, score = languages[0]
    of_script = {language for names in _LANGUAGES.values() for language in names} - {"tr"}
    fits = code in _LANGUAGES[codec] if codec in _LANGUAGES else code not in of_script
    return float(score) if is_sure and fits and code != "un" else 0.0
