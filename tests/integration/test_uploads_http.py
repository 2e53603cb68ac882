"""Uploads over HTTP."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from neurigraph_pipelines.model import Claims
from neurigraph_pipelines.settings import Settings
from neurigraph_pipelines.wiring.installation import Installation
from tests.conftest import ADMIN_KEY
from tests.support.api_server import serving
from tests.support.uploads import FERRY, staged, store, user


@pytest.fixture
def bob(installation: Installation) -> Claims:
    return user(installation, "bob")


@pytest.fixture
def client(installation: Installation) -> Iterator[httpx.Client]:
    with serving(installation) as address, httpx.Client(base_url=address, timeout=60.0) as made:
        yield made


def key_of(client: httpx.Client, slug: str) -> dict[str, str]:
    made = client.post("/v1/users", json={"slug": slug}, headers={"Authorization": f"Bearer {ADMIN_KEY}"})
    return {"Authorization": f"Bearer {made.json()['api_key']}"}


def test_upload_over_http(client: httpx.Client, installation: Installation) -> None:
    bob = key_of(client, "bob")
    fields = {"title": "Ferry", "external_id": "f1", "occurred_at": "2024-05-01T10:00:00Z"}
    sent = client.post("/v1/files", files={"file": ("ferry.pdf", FERRY)}, data=fields, headers=bob)
    assert sent.status_code == 202, sent.text
    place = sent.headers["location"]
    assert place == f"/v1/uploads/{sent.json()['upload_id']}"
    status = client.get(place, headers=bob).json()
    assert (status["state"], status["title"], status["external_id"]) == ("waiting", "Ferry", "f1")
    store(installation)
    status = client.get(place, headers=bob).json()
    assert status["state"] == "stored"
    hit = client.post("/v1/search", json={"query": "When does the ferry leave?"}, headers=bob).json()["hits"][0]
    assert (hit["source_kind"], hit["source_id"], hit["source_external_id"]) == ("upload", status["upload_id"], "f1")
    assert hit["occurred_at"].startswith("2024-05-01")
    assert hit["file_id"] == status["file_id"]
    file = client.post(f"/v1/files/{status['file_id']}/open", headers=bob)
    assert file.content == FERRY
    assert file.headers["content-type"] == "application/pdf"
    assert file.headers["content-length"] == str(len(FERRY))
    assert 'filename="ferry.pdf"' in file.headers["content-disposition"]
    text = client.post(f"/v1/files/{status['file_id']}/open", params={"text": True}, headers=bob)
    assert text.headers["content-type"] == "application/jsonl"
    assert len(text.content.splitlines()) == 3
    again = client.post("/v1/files", files={"file": ("other.pdf", FERRY)}, headers=bob)
    assert (again.status_code, again.json()) == (200, sent.json())
    assert client.get(place, headers=key_of(client, "ann")).status_code == 404


@pytest.mark.parametrize(
    ("sent", "status", "detail"),
    [
        ({"data": {"title": "no file"}, "files": {"other": b"x"}}, 422, "no file in a field called `file`"),
        ({"data": {"file": "words"}}, 422, "no file in a field called `file`"),
        ({"files": {"file": ("a.txt", b"")}}, 422, "the file is empty"),
        ({"files": {"file": b"x"}, "data": {"occurred_at": "soon"}}, 422, "occurred_at"),
        ({"files": {"file": b"x"}, "data": {"colour": "red"}}, 422, "colour"),
        ({"files": {"file": b"x"}, "data": {"title": "t" * 257}}, 422, "the limit is 256: shorten it"),
        ({"files": [("file", b"x"), ("file", b"y")]}, 400, "Too many files"),
        ({"content": b"x", "headers": {"Content-Type": "multipart/form-data"}}, 400, "boundary"),
    ],
)
def test_invalid_forms(
    client: httpx.Client, installation: Installation, sent: dict[str, Any], status: int, detail: str
) -> None:
    headers = {**key_of(client, "bob"), **sent.pop("headers", {})}
    answer = client.post("/v1/files", headers=headers, **sent)
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    assert detail in answer.json()["detail"]
    assert staged(installation) == []


def test_upload_size_limit(settings: Settings, installation: Installation) -> None:
    installation.settings = settings.changed(max_upload_bytes=100_000)
    with serving(installation) as address, httpx.Client(base_url=address, timeout=60.0) as client:
        bob = key_of(client, "bob")
        answer = client.post("/v1/files", files={"file": b"x" * 100_001}, headers=bob)
        assert answer.status_code == 422
        assert "more than 100,000 bytes" in answer.json()["detail"]
        answer = client.post("/v1/files", files={"file": b"x" * 2_000_000}, headers=bob)
        assert answer.status_code == 413
