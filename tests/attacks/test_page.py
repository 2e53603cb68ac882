"""Stored texts that try to run on the page: titles, speakers, facts, and names of files, nodes, spaces, programs."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from neurigraph_pipelines.wiring.installation import Installation
from tests.support.api_server import serving
from tests.support.browser import Browser, Page
from tests.support.page_world import Words, World, make_world

pytestmark = pytest.mark.attack

NAME = '"><img src=x onerror=window.ran=1><svg onload=alert(1)>'
TEXT = (
    "<script>window.ran=1</script><iframe srcdoc='<script>parent.ran=1'></iframe> javascript:alert(1) {{7*7}} "
    "${window.ran=1} <a href=javascript:alert(1)>x</a> <style>*{display:none}</style> \u202etxt.exe"
)
VIEWS = ("node", "record", "graph", "decide", "failures", "access", "spaces", "upload")


@pytest.fixture(scope="module")
def place(shared_installation: Installation) -> Iterator[tuple[str, World]]:
    with serving(shared_installation) as address:
        yield address, make_world(shared_installation, address, Words(NAME, TEXT))


@pytest.fixture
def page(browser: Browser, place: tuple[str, World]) -> Page:
    """A page on which the owner of the hostile texts is signed in."""
    address, world = place
    page = browser.page()
    page.go(f"{address}/")
    page.fill("input[name=key]", world.key)
    page.press("Enter")
    page.wait_for("document.querySelector('.home .lately')")
    return page


def test_stored_markup_is_text_in_every_view(page: Page, place: tuple[str, World]) -> None:
    _, world = place
    places = {"node": f"nodes/{world.node_id}", "record": f"records/{world.record_id}"}
    for view in VIEWS:
        page.run(f"location.hash = '#/{places.get(view, view)}'")
        page.wait_for(f"document.querySelector('main').dataset.view === '{places.get(view, view).partition('/')[0]}'")
        page.wait_for("document.querySelector('main').textContent.includes('window.ran')")
        page.wait_for("!document.querySelector('main .loading')")
    page.run("location.hash = '#/search'")
    for kind, shown in (("Search", ".hits"), ("Answer", ".answer")):
        page.wait_for("document.querySelector('input[type=search]')")
        page.run("document.querySelector('input[type=search]').value = 'Who needs bolts for the keel?'")
        page.click(".search button", kind)
        page.wait_for(f"document.querySelector('{shown}')?.textContent.includes('<script>window.ran=1</script>')")
    page.wait_for("!document.querySelector('main .loading')")
    assert page.run("document.querySelectorAll('main script, main img, main svg, main iframe, main style').length") == 0
    assert (
        page.run(
            "[...document.querySelectorAll('main a')].filter((a) => !/^(#|blob:)/.test(a.getAttribute('href'))).length"
        )
        == 0
    )
    assert page.run("window.ran ?? null") is None
    assert page.complaints == []
    assert page.violations() == []


def test_hostile_addresses_open_no_other_operation(page: Page) -> None:
    before = len(page.requests)
    for address in (
        "nodes/..%2F..%2Fdocs",
        "records/../keys",
        "__proto__",
        "constructor/prototype",
        "search?key=1",
        "<img src=x>",
    ):
        page.run(f"location.hash = {json.dumps('#/' + address)}")
        page.wait_for("document.querySelector('main > *') && !document.querySelector('main .loading')")
    assert {request for request in page.requests[before:] if "docs" in request or "/v1/keys" in request} == set()
    assert page.complaints == []


def test_what_gets_into_the_page_does_not_run(page: Page) -> None:
    """The second line of defence: markup and scripts that a fault of the page lets in are refused by its policy."""
    add = "document.body.append(made) })()"
    tries = {
        "(() => { document.body.innerHTML = '<img src=x onerror=window.ran=1>' })()": "require-trusted-types-for",
        f"(() => {{ const made = document.createElement('style'); made.textContent = '*{{top:0}}'; {add}": "style-src",
        f"(() => {{ const made = document.createElement('script'); made.src = 'http://127.0.0.2/'; {add}": "",
        "(() => { const made = document.createElement('b'); made.setAttribute('onclick', 'ran=1') })()": "",
        "(() => { new Image().src = 'http://127.0.0.2/' })()": "img-src",
        "fetch('http://127.0.0.2/').catch(() => 0)": "connect-src",
    }
    for attempt, directive in tries.items():
        before = len(page.violations())
        page.send("Runtime.evaluate", expression=attempt, awaitPromise=True)
        page.wait_for(f"window.violations.slice({before}).some((one) => one.startsWith({directive!r}))")
    assert page.run("window.ran ?? null") is None
