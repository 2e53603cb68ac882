"""Cursors: what they continue, and what they refuse."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable
from uuid import uuid4

import pytest

from neurigraph_pipelines.database.paging import MAX_CURSOR_AGE_SECONDS, Cursors, Page, Position
from neurigraph_pipelines.model import Claims
from neurigraph_pipelines.model.errors import InvalidInputError

ALICE, BOB = Claims.of_user(uuid4()), Claims.of_user(uuid4())


def mac(data: bytes) -> bytes:
    return hmac.new(b"key", data, hashlib.sha256).digest()


def page(cursors: Cursors, cursor: str | None = None, claims: Claims = ALICE, **filters: object) -> Page[int]:
    def read(after: Position | None, most: int) -> list[int]:
        first = 0 if after is None else int(after[0]) + 1
        return list(range(first, min(first + most, 5)))

    return cursors.page(claims, "numbers", filters, 2, cursor, read, lambda number: (number,))


def test_pages_follow_each_other() -> None:
    cursors = Cursors(mac)
    found, cursor = [], None
    for _ in range(3):
        one = page(cursors, cursor)
        found += one.items
        cursor = one.next_cursor
    assert (found, cursor) == ([0, 1, 2, 3, 4], None)


def test_cursor_is_refused_elsewhere() -> None:
    now = 1_000_000.0
    cursors = Cursors(mac, lambda: now)
    good = page(cursors, word="a").next_cursor
    assert good is not None
    assert page(cursors, good, word="a").items == [2, 3]
    old = Cursors(mac, lambda: now + MAX_CURSOR_AGE_SECONDS + 1)
    attempts: list[Callable[[], Page[int]]] = [
        lambda: page(cursors, good, word="b"),
        lambda: page(cursors, good, BOB, word="a"),
        lambda: page(cursors, good + "A", word="a"),
        lambda: page(cursors, "", word="a"),
        lambda: page(cursors, "é", word="a"),
        lambda: page(cursors, "A" * 2_000, word="a"),
        lambda: page(old, good, word="a"),
        lambda: page(Cursors(lambda data: mac(data + b"another key")), good, word="a"),
    ]
    for refused in attempts:
        with pytest.raises(InvalidInputError, match="Start again without a cursor"):
            refused()
