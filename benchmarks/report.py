"""How figures are shown: medians with their spread, Markdown tables, and the page that keeps them.

Nothing is measured here.
"""

from __future__ import annotations

import re
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

_HEADER = """# Benchmarks

`make bench` measures everything and rewrites this page; `python -m benchmarks pipeline provisioning` rewrites the
sections named. The figures of one section come from one run on one machine, each beside a baseline of that run:
**the ratios hold, the seconds drift**. A figure is a median with the least and the greatest in parentheses.
"""


@dataclass(frozen=True, slots=True)
class Section:
    """What one benchmark found.

    Attributes:
        method: What is measured and how, in Markdown.
        body: Tables and remarks, in Markdown.
    """

    title: str
    method: str
    body: str


def number(value: float) -> str:
    """Three figures that say something."""
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}" if value >= 1 else f"{value:.3f}"


def spread(values: Sequence[float]) -> str:
    """The median, and the least and greatest when there are several."""
    median = number(statistics.median(values))
    return f"{median} ({number(min(values))}–{number(max(values))})" if len(values) > 1 else median


def percentile(values: Sequence[float], percent: float) -> float:
    """The smallest value that at least ``percent`` of all do not exceed (nearest rank)."""
    ordered = sorted(values)
    return ordered[max(0, -int(-len(ordered) * percent // 100) - 1)]


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def markdown(section: Section, circumstances: str) -> str:
    """A section of the page, without its markers."""
    return f"## {section.title}\n\n{section.method}\n\n{section.body}\n\n*{circumstances}*"


def replace_section(page: str, name: str, text: str, order: Sequence[str]) -> str:
    """The page with the section ``name`` new; all others stay as they are.

    Args:
        page: The page as it is; an empty one gets its header.
        name: Stands in the markers around the section.
        text: Markdown of the section.
        order: All names, in the order in which sections stand.
    """
    sections = {match["name"]: match["text"] for match in _SECTION.finditer(page)}
    sections[name] = text
    blocks = [f"<!-- begin {key} -->\n{sections[key]}\n<!-- end {key} -->" for key in order if key in sections]
    return "\n\n".join([_HEADER.rstrip(), *blocks]) + "\n"


def write_section(path: Path, name: str, text: str, order: Sequence[str]) -> None:
    """Replace one section of the page at ``path``, which is made when absent."""
    page = path.read_text(encoding="utf-8") if path.exists() else ""
    path.write_text(replace_section(page, name, text, order), encoding="utf-8")


_SECTION = re.compile(r"<!-- begin (?P<name>\w+) -->\n(?P<text>.*?)\n<!-- end (?P=name) -->", re.DOTALL)
