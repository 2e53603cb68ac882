"""Subtitles and transcripts of recordings: WebVTT and SubRip files. Each becomes a meeting.

The W3C defines WebVTT. SubRip has no standard: a number, a line of two times, and the words.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import PurePath

from neurigraph_pipelines.errors import InvalidInputError
from neurigraph_pipelines.ingestion.imports.assemble import Item, assemble, derived_id, message_id
from neurigraph_pipelines.ingestion.imports.source import Reading
from neurigraph_pipelines.ingestion.imports.text import read_text
from neurigraph_pipelines.model import EventKind, NewMessage, Role

_TIME = r"(?:(\d{1,3}):)?(\d\d):(\d\d)[.,](\d{3})"
_CUE = re.compile(rf"{_TIME}[ \t]+-->[ \t]+{_TIME}(?:[ \t].*)?")
_VOICE = re.compile(r"<v(?:\.[^ \t>]*)?[ \t]+([^>]+)>")
_NAMED = re.compile(r"([^\W\d_][\w .'’-]{0,39}):[ \t]+(.+)", re.DOTALL)
_TAG = re.compile(r"</?[A-Za-z0-9][^>]*>")
_SENTENCE_END = (".", "!", "?", "…")

_LONGEST = timedelta(seconds=60)
"""Cues of one speaker are joined up to the end of a sentence, at most so long."""


def is_subtitles(start: str) -> bool:
    """Return whether a text begins as WebVTT or SubRip does."""
    lines = [line.strip() for line in start.lstrip("\ufeff").splitlines()[:4] if line.strip()]
    if not lines:
        return False
    return lines[0].startswith("WEBVTT") or (lines[0].isdigit() and len(lines) > 1 and bool(_CUE.fullmatch(lines[1])))


def meetings(reading: Reading) -> Iterator[Item]:
    """Read a file as one meeting. The file's date is its beginning, because the file has none.

    Raises:
        InvalidInputError: The file is too long, or has no cue.
    """
    name, start = reading.part.name, reading.fallback_time
    said = list(_joined(_cues(read_text(reading))))
    if not said:
        raise InvalidInputError(f"{name} has no line such as '00:00:01.000 --> 00:00:04.000' with words after it.")
    messages = [
        NewMessage(Role.USER, words, author, occurred_at=start + offset if start else None)
        for author, offset, words in said
    ]
    yield from assemble(
        name,
        derived_id("subtitles", name, messages[0].content),
        (replace(message, external_id=message_id(number, message)) for number, message in enumerate(messages, 1)),
        title=PurePath(name).stem,
        fallback_time=start,
        event_kind=EventKind.MEETING,
    )


def _cues(text: str) -> Iterator[tuple[str | None, timedelta, str]]:
    """Yield speaker, offset and words of each cue; other blocks are comments and styles."""
    for block in re.split(r"\n[ \t]*\n", text.replace("\r\n", "\n").replace("\r", "\n")):
        lines = block.strip("\n").split("\n")
        at = next((number for number, line in enumerate(lines[:2]) if _CUE.fullmatch(line.strip())), None)
        if at is None:
            continue
        match = _CUE.fullmatch(lines[at].strip())
        assert match is not None
        hours, minutes, seconds, milliseconds = (int(match[n] or 0) for n in range(1, 5))
        offset = timedelta(hours=hours, minutes=minutes, seconds=seconds, milliseconds=milliseconds)
        spoken = "\n".join(lines[at + 1 :])
        voice = _VOICE.search(spoken)
        words = " ".join(html.unescape(_TAG.sub("", spoken)).split())
        named = None if voice else _NAMED.fullmatch(words)
        if named is not None:
            yield named[1].strip(), offset, named[2]
        elif words:
            yield html.unescape(voice[1]).strip() if voice else None, offset, words


def _joined(cues: Iterator[tuple[str | None, timedelta, str]]) -> Iterator[tuple[str | None, timedelta, str]]:
    """Join the cues of one speaker up to the end of a sentence, and drop what rolling subtitles repeat."""
    current: tuple[str | None, timedelta, str] | None = None
    for author, offset, words in cues:
        if current is not None:
            before, began, text = current
            if author in (None, before) and text.endswith(words):
                continue
            is_open = not text.endswith(_SENTENCE_END) and offset - began < _LONGEST
            if author == before and is_open:
                current = (before, began, f"{text} {words}")
                continue
            yield current
        current = (author, offset, words)
    if current is not None:
        yield current
