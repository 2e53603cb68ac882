"""Combine short pieces of text into useful parts, split long ones, and say which section each part is of."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

PART_CHARACTERS = 4_000
"""Approximate length of a part: some 700 words, a page and a half."""

_LEAST_CHARACTERS = 400
"""A part ends with its section unless it is shorter: single lines are no useful parts."""

_LONGEST_TITLE, _LONGEST_SECTION = 100, 300
_MOST_COLUMNS, _DIGITS = 64, 4
"""Most columns that one cell is taken to go over, and the digits of a number that are read."""

Part = tuple[str, str, str | None]
"""The place of a part in the file, its text, and the section that it is of."""

Piece = tuple[str, str | None]
"""A short text, and the section that it is of."""


class Headings:
    """The headings above the place where a reader is."""

    def __init__(self) -> None:
        self._path: list[tuple[int, str]] = []

    def enter(self, level: int, title: str) -> None:
        """Go on below a heading; 1 is the highest level."""
        while self._path and self._path[-1][0] >= level:
            self._path.pop()
        self._path.append((level, " ".join(title.split())[:_LONGEST_TITLE]))

    @property
    def section(self) -> str | None:
        """The headings from the highest down, or the lowest of them if there are many; None before the first."""
        section = ""
        for _, title in reversed(self._path):
            longer = f"{title} / {section}" if section else title
            if len(longer) > _LONGEST_SECTION:
                break
            section = longer
        return section or None


def grouped(pieces: Iterable[Piece], place: str) -> Iterator[Part]:
    """Join pieces by line breaks up to ``PART_CHARACTERS``; places count pieces from 1, such as ``lines-1-80``.

    A part with text of several sections is of the one that most of it is of.
    """
    first, number, size, last = 1, 0, 0, None
    group, sizes = list[str](), Counter[str | None]()
    for number, (piece, section) in enumerate(pieces, start=1):
        if group and (size + len(piece) > PART_CHARACTERS or (section != last and size >= _LEAST_CHARACTERS)):
            yield from cut(f"{place}-{first}-{number - 1}", "\n".join(group), _most(sizes))
            first, size, group = number, 0, []
            sizes.clear()
        group.append(piece)
        size += len(piece) + 1
        sizes[section] += len(piece) + 1
        last = section
    if group:
        yield from cut(f"{place}-{first}-{number}", "\n".join(group), _most(sizes))


def row_of(cells: Iterable[str]) -> str:
    """Return the cells of a row, empty ones included up to the last that is not; nothing if all are empty."""
    row = list(cells)
    while row and not row[-1]:
        row.pop()
    return " | ".join(row)


def columns_of(stated: str | None, least: int = 1) -> int:
    """Return over how many columns a cell goes, by a number in a file; ``least`` if there is none."""
    return max(least, min(int(stated[:_DIGITS]), _MOST_COLUMNS)) if stated and stated.isdecimal() else least


def _most(sizes: Counter[str | None]) -> str | None:
    return sizes.most_common(1)[0][0]


def cut(place: str, text: str, section: str | None) -> Iterator[Part]:
    """Split a text into pieces of at most ``PART_CHARACTERS``, after a line or a word if possible."""
    number, start = 1, 0
    while len(text) - start > PART_CHARACTERS:
        end = start + PART_CHARACTERS
        half = start + PART_CHARACTERS // 2
        end = next((at + 1 for gap in ("\n", " ") if (at := text.rfind(gap, half, end)) >= 0), end)
        yield f"{place}.{number}", text[start:end], section
        number, start = number + 1, end
    yield (place if number == 1 else f"{place}.{number}"), text[start:], section
