"""Node names in questions: exact, misspelt and by prefix."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neurigraph_pipelines.retrieval.index.names import BEGUN, EXACT, NEARLY, Names

LONG = "The quick brown fox jumps over the lazy dog and goes home"
HUGE = " ".join(f"word{number}" for number in range(50))
assert len(HUGE) > 300


def score(query: str, *names: str, lexemes: Sequence[str] = ()) -> float | None:
    """Return the names of one node."""
    return Names(["\n".join(names)]).named(query, lexemes).get(0)


# As they are


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("Has Dave called?", "Dave"),
        ("dave's boat", "DAVE"),
        ("the e-mail of O’Brien", "O'Brien"),
        ("What about project_x, then?", "Project X"),
        ("and(New York)too", "new-york"),
        ("Jose called", "José"),
        ("JOSÉ called", "Jose\u0301"),
        ("in ｔｏｋｙｏ", "Tokyo"),
        ("in Tokyo", "Ｔｏｋｙｏ"),
        ("İstanbul", "istanbul"),
        ("Straße", "STRASSE"),
        ("ΟΔΟΣ", "οδος"),
        ("what of 東京 now", "東京"),
        ("हिन्दी", "हिन्दी"),
        ("C", "C++"),
        ("one two three four five six", "One two three four five six"),
        (f"I read that {LONG}, yes", LONG),
        (f"so {HUGE} it is", HUGE),
        (f"so {'x' * 300} it is", "x" * 300),
    ],
)
def test_exact_name(query: str, name: str) -> None:
    assert score(query, name) == EXACT
    assert score(query, "Another", name, "One more") == EXACT, "and so is an alias"


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("Has Dave called?", "Dav"),
        ("Davenport", "Dave"),
        ("New Amsterdam and York", "New York"),
        ("York, new", "New York"),
        ("", "Dave"),
        ("?!", "Dave"),
        ("I like it", "🎉"),
        ("🎉", "🎉"),
        (LONG.replace("lazy", "idle"), LONG),
        (HUGE.removesuffix("word49"), HUGE),
        ("x" * 299, "x" * 300),
    ],
)
def test_other_words_do_not_match(query: str, name: str) -> None:
    assert score(query, name) is None


def test_root_names_do_not_match() -> None:
    assert Names([None, None]).named("None bob", ["none"]) == {}
    assert Names([]).named("Dave", ["dave"]) == {}


# Nearly


@pytest.mark.parametrize("query", ["Zanzibat", "Zansibar", "Yanzibar", "Zanziba", "anzibar", "Zanzzibar", "Zanzibars"])
@pytest.mark.parametrize("around", ["{}", "have you been to {} before", "{}'s"])
def test_one_typo(query: str, around: str) -> None:
    assert score(around.format(query), "Zanzibar") == NEARLY


@pytest.mark.parametrize("query", ["Aznzibar", "Znazibar", "Zanzibra", "Zanizbar"])
def test_transposed_letters(query: str) -> None:
    assert score(query, "Zanzibar") == NEARLY


@pytest.mark.parametrize(
    "query", ["Zansibat", "Zazinbar", "Yanzibarr", "Zanzi", "Zanzibarrs", "nzibar", "arZanzib", "Zambisar"]
)
def test_two_typos_do_not_match(query: str) -> None:
    assert score(query, "Zanzibar") is None


@pytest.mark.parametrize(
    ("query", "name", "is_found"),
    [
        ("Davey", "Dave", True),
        ("Dav", "Dave", False),
        ("Dafe", "Dave", False),
        ("Anna", "Ana", False),
        ("Alic", "Alice", True),
        ("Alise", "Alice", True),
        ("Ali", "Alice", False),
        ("a" * 39 + "c", "a" * 39 + "b", True),
        ("a" * 40 + "c", "a" * 40 + "b", False),
        ("a" * 40, "a" * 40 + "b", False),
    ],
)
def test_short_and_long_words_match_exactly(query: str, name: str, is_found: bool) -> None:
    assert (score(query, name) is not None) is is_found


def test_typos_by_word_count() -> None:
    assert score("is it Mont Blanck", "Mont Blanc") == NEARLY
    assert score("is it MontBlanc", "Mont Blanc") == NEARLY, "a space is a letter, too"
    assert score("is it Mont Blanc Hut", "Mont Blanc Hut") == EXACT
    assert score("is it Mont Blanck Hut", "Mont Blanc Hut") is None


# By how they begin


def test_four_letter_prefix() -> None:
    assert score("", "Contracts with Acme", lexemes=["contract"]) == BEGUN
    assert score("", "Contracts", lexemes=["cont"]) == BEGUN
    assert score("", "Contracts", lexemes=["con"]) is None
    assert score("", "Our contracts", lexemes=["contract"]) is None
    assert score("", "Fátima", lexemes=["fati"]) == BEGUN
    assert score("", "Cont", lexemes=["contract"]) is None


def test_best_match_counts() -> None:
    assert score("Contracts", "Contracts", lexemes=["contract"]) == EXACT
    assert score("Contract", "Contracts", lexemes=["contract"]) == NEARLY
    for names in permutations(["Contractual", "Contracts", "Contract"]):
        assert score("contract", *names, lexemes=["contract"]) == EXACT
    assert score("contact", "Contract", "Contacts", "Contractual", lexemes=["contact", "contract"]) == NEARLY


# What names may be


@pytest.mark.parametrize(
    "name", ["", " ", "\n", "\n\n", "\0", "\ud800", "\udfff\ud800", "...", "🎉", "\u0301", "_", "İ\0x"]
)
def test_any_text_as_name(name: str) -> None:
    names = Names([name, "Dave", f"{name}\nAna"])
    for query in (name, f"Dave {name} Ana", f"{name}Dave{name}"):
        found = names.named(query, [name, name.lower()])
        assert set(found) <= {0, 1, 2}
    assert names.named("Dave Ana", []) == {1: EXACT, 2: EXACT}


# Taking over


words = st.sampled_from(
    ["Dave", "Davey", "Ana", "Zanzibar", "Contract", "Contracts", "Mont", "Blanc", "Jose", "José", "a"]
)
_name = st.integers(1, 2).flatmap(lambda most: st.lists(words, min_size=1, max_size=most**3)).map(" ".join)
called = st.lists(st.none() | st.lists(_name, max_size=3).map("\n".join), max_size=8)


@st.composite
def edited(draw: st.DrawFn, names: Sequence[str | None]) -> str:
    """One of the names, with letters left out, put in, replaced or swapped, among other words."""
    said = draw(st.sampled_from([name.replace("\n", " ") for name in names if name] or ["Dave"]))
    for _ in range(draw(st.integers(0, 2))):
        at = draw(st.integers(0, len(said)))
        put, cut = draw(
            st.tuples(
                st.sampled_from(["", "a", "z", " ", said[at + 1 : at + 2] + said[at : at + 1]]), st.integers(0, 2)
            )
        )
        said = said[:at] + put + said[at + cut :]
    return f"{draw(words)} {said} {draw(words)}"


@given(st.data())
def test_reused_index_equals_new_index(data: st.DataObject) -> None:
    """Names that were removed and added again, over several versions."""
    lists = data.draw(st.lists(called, min_size=2, max_size=4))
    names = None
    for its in lists:
        names = Names(its, names)
    assert names is not None
    rebuilt = Names(lists[-1])
    for query in data.draw(st.lists(edited(lists[-1] + lists[0]), min_size=1, max_size=4)):
        lexemes = query.lower().split()
        assert names.named(query, lexemes) == rebuilt.named(query, lexemes)
    assert names.has_names(lists[-1])
    assert names.has_names(lists[0]) is (lists[0] == lists[-1])


@given(called, st.data())
def test_name_in_any_position(names: list[str | None], data: st.DataObject) -> None:
    found = Names(names)
    for number, its in enumerate(names):
        for name in (its or "").split("\n"):
            query = f"{data.draw(words)}, {name.upper()}! {data.draw(words)}"
            assert not name or found.named(query, [])[number] == EXACT
