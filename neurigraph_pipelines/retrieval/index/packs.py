"""Packed layers: a metadata layer as bytes, which are read into memory without decoding each row.

``neurigraph.layer_packs`` stores them beside the nodes. The vectors of passages stay in the segments of the records: a
question reads only those that it compares.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from math import prod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from neurigraph_pipelines.retrieval.index.columns import Columns
from neurigraph_pipelines.retrieval.index.layers import MetadataLayer
from neurigraph_pipelines.retrieval.index.postings import Keys, Postings
from neurigraph_pipelines.retrieval.index.sign_hash import SignHashes
from neurigraph_pipelines.retrieval.index.texts import PackedTexts
from neurigraph_pipelines.text.search_segments import DamagedSegmentError

FORMAT = 4
"""The form of packed layers. Another number makes maintenance pack every layer again: change it with the form."""

_COUNTS = (
    *("records", "passages", "lexemes", "occurrences", "hash_words", "sample", "record_width", "passage_width"),
    *("size_of_spans", "size_of_authors", "size_of_ids", "size_of_sections"),
)
_OF_RECORDS = ("occurred", "created", "importance", "lengths")
_OF_PASSAGES = ("record", "seq", "first_message", "author")


class Packed(NamedTuple):
    """A packed layer.

    Attributes:
        layer: All but the vectors of its passages.
        words: The lexemes of its passages, as ``read_words`` reads them.
    """

    layer: bytes
    words: bytes


def pack(layer: MetadataLayer) -> Packed:
    """Return a layer as bytes; it holds a whole node, and its vectors are in memory or hashed."""
    layer.compute_sign_hashes()
    hashes, postings = layer.sign_hashes, layer.lexemes
    columns = layer.record_columns | layer.passage_columns
    if hashes is None:  # of a node without passages
        hashes = SignHashes(np.zeros(layer.width, np.float32), 0.0, np.zeros((0, 0), np.uint64), 0)
    texts = [_as_json(texts) for texts in layer.texts]
    loose = (
        _as_json(layer.spans),
        _as_json(list(layer.author_numbers)),
        _as_texts(layer.external_ids),
        _as_texts(layer.sections),
    )
    counts = (
        *(layer.records, layer.passages, len(postings.keys), len(postings.occurrences), len(hashes.words)),
        *(hashes.sample, layer.vectors.shape[1], hashes.dimensions, *map(len, loose)),
    )
    arrays: tuple[tuple[str, Any], ...] = (
        ("<i8", counts),
        ("<f8", (hashes.spread,)),
        ("<f8", np.stack([columns[name] for name in _OF_RECORDS])),
        ("V16", np.stack((columns["id"], columns["source"], columns["file"]))),
        ("<i8", columns["statement"]),
        ("<u8", hashes.words),
        ("<u8", postings.keys),
        ("<f4", layer.vectors),
        ("<f4", hashes.middle),
        ("<f4", columns["window_length"]),
        ("<i4", np.stack([columns[name] for name in _OF_PASSAGES])),
        ("<i4", np.cumsum([len(text) for text in texts])),
        ("<i4", postings.starts),
        ("<i4", postings.occurrences),
        ("i1", np.stack((columns["role"], columns["voice"]))),
    )
    packed = [np.asarray(array).astype(kind, copy=False).tobytes() for kind, array in arrays]
    keys, passages = postings.words(layer.places)
    return Packed(b"".join((*packed, *loose, *texts)), keys.tobytes() + passages.astype("<i4").tobytes())


def unpack(packed: bytes) -> MetadataLayer:
    """Return the layer without the vectors of its passages; the caller sets its model and its horizon.

    Raises:
        DamagedSegmentError: The bytes are no packed layer.
    """
    try:
        return _unpacked(_Reader(packed))
    except (ValueError, TypeError, LookupError, OverflowError, RecursionError) as error:
        raise DamagedSegmentError("the bytes are no packed layer") from error


def _unpacked(reader: _Reader) -> MetadataLayer:
    counts = dict(zip(_COUNTS, reader.array("<i8", len(_COUNTS)).tolist(), strict=True))
    records, passages, lexemes = counts["records"], counts["passages"], counts["lexemes"]
    spread = reader.array("<f8", 1).item()
    of_records: Columns = dict(zip(_OF_RECORDS, reader.array("<f8", 4, records), strict=True))
    of_records |= zip(("id", "source", "file"), reader.array("V16", 3, records), strict=True)
    of_passages: Columns = {"statement": reader.array("<i8", passages)}
    words, keys = reader.array("<u8", counts["hash_words"], passages), reader.array("<u8", lexemes)
    of_records["vectors"] = reader.array("<f4", records, counts["record_width"])
    middle = reader.array("<f4", counts["passage_width"])
    of_passages["window_length"] = reader.array("<f4", passages)
    of_passages |= zip(_OF_PASSAGES, reader.array("<i4", 4, passages), strict=True)
    text_ends, starts = reader.array("<i4", records), reader.array("<i4", lexemes + 1)
    occurrences = reader.array("<i4", counts["occurrences"], 2)
    of_passages["role"], of_passages["voice"] = reader.array("i1", 2, passages)
    spans, authors, ids, sections = (reader.next(counts[name]) for name in _COUNTS[-4:])
    return MetadataLayer.of_pack(
        (of_records, of_passages),
        PackedTexts(reader.rest(), text_ends),
        {int(number): one for number, one in json.loads(spans).items()},
        json.loads(authors),
        (ids, sections),
        Postings(keys, starts, occurrences),
        SignHashes(middle, spread, words, counts["sample"]) if counts["hash_words"] else None,
    )


def read_words(packed: bytes) -> tuple[Keys, NDArray[np.int32]]:
    """Return lexemes in ascending order, and in how many passages each occurs."""
    lexemes = len(packed) // 12
    return np.frombuffer(packed, "<u8", lexemes), np.frombuffer(packed, "<i4", lexemes, 8 * lexemes)


class _Reader:
    """Reads packed values, one after the other. The widest numbers come first, so that all are aligned."""

    def __init__(self, packed: bytes) -> None:
        self._packed = packed
        self._place = 0

    def array(self, kind: str, *shape: int) -> NDArray[Any]:
        found = np.frombuffer(self._packed, kind, prod(shape), self._place)
        self._place += found.nbytes
        return found.reshape(shape) if len(shape) > 1 else found

    def next(self, size: int) -> bytes:
        self._place += size
        return self._packed[self._place - size : self._place]

    def rest(self) -> memoryview:
        return memoryview(self._packed)[self._place :]


def _as_texts(texts: Sequence[str | None]) -> bytes:
    return _as_json(list(texts)) if any(one is not None for one in texts) else b""


def _as_json(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode()
