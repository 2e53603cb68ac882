"""The documentation as a site: built strictly, every link and anchor checked, and without other hosts."""

from __future__ import annotations

import http.server
import json
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ROOT
from tests.support.browser import Browser

pytestmark = pytest.mark.skipif(find_spec("mkdocs") is None, reason="install the extra docs, or requirements/lock.txt")

LOADED = re.compile(r"<(?:script|link|img|iframe|source|object|embed)\b[^>]*?\s(?:src|href|data)=[\"']?([^\"'\s>]+)")
PAGES = ("index", "quickstart", "architecture", "benchmarks", "reliability", "security", "cli", "changelog")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "INFO" in done.stderr  # when less is logged, warnings are not counted either
    return folder


@pytest.fixture
def served(site: Path) -> Iterator[tuple[str, list[str]]]:
    """The address of the site, and the paths that were asked for."""
    asked: list[str] = []

    class Handler(http.server.SimpleHTTPRequestHandler):
        def log_request(self, *_: Any) -> None:
            asked.append(self.path)

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=str(site))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}", asked
        server.shutdown()


def test_site_has_all_pages(site: Path) -> None:
    for page in (*PAGES, *(path.stem for path in (ROOT / "docs").glob("*.md"))):
        assert (site / f"{page}.html").is_file(), page
    for record in (ROOT / "docs" / "adr").glob("0*.md"):
        assert (site / "adr" / f"{record.stem}.html").is_file(), record


def test_pages_load_nothing_from_other_hosts(site: Path) -> None:
    loaded = {
        address
        for page in site.rglob("*.html")
        for address in LOADED.findall(page.read_text(encoding="utf-8"))
        if "//" in address
    }
    assert loaded == set()
    styles = [path.read_text(encoding="utf-8") for path in site.rglob("*.css")]
    assert styles
    assert [
        found for text in styles for found in re.findall(r"(?:url\(|@import)\s*[\"']?(?:https?:)?//[^)]*", text)
    ] == []


def test_search_index_names_every_page(site: Path) -> None:
    index = json.loads((site / "search" / "search_index.json").read_text(encoding="utf-8"))
    found = {entry["location"].partition("#")[0] for entry in index["docs"]}
    assert found == {str(page.relative_to(site)) for page in site.rglob("*.html")} - {"404.html"}
    assert any("quarantine" in entry["text"] for entry in index["docs"])


def test_browser_searches_without_other_hosts(served: tuple[str, list[str]], browser: Browser) -> None:
    """A word that is typed finds pages in a browser that reaches no other host, and none is asked for."""
    address, asked = served
    page = browser.page()
    page.go(f"{address}/architecture.html")
    page.click("label[for=__search]")
    page.fill("input.md-search__input", "quarantine")
    page.wait_for("document.querySelector('.md-search-result__link[href*=quarantine]') !== null")
    assert "Quarantine" in page.run("document.querySelector('.md-search-result__list').textContent")
    page.go(page.run("document.querySelector('.md-search-result__link[href*=quarantine]').href"))
    page.wait_for_text("Origin, quarantine and decisions")
    assert [one for one in page.requests if not one.startswith((address, "data:"))] == []
    assert page.complaints == []
    assert "/search/search_index.json" in asked
    assert any(re.fullmatch(r"/assets/javascripts/workers/search\.\w+\.min\.js", path) for path in asked)
