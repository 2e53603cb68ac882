"""Combine short pieces of text into useful parts, and split long ones."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

PART_CHARACTERS = 4_000
"""Approximate length of a part: some 700 words, a page and a half."""


def grouped(pieces: Iterable[str], place: str) -> Iterator[tuple[str, str]]:
    """Join pieces by line breaks up to ``PART_CHARACTERS``; places count pieces from 1, such as ``lines-1-80``."""
    first, number, group, size = 1, 0, list[str](), 0
    for number, piece in enumerate(pieces, start=1):
        if group and size + len(piece) > PART_CHARACTERS:
            yield from cut(f"{place}-{first}-{number - 1}", "\n".join(group))
            first, group, size = number, [], 0
        group.append(piece)
        size += len(piece) + 1
    if group:
        yield from cut(f"{place}-{first}-{number}", "\n".join(group))


def cut(place: str, text: str) -> Iterator[tuple[str, str]]:
    """Split a text into pieces of at most ``PART_CHARACTERS``, after a line or a word if possible."""
    number, start = 1, 0
    while len(text) - start > PART_CHARACTERS:
        end = start + PART_CHARACTERS
        half = start + PART_CHARACTERS // 2
        end = next((at + 1 for gap in ("\n", " ") if (at := text.rfind(gap, half, end)) >= 0), end)
        yield f"{place}.{number}", text[start:end]
        number, start = number + 1, end
    yield (place if number == 1 else f"{place}.{number}"), text[start:]
