"""What the site needs beyond the pages of this folder: pages that lie elsewhere in the project, and links to its files.

MkDocs calls the functions by their names (``mkdocs.yml``). A link to a file that is no page becomes its text.
"""

from __future__ import annotations

import posixpath
import re
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

import generate
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page
from schema_page import schema_page

ROOT = Path(__file__).resolve().parent.parent
ELSEWHERE = {
    "README.md": "index.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "samples/README.md": "samples.md",
    "training/model-card.md": "model-card.md",
}
"""Pages of the site by the places of their sources in the project."""

FROM_THE_CODE: dict[str, Callable[[], str]] = {
    "cli.md": generate.cli_page,
    "openapi.json": generate.openapi_document,
    "operations.md": generate.operations_page,
    "schema.md": partial(schema_page, generate.WRITTEN),
}
"""Files of the site that are in no commit."""

_SOURCES = {page: source for source, page in ELSEWHERE.items()}
_LINK = re.compile(r"(?P<shown>\[(?:[^\[\]]|\[[^\]]*\])*\])\((?P<target>[^()#\s:]+)(?P<anchor>#[^()\s]*)?\)")


def on_files(files: Files, config: Any) -> Files:
    """Add the pages that lie elsewhere, and those that are made from the code."""
    for source, page in ELSEWHERE.items():
        files.append(File.generated(config, page, content=(ROOT / source).read_text(encoding="utf-8")))
    for page, make in FROM_THE_CODE.items():
        files.append(File.generated(config, page, content=make()))
    return files


def on_page_markdown(markdown: str, page: Page, **_: Any) -> str:
    """Return the page with links to where its targets are on the site."""
    here = page.file.src_uri
    folder = posixpath.dirname(_SOURCES.get(here, f"docs/{here}"))

    def linked(found: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join(folder, found["target"]))
        if target in ELSEWHERE:
            on_site = ELSEWHERE[target]
        elif target.startswith("docs/"):
            on_site = target.removeprefix("docs/")
        else:
            return found["shown"][1:-1] if (ROOT / target).exists() else found[0]
        return f"{found['shown']}({posixpath.relpath(on_site, posixpath.dirname(here) or '.')}{found['anchor'] or ''})"

    return _LINK.sub(linked, markdown)
