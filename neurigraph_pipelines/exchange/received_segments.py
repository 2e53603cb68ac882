"""Search segments from elsewhere, of an export or a publisher: their values are checked before anything reads them."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from neurigraph_pipelines.model import PASSAGE_DIMENSIONS
from neurigraph_pipelines.text.languages import STEMMERS
from neurigraph_pipelines.text.lexemes import UNSTEMMED
from neurigraph_pipelines.text.search_segments import DamagedSegmentError, SearchSegment, read_vectors

MAX_TEXT = 300
"""Most characters of an author, a section and the id of a message, as in ``neurigraph.messages``."""

_KNOWN = frozenset([*STEMMERS.values(), UNSTEMMED])


def read_segment(content: bytes) -> SearchSegment:
    """Return the segment in some bytes, whose texts are ones that passages can have.

    Raises:
        DamagedSegmentError: They are none.
    """
    segment = SearchSegment.read(content)
    texts = [one for one in (*segment.names, *segment.external_ids) if one is not None]
    if not len(segment.rows):
        raise DamagedSegmentError("a search segment has a passage")
    if any(not 0 < len(one) <= MAX_TEXT or "\0" in one or not _can_be_stored(one) for one in texts):
        raise DamagedSegmentError("a search segment has texts that cannot be stored")
    return segment


def checked_vectors(packed: bytes, passages: int) -> NDArray[np.float32]:
    """Return the vectors in some bytes.

    Raises:
        DamagedSegmentError: They are not so many finite vectors of a size that vectors have here.
    """
    if len(packed) > passages * (4 + PASSAGE_DIMENSIONS):
        raise DamagedSegmentError("vectors of a search segment are too long")
    vectors = read_vectors(packed, passages)
    if not np.isfinite(vectors).all():
        raise DamagedSegmentError("vectors of a search segment have no end")
    return vectors


def known_languages(languages: Iterable[str]) -> frozenset[str]:
    """Return those of some stemmers that are known here."""
    return _KNOWN.intersection(languages)


def _can_be_stored(text: str) -> bool:
    return text.isascii() or not any(0xD800 <= ord(one) < 0xE000 for one in text)
