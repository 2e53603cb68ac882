"""How the provider on loopback judges pairs of facts: it reads more wordings than the rules, and errs now and then.

It sees what a model sees, the text of a request, and nothing else.
"""

from __future__ import annotations

import re
import zlib
from dataclasses import dataclass
from typing import Any

ERRS = 0.02
"""Share of the pairs on which it gives a wrong verdict, sure of itself; the same pairs each time."""

_FACT = re.compile(r"^F(\d+): \((\S+ \S+), (\w+), (\w+)\) (.*)$")
_PAIR = re.compile(r"^P(\d+): earlier F(\d+), later F(\d+)$")
_SUPPOSED = re.compile(r"\b(?:might|if|thinks|says|would)\b", re.I)
_BESIDE = re.compile(r"\balso\b")
_PAST = re.compile(r"\b(?:lived|worked|as a child)\b")
_FORMS = [
    ("home", re.compile(r"^(.+?) (?:now |currently |actually )?lives in ([A-Z]\w+)")),
    ("home", re.compile(r"^(.+?) (?:has moved to|is living in) ([A-Z]\w+)")),
    ("employer", re.compile(r"^(.+?) is now working for ([A-Z]\w+)")),
    ("home", re.compile(r"^(.+?)'s home is ([A-Z]\w+)")),
    ("home", re.compile(r"^(.+?) has settled down in ([A-Z]\w+)")),
    ("employer", re.compile(r"^(.+?) (?:now )?works at ([A-Z]\w+)")),
    ("employer", re.compile(r"^(.+?) has a new employer: ([A-Z]\w+)")),
    ("ended", re.compile(r"^(.+?) quit ([A-Z]\w+)")),
    ("colour", re.compile(r"^(.+?)'s favourite colour is (?:now )?(\w+)")),
    ("colour", re.compile(r"^(.+?) likes (\w+) best of all colours")),
    ("allergy", re.compile(r"^(.+?) is (?:not )?allergic to (\w+)")),
    ("count", re.compile(r"^(.+?) has (\w+ \w+)\.$")),
]


@dataclass(frozen=True, slots=True)
class _Read:
    subject: str
    slot: str
    value: str


def verdicts(text: str) -> dict[str, Any]:
    """Return the answer to the pairs of a request."""
    facts: dict[str, str] = {}
    found: list[dict[str, Any]] = []
    for line in text.split("\n"):
        if fact := _FACT.match(line):
            facts[fact[1]] = fact[5]
        elif pair := _PAIR.match(line):
            verdict, confidence = _verdict(facts[pair[3]], facts[pair[2]])
            if zlib.crc32(f"{facts[pair[3]]}|{facts[pair[2]]}".encode()) % 1_000 < 1_000 * ERRS:
                verdict, confidence = ("unrelated" if verdict == "updates" else "updates"), 0.9
            if verdict != "unrelated":
                reason = "as the two statements say"
                found.append({"pair": int(pair[1]), "reason": reason, "verdict": verdict, "confidence": confidence})
    return {"verdicts": found}


def _verdict(later: str, earlier: str) -> tuple[str, float]:
    if _SUPPOSED.search(later) or _SUPPOSED.search(earlier) or _PAST.search(later) or _PAST.search(earlier):
        return "unrelated", 0.9
    one, other = _read(later), _read(earlier)
    if one is None or other is None or one.subject != other.subject:
        return "unrelated", 0.9
    if one.slot == "ended" and other.slot == "employer" and one.value == other.value:
        return "updates", 0.9
    if one.slot != other.slot:
        return "unrelated", 0.9
    if one.slot == "allergy" and one.value == other.value:
        return ("contradicts", 0.85) if ("not" in later) != ("not" in earlier) else ("same", 0.9)
    if one.slot == "count" and one.value.split()[1] != other.value.split()[1]:
        return "unrelated", 0.9
    if one.value == other.value:
        return "same", 0.95
    return ("unrelated", 0.9) if _BESIDE.search(later) else ("updates", 0.92)


def _read(statement: str) -> _Read | None:
    for slot, form in _FORMS:
        if match := form.match(statement):
            return _Read(match[1], slot, match[2])
    return None
