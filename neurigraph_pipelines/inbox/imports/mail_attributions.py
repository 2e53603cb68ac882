"""Sentences above quotations, such as ``On 3 May 2024, Ann wrote:``: whether a line is one, whom it names, and when.

``mail_quotes`` decides about the words below them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from email.utils import parsedate_to_datetime
from functools import lru_cache

from neurigraph_pipelines.model.errors import InvalidInputError
from neurigraph_pipelines.text.hygiene import spoken

UNKNOWN = "unknown"
"""The writer of words that name none: words without a writer would be the owner's."""

_VERBS = (
    r"wrote|writes|schrieb|escribió|a écrit|ha scritto|schreef|escreveu|skrev|napisał\(?a?\)?|пишет|написала?|"
    r"kirjoitti|yazdı|írta|napsala?(?:\(a\))?|napísala?|a scris|έγραψε|пише|написав|"
    r"כתבה?|كتبت?|写道|寫道|のメール|님이 작성"
)
_VERB = re.compile(_VERBS, re.IGNORECASE)
_WROTE = re.compile(rf"(?:{_VERBS})[^\n]{{0,120}}[:：]$|<[^<>\s]+@[^<>\s]+>[^\n]{{0,40}}[:：]$", re.IGNORECASE)
_LONGEST_WROTE = 300
_ADDRESS = re.compile(r"[^\s<>()\[\]:,;\"']{1,64}@[^\s<>()\[\]:,;\"'*]{1,190}")
_QUOTED_NAME = re.compile(r"[\"“”«„]([^\"“”«»„]{1,80})[\"“”»]\s*[<(]*$")
_LAST_NAME = re.compile(r"([^\W\d_][^\d,<>:：()\"]{0,60}?)[\s\"'<(\[]*$")
_NAME_THEN_VERB = re.compile(
    rf"(?:^|[\d,)])\W*([^\W\d_][^\d,<>:：()\"]{{0,60}}?),?\s*(?:{_VERBS})\s*[:：]$", re.IGNORECASE
)
_VERB_THEN_NAME = re.compile(rf"(?:{_VERBS})\s+([^\W\d_][^\d,<>:：()\"]{{0,60}}?)\s*[:：]$", re.IGNORECASE)
_BEFORE_A_NAME = re.compile(rf"^(?:(?:[ap]\.? ?m\.?|uhr|hs?|kl\.?|klo|от|{_VERBS})(?:\s+|$))+", re.IGNORECASE)
_BEFORE_A_DATE = re.compile(r"^(?:on|am|le|el|il giorno|il|op|em|den|dne|w dniu|dnia)\s+", re.IGNORECASE)
_NO_NAMES = {"you", "du", "sie", "ihr", "vous", "tu", "usted", "lei", "u", "je", "vy", "вы", "ты"}
_SELF = re.compile(
    r"\b(?:I|[Ww]e|me|us|my|our|[Ii]ch|[Ww]ir|mir|uns|mein\w*|j'ai|[Nn]ous|[Yy]o|nos|[Ii]o|mi|[Ee]u|[Ii]k|[Jj]ag|[Jj]eg|[Яя]|"
    r"мне|нам|мы)\b"
)
_NUMERIC_DATE = re.compile(r"(?<!\d)(?:\d{1,2}[./-]\d{1,2}[./-]\d{2,4}|\d{4}[./-]\d{1,2}[./-]\d{1,2})(?!\d)")
_DOTTED_DATE = re.compile(r"(?<!\d)\d{1,2}\.\s?\d{1,2}\.\s?\d{4}")
_CLOCK = re.compile(r"(?<![\d.])\d{1,2}[:.h]\d{2}(?![\d.])|\d{1,2} ?[時时點点시]")
_YEAR = re.compile(r"(?<!\d)\d{4}(?!\d)")
_DAY = re.compile(r"(?<!\d)(?:0?[1-9]|[12]\d|3[01])(?!\d)")
_MOST_WORDS_BEFORE_A_DATE = 3
_AT = re.compile(r"\b(?:at|um|à|a las|às|alle ore|alle|om|o|kl\.?)\b|\(.*?\)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Letter:
    """The author and time that the head of a mail states of the words below it.

    Attributes:
        is_forward: It hands on words of others.
        is_reply: It answers a mail.
        people: Names and addresses of those it goes to, in lower case.
        sender: The name of its sender.
        answered: The words of the mail that it answers, if the file has that.
    """

    is_forward: bool = False
    is_reply: bool = False
    people: frozenset[str] = frozenset()
    sender: str = ""
    answered: str = ""


def is_attribution(lines: Sequence[str], at: int) -> bool:
    """Return whether a line may end the sentence above a quotation, such as ``On 3 May 2024, Ann wrote:``."""
    line = lines[at].strip()
    if line.startswith(">") or not line.endswith((":", "：")) or len(line) > _LONGEST_WROTE:
        return False
    sentence = attribution(lines, at)
    if len(sentence) > 3 * _LONGEST_WROTE or not any(one.isdigit() or one == "@" for one in sentence):
        return False
    return bool(_WROTE.search(sentence[-_LONGEST_WROTE:])) or any(one.match(sentence) for one in _attributions())


@lru_cache(maxsize=1)
def _attributions() -> list[re.Pattern[str]]:
    from mailparser_reply.constants import MAIL_LANGUAGES

    written = (words["wrote_header"] for words in MAIL_LANGUAGES.values() if "wrote_header" in words)
    return [re.compile(one, re.IGNORECASE) for one in written]


def first_of_attribution(lines: Sequence[str], at: int) -> int:
    """Return the first line of a sentence above a quotation, which mail programs break in up to three."""
    first = at
    while first and at - first < 2 and not any(c.isdigit() for c in lines[first]):
        above = lines[first - 1].strip()
        if not above or above.endswith((".", "!", "?", ":", "。", "：")):
            break
        first -= 1
    return first


def attribution(lines: Sequence[str], at: int) -> str:
    """Return the sentence above a quotation that a line ends."""
    return " ".join(one.strip() for one in lines[first_of_attribution(lines, at) : at + 1])


def is_certain(sentence: str, letter: Letter) -> bool:
    """Return whether a sentence stands above a quotation even if no mark shows one.

    It does in a mail that answers or forwards another, if it begins with a date or a writer, and states a whole date
    and an address or somebody the mail goes to. Sentences of the sender about themselves never do.
    """
    if not (letter.is_reply or letter.is_forward) or not is_dated(sentence):
        return False
    before_date = re.split(r"\d", sentence, maxsplit=1)[0].split()
    if not _VERB.search(sentence) and not _CLOCK.search(sentence):
        return False
    address = _ADDRESS.search(sentence)
    known = _known(sentence, letter.people)
    name = (sentence[: address.start()] if address else known or "").split()
    is_first = sentence.casefold().startswith(known or " ") or not any(one[0].islower() for one in name)
    return bool(address or known) and (len(before_date) <= _MOST_WORDS_BEFORE_A_DATE or is_first)


def is_dated(sentence: str) -> bool:
    """Return whether a sentence states a whole date and is not about its own writer."""
    if _SELF.search(_ADDRESS.sub(" ", sentence)):
        return False
    rest = _CLOCK.sub(" ", sentence)
    return bool(_NUMERIC_DATE.search(rest) or (_YEAR.search(rest) and _DAY.search(rest)))


def is_time(written: str) -> bool:
    """Return whether words state a year and a time of the day, as the heads of mail programs do."""
    return bool(_YEAR.search(written) and _CLOCK.search(written))


def _known(sentence: str, people: frozenset[str]) -> str | None:
    low = sentence.casefold()
    longest_first = sorted(people, key=len, reverse=True)
    return next((one for one in longest_first if re.search(rf"(?<![a-z]){re.escape(one)}(?![a-z])", low)), None)


def writer_of(sentence: str) -> tuple[str, datetime | None]:
    """Return the author that a sentence above a quotation names, and the time if the sentence states one."""
    address = _ADDRESS.search(sentence)
    before = sentence[: address.start()] if address else sentence
    patterns = (_QUOTED_NAME, _LAST_NAME) if address else (_NAME_THEN_VERB, _VERB_THEN_NAME)
    match = next((found for one in patterns if (found := one.search(before))), None)
    name = _BEFORE_A_NAME.sub("", match[1].strip(" .'\"")).strip() if match else ""
    if not name[:1].isalpha() or name[:1].islower() or name.lower() in _NO_NAMES:
        name = ""
    stated = re.sub(rf"\s(?:{_VERBS})\s*$", "", before[: match.start(1)] if match else before, flags=re.IGNORECASE)
    return name or (address[0] if address else UNKNOWN), time_of(_BEFORE_A_DATE.sub("", stated.strip(" ,\"'<([")))


def time_of(written: str) -> datetime | None:
    """Return a time that a mail program wrote, in any language; without an offset it is taken as UTC."""
    try:
        time = parsedate_to_datetime(written)
    except (ValueError, TypeError, IndexError, OverflowError):
        parsed = _foreign_time(" ".join(_AT.sub(" ", written).split())[:100].strip(" ,"))
        if parsed is None:
            return None
        time = parsed
    try:
        return spoken(time)
    except InvalidInputError:
        return None


@lru_cache(maxsize=1_024)
def _foreign_time(written: str) -> datetime | None:
    import dateparser

    order = {"DATE_ORDER": "DMY"} if _DOTTED_DATE.search(written) else {}
    return dateparser.parse(written, settings={"STRICT_PARSING": True, **order}) if written else None
