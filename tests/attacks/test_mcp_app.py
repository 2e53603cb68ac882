"""Stored texts and other pages that try to run in the view of MCP Apps, or to speak to it."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from neurigraph_pipelines.wiring.installation import Installation
from tests.attacks.test_page import NAME, TEXT
from tests.support.api_server import serving
from tests.support.app_host import Host, read_view, serving_host
from tests.support.browser import Browser, Page
from tests.support.page_world import Words, World, make_world

pytestmark = pytest.mark.attack


@pytest.fixture(scope="module")
def place(shared_installation: Installation) -> Iterator[tuple[str, World]]:
    with serving(shared_installation) as address:
        yield address, make_world(shared_installation, address, Words(NAME, TEXT))


@pytest.fixture
def page(browser: Browser, place: tuple[str, World]) -> Iterator[Page]:
    """A host's page that shows the view."""
    address, world = place
    with serving_host(read_view(address, world.key)) as hosting:
        page = browser.page()
        page.go(hosting)
        yield page


@pytest.fixture
def host(page: Page, place: tuple[str, World]) -> Host:
    address, world = place
    return Host(page, address, world.key)


def test_stored_markup_is_text(page: Page, host: Host, place: tuple[str, World]) -> None:
    _, world = place
    host.ask_tool("browse_graph", node=str(world.node_id))
    host.wait_for("document.querySelector('.graph [role=status]')?.textContent.endsWith('left out')")
    host.wait_for("!document.querySelector('.loading')")
    host.run(
        "[...document.querySelectorAll('.shell button')].find((one) => one.textContent.includes('onerror')).click()"
    )
    host.wait_for("document.querySelector('.shell h1').textContent.includes('onerror')")
    host.wait_for("document.querySelector('.shell .summary').textContent.includes('<script>window.ran=1</script>')")
    host.wait_for("document.querySelector('.plain-list').textContent.includes('<svg onload')")
    assert host.run("document.querySelectorAll('img, svg, iframe, a, #app script, #app style').length") == 0
    assert host.run("window.ran ?? null") is None
    assert page.run("window.ran ?? null") is None
    assert page.complaints + host.view.complaints == []
    assert host.view.violations() == []


def test_what_gets_into_the_view_does_not_run(host: Host) -> None:
    """The second line of defence: the host's policy lets inline scripts run, that of the document does not."""
    host.wait_for_message("ui/notifications/initialized")
    add = "document.body.append(made) })()"
    tries = {
        "(() => { document.body.innerHTML = '<img src=x onerror=window.ran=1>' })()": "require-trusted-types-for",
        f"(() => {{ const made = document.createElement('style'); made.textContent = '*{{top:0}}'; {add}": "style-src",
        f"(() => {{ const made = document.createElement('script'); made.textContent = 'window.ran=1'; {add}": "",
        "(() => { new Image().src = 'http://127.0.0.2/' })()": "img-src",
        "(() => { new Image().src = 'data:image/gif;base64,R0lGODlhAQABAAAAACw=' })()": "img-src",
        "fetch('http://127.0.0.2/').catch(() => 0)": "connect-src",
        "fetch('/').catch(() => 0)": "connect-src",
    }
    for attempt, directive in tries.items():
        before = len(host.view.violations())
        host.view.send("Runtime.evaluate", expression=attempt, awaitPromise=True)
        host.wait_for(f"window.violations.slice({before}).some((one) => one.startsWith({directive!r}))")
    assert host.run("window.ran ?? null") is None


def test_only_the_host_is_heard(page: Page, host: Host) -> None:
    """Another frame of the host's page, such as that of another server's view, cannot speak as the host."""
    host.wait_for_message("ui/notifications/initialized")
    stranger = "<script>parent.frames[0].postMessage({method}, '*'); document.title = 'done'</script>"
    message = "{jsonrpc: '2.0', method: 'ui/notifications/tool-cancelled', params: {}}"
    page.run(
        "(() => { window.other = document.createElement('iframe');"
        f" other.srcdoc = {json.dumps(stranger.replace('{method}', message))}; document.body.append(other) }})()"
    )
    page.wait_for("other.contentDocument.title === 'done'")
    host.run("new Promise((done) => setTimeout(done, 200))")
    assert "cancelled" not in host.run("document.body.innerText")
    host.tell("ui/notifications/tool-cancelled")
    host.wait_for("document.body.innerText.includes('cancelled')")
