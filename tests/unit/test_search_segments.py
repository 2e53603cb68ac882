"""Search segments: what comes back of the bytes, what is refused, and how exact vectors of 8 bits are."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from neurigraph_pipelines.model import Role, Voice
from neurigraph_pipelines.text.search_segments import (
    FORMAT,
    PASSAGE,
    ROLES,
    VOICES,
    DamagedSegmentError,
    SearchSegment,
    Spoken,
    Words,
    lexeme_keys,
    pack_vectors,
    read_vectors,
)

DATA = Path(__file__).parents[1] / "data"
HEAD = 16
"""The bytes in front of the keys, where SQL finds them."""

PASSAGES = (
    Spoken(
        *(1, 4, "Zoë \ud83d", "Chapter 1", "a1", Role.USER, Voice.OWNER),
        *(Words(["boat", "óil", "?"], [2, 1, 0], 3), -7, 5.5, 0, 21),
    ),
    Spoken(2, 5, None, None, None, Role.ASSISTANT, Voice.ASSISTANT, Words([], [], 0), 0, 4.25, 21, 3),
    Spoken(9, 7, "ANA", "Chapter 1", "", Role.TOOL, Voice.TOOL, Words(["boat"], [32_767], 40_000), 1 << 62, 9.0, 99, 1),
)
SEGMENT = SearchSegment.of(PASSAGES)
VECTORS = np.array([[0.25, -0.25, 0], [0, 0, 0], [0.6, 0.8, 0]], np.float32)

names = st.one_of(st.none(), st.text(st.characters(codec=None), max_size=5))
integers = st.integers(0, 2**31 - 1)
counted = st.dictionaries(st.text(max_size=4), st.integers(0, 32_767), max_size=4)


@st.composite
def spoken(draw: st.DrawFn) -> list[Spoken]:
    """Passages whose numbers ascend."""
    return [
        Spoken(
            *(seq, draw(integers), draw(names), draw(names), draw(names)),
            *(draw(st.sampled_from(Role)), draw(st.sampled_from(Voice))),
            Words(list(words), list(words.values()), draw(integers)),
            draw(st.integers(-(2**63), 2**63 - 1)),
            draw(st.floats(0, 1e6, width=32)),
            draw(st.integers(0, 2**63 - 1)),
            draw(integers),
        )
        for seq in sorted(draw(st.sets(st.integers(1, 2**31 - 1), max_size=5)))
        for words in [draw(counted)]
    ]


def are_equal(one: SearchSegment, other: SearchSegment) -> bool:
    arrays = (np.array_equal(getattr(one, name), getattr(other, name)) for name in ("rows", "keys", "frequencies"))
    texts = (list(getattr(one, name)) == list(getattr(other, name)) for name in ("names", "external_ids"))
    return all((*arrays, *texts))


@given(passages=spoken())
def test_what_is_written_is_read(passages: list[Spoken]) -> None:
    segment = SearchSegment.of(passages)
    read = SearchSegment.read(segment.content)
    assert are_equal(read, segment)
    assert read.content == segment.content
    assert read.named("author") == [one.author for one in passages]
    assert read.named("section") == [one.section for one in passages]
    assert list(read.external_ids) == [one.external_id for one in passages]
    assert [ROLES[number] for number in read.rows["role"]] == [one.role for one in passages]
    assert [VOICES[number] for number in read.rows["voice"]] == [one.voice for one in passages]
    for column in ("seq", "message", "statement", "window_length", "byte_offset", "byte_length"):
        assert read.rows[column].tolist() == [getattr(one, column) for one in passages]
    assert read.rows["lexeme_count"].tolist() == [one.words.total for one in passages]
    ends = np.cumsum([0, *read.rows["lexemes"]]).tolist()
    for begin, end, one in zip(ends, ends[1:], passages, strict=False):
        assert read.keys[begin:end].tolist() == lexeme_keys(one.words.lexemes).tolist()
        assert read.frequencies[begin:end].tolist() == one.words.frequencies
    keys = np.frombuffer(segment.content[HEAD : HEAD + 8 * len(segment.keys)], "<u8")
    assert keys.tolist() == segment.keys.tolist(), "node_words finds them there"


def test_nobody_reads_a_text_from_it() -> None:
    assert b"boat" not in SEGMENT.content
    assert SEGMENT.speakers == ["ana", "zoë \ud83d"]


def test_words_are_replaced() -> None:
    words = [Words(["cello", "new"], [1, 2], 3), Words(["new"], [1], 1), Words([], [], 0)]
    changed = SearchSegment.read(SEGMENT.with_words(words, [1.5, 2.5, 3.5]).content)
    assert changed.keys.tolist() == lexeme_keys(["cello", "new", "new"]).tolist()
    assert changed.frequencies.tolist() == [1, 2, 1]
    assert changed.rows["lexemes"].tolist() == [2, 1, 0]
    assert changed.rows["lexeme_count"].tolist() == [3, 1, 0]
    assert changed.rows["window_length"].tolist() == [1.5, 2.5, 3.5]
    same = [name for name in PASSAGE.names or () if name not in ("lexemes", "lexeme_count", "window_length")]
    assert changed.rows[same].tolist() == SEGMENT.rows[same].tolist()
    assert changed.named("author") == SEGMENT.named("author")


def test_segments_of_format_1_are_read() -> None:
    """Databases and exports hold them: these files never change."""
    assert are_equal(SearchSegment.read((DATA / "segment_1.bin").read_bytes()), SEGMENT)
    assert read_vectors((DATA / "segment_1_vectors.bin").read_bytes(), 3) == pytest.approx(VECTORS[:, :2], abs=0.003)
    assert FORMAT == 1, "a new format gets files of its own beside these, which are still read"
    assert SEGMENT.content == (DATA / "segment_1.bin").read_bytes(), "another form is another format"
    assert pack_vectors(VECTORS) == (DATA / "segment_1_vectors.bin").read_bytes()


# Damage


def with_head(**fields: int) -> bytes:
    """Return the segment with other numbers in its header."""
    known = dict(
        zip(("format", "passages", "occurrences", "size"), struct.unpack("<4I", SEGMENT.content[:HEAD]), strict=True)
    )
    return struct.pack("<4I", *(known | fields).values()) + SEGMENT.content[HEAD:]


def with_row(number: int, **fields: Any) -> bytes:
    """Return the segment with other fields in a row, and no other change."""
    rows = SEGMENT.rows.copy()
    for name, value in fields.items():
        rows[name][number] = value
    return SEGMENT._replace(rows=rows).content


def with_texts(texts: object) -> bytes:
    """Return the segment with other texts at its end."""
    (size,) = struct.unpack("<I", SEGMENT.content[12:HEAD])
    added = texts if isinstance(texts, bytes) else json.dumps(texts).encode()
    return SEGMENT.content[:12] + struct.pack("<I", len(added)) + SEGMENT.content[HEAD:-size] + added


KNOWN_TEXTS = [[None, "a", "b", "c"], ["a1", None, ""]]
OTHER_TEXTS: list[object] = [
    None,
    {},
    [],
    [[None, "a", "b", "c"]],
    [*KNOWN_TEXTS, []],
    [["z", *KNOWN_TEXTS[0]], KNOWN_TEXTS[1]],
    [[], KNOWN_TEXTS[1]],
    [KNOWN_TEXTS[0], []],
    [KNOWN_TEXTS[0], [None] * 4],
    [KNOWN_TEXTS[0], "abc"],
    [KNOWN_TEXTS[0], {"a": 1, "b": 2, "c": 3}],
    [{"a": 1, "b": 2, "c": 3, "d": 4}, KNOWN_TEXTS[1]],
    ["abcd", KNOWN_TEXTS[1]],
    [[None, 1, "b", "c"], KNOWN_TEXTS[1]],
    [[None, ["a"], "b", "c"], KNOWN_TEXTS[1]],
    [KNOWN_TEXTS[0], [True, None, ""]],
]
DAMAGED = {
    **{f"format {number}": with_head(format=number) for number in (0, 2, 1 << 24)},
    **{f"{number} passages": with_head(passages=number) for number in (0, 2, 4, 2**32 - 1)},
    **{f"{number} occurrences": with_head(occurrences=number) for number in (0, 3, 5, 2**32 - 1)},
    **{f"texts of {number} bytes": with_head(size=number) for number in (0, 10, 2**32 - 1)},
    **{
        f"{name} of {value}": with_row(1, **{name: value})
        for name, values in {
            "byte_offset": (-1, -(2**63)),
            "byte_length": (-1,),
            "message": (-1,),
            "window_length": (-0.5, np.nan, np.inf, -np.inf),
            "lexeme_count": (-1,),
            "lexemes": (1, -1),
            "author": (-1, 4, 2**31 - 1),
            "section": (-1, 4),
            "role": (-1, len(ROLES), 127),
            "voice": (-1, len(VOICES), -128),
            "seq": (1, 0, -2, 9, -(2**31)),
        }.items()
        for value in values
    },
    "the first passage is 0": with_row(0, seq=0),
    "counts of lexemes that only add up": SEGMENT._replace(
        rows=np.array(
            [
                (*row.tolist()[:7], count, *row.tolist()[8:])
                for row, count in zip(SEGMENT.rows, (5, -2, 1), strict=True)
            ],
            PASSAGE,
        )
    ).content,
    "more at the end": SEGMENT.content + b" ",
    "no text": with_texts(b""),
    "half a text": with_texts(b"[[null"),
    "text of another encoding": with_texts(b'[[null, "\xff", "b", "c"], [null, null, null]]'),
    "deep text": with_texts(b"[" * 100_000),
    "a long number": with_texts(b"[[null, " + b"9" * 5_000 + b', "b", "c"], [null, null, null]]'),
    **{f"texts {number}": with_texts(texts) for number, texts in enumerate(OTHER_TEXTS)},
}


@pytest.mark.parametrize("damage", DAMAGED)
def test_damage_is_refused(damage: str) -> None:
    assert are_equal(SearchSegment.read(with_texts([list(SEGMENT.names), list(SEGMENT.external_ids)])), SEGMENT)
    with pytest.raises(DamagedSegmentError):
        SearchSegment.read(DAMAGED[damage])


def test_parts_of_a_segment_are_refused() -> None:
    for end in range(len(SEGMENT.content)):
        with pytest.raises(DamagedSegmentError):
            SearchSegment.read(SEGMENT.content[:end])


@given(st.binary(max_size=400), st.integers(0, len(SEGMENT.content) - 1), st.integers(0, 255))
def test_any_bytes_are_a_segment_or_refused(content: bytes, place: int, byte: int) -> None:
    changed = SEGMENT.content[:place] + bytes([byte]) + SEGMENT.content[place + 1 :]
    for one in (content, SEGMENT.content[:HEAD] + content, changed):
        try:
            read = SearchSegment.read(one)
        except DamagedSegmentError:
            continue
        assert are_equal(SearchSegment.read(read.content), read), "what is read can be written"


# Vectors


def unit(vectors: NDArray[Any]) -> NDArray[np.float32]:
    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    found: NDArray[np.float32] = (vectors / lengths).astype(np.float32)
    return found


@pytest.mark.parametrize("dimensions", [256, 384, 512, 1536])
def test_cosines_stay(dimensions: int) -> None:
    random = np.random.default_rng(dimensions)
    vectors = unit(random.standard_normal((200, dimensions)) + random.standard_normal(dimensions))
    asked = unit(random.standard_normal((50, dimensions)))
    read = read_vectors(pack_vectors(vectors), 200)
    assert read.shape == vectors.shape
    assert np.abs(read @ asked.T - vectors @ asked.T).max() < 0.002
    assert len(pack_vectors(vectors)) == 200 * (dimensions + 4)


@given(
    st.lists(st.lists(st.floats(-1, 1, width=16), min_size=6, max_size=6), min_size=2, max_size=8).filter(
        lambda vectors: all(np.linalg.norm(one) > 0.01 for one in vectors)
    ),
    st.floats(0.01, 100),
)
def test_any_vectors_stay(numbers: list[list[float]], length: float) -> None:
    vectors = np.float32(length) * unit(np.array(numbers, np.float32))
    read = read_vectors(pack_vectors(vectors), len(vectors))
    padded = np.zeros_like(vectors)
    padded[:, : read.shape[1]] = read
    assert np.abs(padded - vectors).max() <= length / 127 / 2 * 1.01, "half a step of the largest number"


def test_zeros_at_the_end_are_left_out() -> None:
    assert read_vectors(pack_vectors(VECTORS), 3).shape == (3, 2)
    assert not read_vectors(pack_vectors(np.zeros((2, 5), np.float32)), 2).any()
    assert pack_vectors(np.zeros((0, 5), np.float32)) == b""
    assert read_vectors(b"", 0).shape == (0, 0)


@pytest.mark.parametrize(
    ("size", "passages"), [(18, 5), (18, 1_000), (17, 3), (19, 3), (12, 3), (4, 1), (3, 1), (0, 1)]
)
def test_vectors_of_another_number_of_passages_are_refused(size: int, passages: int) -> None:
    assert read_vectors(bytes(18), 3).shape == (3, 2)
    with pytest.raises(DamagedSegmentError):
        read_vectors(bytes(size), passages)


@pytest.mark.parametrize("scale", [np.nan, np.inf, -np.inf, -1.0])
def test_scales_are_numbers(scale: float) -> None:
    packed = pack_vectors(VECTORS)
    with pytest.raises(DamagedSegmentError):
        read_vectors(struct.pack("<f", scale) + packed[4:], 3)
