"""Segments of exports of version 3, in which each passage has two vectors."""

from __future__ import annotations

import json

import numpy as np
import pytest

from neurigraph_pipelines.exchange.portability.segments import checked_line
from neurigraph_pipelines.model.errors import InvalidInputError
from neurigraph_pipelines.text.search_segments import read_vectors
from tests.support.segments import columns


def line_of_version_3(passages: int, width: int = 4) -> str:
    """A row whose passages have the vectors 1, 2, 3, … and, for their windows, vectors of 9."""
    rows = b"".join(
        np.array([number, 1], "<f4").tobytes() + np.array([[1] * width, [9] * width], "i1").tobytes()
        for number in range(1, passages + 1)
    )
    row = columns(passages) | {"vectors": "\\x" + rows.hex()}
    return json.dumps({name: "\\x" + one.hex() if isinstance(one, bytes) else one for name, one in row.items()})


def test_each_passage_keeps_its_own_vector() -> None:
    row = json.loads(checked_line(line_of_version_3(3), "english", 3))
    vectors = read_vectors(bytes.fromhex(row["vectors"][2:]), 3)
    assert vectors.tolist() == [[1.0] * 4, [2.0] * 4, [3.0] * 4]


def test_incomplete_vectors_are_refused() -> None:
    row = json.loads(line_of_version_3(3))
    with pytest.raises(InvalidInputError, match="damaged"):
        checked_line(json.dumps(row | {"vectors": row["vectors"][:-2]}), "english", 3)
