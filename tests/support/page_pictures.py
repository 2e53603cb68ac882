"""``python -m tests.support.page_pictures FOLDER``: pictures of every view of the page, light, dark and on a phone.

The graph is that of the sample conversations. A person looks at the pictures; no test compares them.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

from benchmarks.bench import Bench
from neurigraph_pipelines.ingestion.batch import run_due
from neurigraph_pipelines.ingestion.importing import import_file
from tests.conftest import ROOT
from tests.support.api_server import serving
from tests.support.browser import Browser, Page, find_chromium
from tests.support.page_world import Words, World, make_world

_LOOKS = {"light": (1280, 860, False), "dark": (1280, 860, True), "phone": (390, 844, False)}
_QUESTION = "What did the doctor say about my knee?"
_SETTLED_SECONDS = 1.0


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
            print(f"{len(list(folder.iterdir()))} pictures, complaints of the browser: {page.complaints}")


def sign_in(page: Page, address: str, key: str, folder: Path) -> None:
    """Sign in, and take a picture of the form before."""
    page.go(f"{address}/")
    page.wait_for("document.querySelector('input[name=key]')")
    page.screenshot(folder / "sign_in.png")
    page.fill("input[name=key]", key)
    page.press("Enter")
    page.wait_for("document.querySelector('[role=tree]')")


def take(page: Page, world: World, folder: Path, look: str) -> None:
    """Take a picture of each view."""
    views = {
        "tree": "",
        "node": f"nodes/{world.node_id}",
        "record": f"records/{world.record_id}",
        **{name: name for name in ("graph", "upload", "decide", "failures", "access", "spaces")},
    }
    for name, place in views.items():
        page.run(f"location.hash = '#/{place}'")
        time.sleep(_SETTLED_SECONDS)
        page.screenshot(folder / f"{look}_{name}.png", whole=name not in ("tree", "graph"))
    page.run("location.hash = '#/search'")
    page.wait_for("document.querySelector('input[type=search]')")
    page.run(f"document.querySelector('input[type=search]').value = {_QUESTION!r}")
    for kind, shown in (("Search", ".hits"), ("Answer", ".answer")):
        page.click(".search button", kind)
        page.wait_for(f"document.querySelector('{shown}')")
        time.sleep(_SETTLED_SECONDS)
        page.screenshot(folder / f"{look}_{kind.lower()}.png", whole=True)


if __name__ == "__main__":
    main()
