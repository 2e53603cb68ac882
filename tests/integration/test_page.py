"""The files of the page as the server sends them."""

from __future__ import annotations

import httpx
import pytest

from tests.conftest import ROOT
from tests.support.api_calls import assert_problem

FILES = ROOT / "neurigraph_pipelines" / "faces" / "page" / "files"
TYPES = {".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}


def test_files_are_served_with_a_strict_policy_and_need_no_key(client: httpx.Client) -> None:
    for path in FILES.iterdir():
        answer = client.get("/" if path.name == "index.html" else f"/page/{path.name}")
        assert answer.status_code == 200, path.name
        assert answer.content == path.read_bytes()
        assert answer.headers["content-type"].startswith(TYPES[path.suffix])
        policy = dict(part.split(" ", 1) for part in answer.headers["content-security-policy"].split("; "))
        assert policy == {
            "default-src": "'none'",
            **{f"{kind}-src": "'self'" for kind in ("script", "style", "img", "connect")},
            **dict.fromkeys(("base-uri", "form-action", "frame-ancestors", "trusted-types"), "'none'"),
            "require-trusted-types-for": "'script'",
        }
        expected = {"x-content-type-options": "nosniff", "referrer-policy": "no-referrer", "x-frame-options": "DENY"}
        assert expected.items() <= dict(answer.headers).items()
        assert answer.headers["cache-control"] == "no-cache"


def test_what_is_known_is_not_sent_again(client: httpx.Client) -> None:
    for path, caching in (("/", "no-cache"), ("/page/cytoscape-3.34.4.min.js", "immutable")):
        first = client.get(path)
        again = client.get(path, headers={"If-None-Match": first.headers["etag"]})
        assert (again.status_code, again.content) == (304, b"")
        assert caching in again.headers["cache-control"]
        plain = client.get(path, headers={"Accept-Encoding": "identity"})
        assert ("content-encoding" in first.headers, "content-encoding" in plain.headers) == (True, False)
        assert plain.content == first.content


@pytest.mark.parametrize(
    "path",
    ["/page/", "/page/__init__.py", "/page/SHA256SUMS", "/page/index", "/page/files", "/page/../index.html", "/x"],
)
def test_other_names_reach_no_file(client: httpx.Client, path: str) -> None:
    assert_problem(client.get(path), 404)


def test_keys_in_addresses_are_refused_here_too(client: httpx.Client) -> None:
    assert_problem(client.get("/?key=ng_0123456789abcdef0123"), 400)
    assert_problem(client.get("/?question=boats"), 422)
    assert_problem(client.post("/"), 405)
