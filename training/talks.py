"""Conversations with questions, the messages that answer them, and remarks that earlier messages explain.

Reads the talks that were written for training (``training/talks/*.json``) and public sets (``*.jsonl.gz``), and says
what is wrong with a file.
"""

from __future__ import annotations

import gzip
import json
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.bench import PROJECT_ROOT

TALKS = PROJECT_ROOT / "training" / "talks"
PUBLIC = PROJECT_ROOT.parent / "shared" / "data" / "encoder"
LEFT_OUT = frozenset("Bed004 Bmr003 Bro003 ES2002a IS1000a TS3005a covid_1 education_1".split())
"""Meetings of QMSum's train part that measure the result."""

_NOISE = re.compile(r"\{\w+\}")
_DETACHED = re.compile(r" (?=[.,!?;:%)\]]|n't\b|'(?:s|re|ve|ll|d|m)\b)|(?<=[(\[]) |(?<=\w) (?=- \w)|(?<=\w -) (?=\w)")
_CONTRACTED = re.compile(r"\b([Gg]on|[Ww]an) na\b")
_SPACES = re.compile(r"\s+")


class TalkError(Exception):
    """A file of talks does not have the format; the text names the file and the place."""


@dataclass(frozen=True, slots=True)
class Said:
    """One message, and its day, or if it is stored its memory; the public sets have none."""

    speaker: str
    text: str
    day: str = ""


@dataclass(frozen=True, slots=True)
class Asked:
    """A question or remark, and the indexes of the messages that answer or explain it; none if nothing does."""

    text: str
    sources: tuple[int, ...]
    is_remark: bool = False
    speaker: str = ""


@dataclass(frozen=True, slots=True)
class Talk:
    """One conversation, meeting, mail thread or series of notes, with what is asked about it.

    Attributes:
        language: Its ISO 639-1 code.
        source: The name of the public set, ``talks``, or ``own`` for a user's graph.
    """

    name: str
    source: str
    language: str
    messages: tuple[Said, ...]
    asked: tuple[Asked, ...]


def read_talks(folder: Path) -> list[Talk]:
    """Read every talk of a folder, in the order of the file names.

    Raises:
        TalkError: There is no folder, a file does not have the format, or two talks have one id.
    """
    if not folder.is_dir():
        raise TalkError(f"{folder} is no folder: --talks names one with a file for each talk")
    talks = [_read(path) for path in sorted(folder.glob("*.json"))]
    names = [talk.name for talk in talks]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise TalkError(f"{folder}: several talks have the id {', '.join(twice)}: give each its own")
    return talks


def read_public(folder: Path) -> list[Talk]:
    """Read the public sets of a folder, without the meetings that are left out; tokenised text is joined again.

    Raises:
        TalkError: A file does not have the format.
    """
    return [
        talk
        for path in sorted(folder.glob("*.jsonl.gz"))
        for talk in _lines(path)
        if talk.name not in LEFT_OUT and talk.asked
    ]


def written(text: str) -> str:
    """Return tokenised text, such as "I do n't know .", as people write it, without a transcript's marks of noise."""
    joined = _DETACHED.sub("", _SPACES.sub(" ", _NOISE.sub("", text))).strip()
    return _CONTRACTED.sub(r"\1na", joined)


def _lines(path: Path) -> Iterator[Talk]:
    try:
        for line in gzip.decompress(path.read_bytes()).splitlines():
            item = json.loads(line)
            messages = tuple(Said(turn["speaker"], written(turn["text"])) for turn in item["turns"])
            asked = tuple(
                Asked(written(one["question"]), _indexes(one, "evidence"))
                for one in item["questions"]
                if one["evidence"]
            )
            yield _checked(Talk(item["id"], path.name.partition(".")[0], "en", messages, asked))
    except (OSError, EOFError, zlib.error, RecursionError, ValueError, KeyError, TypeError, TalkError) as error:
        raise TalkError(f"{path}: {error if isinstance(error, TalkError) else repr(error)}") from error


def _read(path: Path) -> Talk:
    try:
        item = json.loads(path.read_text(encoding="utf-8"))
        messages = tuple(
            Said(_text(one, "speaker"), _text(one, "text"), _text(one, "at")[:10]) for one in _list(item, "messages")
        )
        questions = [Asked(_text(one, "question"), _indexes(one, "sources")) for one in _list(item, "questions")]
        remarks = [
            Asked(_text(one, "remark"), _indexes(one, "explained_by"), True, _text(one, "speaker"))
            for one in _list(item, "remarks")
        ]
        return _checked(Talk(_text(item, "id"), "talks", _text(item, "language"), messages, (*questions, *remarks)))
    except (ValueError, RecursionError, TalkError) as error:
        raise TalkError(f"{path}: {error}") from error


def _checked(talk: Talk) -> Talk:
    for asked in talk.asked:
        if wrong := [index for index in asked.sources if not 0 <= index < len(talk.messages)]:
            raise TalkError(f"{asked.text!r} names message {wrong[0]}, and there are {len(talk.messages)} from 0")
    return talk


def _text(item: Any, name: str) -> str:
    found = item.get(name) if isinstance(item, dict) else None
    if not isinstance(found, str) or not found.strip():
        raise TalkError(f"{name!r} is not a text in {json.dumps(item, ensure_ascii=False)[:120]}")
    return found.strip()


def _list(item: Any, name: str) -> list[Any]:
    found = item.get(name) if isinstance(item, dict) else None
    if not isinstance(found, list):
        raise TalkError(f"{name!r} is not a list")
    return found


def _indexes(item: dict[str, Any], name: str) -> tuple[int, ...]:
    found = _list(item, name)
    if wrong := [one for one in found if not isinstance(one, int) or isinstance(one, bool)]:
        raise TalkError(f"{name!r} holds {wrong[0]!r}, which is no index of a message")
    return tuple(dict.fromkeys(found))
