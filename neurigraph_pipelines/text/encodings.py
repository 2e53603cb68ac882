"""The encoding of text: as it is declared, as its bytes show, or unknown. Text in a wrong encoding is never returned.

``charset-normalizer`` names the encodings that fit, and the language detector decides between these.
"""

from __future__ import annotations

import codecs
import re
from typing import NamedTuple

from neurigraph_pipelines.model.errors import UnreadableFileError
from neurigraph_pipelines.text.languages import readable

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
"""The encodings that writers mean by the names that they declare: supersets with the characters that they use."""

_ALIASES = {
    "x-sjis": "cp932",
    "windows-31j": "cp932",
    "x-gbk": "gb18030",
    "x-euc-jp": "euc_jp",
    "unicode-1-1-utf-8": "utf-8",
}
_LATIN = ("cp1252", "cp1250", "iso8859_2", "cp1257", "cp1254", "mac_roman", "cp850")
_OF_LATIN = {*_LATIN, "iso8859_15"}
_WESTERN = _OF_LATIN - {"iso8859_2", "cp1257", "cp1254"}
_CENTRAL = {"pl", "cs", "sk", "hu", "sl", "hr", "bs", "ro"}
_LANGUAGES = {
    "cp1250": _CENTRAL,
    "iso8859_2": _CENTRAL,
    "cp1257": {"lt", "lv", "et"},
    "cp1254": {"tr", "az"},
    "gb18030": {"zh"},
    "big5": {"zh-Hant"},
    "cp932": {"ja"},
    "euc_jp": {"ja"},
    "cp949": {"ko"},
    "cp1251": {"ru", "uk", "bg", "be", "sr", "mk"},
    "koi8_r": {"ru", "uk"},
    "cp866": {"ru"},
    "cp1253": {"el"},
    "cp1255": {"iw"},
    "cp1256": {"ar", "fa", "ur"},
    "cp874": {"th"},
}
"""Encodings of some languages; the western ones serve all others."""

_OTHERS = {"vi"}.union(*_LANGUAGES.values())
"""Languages whose letters the western encodings lack."""

_BY_ESCAPES = {"iso2022_kr": "ISO-2022-KR", "iso2022_jp_2": "ISO-2022-JP"}
"""Encodings in ASCII, whose escapes tell them."""

_NAMES = {f"cp125{number}": f"Windows-125{number}" for number in range(8)}
_NAMES |= {"cp932": "Shift JIS", "euc_jp": "EUC-JP", "cp949": "EUC-KR", "big5": "Big5", "gb18030": "GB 18030"}
_NAMES |= {"koi8_r": "KOI8-R", "iso8859_2": "ISO 8859-2", "iso8859_15": "ISO 8859-15", "mac_roman": "Mac OS Roman"}
_NAMES |= {"cp850": "CP 850", "cp866": "CP 866", "cp874": "Windows-874"}
_SAMPLE_BYTES = 32_768
_LONGEST_READ = 20_000
_NEAR = 0.07
"""Difference in disorder up to which two encodings fit alike."""

_LEAST_KANA = 0.15
_LEAST_LETTERS = 10
_LAST_OF_ASCII = 127
_LEAST_FOREIGN_BYTES = 10
"""Least bytes beyond ASCII by which an encoding of another script than Latin is recognised."""

_KANA = re.compile("[\u3040-\u30ff]")
_FOREIGN = re.compile("[^\x00-\x7f\u0250-\u036f\u0591-\u05cf\u0700-\u08ff\ufffd]")
"""Characters beyond ASCII; without those that a capital before a quotation mark of Windows seems to be."""

_BESIDE_LETTERS = re.compile(
    r"[a-zA-ZÀ-ÿ][^\x00-\x7fÀ-ÖØ-öø-ÿœŒ’‘·\xad][a-zA-ZÀ-ÿ]"
    r"|[a-z][À-ÖØ-Þ](?![A-ZÀ-ÖØ-Þ])|[þðýÞÐÝ][bcdfg]|[\x80-\x9f]"
)
"""Signs or capitals within words, which texts of Western Europe do not have."""

_LATIN_9 = re.compile(r"[a-z]½[a-z]|½u|\d ?¤|¤ ?\d")
"""How the letter œ and the sign of the euro in ISO 8859-15 look in Windows-1252."""

_SIGN_IN_WORD = re.compile(r"[^\W\d_][¡-©«¬®-´¶¸¹»-¿][^\W\d_]|[\x80-\x9f]")
"""Signs within words, which no text in Latin letters has."""

_RARE = re.compile("[ðþÐÞ¢¤-¦¨¬¯±´¶¸¹×÷ƒˆ˜†‡‰Š‹ŒŽšžŸ]|[À-ÿ]{3}")


class Encoding(NamedTuple):
    """An encoding, with a note for people if it was assumed."""

    codec: str
    said: str | None = None


def declared(name: str | None) -> str | None:
    """Return the codec of a declared character set; None for an unknown one."""
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
    for codec, name in _BY_ESCAPES.items() if b"\x1b$" in data else ():
        if _read(data, codec, is_cut=is_cut) is not None:
            return Encoding(codec, f"taken as {name}")
    if _read(data, "utf-8", is_cut=is_cut) is None:
        found = _guessed(data)
        if found is None:
            raise UnreadableFileError(UNKNOWN)
        return found
    return Encoding("utf-8")


def decoded(data: bytes, stated: str | None = None, *, is_cut: bool = False) -> tuple[str, str | None]:
    """Return a text, and the assumptions about its encoding.

    Args:
        stated: The character set that is declared for it.

    Raises:
        UnreadableFileError: Neither that fits nor do the bytes show another one.
    """
    codec = declared(stated)
    if codec not in (None, "utf-8") and not any(data.startswith(mark) for mark, _ in MARKS):
        text = _read(data, codec, is_cut=is_cut)
        if text is not None:
            return text, None
    encoding = encoding_of(data, is_cut=is_cut)
    decoder = codecs.getincrementaldecoder(encoding.codec)("replace")
    return decoder.decode(data, final=not is_cut), encoding.said


def _read(data: bytes, codec: str, *, is_cut: bool) -> str | None:
    """Return bytes decoded by an encoding; None if they are not valid in it."""
    try:
        return codecs.getincrementaldecoder(codec)().decode(data, final=not is_cut)
    except (UnicodeDecodeError, LookupError, TypeError):
        return None


def _guessed(data: bytes) -> Encoding | None:
    """Return the encoding of bytes that are not UTF-8, if they show one."""
    text = data.decode("utf-8", "replace")
    broken, whole = text.count("\ufffd"), len(_FOREIGN.findall(text))
    if whole and whole >= 2 * (broken - text.endswith("\ufffd")):
        return Encoding("utf-8", f"taken as UTF-8 with {broken:,} broken characters")
    if whole > broken / 2:  # a text of two encodings
        return None
    lines = [line for line in data.splitlines(keepends=True) if not line.isascii()]
    sample = b"".join(lines)[:_SAMPLE_BYTES] if len(data) > _SAMPLE_BYTES else data
    codec = _fitting(sample)
    return None if codec is None else Encoding(codec, f"taken as {_NAMES.get(codec, codec)}")


def _fitting(sample: bytes) -> str | None:
    from charset_normalizer import from_bytes

    codecs_known = [*dict.fromkeys([*_LATIN, *_LANGUAGES])]
    found = [one for one in from_bytes(sample, cp_isolation=codecs_known) if one.encoding in codecs_known]
    least = min((one.chaos for one in found), default=0)
    near = {one.encoding: str(one) for one in found if one.chaos <= least + _NEAR}
    for codec in ("cp932", "euc_jp"):
        if len(_KANA.findall(near.get(codec, ""))) > _LEAST_KANA * len(near.get(codec, "")):
            return codec
    codec, western = "cp1252", sample.decode("cp1252", "replace")
    if _LATIN_9.search(western) and not _SIGN_IN_WORD.search(text := sample.decode("iso8859_15")):
        codec, western = "iso8859_15", text
        near.pop("cp1252", None)
    is_western = not _BESIDE_LETTERS.search(western) and "\ufffd" not in western
    if is_western:
        near.setdefault(codec, western)
    if sum(byte > _LAST_OF_ASCII for byte in sample) < _LEAST_FOREIGN_BYTES:
        near = {one: text for one, text in near.items() if one in _OF_LATIN}
    sure = {one: score for one, text in near.items() if (score := _score(one, text))}
    if len({"Latin" if one in _OF_LATIN else one for one in sure}) == 1:
        return max(sure, key=lambda one: (sure[one], one == codec))
    if not sure and is_western and not _RARE.search(western):
        return codec
    alone = next(iter(near)) if len(near) == 1 else ""
    letters = sum(one.isalpha() for one in near.get(alone, ""))
    is_sure = alone in _OF_LATIN and letters >= _LEAST_LETTERS and not _SIGN_IN_WORD.search(near[alone])
    return alone if is_sure else None


def _score(codec: str, text: str) -> float:
    """Return how well a text reads in a language of the encoding; 0 if it does not."""
    import pycld2

    is_sure, _, languages = pycld2.detect(readable(text[:_LONGEST_READ]), isPlainText=True)
    _, code, _, score = languages[0]
    fits = code in _LANGUAGES.get(codec, ()) or (codec in _WESTERN and code not in _OTHERS)
    is_odd = codec in _OF_LATIN and _SIGN_IN_WORD.search(text) is not None
    return float(score) if is_sure and fits and code != "un" and not is_odd else 0.0
