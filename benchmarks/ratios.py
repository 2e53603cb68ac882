"""The ratios that are not to get worse, read from the page of benchmarks, and the check of them.

``python -m benchmarks check`` compares the page with ``ratios.json``; with ``--record`` it writes that file.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

RECORDED = Path(__file__).with_name("ratios.json")
TOLERANCE = 0.1
"""Share by which a ratio may get worse: figures of two runs differ by that much."""

_SECTION = r"<!-- begin {} -->\n(.*?)\n<!-- end {} -->"
_NUMBER = re.compile(r"[\d,]*\.?\d+")


@dataclass(frozen=True, slots=True)
class Ratio:
    """One figure of the page, or the quotient of two.

    Attributes:
        row: Cells with which its row begins.
        column: Header of its column; the last such column counts.
        over: The cells of the row by which it is divided; None if the figure is a ratio or a share itself.
        most: Whether more is better.
    """

    section: str
    row: tuple[str, ...]
    column: str
    over: tuple[str, ...] | None = None
    most: bool = False

    @property
    def name(self) -> str:
        """How people name it."""
        divisor = f" ÷ {', '.join(self.over)}" if self.over else ""
        return f"{self.section}: {', '.join(self.row)}, {self.column}{divisor}"


def _ratios() -> Iterator[Ratio]:
    found = {
        "LoCoMo, all": ("@1", "@5", "@10", "1,000 words"),
        "LoCoMo, multi-hop": ("@10", "1,000 words"),
        "LoCoMo, temporal": ("@10", "1,000 words"),
        "LoCoMo, open-domain": ("@10", "1,000 words"),
        "BEAM": ("@1", "@5", "@10", "1,000 words"),
        "QMSum": ("@1", "@5", "@10", "1,000 words", "sessions @5"),
    }
    for questions, columns in found.items():
        for column in columns:
            yield Ratio("quality", (questions, "*", "Neurigraph"), column, most=True)
    for memories in ("1,000", "10,000", "100,000", "1,000,000"):
        for which in ("**Neurigraph**", "Neurigraph, nothing in memory"):
            yield Ratio(
                "search_speed",
                (memories, "*", which),
                "p50 ms",
                over=(memories, "*", "LangGraph PostgresStore 3.2.0"),
            )
            yield Ratio("search_speed", (memories, "*", which), "÷ flat table (p50)")
    for which in ("all questions", "first questions"):
        yield Ratio("first_questions", (which,), "p50 ms", over=("LangGraph PostgresStore",))
    for conversations in ("LoCoMo", "BEAM", "QMSum"):
        yield Ratio("storing", (conversations,), "÷ each message read once")
    yield Ratio("pipeline", ("filing and commit",), "÷ plain table")
    for size in ("1", "10", "100"):
        yield Ratio("pipeline", (size,), "plain table ÷ job")
    for megabytes in ("10 MB", "100 MB"):
        yield Ratio("importing", (f"`json.load`, {megabytes}",), "import ÷ this")


RATIOS = tuple(_ratios())


def read_ratios(page: str) -> dict[str, float]:
    """Return the ratios that a page has, by name; what was not measured is left out."""
    return {ratio.name: value for ratio in RATIOS if (value := _value(page, ratio)) is not None}


def compare(before: Mapping[str, float], now: Mapping[str, float]) -> tuple[list[str], bool]:
    """Return a line for each ratio, recorded or measured, and whether one got worse by more than ``TOLERANCE``."""
    lines, is_worse = [], False
    for ratio in RATIOS:
        if ratio.name not in before:
            if ratio.name in now:
                lines.append(f"not recorded  {ratio.name}: {now[ratio.name]:.3g}")
            continue
        if ratio.name not in now:
            lines.append(f"not measured  {ratio.name}: recorded {before[ratio.name]:.3g}")
            continue
        was, value = before[ratio.name], now[ratio.name]
        worse = value < was * (1 - TOLERANCE) if ratio.most else value > was * (1 + TOLERANCE)
        is_worse |= worse
        lines.append(f"{'WORSE' if worse else 'ok':12}  {ratio.name}: {was:.3g} -> {value:.3g}")
    return lines, is_worse


def check(page: Path, *, record: bool = False) -> int:
    """Print the comparison of a page with the recorded ratios, and return the exit code: 1 if one got worse."""
    now = read_ratios(page.read_text(encoding="utf-8"))
    if record:
        RECORDED.write_text(json.dumps(now, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        print(f"recorded {len(now)} ratios in {RECORDED}")
        return 0
    lines, is_worse = compare(json.loads(RECORDED.read_text(encoding="utf-8")), now)
    print("\n".join(lines))
    return int(is_worse)


def _value(page: str, ratio: Ratio) -> float | None:
    section = re.search(_SECTION.format(ratio.section, ratio.section), page, re.DOTALL)
    if section is None:
        return None
    value = _figure(section[1], ratio.row, ratio.column)
    if ratio.over is None or value is None:
        return value
    divisor = _figure(section[1], ratio.over, ratio.column)
    return value / divisor if divisor else None


def _figure(section: str, row: tuple[str, ...], column: str) -> float | None:
    """Return the figure of a row and a column of any table of a section."""
    header: list[str] = []
    for line in section.splitlines():
        if not line.startswith("|"):
            header = []
            continue
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if not header:
            header = cells
        elif column in header and all(wanted in ("*", cell) for wanted, cell in zip(row, cells, strict=False)):
            found = _NUMBER.search(cells[len(header) - 1 - header[::-1].index(column)])
            return float(found[0].replace(",", "")) if found else None
    return None
