"""The files of the page: nothing of other hosts, no way from text to markup, vendored files as they were published."""

from __future__ import annotations

import hashlib
import re
from base64 import b64encode
from pathlib import Path

import pytest

from neurigraph_pipelines.faces.mcp.graph_app import document
from tests.conftest import ROOT

PAGE = ROOT / "neurigraph_pipelines" / "faces" / "page"
VENDORED = PAGE / "vendored"
FOLDERS = ("files", "app")
MODULES = sorted(module for folder in FOLDERS for module in (PAGE / folder).glob("*.js"))
MOST_LINES = 400
SINKS = re.compile(
    r"innerHTML|outerHTML|insertAdjacentHTML|createContextualFragment|document\.write|DOMParser|srcdoc|\beval\(|"
    r"new Function|"
    r"setTimeout\(['\"`]|localStorage|document\.cookie|javascript:|\.style\b(?!\()|cssText|createElementNS"
)


def test_vendored_files_have_their_checksums_and_licences() -> None:
    sums = dict(line.split()[::-1] for line in (VENDORED / "SHA256SUMS").read_text(encoding="utf-8").splitlines())
    assert sums.keys() == {path.name for path in VENDORED.iterdir()} - {"SHA256SUMS"}
    for name, expected in sums.items():
        assert hashlib.sha256((VENDORED / name).read_bytes()).hexdigest() == expected, name
    for library in VENDORED.glob("*.js"):
        licence = VENDORED / f"{library.name.split('-')[0]}-LICENSE.txt"
        assert "Permission is hereby granted" in licence.read_text(encoding="utf-8")


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.stem)
def test_modules_make_only_text(module: Path) -> None:
    text = module.read_text(encoding="utf-8")
    assert not SINKS.findall(text)
    assert text.count("\n") <= MOST_LINES
    assert "//" not in re.sub(r"(?m)(^|\s)//.*$", "", text), "an address of another host"
    for imported in re.findall(r"(?:from|import\() ?\"\./([^\"]+)\"", text):
        assert [folder for folder in (*FOLDERS, "vendored") if (PAGE / folder / imported).is_file()], imported


def test_view_is_one_document_that_allows_only_itself() -> None:
    html = document()
    (script,) = re.findall(r"<script type=\"module\">(.*?)</script>", html, re.DOTALL)
    (style,) = re.findall(r"<style[^>]*>(.*?)</style>", html, re.DOTALL)
    (policy,) = re.findall(r"http-equiv=\"Content-Security-Policy\" content=\"([^\"]*)\"", html)
    for kind, text in (("script", script), ("style", style)):
        digest = b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{kind}-src 'sha256-{digest}'" in policy
    assert policy.startswith("default-src 'none'; ")
    assert not re.search(r"<link|<script [^t]|\ssrc=|https?:", html.replace(script, ""))
    assert "{{" not in html.replace(script, "")
    assert "Permission is hereby granted" in script
    for module in ("cytoscape-3.34.4.min.js", "dagre-3.1.3.min.js", "layout.js", "host.js"):
        assert script.count(f'MODULES["{module}"] = ') == 1
    assert "api.js" not in script, "the view has no way to the HTTP API"


def test_html_has_no_inline_script_or_style() -> None:
    html = (PAGE / "files" / "index.html").read_text(encoding="utf-8")
    assert re.findall(r"<script[^>]*>([^<]*)</script>", html) == [""]
    assert not re.search(r"<style|\sstyle=|\son\w+=|https?:", html)
    for path in re.findall(r"(?:src|href)=\"page/([^\"]+)\"", html):
        assert (PAGE / "files" / path).is_file()
