"""Compression of stored text: gzip members, the members that cover a byte range, and passages.

Works on bytes and text without an object store. ``transcript`` defines the lines of a transcript.
"""

from __future__ import annotations

import json
import zlib
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence

_GZIP = 31  # zlib's window bits for a gzip header and trailer
_PIECE_BYTES = 1 << 20


def compress(pieces: Iterable[bytes], level: int) -> Iterator[bytes]:
    """Compress all pieces into one gzip member.

    The result does not depend on how the pieces are split and contains no time stamp and no file name.
    """
    compressor = zlib.compressobj(level, zlib.DEFLATED, _GZIP)
    for piece in pieces:
        yield compressor.compress(piece)
    yield compressor.flush()


def read_text(members: Sequence[bytes]) -> bytes:
    """Decompress consecutive gzip members."""
    return b"".join(zlib.decompress(member, _GZIP) for member in members)


def decompress(stored: Iterable[bytes]) -> Iterator[bytes]:
    """Decompress an object of gzip members in pieces of at most ``_PIECE_BYTES``, at any compression ratio."""
    member = zlib.decompressobj(_GZIP)
    for chunk in stored:
        more = False  # zlib may buffer output after it has consumed all of the input
        while chunk or more:
            if member.eof:
                member = zlib.decompressobj(_GZIP)
            piece = member.decompress(chunk, _PIECE_BYTES)
            yield piece
            more = len(piece) == _PIECE_BYTES and not member.eof
            chunk = member.unused_data if member.eof else member.unconsumed_tail


def members_of(
    offset: int, length: int, stored_bytes: int, member_offsets: Sequence[int], member_text_offsets: Sequence[int]
) -> tuple[int, int, int, list[int]]:
    """Find the gzip members that cover ``length`` bytes of text from ``offset``.

    Returns:
        Offset and length of the stored bytes to read, the text offset at which they begin, and the stored length of
        each member.
    """
    first = bisect_right(member_text_offsets, offset) - 1
    last = max(bisect_right(member_text_offsets, offset + max(length, 1) - 1) - 1, first)
    ends = [*member_offsets[1:], stored_bytes]
    lengths = [ends[i] - member_offsets[i] for i in range(first, last + 1)]
    return member_offsets[first], sum(lengths), member_text_offsets[first], lengths


def passage_text(escaped: bytes) -> str:
    """Return the text of a passage from its bytes, which are the inside of a JSON string."""
    text: str = json.loads(b'"' + escaped + b'"')
    return text
