"""A recorded language model that answers about one story as a careful one would.

Its answers are in ``tests/data/careful_reading.toml``. A request that shows the model less than it needs, such as a
transcript without a message, gets no facts of that message.
"""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import Any

from tests.support.model_rules import answer_chat, block

ROOT = Path(__file__).parents[2]
STORY: dict[str, Any] = json.loads((ROOT / "samples/stories/oven-and-rent.json").read_text(encoding="utf-8"))
_READING = tomllib.loads((ROOT / "tests/data/careful_reading.toml").read_text(encoding="utf-8"))
_BY_TITLE = {one["title"]: one for one in _READING["conversation"]}
_FACT = re.compile(r"^F(\d+): \(.*?\) (.*)$", re.MULTILINE)
_PAIR = re.compile(r"^P(\d+): earlier F(\d+), later F(\d+)$", re.MULTILINE)


def careful_answer(shape: str, question: str) -> dict[str, Any]:
    """Return the recorded answer in the named schema, and by rules where none is recorded."""
    if shape == "VerdictsAnswer":
        return {"verdicts": list(_verdicts(block(question, "FACTS") or ""))}
    title = re.search(r"^Title: (.*)$", block(question, "ABOUT") or "", re.MULTILINE)
    if title is None or title[1] not in _BY_TITLE or shape not in ("SegmentAnswer", "SummaryAnswer", "FactsAnswer"):
        return answer_chat(shape, question)
    reading = _BY_TITLE[title[1]]
    entry = {"title": reading["title"], "summary": reading["summary"]}
    facts = _facts(reading, block(question, "TRANSCRIPT") or "")
    if shape == "SegmentAnswer":
        return {"entry": entry, "keywords": answer_chat("KeywordsAnswer", question), "facts": facts}
    return entry if shape == "SummaryAnswer" else facts


def _facts(reading: dict[str, Any], transcript: str) -> dict[str, Any]:
    shown = set(map(int, re.findall(r"^\[(\d+)\] ", transcript, re.MULTILINE)))
    facts = [_fact(one) for one in reading["facts"] if one["at"] in shown]
    links = [
        {"reason": "The message says so.", "fact": fact, "relation": relation, "other": other, "confidence": 0.9}
        for fact, relation, other in reading["links"]
    ]
    return {"facts": facts, "links": links if len(facts) == len(reading["facts"]) else []}


def _fact(one: dict[str, Any]) -> dict[str, Any]:
    subject, predicate, value = one.get("slot", ("", "", ""))
    return {
        "reason": f"Message {one['at']} says it.",
        "statement": one["says"],
        "first_message": one["at"],
        "last_message": one["at"],
        "kind": one["kind"],
        "stated_as": "statement",
        "who": one.get("who", ["Priya"]),
        "where": "",
        "why": one.get("why", ""),
        "how": "",
        "subject": subject,
        "predicate": predicate,
        "object": value,
        "occurred": one.get("occurred", ""),
        "confidence": 0.9,
        "importance": 0.7,
        "impact": one.get("impact", "medium"),
    }


def _verdicts(shown: str) -> Any:
    facts = {int(number): statement for number, statement in _FACT.findall(shown)}
    for number, earlier, later in _PAIR.findall(shown):
        for one in _READING["verdict"]:
            if one["later"] in facts[int(later)] and one["earlier"] in facts[int(earlier)]:
                yield {"pair": int(number), "reason": "It says so.", "verdict": one["verdict"], "confidence": 0.95}
