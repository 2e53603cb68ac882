"""The documentation as a site: built strictly, every link and anchor checked, and without other hosts."""

from __future__ import annotations

import http.server
import json
import re
import shutil
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


def test_browser_searches_without_other_hosts(served: tuple[str, list[str]], tmp_path: Path) -> None:
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("there is no chromium")
    address, asked = served
    shown = subprocess.run(
        [
            chromium,
            *("--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"),
            *("--disable-component-update", "--no-first-run", f"--user-data-dir={tmp_path / 'chromium'}"),
            *("--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1", "--enable-logging=stderr"),
            *("--virtual-time-budget=20000", "--dump-dom", f"{address}/architecture.html?q=quarantine"),
        ],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    assert "<h1" in shown.stdout
    assert "/search/search_index.json" in asked
    assert any(re.fullmatch(r"/assets/javascripts/workers/search\.\w+\.min\.js", path) for path in asked)
    assert [line for line in shown.stderr.splitlines() if "CONSOLE" in line] == []
