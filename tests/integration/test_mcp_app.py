"""The view of MCP Apps in a real browser, within the page of a host: it is listed, drawn, and asks the host alone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from mcp import Client

from neurigraph_pipelines.wiring.installation import Installation
from tests.support.agents import MODES, Mode, over_http
from tests.support.app_host import Host, read_view, serving_host
from tests.support.browser import Browser, Page
from tests.support.page_world import Words, World, make_world

URI = "ui://neurigraph/graph"
MEDIA_TYPE = "text/html;profile=mcp-app"
NOTHING: dict[str, list[str]] = {"connectDomains": [], "resourceDomains": [], "frameDomains": [], "baseUriDomains": []}
DRAWN = "performance.getEntriesByName('graph').length > 0 && !document.querySelector('.loading')"


@pytest.fixture(scope="module")
def world(shared_installation: Installation, address: str) -> World:
    return make_world(shared_installation, address, Words("Dora", "She rows on Sundays."))


@pytest.fixture(scope="module")
def hosting(address: str, world: World) -> Iterator[str]:
    with serving_host(read_view(address, world.key)) as served:
        yield served


@pytest.fixture
def page(browser: Browser, hosting: str) -> Iterator[Page]:
    """The page of a host, which loads nothing but itself and the view, and of which nothing complains."""
    page = browser.page()
    page.go(hosting)
    yield page
    (view,) = page.frames
    assert page.complaints + view.complaints == []
    assert view.violations() == []
    assert {request for request in page.requests + view.requests if not request.startswith(f"{hosting}/")} == set()
    page.send("Page.close")


@pytest.mark.parametrize("mode", MODES)
def test_view_is_listed_linked_and_read(address: str, world: World, mode: Mode) -> None:
    async def session(client: Client) -> None:
        (view,) = (one for one in (await client.list_resources()).resources if str(one.uri) == URI)
        assert view.mime_type == MEDIA_TYPE
        assert view.meta == {"ui": {"csp": NOTHING, "prefersBorder": True}}
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert {name for name, tool in tools.items() if tool.meta} == {"browse_graph"}
        assert tools["browse_graph"].meta == {"ui": {"resourceUri": URI}}
        (contents,) = (await client.read_resource(URI)).contents
        assert (contents.mime_type, contents.meta) == (MEDIA_TYPE, view.meta)
        if mode == "auto":  # the SDK leaves extensions out of the handshake of older versions
            assert client.server_capabilities.extensions == {"io.modelcontextprotocol/ui": {}}

    over_http(address, world.key, session, mode)


def test_graph_is_drawn_and_a_click_asks_the_host(page: Page, address: str, world: World) -> None:
    host = Host(page, address, world.key, {"theme": "dark", "availableDisplayModes": ["inline", "fullscreen"]})
    host.ask_tool("browse_graph", node="Harbour")
    host.wait_for(f"{DRAWN} && document.querySelector('.shell h1').textContent === 'Harbour'")
    host.wait_for("document.querySelector('.graph [role=status]').textContent === '5 nodes shown, 0 left out'")
    host.wait_for("document.querySelector('.canvas')._cyreg.cy.nodes().length === 5")
    listed = host.run("[...document.querySelectorAll('.plain-list button')].map((one) => one.textContent)")
    names = {path.rpartition("/")[2] for path in listed}
    assert names == {world.people.user.slug, "Harbour", "Dora", "Crane", "Lawyer"}
    assert [call for call in host.calls if call[1].get("node") == str(world.persona_id)] == []
    host.wait_for("innerHeight >= document.documentElement.offsetHeight")  # the host has made room for all of it
    _click(page, host, str(world.persona_id))
    host.wait_for("document.querySelector('.shell h1').textContent === 'Lawyer'")
    assert host.calls[-1] == ("browse_graph", {"node": str(world.persona_id), "limit": 5})
    host.view.click(".shell button", "Put in the centre")
    host.wait_for("document.querySelector('h1').textContent === 'Around Lawyer'")
    assert {tool for tool, _ in host.calls} == {"browse_graph", "who_am_i"}
    assert host.run("getComputedStyle(document.documentElement).colorScheme") == "dark"
    light = host.run("getComputedStyle(document.body).color")
    host.tell("ui/notifications/host-context-changed", theme="light")
    host.wait_for(f"getComputedStyle(document.body).color !== '{light}'")
    host.view.click("button", "Full screen")
    host.wait_for("document.documentElement.classList.contains('full')")


def _click(page: Page, host: Host, node_id: str) -> None:
    """Click a node of the picture with the mouse."""
    before = None
    while (inside := _place(host, node_id)) != before:  # the picture may still move
        before = inside
    frame = page.run("(() => { const box = document.querySelector('iframe').getBoundingClientRect();"
                     " return [box.x + 1, box.y + 1] })()")  # fmt: skip
    x, y = (at + offset for at, offset in zip(inside, frame, strict=True))
    for kind in ("mousePressed", "mouseReleased"):
        page.send("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)


def _place(host: Host, node_id: str) -> list[float]:
    """Where a node is in the frame, a tenth of a second later."""
    host.run("new Promise((done) => setTimeout(done, 100))")
    place: list[float] = host.run(
        f"(() => {{ const at = document.querySelector('.canvas')._cyreg.cy.getElementById('{node_id}')"
        ".renderedPosition(), box = document.querySelector('.canvas').getBoundingClientRect();"
        " return [at.x + box.x, at.y + box.y] })()"
    )
    return place


def test_graph_grows_by_keyboard(page: Page, address: str, world: World) -> None:
    host = Host(page, address, world.key)
    host.ask_tool("browse_graph")
    host.wait_for("document.querySelector('.graph [role=status]')?.textContent.endsWith('left out')")
    host.wait_for(DRAWN)
    host.run("document.querySelector('.panel').open = true")
    host.run(
        "[...document.querySelectorAll('.plain-list button')].find((one) => /Dora$/.test(one.textContent)).focus()"
    )
    host.view.press("Enter")
    host.wait_for("document.querySelector('.shell h1').textContent === 'Dora'")
    assert host.calls[-1] == ("browse_graph", {"node": _node_of(host, "Dora"), "limit": 5})
    host.run("document.querySelector('main select, .graph select').value = '3'")
    host.run("document.querySelector('.graph select').dispatchEvent(new Event('change'))")
    host.wait_for("document.querySelector('.graph [role=status]').textContent.endsWith(' 0 left out')")
    assert len(host.calls) == len({str(call) for call in host.calls}), "nothing is asked twice"


def _node_of(host: Host, name: str) -> str:
    found: str = host.run(
        "document.querySelector('.canvas')._cyreg.cy.nodes().toArray()"
        f".find((one) => one.data('name') === '{name}').id()"
    )
    return found


def test_view_without_tools_shows_what_the_assistant_asked_for(page: Page, address: str, world: World) -> None:
    host = Host(page, address, world.key, capabilities={})
    host.ask_tool("browse_graph", node="Harbour")
    host.wait_for(
        "document.querySelector('.graph [role=status]')?.textContent === '3 nodes shown, more may be around them'"
    )
    host.run("[...document.querySelectorAll('.shell button')].find((one) => one.textContent === 'Dora').click()")
    host.wait_for("document.body.innerText.includes('shows only what the assistant asked for')")
    assert host.calls == []


def test_view_asks_again_if_the_host_passes_no_structured_content(page: Page, address: str, world: World) -> None:
    host = Host(page, address, world.key)
    host.wait_for_message("ui/notifications/initialized")
    host.tell("ui/notifications/tool-input", arguments={"node": "Harbour"})
    host.tell("ui/notifications/tool-result", content=[{"type": "text", "text": "Only text."}])
    host.wait_for("document.querySelector('.shell h1')?.textContent === 'Harbour'")
    assert host.calls[0] == ("browse_graph", {"node": "Harbour", "limit": 5})


@pytest.mark.parametrize(
    ("method", "params", "shown"),
    [
        ("ui/notifications/tool-cancelled", {"reason": "changed my mind"}, "The call was cancelled."),
        ("ui/notifications/tool-result", {"content": [{"type": "text", "text": "no <b>node</b>"}], "isError": True},
         "no <b>node</b>"),
    ],
)  # fmt: skip
def test_failures_are_shown(
    page: Page, address: str, world: World, method: str, params: dict[str, Any], shown: str
) -> None:
    host = Host(page, address, world.key)
    host.wait_for_message("ui/notifications/initialized")
    host.tell(method, **params)
    host.wait_for(f"document.querySelector('[role=alert]')?.textContent.includes({shown!r})")
    assert host.run("document.querySelectorAll('b').length") == 0


def test_requests_of_the_host_are_answered(page: Page, address: str, world: World) -> None:
    host = Host(page, address, world.key)
    host.wait_for_message("ui/notifications/initialized")
    for number, method in enumerate(("ping", "ui/resource-teardown", "ui/unknown", "constructor"), 100):
        host.tell(method, number)
        host.wait_for_message(f"answer {number}")
    assert host.errors == {102: -32601, 103: -32601}
