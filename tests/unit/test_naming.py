"""Node names: comparison keys, display and identifiers."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neurigraph_pipelines.graph.naming import (
    MAX_IDENTIFIER_BYTES,
    MAX_NAME_LENGTH,
    display_name,
    is_presentable,
    name_key,
    schema_name,
    slug,
)

anything = st.text(st.characters(), max_size=300)
paths = st.lists(anything, max_size=5).map(tuple)
# Parts that are likely to collide: few letters, and what slugging turns into a separator.
tricky = st.lists(st.text("aAbé _-1", max_size=4), max_size=4).map(tuple)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Dave", " dave "),
        ("Café", "CAFE\u0301"),
        ("Straße", "STRASSE"),
        ("Ｄａｖｅ", "Dave"),
        ("Project\tAtlas", "project   atlas"),
        ("Da\x00ve", "Dave"),
        ("Da\u202eve", "Dave"),
    ],
)
def test_equivalent_names_share_key(one: str, other: str) -> None:
    assert name_key(one) == name_key(other)


def test_different_people_have_different_keys() -> None:
    assert len({name_key(name) for name in ("Dave", "Dawe", "Zoë", "Zoe", "小明", "小红")}) == 6


@given(anything)
def test_keys_are_bounded_and_stable(name: str) -> None:
    key = name_key(name)
    assert len(key) <= MAX_NAME_LENGTH
    assert name_key(key) == key
    assert not re.search(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]", key)
    display_name(name).encode()


@pytest.mark.parametrize(
    "name",
    [
        "",
        "   ",
        "12345",
        "💥💥",
        "<b>Dave</b>",
        "Robert'); DROP TABLE users; --",
        "x" * 300,
        "a b c d e f g h i",
        "https://example.org/page",
        "{{template}}",
    ],
)
def test_junk_is_no_name(name: str) -> None:
    assert not is_presentable(name)


@pytest.mark.parametrize("name", ["Dave", "O'Brien", "C#", "Zoë Müller-Lüdenscheidt", "小明", "Q3 2024 budget", "AT&T"])
def test_valid_names(name: str) -> None:
    assert is_presentable(name)


@pytest.mark.parametrize(
    ("name", "expected"),
    [("Dave", "dave"), ("Zoë Müller", "zoe_muller"), ("  R&D / Lab  ", "r_d_lab"), ("Ana 2", "ana_2")],
)
def test_slugs_read_like_the_name(name: str, expected: str) -> None:
    assert slug(name) == expected


@given(anything)
def test_slugs_are_never_empty_and_plain(name: str) -> None:
    assert re.fullmatch(r"[a-z0-9_]+", slug(name))


def test_schema_name_joins_path() -> None:
    assert schema_name("bob", ("Family", "Siblings", "Sister", "Dave")) == "bob_family_siblings_sister_dave"


@given(anything, paths)
def test_schema_names_are_safe_identifiers(user: str, path: tuple[str, ...]) -> None:
    name = schema_name(user, path)
    assert re.fullmatch(r"[a-z][a-z0-9_]*", name)
    assert len(name.encode()) <= MAX_IDENTIFIER_BYTES
    assert not name.startswith("pg_")
    assert name not in {"public", "information_schema", "neurigraph", "dagster"}
    assert schema_name(user, path) == name


def _ascii_folded(user: str, path: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(part.lower() if part.isascii() else part for part in (user, *path))


@given(tricky, tricky, st.sampled_from(["a", "a_b", "A", "ab"]), st.sampled_from(["a", "a-b", "ab"]))
def test_two_paths_never_share_a_schema(
    one: tuple[str, ...], other: tuple[str, ...], first_user: str, second_user: str
) -> None:
    if _ascii_folded(first_user, one) != _ascii_folded(second_user, other):
        assert schema_name(first_user, one) != schema_name(second_user, other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (("a b",), ("a", "b")),
        (("a_b",), ("a", "b")),
        (("Zoë",), ("Zoe",)),
        (("北京",), ("上海",)),
        (("x" * 100,), ("x" * 101,)),
        (("long " * 12, "one"), ("long " * 12, "two")),
    ],
)
def test_lossy_slug_has_digest(one: tuple[str, ...], other: tuple[str, ...]) -> None:
    assert schema_name("bob", one) != schema_name("bob", other)


def test_name_cannot_imitate_digest() -> None:
    victim = schema_name("bob", ("a b",))
    digest = victim.rsplit("_", 1)[1]
    assert schema_name("bob", ("a", "b", digest)) != victim


@pytest.mark.parametrize("user", ["pg", "public", "neurigraph", "dagster", "information_schema", "7up", "PG"])
def test_reserved_names_are_avoided(user: str) -> None:
    assert schema_name(user, ()).startswith("u_")
    assert schema_name(user, ("catalog",)).startswith("u_")
