"""Packed layers: a metadata layer as bytes, which are read into memory without decoding each row.

``neurigraph.layer_packs`` stores them beside the nodes. Vectors of passages are packed by themselves: a question reads
only those that it compares.
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
from neurigraph_pipelines.retrieval.index.pack import Pack
from neurigraph_pipelines.retrieval.index.postings import Floats, Postings
from neurigraph_pipelines.retrieval.index.sign_hash import SignHashes
from neurigraph_pipelines.retrieval.index.texts import PackedTexts

FORMAT = 2
"""The form of packed layers. Another number makes maintenance pack every layer again: change it with the form."""

_HALF = np.dtype("<f2")
_COUNTS = (
    *("records", "passages", "places", "messages", "lexemes", "occurrences", "hash_words", "record_width"),
    *("passage_width", "size_of_spans", "size_of_authors", "size_of_ids", "size_of_sections"),
)


class Packed(NamedTuple):
    """A packed layer.

    Attributes:
        layer: All but the vectors of its passages.
        vectors: Those vectors, each passage's own and that of its window, as half floats.
    """

    layer: bytes
    vectors: bytes


def pack(layer: MetadataLayer) -> Packed:
    """Return a layer as bytes; it holds a whole node and its vectors are in memory."""
    layer.compute_sign_hashes()
    vectors, hashes, postings = layer.passage_vectors, layer.sign_hashes, layer.lexemes
    columns = layer.record_columns | layer.passage_columns
    if hashes is None:  # of a node without passages
        hashes = SignHashes(np.zeros(vectors.shape[2], np.float32), 0.0, np.zeros((0, 0), np.uint64))
    texts = [_as_json(texts) for texts in layer.texts]
    loose = (
        _as_json(layer.spans),
        _as_json(list(layer.author_numbers)),
        _as_texts(layer.external_ids),
        _as_texts(layer.sections),
    )
    counts = (
        *(layer.records, layer.passages, layer.places, layer.messages, len(postings.keys), len(postings.occurrences)),
        *(len(hashes.words), layer.vectors.shape[1], hashes.dimensions, *map(len, loose)),
    )
    arrays: tuple[tuple[str, Any], ...] = (
        ("<i8", counts),
        ("<f8", (hashes.spread,)),
        ("<f8", np.stack((columns["occurred"], columns["created"], columns["importance"], layer.lengths))),
        ("V16", np.stack((columns["id"], columns["source"], columns["file"]))),
        ("<i8", columns["statement"]),
        ("<u8", hashes.words),
        ("<u8", postings.keys),
        ("<f4", layer.vectors),
        ("<f4", hashes.middle),
        ("<f4", layer.window_length),
        ("<i4", layer.numbers),
        ("<i4", np.stack((columns["seq"], columns["first_message"], columns["author"]))),
        ("<i4", np.cumsum([len(text) for text in texts])),
        ("<i4", postings.starts),
        ("<i4", postings.occurrences),
        ("i1", np.stack((columns["role"], columns["voice"]))),
    )
    packed = [np.asarray(array).astype(kind, copy=False).tobytes() for kind, array in arrays]
    return Packed(b"".join((*packed, *loose, *texts)), vectors.astype(_HALF).tobytes())


def unpack(packed: bytes, node_id: str, version: str, model: str | None, horizon: int | None) -> MetadataLayer:
    """Return the layer without the vectors of its passages."""
    reader = _Reader(packed)
    counts = dict(zip(_COUNTS, reader.array("<i8", len(_COUNTS)).tolist(), strict=True))
    records, passages, lexemes, hash_words = (counts[n] for n in ("records", "passages", "lexemes", "hash_words"))
    width = counts["passage_width"]
    spread = reader.array("<f8", 1).item()
    columns: Columns = dict(
        zip(("occurred", "created", "importance", "lengths"), reader.array("<f8", 4, records), strict=True)
    )
    columns |= zip(("id", "source", "file"), reader.array("V16", 3, records), strict=True)
    columns["statement"] = reader.array("<i8", passages)
    words, keys = reader.array("<u8", hash_words, passages), reader.array("<u8", lexemes)
    columns["vectors"] = reader.array("<f4", records, counts["record_width"])
    middle, columns["window_lengths"] = reader.array("<f4", width), reader.array("<f4", counts["places"])
    columns["numbers"] = reader.array("<i4", 3, passages)
    columns |= zip(("seq", "first_message", "author"), reader.array("<i4", 3, passages), strict=True)
    text_ends, starts = reader.array("<i4", records), reader.array("<i4", lexemes + 1)
    occurrences = reader.array("<i4", counts["occurrences"], 2)
    columns["role"], columns["voice"] = reader.array("i1", 2, passages)
    spans, authors, ids, sections = (reader.next(counts[n]) for n in _COUNTS[-4:])
    pack = Pack(
        node_id,
        version,
        model,
        horizon,
        width,
        {int(number): one for number, one in json.loads(spans).items()},
        {author: number for number, author in enumerate(json.loads(authors))},
        ids,
        sections,
    )
    layer = MetadataLayer.of_pack(pack, counts, columns, PackedTexts(reader.rest(), text_ends))
    layer.lexemes = Postings(keys, starts, occurrences)
    layer.sign_hashes = SignHashes(middle, spread, words) if hash_words else None
    return layer


def unpack_vectors(packed: bytes, width: int) -> Floats:
    """Return ``(passages, 2, width)`` vectors."""
    vectors: Floats = np.frombuffer(packed, _HALF).reshape(-1, 2, width).astype(np.float32)
    return vectors


class _Reader:
    """Reads what was packed, one after the other. The widest numbers come first, so that all are aligned."""

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
