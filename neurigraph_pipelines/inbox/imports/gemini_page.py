"""Gemini in Google Takeout as a page: ``MyActivity.html`` of "My Activity", a cell for each prompt with its answer.

Google does not document the page. ``gemini`` reads the same activity in JSON.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime

from neurigraph_pipelines.inbox.imports.assemble import Item, Opening, assemble
from neurigraph_pipelines.inbox.imports.gemini import PROMPTED, id_at, is_gemini
from neurigraph_pipelines.inbox.imports.google_dates import Dates
from neurigraph_pipelines.inbox.imports.mail_bodies import visible
from neurigraph_pipelines.inbox.imports.source import Part, Reading
from neurigraph_pipelines.inbox.imports.text import read_text
from neurigraph_pipelines.model import ImportNote, IncomingMessage, RejectedItem, Role
from neurigraph_pipelines.model.errors import InvalidInputError
from neurigraph_pipelines.model.sources import SourceDetails

_INSPECTED_BYTES = 1 << 20
_MARK = b"outer-cell mdl-cell"
_CELL = re.compile(r'<div class="outer-cell mdl-cell[^>]*>')
_PART = re.compile(r'<div class="(?P<kind>header|content)-cell [^>]*>')
_TIME = re.compile(r".*\d.*\d{1,2}[:.]\d\d[:.]\d\d.*")
_LONGEST_TIME = 80
_FILES = re.compile(r"\n?Attached \d+ files?\.((?:\n[ \t]*-[^\n]+)+)$")


def is_page(part: Part) -> bool:
    """Return whether a file is a page of "My Activity", by its first megabyte."""
    with part.open() as stream:
        return _MARK in stream.read(_INSPECTED_BYTES)


def conversations(reading: Reading) -> Iterator[Item]:
    """Read each prompt with its answer. Activity in other products is left out.

    Raises:
        InvalidInputError: The page is too long, or no cell of it is of Gemini.
    """
    name = reading.part.name
    dates, others, found = Dates(), 0, 0
    for number, cell in enumerate(_CELL.split(read_text(reading))[1:], start=1):
        pieces = _PART.split(cell)[1:]
        shown = [(kind, visible(words)) for kind, words in zip(pieces[::2], pieces[1::2], strict=True)]
        if not is_gemini(next((text for kind, text in shown if kind == "header"), "")):
            others += 1
            continue
        found += 1
        content = next((text for kind, text in shown if kind == "content"), "")
        yield from _conversation(content, f"{name}, prompt {number}", dates, reading.fallback_time)
    if others:
        yield ImportNote("left out: activity in other products than Gemini", others)
    if not found:
        raise InvalidInputError(f"{name} has no activity in Gemini.")


def _conversation(content: str, where: str, dates: Dates, fallback_time: datetime | None) -> Iterator[Item]:
    lines = content.split("\n")
    place = next((at for at, line in enumerate(lines) if len(line) <= _LONGEST_TIME and _TIME.fullmatch(line)), None)
    if place is None:
        yield RejectedItem(where, "it has no line with its time")
        return
    time = dates.read(lines[place].replace("\u202f", " "))
    asked = _with_files(PROMPTED.sub("", "\n".join(lines[:place]), count=1).strip())
    said = ((Role.USER, asked, "prompt"), (Role.ASSISTANT, "\n".join(lines[place + 1 :]).strip(), "answer"))
    if time is None:
        yield ImportNote("prompts whose time is not understood, dated by the file", 1)
    yield from assemble(
        where,
        id_at(time) if time is not None else Opening("gemini"),
        [IncomingMessage(role, words, external_id=key, occurred_at=time) for role, words, key in said if words],
        title=" ".join(asked.split())[:80],
        started_at=time,
        fallback_time=fallback_time,
        details=SourceDetails(origin="gemini"),
    )


def _with_files(asked: str) -> str:
    """Return a prompt with the names of its files as the same activity in JSON has them."""
    match = _FILES.search(asked)
    if match is None:
        return asked
    names = (line.strip(" \t\u00a0-") for line in match[1].strip().split("\n"))
    return "\n".join(filter(None, [asked[: match.start()], *(f"[attached: {name}]" for name in names)]))
