"""The page in Chromium: its first view, and a graph of a thousand nodes."""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import httpx

from benchmarks.bench import Bench, SkippedError, in_turns
from benchmarks.report import Section, number, spread, table
from benchmarks.retrieval.synthetic import make_graph
from neurigraph_pipelines.exchange import sharing
from neurigraph_pipelines.wiring.installation import Installation
from tests.support.api_server import serving
from tests.support.browser import Browser, Page, find_chromium

MEMORIES, NODES = 4_000, 980
QUICK = (40, 25)
REPEATS = 11

_METHOD = """One user has about a thousand nodes in three layers (the synthetic graph of the searches). A real server
and a headless Chromium run on the same machine. In turns with the browser, a plain program asks for the
same data. *First view* is from the request of `/` until the tree and the topmost node are shown, signed
in, once without the browser's cache and once with files that it knows. *Everything* is from opening the
graph view, with all nodes, until the picture is drawn, and *two steps* the same with at most 300 nodes;
the plain program asks for the tree. *Drawing* is the part of cytoscape in it, up to its first picture."""

_DRAWN = "performance.getEntriesByName('graph').length > 0"
_LOADED = "document.querySelector('[role=tree]') && document.querySelector('.node .rows, .node .empty')"


def run(bench: Bench) -> Section:
    """Measure one graph in one browser."""
    chromium = find_chromium()
    if chromium is None:
        raise SkippedError("there is no chromium")
    memories, nodes = QUICK if bench.quick else (MEMORIES, NODES)
    repeats = 3 if bench.quick else REPEATS
    with bench.installation() as installation:
        graph = make_graph(installation, "page", memories, nodes)
        bench.say(f"{nodes:,} topics")
        _, key = sharing.issue_key(installation.database, graph.claims)
        rows = _rows(installation, chromium, key, repeats)
    header = ("what", "in the browser ms", "the same data, plain ms", "browser ÷ plain")
    return Section("The page", _METHOD, table(header, rows))


def _rows(installation: Installation, chromium: str, key: str, repeats: int) -> list[list[str]]:
    headers = {"Authorization": f"Bearer {key}"}
    with (
        serving(installation) as address,
        httpx.Client(base_url=f"{address}/v1", headers=headers, timeout=60.0) as client,
        tempfile.TemporaryDirectory() as profile,
        Browser(chromium, Path(profile)) as browser,
    ):
        page = browser.page()
        page.go(f"{address}/")
        page.run(f"sessionStorage.setItem('neurigraph.key', '{key}')")
        page.send("Network.setCacheDisabled", cacheDisabled=True)
        loaded, plain = in_turns((lambda: _load(page, address), lambda: _ask(client)), repeats)
        page.send("Network.setCacheDisabled", cacheDisabled=False)
        again, plain_again = in_turns((lambda: _load(page, address), lambda: _ask(client)), repeats)
        rows = [_row("first view", loaded, plain), _row("first view, known files", again, plain_again)]
        for name, steps in (("two steps", "2"), ("everything", "9")):
            drawing: list[float] = []
            seen, tree = in_turns((partial(_draw, page, steps, drawing), partial(client.get, "/tree")), repeats)
            rows.append(_row(f"graph, {name}: {_shown(page)}", seen, tree))
            rows.append([f"drawing of it: {name}", spread(drawing[1:]), "", ""])
    return rows


def _row(name: str, seen: Sequence[float], plain: Sequence[float]) -> list[str]:
    ratio = number(statistics.median(seen) / statistics.median(plain))
    return [name, *(spread([taken * 1_000 for taken in each]) for each in (seen, plain)), ratio]


def _load(page: Page, address: str) -> None:
    page.go("about:blank")
    page.go(f"{address}/")
    page.wait_for(_LOADED)


def _ask(client: httpx.Client) -> None:
    """Ask for what the first view shows."""
    top = client.get("/tree").raise_for_status().json()["node_id"]
    for path in (f"/nodes/{top}", f"/nodes/{top}/state", f"/nodes/{top}/records?limit=20"):
        client.get(path).raise_for_status()


def _draw(page: Page, steps: str, drawing: list[float]) -> None:
    """Open the graph view with a fresh tree, choose how far, and wait for the picture."""
    page.run("(async () => { location.hash = '#/spaces'; (await import('/page/graph_data.js')).forgetGraph() })()")
    page.wait_for("document.querySelector('main').dataset.view === 'spaces'")
    page.run("performance.clearMeasures('graph'); location.hash = '#/graph'")
    page.wait_for("document.querySelector('.graph select')")
    if page.run("document.querySelector('.graph select').value") != steps:
        page.run(
            f"(() => {{ performance.clearMeasures('graph'); const far = document.querySelector('.graph select');"
            f" far.value = '{steps}'; far.dispatchEvent(new Event('change')) }})()"
        )
    page.wait_for(_DRAWN, 60.0)
    drawing.append(page.run("performance.getEntriesByName('graph').at(-1).duration"))


def _shown(page: Page) -> str:
    shown: str = page.run("document.querySelector('.graph [role=status]').textContent")
    return shown
