"""Links in the Markdown of notes: finding them outside code, and finding the notes that they name.

All functions are pure and take time in proportion to the text.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from urllib.parse import unquote

from neurigraph_pipelines.graph.naming import name_key
from neurigraph_pipelines.text.observed_notes import relations_of

MAX_LINKS = 1_000
"""Most links of one note that are followed, each target once."""

LINK_RELATION = "links to"
"""The relation of a link without another one."""

DEEP_FOLDER = " › "
"""Joins the names of folders that the graph has no layer for."""

_WIKI = re.compile(r"\[\[([^\[\]\n]{1,1000})\]\]")
_MARKDOWN = re.compile(r"\]\( {0,3}(?:<([^<>\n]{1,1000})>|([^()\s]{1,1000}))")
_FENCE = re.compile(r"(?: {0,3}|[ \t]*(?:[-*+>]|\d{1,9}[.)])[ \t]+)(`{3,}|~{3,})")
_TICKS = re.compile(r"`+")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]{0,30}:")
_NOTE_SUFFIX = re.compile(r"\.(?:md|markdown)\Z", re.IGNORECASE)
_ATTACHMENT = re.compile(
    r"\.(?:png|jpe?g|gif|bmp|svg|webp|avif|flac|m4a|mp3|ogg|wav|3gp|webm|mkv|mov|mp4|ogv|pdf|canvas|base)\Z",
    re.IGNORECASE,
)

Parts = tuple[str, ...]
"""The folders of a note below its vault, and its name, as keys that ignore case."""


@dataclass(frozen=True, slots=True)
class NoteLink:
    """A link as a note writes it.

    Attributes:
        target: What it names, without a heading and a suffix.
        is_relative: Whether it is a path that begins in the folder of the note, and not the name of a note.
        relation: What the line before it says of how the notes relate.
    """

    target: str
    is_relative: bool
    relation: str = LINK_RELATION


def links_in(text: str, *, has_relations: bool = False) -> tuple[NoteLink, ...]:
    """Return the links of a note to other notes, each once, without those in code; at most ``MAX_LINKS``.

    Args:
        has_relations: Whether a line states a relation before its link, as those of Basic Memory do.
    """
    found: dict[NoteLink, None] = {}
    for line in lines_of(text):
        for link in _related(line) if has_relations else _links_of(line):
            found[link] = None
            if len(found) == MAX_LINKS:
                return tuple(found)
    return tuple(found)


def parts_of(names: Sequence[str]) -> Parts:
    """Return the folders and the name of a note below its vault, from the names of its node or of its file."""
    return tuple(name_key(part) for name in names for part in name.split(DEEP_FOLDER))


class NoteIndex:
    """Finds the notes that links name, as Obsidian does.

    Args:
        notes: The notes that there are, by their parts.
    """

    def __init__(self, notes: Iterable[Parts]) -> None:
        self._by_name: defaultdict[str, list[Parts]] = defaultdict(list)
        for note in notes:
            self._by_name[note[-1]].append(note)

    def find(self, link: NoteLink, origin: Parts) -> Parts | None:
        """Return the note that a link names.

        A name that several notes have means the one in the folder of the note, else the one nearest to the root.

        Args:
            link: The link.
            origin: The note that has it.
        """
        wanted = wanted_parts(link, origin)
        if wanted is None:
            return None
        named = self._by_name.get(wanted[-1], ())
        if link.is_relative:
            return wanted if wanted in named else None
        if len(wanted) > 1 and wanted in named:
            return wanted
        fitting = [note for note in named if note[-len(wanted) :] == wanted]
        return min(fitting, key=lambda note: (note[:-1] != origin[:-1], len(note), note), default=None)


def wanted_parts(link: NoteLink, origin: Parts) -> Parts | None:
    """Return the parts of a link: all of a path, else the last ones; None if the link leaves the vault."""
    steps = [step for step in link.target.split("/") if step not in ("", ".")]
    walks = link.is_relative or steps[:1] == [".."]
    parts = list(origin[:-1]) if walks and not link.target.startswith("/") else []
    for step in steps:
        if step != "..":
            parts += parts_of([step])
        elif parts:
            parts.pop()
        else:
            return None
    return tuple(parts) if parts and parts[-1] else None


def _links_of(line: str) -> Iterator[NoteLink]:
    for match in _WIKI.finditer(line):
        name = re.split(r"[|#^]", match[1], maxsplit=1)[0].rstrip("\\").strip()
        if name and not _ATTACHMENT.search(name):
            yield NoteLink(_NOTE_SUFFIX.sub("", name), is_relative=False)
    for match in _MARKDOWN.finditer(line):
        path = match[1] or match[2]
        if _SCHEME.match(path) or path.startswith("//"):
            continue
        path = unquote(path.partition("#")[0]).strip()
        if _NOTE_SUFFIX.search(path):
            yield NoteLink(_NOTE_SUFFIX.sub("", path), is_relative=True)


def _related(line: str) -> Iterator[NoteLink]:
    """Yield the links of a line; the first one with the relation that the line states."""
    relation = next((one for one, _ in relations_of([line])), LINK_RELATION)
    for link in _links_of(line):
        yield replace(link, relation=relation)
        relation = LINK_RELATION


def lines_of(text: str) -> Iterator[str]:
    """Yield the lines outside code; a block of code without an end goes to the end of the text."""
    return map(_without_code, _outside_fences(text))


def _outside_fences(text: str) -> Iterator[str]:
    fence = ""
    for line in text.splitlines():
        opening = _FENCE.match(line)
        if not fence:
            if opening is None:
                yield line
            else:
                fence = opening[1]
        elif line.strip(" \t>").startswith(fence) and not line.strip(" \t>").strip(fence[0]):
            fence = ""


def _without_code(line: str) -> str:
    """Return a line without its spans of code, which begin and end with the same number of backticks."""
    runs = list(_TICKS.finditer(line))
    closing: dict[int, int] = {}
    partner = [-1] * len(runs)
    for number in range(len(runs) - 1, -1, -1):
        width = len(runs[number][0])
        partner[number] = closing.get(width, -1)
        closing[width] = number
    kept, start, number = [], 0, 0
    while number < len(runs):
        if partner[number] >= 0:
            kept.append(line[start : runs[number].start()])
            number = partner[number]
            start = runs[number].end()
        number += 1
    return " ".join([*kept, line[start:]])
