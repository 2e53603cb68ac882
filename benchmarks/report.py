"""Format figures: medians with their spread, Markdown tables, and the page that holds them.

This module measures nothing.
"""

from __future__ import annotations

import re
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

RESULTS = Path(__file__).parent / "RESULTS.md"

_HEADER = """# Results of the benchmarks

`make bench` measures everything and rewrites this page; `python -m benchmarks pipeline provisioning` rewrites only
those sections. All figures of a section come from one run on one machine, next to a baseline of the same run:
**compare ratios, because seconds vary between runs**. A figure is a median, with minimum and maximum in parentheses.

Before 28 November 2026, some benchmarks called a function that read no times from a question's words and looked up
neither conflicts nor expiry. They call `search` since then, as users do. Figures of earlier dates are of that other
function under *Search speed* and *First questions of many users*.
"""


@dataclass(frozen=True, slots=True)
class Section:
    """The results of one benchmark.

    Attributes:
        method: What was measured and how, in Markdown.
        body: Tables and remarks, in Markdown.
    """

    title: str
    method: str
    body: str


def number(value: float) -> str:
    """Format a number with three significant digits."""
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}" if value >= 1 else f"{value:.3f}"


def spread(values: Sequence[float]) -> str:
    """Format the median, with minimum and maximum if there are several values."""
    median = number(statistics.median(values))
    return f"{median} ({number(min(values))}–{number(max(values))})" if len(values) > 1 else median


def percentile(values: Sequence[float], percent: float) -> float:
    """Return the smallest value that at least ``percent`` of all do not exceed (nearest rank)."""
    ordered = sorted(values)
    return ordered[max(0, -int(-len(ordered) * percent // 100) - 1)]


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def markdown(section: Section, circumstances: str) -> str:
    """Return a section of the page without its markers."""
    return f"## {section.title}\n\n{section.method}\n\n{section.body}\n\n*{circumstances}*"


def replace_section(page: str, name: str, text: str, order: Sequence[str]) -> str:
    """Return the page with a new section ``name``; all others stay unchanged, and so do notes between sections.

    Args:
        page: The current page; may be empty.
        name: The name in the markers around the section.
        text: Markdown of the section.
        order: All names, in the order of the page.
    """
    sections = {match["name"]: (match["text"], match["note"].strip()) for match in _SECTION.finditer(page)}
    sections[name] = text, sections.get(name, ("", ""))[1]
    blocks = [_HEADER.rstrip()]
    for key in filter(sections.__contains__, order):
        measured, note = sections[key]
        blocks += [f"<!-- begin {key} -->\n{measured}\n<!-- end {key} -->", *([note] if note else [])]
    return "\n\n".join(blocks) + "\n"


def tables_of(page: str, name: str) -> str:
    """Return the tables of a section of the page, one below the other; the page must have that section."""
    (text,) = (match["text"] for match in _SECTION.finditer(page) if match["name"] == name)
    return "\n\n".join(block for block in text.split("\n\n") if block.startswith("|"))


def write_section(path: Path, name: str, text: str, order: Sequence[str]) -> None:
    """Replace one section of the page at ``path``, creating the page if it does not exist."""
    page = path.read_text(encoding="utf-8") if path.exists() else ""
    path.write_text(replace_section(page, name, text, order), encoding="utf-8")


_SECTION = re.compile(
    r"<!-- begin (?P<name>\w+) -->\n(?P<text>.*?)\n<!-- end (?P=name) -->(?P<note>.*?)(?=<!-- begin |\Z)", re.DOTALL
)
"""A section, and what a person wrote below it."""
