"""The benchmark report: figures, and sections of its page."""

from __future__ import annotations

import pytest

from benchmarks.report import Section, markdown, number, percentile, replace_section, spread, table


def test_section_replaces_itself() -> None:
    order = ["first", "second"]
    page = replace_section("", "second", "two", order)
    page = replace_section(page, "first", "one", order)
    again = replace_section(page, "second", "new", order)
    assert again == page.replace("two", "new")
    assert again.index("one") < again.index("new")


def test_notes_below_sections_stay() -> None:
    order = ["first", "second"]
    page = replace_section(replace_section("", "first", "1 ms", order), "second", "2 ms", order)
    page = page.replace("end first -->", "end first -->\n\nBefore that, it was less.")
    assert replace_section(page, "first", "3 ms", order) == page.replace("1 ms", "3 ms")
    assert replace_section(page, "second", "3 ms", order) == page.replace("2 ms", "3 ms")


def test_section_shows_method_tables_and_machine() -> None:
    text = markdown(Section("Speed", "How.", table(["a", "b"], [["1", "2"]])), "today, here")
    assert text == "## Speed\n\nHow.\n\n| a | b |\n| --- | --- |\n| 1 | 2 |\n\n*today, here*"


@pytest.mark.parametrize(("value", "shown"), [(1_234.5, "1,234"), (12.34, "12.3"), (1.234, "1.23"), (0.01234, "0.012")])
def test_figures_have_three_digits(value: float, shown: str) -> None:
    assert number(value) == shown


def test_spread_is_median_with_extremes() -> None:
    assert spread([3.0, 1.0, 2.0]) == "2.00 (1.00–3.00)"
    assert spread([2.0]) == "2.00"


@pytest.mark.parametrize(("percent", "value"), [(50, 5.0), (95, 10.0), (100, 10.0), (10, 1.0), (0, 1.0)])
def test_percentiles_are_measured_values(percent: float, value: float) -> None:
    assert percentile([float(n) for n in range(10, 0, -1)], percent) == value
