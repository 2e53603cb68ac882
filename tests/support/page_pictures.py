"""``python -m tests.support.page_pictures FOLDER``: pictures of every view of the page, light, dark and on a phone.

The view of MCP Apps is among them, in the page of a host.

The graph is that of the sample conversations. A person looks at the pictures; no test compares them.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

from benchmarks.bench import Bench
from neurigraph_pipelines.inbox.importing import import_file
from neurigraph_pipelines.ingestion.batch import run_due
from tests.conftest import ROOT
from tests.support.api_server import serving
from tests.support.app_host import Host, read_view, serving_host
from tests.support.browser import Browser, Page, find_chromium
from tests.support.page_world import Words, World, make_world

_LOOKS = {"light": (1280, 860, False), "dark": (1280, 860, True), "phone": (390, 844, False)}
_QUESTION = "What did the doctor say about my knee?"
_SETTLED_SECONDS = 1.0
_APP_HEIGHT = 1_400


def main() -> None:
    """Make the graph, and take the pictures."""
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    chromium = find_chromium()
    assert chromium is not None, "there is no chromium"
    with Bench(quick=True) as bench, bench.installation() as installation, serving(installation) as address:
        words = Words("Dora", "She rows on Sundays.")
        world = make_world(installation, address, words, installation.context)
        import_file(installation.acting_for(world.people.claims), ROOT / "samples" / "bob.jsonl", "jsonl")
        list(run_due(installation.context, "pictures"))
        with tempfile.TemporaryDirectory() as profile, Browser(chromium, Path(profile)) as browser:
            page = browser.page()
            sign_in(page, address, world.key, folder)
            for look, (width, height, dark) in _LOOKS.items():
                page.resize(width, height, dark=dark)
                take(page, world, folder, look)
            take_app(browser, address, world, folder)
            print(f"{len(list(folder.iterdir()))} pictures, complaints of the browser: {page.complaints}")


def sign_in(page: Page, address: str, key: str, folder: Path | None = None) -> None:
    """Sign in, and take a picture of the form before if there is a folder for it."""
    page.go(f"{address}/")
    page.wait_for("document.querySelector('input[name=key]')")
    if folder is not None:
        page.screenshot(folder / "sign_in.png")
    page.fill("input[name=key]", key)
    page.press("Enter")
    page.wait_for("document.querySelector('.lately h2')")


def take(page: Page, world: World, folder: Path, look: str) -> None:
    """Take a picture of each view."""
    views = {
        "home": "",
        "profile": "profile",
        "tree": "nodes",
        "node": f"nodes/{world.node_id}",
        "record": f"records/{world.record_id}",
        **{name: name for name in ("graph", "upload", "decide", "failures", "access", "spaces")},
    }
    for name, place in views.items():
        page.run(f"location.hash = '#/{place}'")
        time.sleep(_SETTLED_SECONDS)
        page.screenshot(folder / f"{look}_{name}.png", whole=name not in ("home", "tree", "graph"))
    page.run("location.hash = '#/search'")
    page.wait_for("document.querySelector('input[type=search]')")
    page.run(f"document.querySelector('input[type=search]').value = {_QUESTION!r}")
    for kind, shown in (("Search", ".hits"), ("Answer", ".answer")):
        page.click(".search button", kind)
        page.wait_for(f"document.querySelector('{shown}')")
        time.sleep(_SETTLED_SECONDS)
        page.screenshot(folder / f"{look}_{kind.lower()}.png", whole=True)


def take_app(browser: Browser, address: str, world: World, folder: Path) -> None:
    """Take a picture of the view of MCP Apps in a host."""
    with serving_host(read_view(address, world.key)) as hosting:
        for look, (width, _, dark) in _LOOKS.items():
            page = browser.page(width=width, height=_APP_HEIGHT)
            page.go(hosting)
            host = Host(page, address, world.key, {"theme": "dark" if dark else "light"})
            host.ask_tool("browse_graph")
            host.wait_for("document.querySelector('.graph [role=status]')?.textContent.includes('left out')")
            host.wait_for("!document.querySelector('.loading')")
            time.sleep(_SETTLED_SECONDS)
            host.answer()
            page.screenshot(folder / f"{look}_app.png")


if __name__ == "__main__":
    main()
