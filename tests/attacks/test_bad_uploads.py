"""Uploads that are too much, or that want to run: sent over HTTP, read by the confined process, opened on the page."""

from __future__ import annotations

import functools
import io
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from PIL import Image

from neurigraph_pipelines.access.authentication import issue_api_key
from neurigraph_pipelines.model import Claims
from neurigraph_pipelines.wiring.installation import Installation
from tests.support.api_server import serving
from tests.support.browser import Browser
from tests.support.documents import pdf_of
from tests.support.memories import ingest, new_user, plain_context

pytestmark = [pytest.mark.attack, pytest.mark.slow]

_PAGES = 5_000
_MARKUP = "<img src=x onerror=window.ran=1>"
_SVG = (
    '<?xml version="1.0"?><!DOCTYPE svg [<!ENTITY words SYSTEM "file:///etc/passwd">]>'
    '<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" onload="window.ran=1">'
    "<script>window.ran=7; parent.ran=7; fetch('http://127.0.0.2/')</script><text>&words; drawn words</text>"
    '<image xlink:href="http://127.0.0.2/x.png"/><foreignObject><iframe src="javascript:parent.ran=1"/></foreignObject>'
    '<a xlink:href="javascript:window.ran=1"><text>seen</text></a></svg>'
)
_HTML = f"<title>{_MARKUP}</title><body onload='window.ran=1'>{_MARKUP}<script>window.ran=7</script><p>harmless</p>"


@pytest.fixture(scope="module")
def address(shared_installation: Installation) -> Iterator[str]:
    with serving(shared_installation) as served:
        yield served


@pytest.fixture
def bob(shared_installation: Installation) -> Claims:
    return new_user(shared_installation)[1]


@pytest.fixture
def client(shared_installation: Installation, address: str, bob: Claims) -> Iterator[httpx.Client]:
    key = issue_api_key(shared_installation.database, bob.user_id)
    headers = {"Authorization": f"Bearer {key}"}
    with httpx.Client(base_url=address, headers=headers, timeout=60.0) as made:
        yield made


@functools.cache
def long_pdf() -> bytes:
    return pdf_of(*(f"Page {page} of the register names vessel {page * 7}." for page in range(1, _PAGES + 1)))


def send(client: httpx.Client, name: str, content: bytes, **fields: str) -> str:
    sent = client.post("/v1/files", files={"file": (name, content)}, data=fields)
    assert sent.status_code == 202, sent.text
    return str(sent.headers["location"])


def opened(client: httpx.Client, upload: dict[str, Any], **how: Any) -> httpx.Response:
    answer = client.post(f"/v1/files/{upload['file_id']}/open", params=how)
    assert answer.status_code == 200, answer.text
    return answer


def test_document_of_5000_pages_loses_no_page(shared_installation: Installation, client: httpx.Client) -> None:
    here = shared_installation
    place = send(client, "register.pdf", long_pdf())
    here.uploads.read_due(here.text_extractor)
    ingest(plain_context(here))
    upload = client.get(place).json()
    assert (upload["state"], upload["message_count"]) == ("stored", 1 + _PAGES)
    best = client.post("/v1/search", json={"query": "Which page names vessel 30247?"}).json()["messages"][0]
    assert (best["external_id"], best["section"]) == ("page-4321", "page 4321")
    assert opened(client, upload).content == long_pdf()


@pytest.mark.parametrize(
    ("limit", "reason"),
    [
        ({"extraction_text_bytes": 10_000}, "more than 10,000 bytes of text: split it"),
        ({"extraction_seconds": 1.0, "ocr_seconds": 0.0}, "in 1 seconds"),
    ],
    ids=["text", "time"],
)
def test_document_beyond_a_limit_fails_alone_and_is_kept(
    shared_installation: Installation, client: httpx.Client, limit: dict[str, Any], reason: str
) -> None:
    with Installation(shared_installation.settings.changed(**limit)) as here:
        places = [send(client, "register.pdf", long_pdf()), send(client, "ferry.txt", b"The ferry leaves at nine.\n")]
        here.uploads.read_due(here.text_extractor)
        long, short = (client.get(place).json() for place in places)
        assert long["state"] == "failed"
        assert reason in long["error"]
        assert (short["state"], short["error"]) == ("waiting", None)
    again = client.post("/v1/files", files={"file": ("register.pdf", long_pdf())})  # its bytes are still there
    assert (again.status_code, again.headers["location"]) == (200, places[0])
    shared_installation.uploads.read_due(shared_installation.text_extractor)
    assert client.get(places[0]).json()["message_count"] == 1 + _PAGES


def test_image_of_a_hundred_million_pixels_is_described(
    shared_installation: Installation, client: httpx.Client
) -> None:
    written = io.BytesIO()
    Image.new("1", (10_000, 10_000)).save(written, "PNG")
    place = send(client, "chart.png", written.getvalue())
    with Installation(shared_installation.settings.changed(ocr_seconds=60.0)) as here:
        here.uploads.read_due(here.text_extractor)
        ingest(plain_context(here))
    upload = client.get(place).json()
    assert (upload["state"], upload["message_count"]) == ("stored", 1)
    said = opened(client, upload, text=True).text
    assert "10,000 × 10,000 pixels" in said
    assert "more than 40,000,000 pixels" in said
    assert opened(client, upload).content == written.getvalue()


def test_drawing_and_page_with_scripts_do_not_run(
    shared_installation: Installation, address: str, client: httpx.Client, browser: Browser
) -> None:
    here = shared_installation
    sent = {"chart.svg": (_SVG, "image/svg+xml"), "page.html": (_HTML, "text/html")}
    uploads = {name: send(client, name, content.encode(), title=_MARKUP) for name, (content, _) in sent.items()}
    here.uploads.read_due(here.text_extractor)
    ingest(plain_context(here))
    for name, (content, media_type) in sent.items():
        upload = client.get(uploads[name]).json()
        assert (upload["state"], upload["title"]) == ("stored", _MARKUP)
        said = opened(client, upload, text=True).text
        assert not [word for word in ("ran=7", "drawn words", "root:", "parent") if word in said], said
        assert ("harmless" in said) == (name == "page.html")
        answer = opened(client, upload)
        assert answer.content == content.encode()
        assert answer.headers["content-type"].startswith(media_type)
        assert answer.headers["content-disposition"].startswith("attachment; ")
        assert answer.headers["x-content-type-options"] == "nosniff"
    records = [record["record_id"] for record in client.get("/v1/records").json()["records"]]
    assert len(records) == len(sent)
    page = browser.page()
    page.go(f"{address}/")
    page.fill("input[name=key]", str(client.headers["Authorization"]).removeprefix("Bearer "))
    page.press("Enter")
    page.wait_for("document.querySelector('.home .lately')")
    seen = ""
    page.run("Blob = class extends Blob { constructor(parts, how) { super(parts, how); window.made = how.type } }")
    for record_id in records:
        page.run(f"window.made = null; location.hash = '#/records/{record_id}'")
        page.click(".file button", "Open the file")
        page.wait_for("document.querySelector('a[download]')?.href.startsWith('blob:') && window.made")
        assert page.run("window.made") == "application/octet-stream"
        assert page.run("document.querySelectorAll('main img, main svg, main script, main iframe').length") == 0
        seen += page.text()
        page.run("location.hash = '#/upload'")
        page.wait_for("!document.querySelector('a[download]')")
    assert _MARKUP in seen
    assert page.run("window.ran ?? null") is None
    assert (page.complaints, page.violations()) == ([], [])
    assert [request for request in page.requests if "127.0.0.2" in request] == []
