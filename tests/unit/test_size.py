"""No part of the project grows unnoticed: the changelog has the most lines of each, and a line that says why."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from tests.conftest import ROOT

_LIMIT = re.compile(r"^- `([\w/]+)`: ([\d,]+) (lines|pages)", re.MULTILINE)
_CODE = (".py", ".sql", ".js", ".ts", ".css", ".html")
_PACKAGE = ROOT / "neurigraph_pipelines"
_IMPORT = re.compile(r"^ *(?:from|import) neurigraph_pipelines\.(\w+)", re.MULTILINE)
_ANY = re.compile(r"\b(?:dict|Mapping)\[str, Any\]")
_MOST_LINES, _MOST_ARROWS = 400, 140
_MOST_UNUSED = 0.05
"""Share by which a part may lie below its limit: a limit far above guards nothing."""


def limits() -> dict[str, int]:
    """Return the limits of the newest section of the changelog that has some."""
    (newest, *_) = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8").split("### Size\n")[1:]
    return {part: int(most.replace(",", "")) for part, most, _ in _LIMIT.findall(newest.split("\n## ")[0])}


def lines_below(folder: Path) -> int:
    """Count the lines of code that people write in a folder."""
    files = [path for path in folder.rglob("*") if path.suffix in _CODE and path.is_file()]
    written = [path for path in files if not {"node_modules", "dist", "__pycache__"} & set(path.parts)]
    return sum(len(path.read_text(encoding="utf-8").splitlines()) for path in written)


def sizes() -> Iterator[tuple[str, int]]:
    """Yield the size of each part."""
    for room in sorted(path for path in _PACKAGE.iterdir() if (path / "__init__.py").exists()):
        yield room.name, lines_below(room)
    for part in ("benchmarks", "clients", "resources", "sql", "tests", "training"):
        yield part, lines_below(ROOT / part)
    for pages in ("docs", "docs/adr"):
        yield pages, len(list((ROOT / pages).glob("*.md")))


def test_nothing_grows_unnoticed() -> None:
    allowed, now = limits(), dict(sizes())
    assert allowed.keys() == now.keys()
    assert {part: size for part, size in now.items() if size > allowed[part]} == {}, "raise the limit, and say why"
    unused = {part: size for part, size in now.items() if size < allowed[part] * (1 - _MOST_UNUSED)}
    assert unused == {}, "lower the limit"


def test_pages_are_short() -> None:
    pages = {page.name: len(page.read_text(encoding="utf-8").splitlines()) for page in (ROOT / "docs").glob("*.md")}
    assert {page: lines for page, lines in pages.items() if lines >= 150 and page != "settings.md"} == {}


def test_counting_sees_a_line(tmp_path: Path) -> None:
    before = lines_below(tmp_path)
    (tmp_path / "one.py").write_text("a = 1\nb = 2\n", encoding="utf-8")
    (tmp_path / "node_modules").mkdir()
    (tmp_path / "node_modules" / "two.js").write_text("c\n", encoding="utf-8")
    assert lines_below(tmp_path) == before + 2


def test_files_are_short() -> None:
    files = [path for part in (_PACKAGE, ROOT / "resources") for path in part.rglob("*.py")]
    lengths = {str(path.relative_to(ROOT)): len(path.read_text(encoding="utf-8").splitlines()) for path in files}
    assert {name: lines for name, lines in lengths.items() if lines > _MOST_LINES} == {}, "cut the file at a seam"


def test_rooms_import_few_others() -> None:
    arrows = {
        (path.relative_to(_PACKAGE).parts[0], room)
        for path in _PACKAGE.rglob("*.py")
        for room in _IMPORT.findall(path.read_text(encoding="utf-8"))
    }
    assert 100 < len({(one, other) for one, other in arrows if one != other}) <= _MOST_ARROWS


def test_mappings_of_anything_have_a_name_that_says_why() -> None:
    """Views and values say what they have; ``views/scalars.py`` names the mappings that cannot, with the reasons."""
    files = [path for part in (_PACKAGE, ROOT / "resources") for path in part.rglob("*.py")]
    bare = {str(path.relative_to(_PACKAGE.parent)) for path in files if _ANY.search(path.read_text(encoding="utf-8"))}
    assert bare == {"neurigraph_pipelines/views/scalars.py"}
