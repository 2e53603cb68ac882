"""Signatures of links: the vectors of RFC 8032, section 7.1, and bytes that differ in one bit."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

from neurigraph_pipelines.knowledge.signing import ending_bytes, is_signed_by, statement_bytes

VECTORS = [
    (
        "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
        "",
        "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24"
        "655141438e7a100b",
    ),
    (
        "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
        "72",
        "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aee"
        "b00d291612bb0c00",
    ),
    (
        "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025",
        "af82",
        "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28d"
        "c027beceea1ec40a",
    ),
]


@pytest.mark.parametrize(("key", "message", "signature"), VECTORS)
def test_vectors_of_the_standard(key: str, message: str, signature: str) -> None:
    parts = [bytes.fromhex(one) for one in (key, signature, message)]
    assert is_signed_by(*parts)
    for place, part in enumerate(parts):
        for bit in range(len(part) * 8):
            flipped = bytearray(part)
            flipped[bit // 8] ^= 1 << bit % 8
            assert not is_signed_by(*[bytes(flipped) if at == place else one for at, one in enumerate(parts)])
    assert not is_signed_by(parts[0][:-1], parts[1], parts[2])
    assert not is_signed_by(parts[0], parts[1][:-1], parts[2])


def test_bytes_say_what_is_stated() -> None:
    start = datetime(2026, 5, 1, 12, tzinfo=UTC)
    said = ("fact:1", "fact:2", "caused_by", "user:3", start)
    stated = statement_bytes(*said)
    assert stated == statement_bytes(*said[:4], start.astimezone(timezone(timedelta(hours=9)))), "one moment"
    others = [
        statement_bytes("fact:9", *said[1:]),
        statement_bytes("fact:2", "fact:1", *said[2:]),
        statement_bytes(*said[:2], "supports", *said[3:]),
        statement_bytes(*said[:3], "user:4", start),
        statement_bytes(*said[:4], None),
        ending_bytes(stated, "user:3", start),
        ending_bytes(stated, "user:4", start),
    ]
    assert len({stated, *others}) == len(others) + 1
