"""Subtitles and transcripts of recordings: WebVTT and SubRip files. Each becomes a meeting.

The W3C defines WebVTT. SubRip has no standard: a number, a line of two times, and the words. ``webvtt`` finds the cues.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import timedelta
from itertools import pairwise
from pathlib import PurePath
from typing import NamedTuple

import webvtt

from neurigraph_pipelines.inbox.imports.assemble import BY_FILE, Item, Opening, assemble, derived_id, message_id
from neurigraph_pipelines.inbox.imports.source import Reading
from neurigraph_pipelines.inbox.imports.speakers import SPEAKER, speakers_of_cues
from neurigraph_pipelines.inbox.imports.text import read_text
from neurigraph_pipelines.inbox.imports.times_in_names import time_in
from neurigraph_pipelines.model import EventKind, IncomingMessage, Role
from neurigraph_pipelines.model.errors import InvalidInputError

_TIME = r"((?:\d{1,3}:)?\d{1,2}:\d\d)(?:[.,](\d{1,3}))?"
_CUE = re.compile(rf"{_TIME}[ \t]*-->[ \t]*{_TIME}(?:[ \t].*)?")
_VOICE = re.compile(r"<v(?:\.[^ \t>]*)?[ \t]+([^>]+)>")
_TAG = re.compile(
    r"\{\\[^{}]*\}|</?(?:[bcisuv]|ruby|rt|lang|font|span|em|strong|br)(?:[ \t.][^<>]*)?/?>|<(?:\d+:)?\d\d:\d\d\.\d+>"
)
_BLOCKS = ("NOTE", "STYLE", "REGION")
_SENTENCE_END = tuple(".!?…。！？")

_DASH = re.compile(r"^[-–—]\s*")
_LEAST_ROLLING = 0.25
_LEAST_SHOWN_TWICE = 0.5
_FEWEST_SHOWN_TWICE = 4
"""Cues that repeat lines of the cue before: of rolling subtitles, and of those that show each cue more than once."""

_LONGEST = timedelta(seconds=60)
"""Cues of one speaker are joined up to the end of a sentence, at most so long."""


class _Piece(NamedTuple):
    """The words of one speaker, with their offset from the beginning."""

    author: str | None
    offset: timedelta
    words: str


def is_subtitles(start: str) -> bool:
    """Return whether a text begins as WebVTT or SubRip does."""
    lines = [line.strip() for line in start.lstrip("\ufeff").splitlines()[:4] if line.strip()]
    if not lines:
        return False
    return lines[0].startswith("WEBVTT") or (lines[0].isdigit() and len(lines) > 1 and bool(_CUE.fullmatch(lines[1])))


def meetings(reading: Reading) -> Iterator[Item]:
    """Read a file as one meeting. It begins at the time in the file's name, else at the file's.

    Raises:
        InvalidInputError: The file is too long, or has no cue.
    """
    name = reading.part.name
    named = time_in(PurePath(name).name)
    start = named or reading.fallback_time
    said = list(_joined(_pieces(read_text(reading))))
    if not said:
        raise InvalidInputError(f"{name} has no line such as '00:00:01.000 --> 00:00:04.000' with words after it.")
    if named is None:
        yield BY_FILE
    messages = [
        IncomingMessage(Role.USER, one.words, one.author, occurred_at=start + one.offset if start else None)
        for one in said
    ]
    yield from assemble(
        name,
        Opening("subtitles", is_timed=False, former=(derived_id("subtitles", name, said[0].words),)),
        (replace(message, external_id=message_id(number, message)) for number, message in enumerate(messages, 1)),
        title=PurePath(name).stem,
        fallback_time=start,
        event_kind=EventKind.MEETING,
    )


def _pieces(text: str) -> Iterator[_Piece]:
    """Yield the words of each speaker in each cue. Without a name, the speaker before goes on if others are named."""
    cues = list(_new_lines(text))
    speakers = speakers_of_cues([[_label(line) for line in lines] for _, _, lines in cues if lines])
    speaker: str | None = None
    for offset, spoken, lines in cues:
        if not lines:
            yield from _of_voices(offset, spoken)
        for line in lines:
            match = _labelled(line)
            if match is not None and match["name"].strip() in speakers:
                speaker, line = match["name"].strip(), match.string[match.end() :]
            if line:
                yield _Piece(speaker, offset, line)


def _labelled(line: str) -> re.Match[str] | None:
    return SPEAKER.match(_DASH.sub("", line))


def _label(line: str) -> str | None:
    match = _labelled(line)
    return match["name"].strip() if match is not None else None


def _new_lines(text: str) -> Iterator[tuple[timedelta, str, list[str]]]:
    """Yield offset, text and lines of each cue; none that repeats the cue before, and none beside marks of voices."""
    before: list[str] = []
    cues = [(offset, spoken, _lines_of(spoken)) for offset, spoken in _cues(text)]
    is_rolling = _is_rolling([lines for _, _, lines in cues if lines])
    for offset, spoken, lines in cues:
        if _VOICE.search(spoken):
            before = []
            yield offset, spoken, []
            continue
        repeated = _repeated(before, lines)
        if repeated and not is_rolling and lines[repeated - 1].endswith(_SENTENCE_END):
            repeated = 0  # somebody else says it as well
        before = lines or before
        if new := lines[repeated:]:
            yield offset, spoken, new


def _of_voices(offset: timedelta, spoken: str) -> Iterator[_Piece]:
    """Yield the parts of a cue by the voices in it."""
    author: str | None = None
    for number, part in enumerate(_VOICE.split(spoken)):
        if number % 2:
            author = html.unescape(part).strip()
        elif words := _plain(part):
            yield _Piece(author, offset, words)


def _cues(text: str) -> Iterator[tuple[timedelta, str]]:
    """Yield offset and text of each cue."""
    text = _regular(text.lstrip("\ufeff").replace("\r\n", "\n").replace("\r", "\n"))
    try:
        captions = webvtt.from_string(text).captions
    except webvtt.errors.MalformedFileError:
        return
    for caption in captions:
        time = caption.start_time
        yield (
            timedelta(hours=time.hours, minutes=time.minutes, seconds=time.seconds, milliseconds=time.milliseconds),
            caption.raw_text,
        )


def _regular(text: str) -> str:
    """Return subtitles as WebVTT has them: full times, each cue without blank lines and without arrows in its words."""
    is_webvtt = text.startswith("WEBVTT")
    found = [] if is_webvtt else ["WEBVTT", ""]
    is_in_cue = is_comment = is_name = False
    is_after_blank = True
    for line in map(str.strip, text.split("\n")):
        if (cue := _CUE.fullmatch(line)) is not None:
            if is_name and not is_after_blank:
                found.pop()
            found += ["", f"{cue[1]}.{cue[2] or 0} --> {cue[3]}.{cue[4] or 0}"]
            is_in_cue, is_comment, is_name = True, False, False
        elif line:
            is_comment = is_comment or (is_webvtt and is_after_blank and line.split()[0] in _BLOCKS)
            is_name = is_in_cue and not is_comment and (line.isdecimal() or (is_webvtt and is_after_blank))
            if not is_in_cue or not is_comment:
                found.append(line.replace("-->", "--&gt;") if is_in_cue else line)
        elif not is_in_cue:
            found.append("")
        is_comment = is_comment and bool(line)
        is_after_blank = not line
    return "\n".join(found)


def _lines_of(spoken: str) -> list[str]:
    return [line for raw in spoken.split("\n") if (line := _plain(raw))]


def _is_rolling(cues: Sequence[list[str]]) -> bool:
    """Return whether cues repeat lines of the cue before, rather than people the words of each other."""
    pairs = list(pairwise(cues))
    repeated = [(_repeated(before, lines), len(lines)) for before, lines in pairs]
    going_on = sum(0 < count < length for count, length in repeated)
    twice = sum(count == length for count, length in repeated)
    return (bool(going_on) and going_on >= _LEAST_ROLLING * len(pairs)) or (
        twice >= max(_FEWEST_SHOWN_TWICE, _LEAST_SHOWN_TWICE * len(pairs))
    )


def _plain(spoken: str) -> str:
    return " ".join(html.unescape(_TAG.sub("", spoken)).split())


def _repeated(before: list[str], lines: list[str]) -> int:
    """Return how many first lines of a cue repeat the last ones of the cue before, as rolling subtitles do."""
    most = min(len(before), len(lines))
    return next((count for count in range(most, 0, -1) if before[-count:] == lines[:count]), 0)


def _joined(pieces: Iterator[_Piece]) -> Iterator[_Piece]:
    """Join the words of one speaker, up to the end of a sentence."""
    current: _Piece | None = None
    for piece in pieces:
        if current is not None:
            is_open = not current.words.endswith(_SENTENCE_END) and piece.offset - current.offset < _LONGEST
            if piece.author == current.author and is_open:
                current = current._replace(words=f"{current.words} {piece.words}")
                continue
            yield current
        current = piece
    if current is not None:
        yield current
