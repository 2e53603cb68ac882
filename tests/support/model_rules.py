"""The deterministic rules by which the provider on loopback answers.

Belongs here: bag-of-words vectors, and summaries, keywords, facts, placements and answers, made from the lines of a
transcript.
Not here: the protocol (``model_provider``, ``model_responses``).
"""

from __future__ import annotations

import hashlib
import math
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

from neurigraph_pipelines.text.in_context import CONTEXT_END
from tests.support.verdict_rules import verdicts

_WORD = re.compile(r"\w+")
_ENTRY = re.compile(r"^\[(\d+)\] \w+ (\d{4}-\d{2}-\d{2}) \d{2}:\d{2} (.*?): (.*)$")
_NAME = re.compile(r"(?<![.!?] )(?<!^)\b[A-Z][a-z]+(?: [A-Z][a-z]+)*")
_EFFECTS = {"So ": 0.9, "Perhaps so ": 0.7, "Hardly so ": 0.5}
"""How a message begins that tells an effect of the one before, and how sure that is."""

_STOP_WORDS = frozenset(
    _WORD.findall(
        "a an and are as at be but by for from had has have he her his i in is it its me my not of on or our she so "
        "that the their them they this to was we were what when where who will with you your"
    )
)
_SUBJECTS: tuple[tuple[str, str, str], ...] = (
    (r"hospital|doctor|medicine|therapy|running|marathon|clinic", "Health", "Care"),
    (r"project|release|customer|deadline|meeting|budget|office", "Work", "Projects"),
    (r"mother|father|sister|brother|family|kids|birthday|wedding", "Family", "Events"),
    (r"trip|flight|hotel|beach|camping|mountain|travel", "Travel", "Trips"),
    (r"guitar|painting|pottery|recipe|garden|book|game|piano", "Hobbies", "Crafts"),
)

SYNONYMS = {
    "subject-boats": ("Boats", "Sailing", "Ships", "Seafaring"),
    "subject-bread": ("Bread", "Baking", "Loaves", "Sourdough"),
    "subject-bees": ("Bees", "Beekeeping", "Hives", "Apiary"),
    "subject-chess": ("Chess", "Board games", "Openings", "Tournaments"),
    "subject-birds": ("Birds", "Birdwatching", "Ornithology", "Feathers"),
}
"""Names that one subject gets from a model which does not see what it said before."""


MEMBERS = {"cities": ("Lisbon", "Oslo"), "pets": ("the dog", "the cat")}
"""Members of kinds of things, which a model adds to a question about such a kind."""


@dataclass(frozen=True, slots=True)
class _Line:
    """One message of a transcript."""

    seq: int
    day: date
    speaker: str
    text: str


def embed_text(text: str, width: int) -> list[float]:
    """A unit vector in which each word has its own direction: texts that share words lie near each other."""
    text = text.rpartition(CONTEXT_END)[2]
    vector = [0.0] * width
    words = [word for word in _WORD.findall(text.lower()) if word not in _STOP_WORDS] or ["\0"]
    for word in words:
        digest = hashlib.blake2b(word.encode("utf-8", "replace"), digest_size=16).digest()
        for part in range(4):
            number = int.from_bytes(digest[part * 4 : part * 4 + 4], "little")
            vector[number % width] += 1.0 if number & 0x80000000 else -1.0
    norm = math.sqrt(sum(x * x for x in vector))
    if norm == 0.0:
        return [1.0, *[0.0] * (width - 1)]
    return [x / norm for x in vector]


def answer_chat(shape: str, question: str) -> dict[str, Any]:
    """Return an answer in the named schema, made from the prompt's blocks."""
    if shape == "SummaryAnswer":
        parts = block(question, "PARTS")
        return _summary(_lines(block(question, "TRANSCRIPT"))) if parts is None else _merged(parts)
    if shape == "StatementsAnswer":
        return _statements(block(question, "QUESTION") or "", _lines(block(question, "PASSAGES")))
    if shape == "WordingsAnswer":
        return _wordings(block(question, "QUESTION") or "")
    if shape == "OrderAnswer":
        return _order(block(question, "QUESTION") or "", block(question, "PASSAGES") or "")
    if shape == "PlanAnswer":
        return _plan(block(question, "DESCRIPTIONS") or "", block(question, "OUTLINE") or "")
    lines = _lines(block(question, "TRANSCRIPT"))
    if shape == "KeywordsAnswer":
        return _keywords(lines)
    if shape == "FactsAnswer":
        told = [line for line in lines if not line.text.endswith("?")]
        return {"facts": [_fact(line) for line in told], "links": list(_links(told))}
    if shape == "SegmentAnswer":
        shapes = {"entry": "SummaryAnswer", "keywords": "KeywordsAnswer", "facts": "FactsAnswer"}
        return {name: answer_chat(part, question) for name, part in shapes.items()}
    if shape == "PlacementsAnswer":
        return _placements(lines, block(question, "OUTLINE") or "")
    if shape == "VerdictsAnswer":
        return verdicts(block(question, "FACTS") or "")
    if shape == "ReadingAnswer":
        return {"answer": _reading(block(question, "QUESTION") or "", block(question, "MEMORY") or "")}
    if shape == "JudgementAnswer":
        return {"reason": "By rule.", "correct": _is_correct(question)}
    raise ValueError(f"no rule for {shape}")


def _reading(question: str, memory: str) -> str:
    """The line of a memory that has most words of the question, if it has one; a letter if there are options."""
    options = re.findall(r"^(\(\w\)) (.*)$", question, re.MULTILINE)
    if options:
        letter, _ = max(options, key=lambda one: len(_words_of(one[1]) & _words_of(memory)))
        return str(letter)
    asked = _words_of(question.partition(": ")[2])
    best = max(memory.split("\n"), key=lambda line: len(asked & _words_of(line)))
    return best if asked & _words_of(best) else ""


def _words_of(text: str) -> set[str]:
    return {word for word in _WORD.findall(text.lower()) if word not in _STOP_WORDS}


def _is_correct(question: str) -> bool:
    """Whether the given answer has the words of the expected one; FICKLE in it counts only if it stands last."""
    expected, given = block(question, "EXPECTED") or "", block(question, "GIVEN") or ""
    is_first = question.index("BEGIN GIVEN") < question.index("BEGIN EXPECTED")
    return expected.lower() in given.lower() and not (is_first and "FICKLE" in given)


def block(question: str, name: str) -> str | None:
    """Return the text between the marker lines of a name."""
    match = re.search(rf"BEGIN {name} (\w+)\n(.*)\nEND {name} \1", question, re.DOTALL)
    return match[2] if match else None


def _lines(transcript: str | None) -> list[_Line]:
    """The messages of a transcript; indented lines belong to the message before."""
    lines: list[_Line] = []
    for row in (transcript or "").split("\n"):
        if match := _ENTRY.match(row):
            lines.append(_Line(int(match[1]), date.fromisoformat(match[2]), match[3], match[4]))
        elif lines and row.startswith("    "):
            last = lines[-1]
            lines[-1] = _Line(last.seq, last.day, last.speaker, f"{last.text} {row.strip()}")
    return lines


def _summary(lines: list[_Line]) -> dict[str, Any]:
    """Return the longest messages in order, with their speakers."""
    kept = sorted(sorted(lines, key=lambda line: -len(line.text))[:8], key=lambda line: line.seq)
    text = " ".join(f"{line.speaker.split(' (')[0]}: {line.text[:300]}" for line in kept) or "Nothing was said."
    return {"title": text[:60], "summary": text}


def _links(told: list[_Line]) -> Iterator[dict[str, Any]]:
    """Yield a cause for each message that begins with "So" or "Perhaps so": what the message before it says."""
    for number, line in enumerate(told[1:], start=2):
        begins = next((words for words in _EFFECTS if line.text.startswith(words)), None)
        if begins is not None:
            yield {
                "reason": f"it begins with {begins!r}",
                "fact": number,
                "relation": "caused_by",
                "other": number - 1,
                "confidence": _EFFECTS[begins],
            }


def _statements(question: str, passages: list[_Line]) -> dict[str, Any]:
    """The passages that share a word with the question, each under its number."""
    asked = set(_WORD.findall(question.partition(": ")[2].lower())) - _STOP_WORDS
    matching = [line for line in passages if asked.intersection(_WORD.findall(line.text.lower()))]
    return {"statements": [{"text": line.text[:200], "passages": [line.seq]} for line in matching]}


def _wordings(question: str) -> dict[str, Any]:
    """Likely members of the kinds of things that the question names, or the question with a word twice."""
    members = [member for kind, members in MEMBERS.items() if kind in question for member in members]
    return {"wordings": members or [f"{question} {word}" for word in question.split()[:8]]}


def _order(question: str, passages: str) -> dict[str, Any]:
    """The numbers of the passages that share words with the question, those that share most first."""
    asked = set(_WORD.findall(question.lower())) - _STOP_WORDS
    texts = re.split(r"^\[(\d+)\] ", passages, flags=re.MULTILINE)
    shared = {
        int(n): len(asked.intersection(_WORD.findall(t.lower()))) for n, t in zip(texts[1::2], texts[2::2], strict=True)
    }
    return {"passages": [number for number in sorted(shared, key=lambda n: -shared[n]) if shared[number]]}


def _merged(parts: str) -> dict[str, Any]:
    """Return the beginnings of the parts in order."""
    entries = re.split(r"(?:^|\n\n)(?=Part \d+: )", parts)
    text = " ".join(entry.partition("\n")[2][:400].strip() for entry in entries if entry)
    return {"title": f"Merged: {text[:40]}", "summary": text}


def _fact(line: _Line) -> dict[str, Any]:
    """A message as a fact of its speaker, of the day before if it speaks of yesterday."""
    speaker = line.speaker.split(" (")[0]
    day = line.day - timedelta(days=1)
    return {
        "reason": f"Message {line.seq} says it.",
        "statement": f"{speaker} said: {line.text}",
        "first_message": line.seq,
        "last_message": line.seq,
        "kind": "event",
        "stated_as": "statement",
        "who": [speaker],
        "where": "",
        "why": "",
        "how": "",
        "subject": speaker,
        "predicate": "said",
        "object": line.text,
        "occurred": day.isoformat() if "yesterday" in line.text.lower() else "",
        "confidence": 1.4,
        "importance": 0.5,
        "impact": "low",
    }


def _keywords(lines: list[_Line]) -> dict[str, Any]:
    """Capitalised words inside sentences, frequent words, and the days around each message."""
    names: dict[str, int] = {}
    words: dict[str, int] = {}
    dates: set[str] = set()
    for line in lines:
        for name in _NAME.findall(line.text):
            names[name] = names.get(name, 0) + 1
        for word in _WORD.findall(line.text.lower()):
            if word not in _STOP_WORDS and len(word) > 3:
                words[word] = words.get(word, 0) + 1
        if "yesterday" in line.text.lower():
            dates.add((line.day - timedelta(days=1)).isoformat())
        if "today" in line.text.lower():
            dates.add(line.day.isoformat())
    speakers = {line.speaker.split(" (")[0] for line in lines if " (" in line.speaker}
    return {
        "entities": sorted(speakers) + sorted(names, key=lambda name: (-names[name], name))[:20],
        "topics": sorted(words, key=lambda word: (-words[word], word))[:10],
        "dates": sorted(dates),
        "relationships": [f"speaks with: {name}" for name in sorted(speakers)],
    }


def _name_of(subject: str, text: str, outline: str) -> str:
    """Return the name that the outline has for a subject, or else one that depends on the text, as with real models."""
    known = next((name for name in SYNONYMS[subject] if f" / {name} [" in outline), None)
    number = int.from_bytes(hashlib.blake2b(text.encode(), digest_size=4).digest(), "little")
    return known or SYNONYMS[subject][number % len(SYNONYMS[subject])]


def _subject_of(text: str) -> str | None:
    return next((subject for subject in SYNONYMS if subject in text.lower()), None)


def _plan(descriptions: str, outline: str) -> dict[str, Any]:
    """Plan a node for each subject of two descriptions or more."""
    subjects = Counter(filter(None, map(_subject_of, descriptions.splitlines())))
    wanted = [subject for subject, count in subjects.items() if count > 1]
    paths = [["Hobbies"], *(["Hobbies", _name_of(subject, descriptions, outline)] for subject in wanted)]
    nodes = [{"path": path, "kind": "topic", "summary": f"{path[-1]}.", "keywords": []} for path in paths]
    return {"nodes": nodes if wanted else []}


def _placements(lines: list[_Line], outline: str) -> dict[str, Any]:
    """Return one placement for all messages, by the most frequent subject."""
    text = " ".join(line.text for line in lines).lower()
    subject = _subject_of(text)
    counts = [(len(re.findall(words, text)), top, below) for words, top, below in _SUBJECTS]
    count, top, below = max(counts, key=lambda item: item[0])
    names = [(top, 0.9), (below, 0.8)] if count else [("Notes", 0.9)]
    if subject is not None:
        names = [("Hobbies", 0.9), (_name_of(subject, text, outline), 0.9)]
    steps = [
        {
            "name": name,
            "kind": "topic",
            "confidence": confidence,
            "summary": f"Everything about {name.lower()}.",
            "keywords": [name.lower()],
            "aliases": [],
        }
        for name, confidence in names
    ]
    placement = {
        "first_message": lines[0].seq if lines else 1,
        "last_message": lines[-1].seq if lines else 1,
        "steps": steps,
        "relations": [],
    }
    return {"placements": [placement]}
