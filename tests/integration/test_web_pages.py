"""Web pages by address: a real site, whose pages change, redirect, drip and are too large."""

from __future__ import annotations

import gzip
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import httpx
import pytest

from neurigraph_pipelines.access.authentication import issue_api_key
from neurigraph_pipelines.inbox.source_lists import get_source
from neurigraph_pipelines.model import Claims, SourceKind
from neurigraph_pipelines.model.errors import ConflictError, InvalidInputError, TransientError
from neurigraph_pipelines.wiring.installation import Installation
from resources.web_fetcher import HttpWebFetcher
from tests.support.api_server import serving
from tests.support.uploads import store, user

_ARTICLE = """<!DOCTYPE html><html><head><title>Ferry &lt;script&gt;alert(1)&lt;/script&gt;</title>
<script>document.write("scripted")</script></head><body onload="alert(2)">
<nav><ul><li><a href="/">Home</a></li><li><a href="/shop">Shop now</a></li></ul></nav>
<article><h1>The ferry</h1><p>The ferry to <a href="/skye">Skye</a> leaves at {hour} every morning, and the crossing
takes forty minutes when the sea is calm enough for small boats.</p><h2>Prices</h2><p>A ticket costs twelve pounds for
adults, and children under five travel without a ticket at all times of the year.</p>
<svg><script>alert(3)</script><text>drawn words</text></svg></article>
<footer>Copyright Ferry Ltd. Imprint. We use cookies. Accept all.</footer></body></html>"""


class _Site(ThreadingHTTPServer):
    """A site on the loopback address; ``pages`` are its articles, and ``asked`` the paths that were asked for."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Pages)
        self.hour = "nine"
        self.asked: list[str] = []

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class _Pages(BaseHTTPRequestHandler):
    server: _Site

    def do_GET(self) -> None:
        self.server.asked.append(self.path)
        if self.path.startswith("/to/"):
            self._answer(302, b"", Location=self.path.removeprefix("/to/"))
        elif self.path == "/ever":
            self._answer(307, b"", Location="/ever")
        elif self.path == "/drip":
            self.send_response(200)
            self.end_headers()
            for _ in range(100):
                self.wfile.write(b"x")
                time.sleep(0.05)
        elif self.path == "/large":
            self._answer(200, gzip.compress(b"<p>" + b"x" * 5_000_000), **{"Content-Encoding": "gzip"})
        elif self.path == "/links":
            self._answer(200, b"<html><body><a href=x>One</a> <a href=y>Two</a></body></html>")
        elif self.path == "/busy":
            self._answer(503, b"")
        elif self.path == "/ferry":
            page = gzip.compress(_ARTICLE.format(hour=self.server.hour).encode(), mtime=0)
            self._answer(200, page, **{"Content-Encoding": "gzip", "Content-Type": "text/html; charset=utf-8"})
        else:
            self._answer(404, b"")

    def _answer(self, status: int, body: bytes, **headers: str) -> None:
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: Any) -> None:
        """Say nothing."""


@pytest.fixture
def site() -> Iterator[_Site]:
    with _Site() as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def test_page_is_read_found_and_superseded(site: _Site, installation: Installation) -> None:
    installation.settings = installation.settings.changed(web_local_hosts=("127.0.0.1",))
    bob = user(installation, "bob")
    key = _key(installation, bob)
    with serving(installation) as base, httpx.Client(base_url=base, headers=key, timeout=30.0) as client:
        page = {"url": f"{site.address}/to//ferry"}
        assert client.post("/v1/files", files={"title": (None, "no file")}).status_code == 422
        first = client.post("/v1/files", data=page)
        assert first.status_code == 202, first.text
        again = client.post("/v1/files", data=page)
        assert (again.status_code, again.json()) == (200, first.json())
        store(installation)
        file_id = client.get(first.headers["location"]).json()["file_id"]
        assert client.post(f"/v1/files/{file_id}/open").content == _ARTICLE.format(hour="nine").encode()
        words = client.post(f"/v1/files/{file_id}/open", params={"text": True}).text
        assert "forty minutes" in words
        assert not [word for word in ("Shop", "cookies", "drawn", "scripted", "alert(3)") if word in words]
        site.hour = "ten"
        second = client.post("/v1/files", data=page)
        assert second.status_code == 202
        store(installation)
        hit = client.post("/v1/search", json={"query": "When does the ferry to Skye leave?"}).json()["hits"][0]
        assert hit["source_id"] == second.json()["upload_id"]
        assert (hit["origin"]["received_through"], hit["origin"]["source"]["version"]) == ("web", 2)
        assert hit["origin"]["source"]["url"] == page["url"]
    found = get_source(installation.database, bob, SourceKind.UPLOAD, second.json()["upload_id"])
    assert found.model_dump()["file_name"] == "ferry.html"


def test_page_without_main_text_is_read_as_a_whole(installation: Installation) -> None:
    found = installation.text_extractor.extract([b"<footer>Imprint: Ferry Ltd</footer>"], "page")
    assert [part.text for part in found.parts] == ["Imprint: Ferry Ltd"]
    assert "not recognised" in found.facts["main text"]
    deep = b"<div>" * 5_000 + b"bottom" + b"</div>" * 5_000
    assert "cut short" in installation.text_extractor.extract([b"<p>top</p>", deep], "page").facts


def test_redirects_are_checked_and_bounded(site: _Site) -> None:
    fetcher = HttpWebFetcher((), ("127.0.0.1",), 5.0, 100_000)
    assert fetcher.fetch(f"{site.address}/to//to//ferry").file_name == "ferry.html"
    site.asked.clear()
    with pytest.raises(InvalidInputError, match="redirects more than 5 times"):
        fetcher.fetch(f"{site.address}/ever")
    assert site.asked == ["/ever"] * 6
    elsewhere = (
        ("http://localhost:1/x", "must begin with https"),
        ("https://example.org/", "not allowed"),
        ("file:///etc/passwd", "must begin with"),
        ("http://user@127.0.0.1/", "contains a user"),
        ("//169.254.169.254/latest", "must begin with https"),
    )
    for target, reason in elsewhere:
        with pytest.raises(InvalidInputError, match=reason):
            fetcher.fetch(f"{site.address}/to/{target}")
    for hosts, url in ((("*",), "https://127.0.0.1/x"), (("*",), "https://[::ffff:10.0.0.1]/x")):
        with pytest.raises(InvalidInputError, match="not public"):
            HttpWebFetcher(hosts, (), 5.0, 100_000).fetch(url)
    with pytest.raises(InvalidInputError, match="link-local"):
        HttpWebFetcher((), ("169.254.169.254",), 5.0, 100_000).fetch("http://169.254.169.254/latest/meta-data")
    with pytest.raises(ConflictError, match="NEURIGRAPH_WEB_HOSTS"):
        HttpWebFetcher((), (), 5.0, 100_000).fetch(f"{site.address}/ferry")


def test_pages_are_bounded(site: _Site) -> None:
    fetcher = HttpWebFetcher((), ("127.0.0.1",), 1.0, 100_000)
    with pytest.raises(InvalidInputError, match="exceeds 100,000 bytes"):
        fetcher.fetch(f"{site.address}/large")
    with pytest.raises(InvalidInputError, match="answered 404"):
        fetcher.fetch(f"{site.address}/absent")
    with pytest.raises(TransientError, match="answered 503"):
        fetcher.fetch(f"{site.address}/busy")
    began = time.monotonic()
    with pytest.raises(TransientError, match="could not be fetched in 1 seconds"):
        fetcher.fetch(f"{site.address}/drip")
    assert time.monotonic() - began < 3


def _key(installation: Installation, claims: Claims) -> dict[str, str]:
    return {"Authorization": f"Bearer {issue_api_key(installation.database, claims.user_id)}"}
