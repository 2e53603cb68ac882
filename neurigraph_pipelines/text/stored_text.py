"""How stored text is packed and read back: gzip members, the ones that hold a range, and passages.

Bytes in, bytes and text out, no store. What a transcript consists of is for ``ingestion.transcript``.
"""

from __future__ import annotations

import json
import zlib
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence

_GZIP = 31  # zlib's window bits for a gzip header and trailer
_PIECE_BYTES = 1 << 20


def packed(pieces: Iterable[bytes], level: int) -> Iterator[bytes]:
    """One gzip member of all pieces; how they are cut makes no difference to it, and it bears no time and no name."""
    compressor = zlib.compressobj(level, zlib.DEFLATED, _GZIP)
    for piece in pieces:
        yield compressor.compress(piece)
    yield compressor.flush()


def read_text(members: Sequence[bytes]) -> bytes:
    """The text of consecutive gzip members."""
    return b"".join(zlib.decompress(member, _GZIP) for member in members)


def unpacked(stored: Iterable[bytes]) -> Iterator[bytes]:
    """The content of an object of gzip members, in pieces of bounded size, whatever it unpacks to."""
    member = zlib.decompressobj(_GZIP)
    for packed in stored:
        more = False  # zlib may hold back content after it has taken in all that was packed
        while packed or more:
            if member.eof:
                member = zlib.decompressobj(_GZIP)
            piece = member.decompress(packed, _PIECE_BYTES)
            yield piece
            more = len(piece) == _PIECE_BYTES and not member.eof
            packed = member.unused_data if member.eof else member.unconsumed_tail


def members_of(
    offset: int, length: int, stored_bytes: int, member_offsets: Sequence[int], member_text_offsets: Sequence[int]
) -> tuple[int, int, int, list[int]]:
    """Which bytes of the object hold ``length`` bytes of text from ``offset``.

    Returns:
        Offset and length of the bytes to read, the text offset at which they begin, and the lengths of the members
        in them.
    """
    first = bisect_right(member_text_offsets, offset) - 1
    last = max(bisect_right(member_text_offsets, offset + max(length, 1) - 1) - 1, first)
    ends = [*member_offsets[1:], stored_bytes]
    lengths = [ends[i] - member_offsets[i] for i in range(first, last + 1)]
    return member_offsets[first], sum(lengths), member_text_offsets[first], lengths


def passage_text(escaped: bytes) -> str:
    """The text of a passage from its bytes."""
    text: str = json.loads(b'"' + escaped + b'"')
    return text
