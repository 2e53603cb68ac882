"""A host of MCP Apps: a page with a sandboxed frame, whose calls a real client of ``/mcp`` makes.

The frame has the policy that the specification gives for the metadata of the resource (SEP-1865).
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

from mcp import Client
from mcp_types import TextResourceContents

from tests.support.agents import call_over_http, over_http
from tests.support.browser import Page

_HOST = """<!DOCTYPE html><html><head><title>A host</title></head><body style="margin:16px">
<p>This is the page of a host.</p>
<iframe sandbox="allow-scripts" src="/view" style="width:100%;height:200px;border:1px solid gray"></iframe>
<script>
const frame = document.querySelector("iframe").contentWindow;
window.heard = [];
window.addEventListener("message", (event) => { if (event.source === frame) window.heard.push(event.data); });
</script></body></html>"""
_POLICY = (
    "default-src 'none'; script-src 'self' 'unsafe-inline' {resource}; style-src 'self' 'unsafe-inline' {resource}; "
    "connect-src 'self' {connect}; img-src 'self' data: {resource}; font-src 'self' {resource}; "
    "media-src 'self' data: {resource}; frame-src {frame}; object-src 'none'; base-uri {base}"
)
_PATIENCE_SECONDS = 30.0
_PAUSE_SECONDS = 0.05


def read_view(address: str, key: str, tool: str = "browse_graph") -> TextResourceContents:
    """Return the view that a tool names, as a client reads it."""

    async def read(client: Client) -> TextResourceContents:
        (named,) = (one for one in (await client.list_tools()).tools if one.name == tool)
        assert named.meta is not None
        (contents,) = (await client.read_resource(named.meta["ui"]["resourceUri"])).contents
        assert isinstance(contents, TextResourceContents)
        return contents

    return over_http(address, key, read)


@contextmanager
def serving_host(view: TextResourceContents) -> Iterator[str]:
    """Serve a host's page at ``/`` and a view at ``/view``."""
    assert view.meta is not None
    csp = view.meta["ui"]["csp"]
    policy = _POLICY.format(
        resource=" ".join(csp["resourceDomains"]),
        connect=" ".join(csp["connectDomains"]),
        frame=" ".join(csp["frameDomains"]) or "'none'",
        base=" ".join(csp["baseUriDomains"]) or "'self'",
    )
    pages = {"/": (_HOST, "default-src 'self' 'unsafe-inline'"), "/view": (view.text, policy)}
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Handler, pages))
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Handler(BaseHTTPRequestHandler):
    def __init__(self, pages: dict[str, tuple[str, str]], *rest: Any) -> None:
        self._pages = pages
        super().__init__(*rest)

    def do_GET(self) -> None:
        text, policy = self._pages.get(self.path, ("", "default-src 'none'"))
        body = text.encode()
        self.send_response(200 if body else 204)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Security-Policy", policy)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments: Any) -> None:
        """Say nothing."""


class Host:
    """The host's side of the protocol.

    Args:
        page: Shows the page of ``serving_host``.
        address, key: Of the API whose tools are called.
        context: What the view is told of its surroundings.
        capabilities: What the view may ask for.

    Attributes:
        calls: The tools that the view had called, with their arguments.
        heard: The methods of all messages of the view, and the numbers of its answers.
        errors: The codes of its answers that are errors, by number.
    """

    def __init__(
        self,
        page: Page,
        address: str,
        key: str,
        context: dict[str, Any] | None = None,
        capabilities: dict[str, Any] | None = None,
    ) -> None:
        self._page = page
        self._call = partial(call_over_http, address, key)
        self._context = context or {}
        self._capabilities = {"serverTools": {}} if capabilities is None else capabilities
        self.calls: list[tuple[str, dict[str, Any]]] = []
        self.heard: list[str] = []
        self.errors: dict[int, int] = {}

    def tell(self, method: str, number: int | None = None, **params: Any) -> None:
        """Send the view a notification, or a request if it has a number."""
        self._send({"method": method, "params": params} | ({} if number is None else {"id": number}))

    def ask_tool(self, tool: str, **arguments: Any) -> None:
        """Do what a host does when its assistant calls a tool: call it, and tell the view of both."""
        self.wait_for_message("ui/notifications/initialized")
        self.tell("ui/notifications/tool-input", arguments=arguments)
        self.tell("ui/notifications/tool-result", **_dumped(self._call(tool, **arguments)))

    def wait_for(self, condition: str) -> None:
        """Answer the view until an expression is true in it."""
        until = time.monotonic() + _PATIENCE_SECONDS
        while not self.run(f"(() => {{ try {{ return Boolean({condition}) }} catch {{ return false }} }})()"):
            self.answer()
            assert time.monotonic() < until, f"never: {condition}\n{self.run('document.body.innerText')}"
            time.sleep(_PAUSE_SECONDS)

    def wait_for_message(self, method: str) -> None:
        """Answer the view until it has sent a message."""
        until = time.monotonic() + _PATIENCE_SECONDS
        while method not in self.heard:
            self.answer()
            assert time.monotonic() < until, f"no {method}: {self.heard}, {self._page.complaints}"
            time.sleep(_PAUSE_SECONDS)

    def run(self, script: str) -> Any:
        """Run an expression in the view."""
        return self.view.run(script)

    @property
    def view(self) -> Page:
        """The frame of the view."""
        (frame,) = self._page.frames
        return frame

    def answer(self) -> None:
        """Answer what the view has sent."""
        for message in self._page.run("window.heard.splice(0)"):
            assert message["jsonrpc"] == "2.0"
            method = message.get("method", "")
            self.heard.append(method or f"answer {message['id']}")
            if "error" in message:
                self.errors[message["id"]] = message["error"]["code"]
            if method == "ui/initialize":
                result: dict[str, Any] = {
                    "protocolVersion": message["params"]["protocolVersion"],
                    "hostInfo": {"name": "test", "version": "1"},
                    "hostCapabilities": self._capabilities,
                    "hostContext": self._context,
                }
                self._send({"id": message["id"], "result": result})
            elif method == "tools/call":
                tool, arguments = message["params"]["name"], message["params"]["arguments"]
                self.calls.append((tool, arguments))
                self._send({"id": message["id"], "result": _dumped(self._call(tool, **arguments))})
            elif method == "ui/request-display-mode":
                self._send({"id": message["id"], "result": {"mode": message["params"]["mode"]}})
            elif method == "ui/notifications/size-changed":
                self._page.run(f"document.querySelector('iframe').style.height = '{message['params']['height'] + 4}px'")

    def _send(self, message: dict[str, Any]) -> None:
        self._page.run(f"frame.postMessage({json.dumps({'jsonrpc': '2.0', **message})}, '*')")


def _dumped(result: Any) -> dict[str, Any]:
    dumped: dict[str, Any] = result.model_dump(mode="json", by_alias=True, exclude_none=True)
    return dumped
