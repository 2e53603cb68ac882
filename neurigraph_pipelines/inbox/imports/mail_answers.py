"""Answers that stand inside a quotation without marks: which lines are whose, by the mail that is answered.

Without that mail, it cannot be known. ``mail_quotes`` decides about the words of a mail.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from itertools import pairwise

from neurigraph_pipelines.inbox.imports.mail_attributions import Letter

_WORD = re.compile(r"\w+")
_LEAST_KNOWN = 0.6
"""Share of the runs of three words of a line that the mail must have for the line to be quoted of it."""

_LEAST_QUOTED = 0.3
"""Share of the lines that are quoted of a mail for the whole to be a quotation of it."""

_KEY_CHARACTERS = 12
_MOST_ALIKE = 8
_FEWEST_OWN_WORDS = 5
"""Fewer words of the sender above a quotation are a greeting, and no answer."""

_MOST_WORDS_OF_GREETING = 4
_QUESTION = ("?", "？", "؟")
_SENTENCE = (".", "!", "。", "！", "…")
_ANSWER = re.compile(
    r"(?:yes|no|yep|nope|sure|ok(?:ay)?|ja|nein|doch|nee|oui|si|sí|non|no|sì|sim|não|nao|tak|nie|да|нет|evet|hayır|joo|ei|"
    r"jo|nej|ano|ne|はい|いいえ|是的?|不是|对|好的?|有|没有|네|아니요|예|نعم|لا|כן|לא)(?!\w)",
    re.IGNORECASE,
)


def compared(lines: Sequence[str], original: str, *, starts_quoted: bool = True) -> list[str] | None:
    """Return the lines of a quotation, those of the mail that is answered marked by ``>``; None for another mail's.

    Args:
        lines: The quotation.
        original: The words of the mail that is answered.
        starts_quoted: Whether lines before the first one of that mail, such as the warnings of servers, are quoted.
    """
    known = _Original(original)
    marked: list[str] = []
    last, quoted, worded = "", 0, 0
    for line in lines:
        if not _WORD.search(line):
            marked.append(line)
            continue
        worded += 1
        words, answer = known.split(line)
        is_quoted = answer is not None or known.has(line, last)
        quoted += is_quoted
        marked.append(f"> {words}" if is_quoted or (starts_quoted and not quoted) else line)
        if answer is not None:
            marked.append(answer)
        last = (_words(line) or [""])[-1] if is_quoted else ""
    return marked if worded and quoted >= _LEAST_QUOTED * worded else None


def may_have_answers(lines: Sequence[str], own: str) -> bool:
    """Return whether answers may stand in a quotation: after a question, a line that says yes or no.

    If the sender says nothing above it, or only greets, any sentence after a question may be an answer.
    """
    words = [line.strip().lstrip("*- ") for line in lines if line.strip()]
    is_short = len(own.split()) < _FEWEST_OWN_WORDS
    return any(
        (asked.endswith(_QUESTION) and (_ANSWER.match(said) or (is_short and said.endswith(_SENTENCE))))
        or (is_short and _has_answer_behind(said))
        for asked, said in pairwise(["", *words])
    )


def is_letter_to_sender(lines: Sequence[str], letter: Letter) -> bool:
    """Return whether a mail greets its own sender, or is signed by somebody that it goes to, so that it quotes."""
    words = [_words(line) for line in lines if _WORD.search(line)]
    sender = {one for one in _words(letter.sender) if len(one) > 1}
    if not words or not sender:
        return False
    greeting, end = set(words[0]), " ".join(words[-1])
    is_greeted = len(words[0]) <= _MOST_WORDS_OF_GREETING and bool(greeting & sender) and not greeting & letter.people
    return is_greeted or (end in letter.people and not set(words[-1]) & sender)


def _has_answer_behind(line: str) -> bool:
    """Return whether a line asks something and says yes or no behind it."""
    at = max(line.rfind(mark) for mark in _QUESTION)
    return at > 0 and _ANSWER.match(line[at + 1 :].strip()) is not None


class _Original:
    """The mail that is answered: its lines, and its runs of words, because lines may be broken otherwise."""

    def __init__(self, text: str) -> None:
        words = _words(text)
        self._pairs = set(pairwise(words))
        self._threes = set(zip(words, words[1:], words[2:], strict=False))
        lines = [line.strip("> \t\r") for line in text.split("\n")]
        self._lines = {" ".join(_words(line)) for line in lines}
        self._by_start: defaultdict[str, list[str]] = defaultdict(list)
        for line in lines:
            alike = self._by_start[line[:_KEY_CHARACTERS]]
            if len(line) >= _KEY_CHARACTERS and len(alike) < _MOST_ALIKE:
                alike.append(line)

    def has(self, line: str, last: str) -> bool:
        """Return whether a line is quoted of the mail; a single word only if it follows the last one in it."""
        words = _words(line)
        if " ".join(words) in self._lines:
            return True
        if len(words) < 3:
            return all(pair in self._pairs for pair in pairwise([last, *words] if last else words)) and (
                len(words) > 1 or bool(last)
            )
        threes = [*zip(words, words[1:], words[2:], strict=False)]
        return sum(three in self._threes for three in threes) >= _LEAST_KNOWN * len(threes)

    def split(self, line: str) -> tuple[str, str | None]:
        """Return a line, and the words behind one of the mail's on it, if there are any."""
        line = line.strip()
        at = max(line.rfind(mark) for mark in _QUESTION) + 1
        asked, said = line[:at], line[at:].strip()
        if at and _WORD.search(said) and self.has(asked, "") and not self.has(said, (_words(asked) or [""])[-1]):
            return asked, said
        for start in self._by_start.get(line[:_KEY_CHARACTERS], ()):
            rest = line[len(start) :].strip() if line.startswith(start) else ""
            if _WORD.search(rest) and not self.has(rest, (_words(start) or [""])[-1]):
                return start, rest
        return line, None


def _words(text: str) -> list[str]:
    return [word.casefold() for word in _WORD.findall(text)]
