"""The search segment of a record: the data of its messages for searches, as bytes, made once when they are embedded.

For each message, or part of a long one: its place in the transcript, who says it, its words as keys, and its vector.
No text can be read back. ``neurigraph.segments`` stores them; the keys of the words come right after the header, where
``neurigraph.node_words`` finds them.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import lru_cache
from hashlib import blake2b
from itertools import count
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from neurigraph_pipelines.views.kinds import Role, Voice

FORMAT = 1
"""The form of segments and of their vectors."""

ROLES = (None, *Role)
"""The roles by their numbers; None is unknown."""

VOICES = (None, *Voice)
"""The voices by their numbers; None is unknown."""

PASSAGE = np.dtype(
    [
        ("statement", "<i8"),
        ("byte_offset", "<i8"),
        ("byte_length", "<i4"),
        ("seq", "<i4"),
        ("message", "<i4"),
        ("window_length", "<f4"),
        ("lexeme_count", "<i4"),
        ("lexemes", "<i4"),
        ("author", "<i4"),
        ("section", "<i4"),
        ("role", "i1"),
        ("voice", "i1"),
    ]
)
"""A passage.

Attributes:
    statement: The key of its statement; 0 if unknown.
    byte_offset: Where its text begins in the transcript; ``byte_length`` is the length there.
    seq: Its number in the record, from 1.
    message: The number of its message in the source.
    window_length: The weighted number of lexemes of it and its neighbours.
    lexeme_count: The number of its lexemes, with repetitions.
    lexemes: The number of its distinct lexemes.
    author: The place in ``names`` of the author that its writer stated, and ``section`` of the headings above it.
"""

_HEAD = np.dtype([("format", "<u4"), ("passages", "<u4"), ("occurrences", "<u4"), ("size_of_texts", "<u4")])
_COUNTS = ("seq", "byte_offset", "byte_length", "message", "window_length", "lexeme_count", "lexemes")
_MOST = 127


class DamagedSegmentError(ValueError):
    """The bytes are no search segment."""


class Words(NamedTuple):
    """The words of a passage: distinct lexemes, how often each occurs, and the number of all."""

    lexemes: Sequence[str]
    frequencies: Sequence[int]
    total: int


class Spoken(NamedTuple):
    """A passage that goes into a segment; the fields are those of ``PASSAGE``."""

    seq: int
    message: int
    author: str | None
    section: str | None
    external_id: str | None
    role: Role | None
    voice: Voice | None
    words: Words
    statement: int
    window_length: float
    byte_offset: int = 0
    byte_length: int = 0


class SearchSegment(NamedTuple):
    """The passages of a record.

    Attributes:
        rows: ``(passages,)`` of ``PASSAGE``.
        keys: The key of each lexeme, passage after passage.
        frequencies: How often each occurs there.
        names: The authors and sections that rows refer to; the first is None.
        external_ids: The id that the writer gave to the message of each passage.
    """

    rows: NDArray[Any]
    keys: NDArray[np.uint64]
    frequencies: NDArray[np.uint16]
    names: Sequence[str | None]
    external_ids: Sequence[str | None]

    @classmethod
    def of(cls, passages: Sequence[Spoken]) -> Self:
        """Return the segment of some passages, which are in order."""
        names: defaultdict[str | None, int] = defaultdict(count(1).__next__, {None: 0})
        rows = np.array(
            [
                (
                    *(one.statement, one.byte_offset, one.byte_length, one.seq, one.message, one.window_length),
                    *(one.words.total, len(one.words.lexemes), names[one.author], names[one.section]),
                    *(ROLES.index(one.role), VOICES.index(one.voice)),
                )
                for one in passages
            ],
            PASSAGE,
        )
        return cls(
            rows,
            lexeme_keys(lexeme for one in passages for lexeme in one.words.lexemes),
            np.array([frequency for one in passages for frequency in one.words.frequencies], np.uint16),
            list(names),
            [one.external_id for one in passages],
        )

    @classmethod
    def read(cls, content: bytes) -> Self:
        """Return the segment in some bytes.

        Raises:
            DamagedSegmentError: They are none.
        """
        try:
            head = np.frombuffer(content, _HEAD, 1)[0]
            passages, occurrences = int(head["passages"]), int(head["occurrences"])
            at = _HEAD.itemsize
            keys = np.frombuffer(content, "<u8", occurrences, at)
            at += keys.nbytes
            rows = np.frombuffer(content, PASSAGE, passages, at)
            at += rows.nbytes
            frequencies = np.frombuffer(content, "<u2", occurrences, at)
            texts = content[at + frequencies.nbytes :]
            names, external_ids = json.loads(texts)
            places = np.concatenate((rows["author"], rows["section"], [0]))
            is_whole = (
                isinstance(names, list)
                and isinstance(external_ids, list)
                and (head["format"], head["size_of_texts"], len(external_ids)) == (FORMAT, len(texts), passages)
                and int(rows["lexemes"].sum()) == occurrences
                and places.min() >= 0
                and places.max() < len(names)
                and names[0] is None
                and all(one is None or isinstance(one, str) for one in (*names, *external_ids))
                and bool((rows["role"] < len(ROLES)).all() and (rows["voice"] < len(VOICES)).all())
                and bool((np.diff(rows["seq"], prepend=0) > 0).all())
                and bool(np.isfinite(rows["window_length"]).all())
                and not any((rows[name] < 0).any() for name in (*_COUNTS, "role", "voice"))
            )
        except (ValueError, TypeError, IndexError, RecursionError) as error:
            raise DamagedSegmentError("the bytes are no search segment") from error
        if not is_whole:
            raise DamagedSegmentError("the parts of a search segment contradict each other")
        return cls(rows, keys, frequencies, names, external_ids)

    @property
    def content(self) -> bytes:
        """The segment as bytes."""
        texts = json.dumps([list(self.names), list(self.external_ids)], ensure_ascii=False).encode(
            "utf-8", "surrogatepass"
        )
        head = np.array([(FORMAT, len(self.rows), len(self.keys), len(texts))], _HEAD)
        arrays = (head, self.keys.astype("<u8"), self.rows, self.frequencies.astype("<u2"))
        return b"".join((*(array.tobytes() for array in arrays), texts))

    @property
    def speakers(self) -> list[str]:
        """The authors of its passages in lower case, each once."""
        return sorted({lower(author) for author in self.named("author") if author})

    def named(self, column: str) -> list[str | None]:
        """Return the author or the section of each passage."""
        return [self.names[place] for place in self.rows[column].tolist()]

    def with_words(self, words: Sequence[Words], window_lengths: Sequence[float]) -> Self:
        """Return the segment with other words, for each passage."""
        rows = self.rows.copy()
        rows["lexeme_count"], rows["lexemes"] = [one.total for one in words], [len(one.lexemes) for one in words]
        rows["window_length"] = window_lengths
        keys = lexeme_keys(lexeme for one in words for lexeme in one.lexemes)
        frequencies = np.array([frequency for one in words for frequency in one.frequencies], np.uint16)
        return self._replace(rows=rows, keys=keys, frequencies=frequencies)


def lower(name: str) -> str:
    """Return a name in lower case as Postgres makes it: character by character."""
    return "".join(map(str.lower, name))


def lexeme_keys(lexemes: Iterable[str]) -> NDArray[np.uint64]:
    """Return the keys under which lexemes are found: 64 bits of a digest, so that two never collide."""
    return np.fromiter(map(_key, lexemes), np.uint64)


@lru_cache(maxsize=1 << 14)
def _key(lexeme: str) -> int:
    return int.from_bytes(blake2b(lexeme.encode(errors="surrogatepass"), digest_size=8).digest(), "little")


def vector_type(width: int) -> np.dtype[Any]:
    """Return the type of a passage's vector in ``width`` numbers of 8 bits."""
    return np.dtype([("scale", "<f4"), ("numbers", "i1", (width,))])


def pack_vectors(vectors: NDArray[Any]) -> bytes:
    """Return ``(passages, dimensions)`` vectors as bytes, without the dimensions that are zero at the end of all.

    Each vector has a scale of its own, which keeps its length. The cosine of a question and a packed vector of hundreds
    of dimensions changes by about 0.001.
    """
    used = np.flatnonzero(vectors.any(axis=0))
    vectors = vectors[:, : used[-1] + 1 if len(used) else 1].astype(np.float32)
    packed = np.zeros(len(vectors), vector_type(vectors.shape[1]))
    steps = np.abs(vectors).max(axis=1, initial=0) / _MOST
    numbers = np.rint(vectors / np.where(steps > 0, steps, 1)[:, None])
    lengths = np.linalg.norm(numbers, axis=1)
    packed["scale"] = np.linalg.norm(vectors, axis=1) / np.where(lengths > 0, lengths, 1)
    packed["numbers"] = numbers
    return packed.tobytes()


def read_vectors(packed: bytes, passages: int) -> NDArray[np.float32]:
    """Return the ``(passages, dimensions)`` vectors in some bytes.

    Raises:
        DamagedSegmentError: They are not so many vectors, or no numbers.
    """
    if not passages:
        return np.zeros((0, 0), np.float32)
    width, rest = divmod(len(packed) - 4 * passages, passages)
    if rest or width < 1:
        raise DamagedSegmentError("the bytes are no vectors of a search segment")
    rows = np.frombuffer(packed, vector_type(width), passages)
    if not ((rows["scale"] >= 0) & (rows["scale"] < np.inf)).all():
        raise DamagedSegmentError("the vectors of a search segment are no numbers")
    vectors: NDArray[np.float32] = rows["numbers"] * rows["scale"][:, None]
    return vectors
