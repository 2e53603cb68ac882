"""`/docs` in a real browser that reaches no other host."""

from __future__ import annotations

import shutil
import subprocess
from contextlib import closing
from http.client import HTTPConnection
from pathlib import Path

import httpx
import pytest

from neurigraph_pipelines.wiring.installation import Installation
from tests.support.api_calls import assert_problem
from tests.support.api_server import serving


def test_page_and_its_files_come_from_here(shared_installation: Installation) -> None:
    with serving(shared_installation) as address, httpx.Client(base_url=address, timeout=30.0) as client:
        for path in ("/docs", "/docs/start.js", "/docs/swagger-ui-bundle.js", "/docs/swagger-ui.css"):
            answer = client.get(path)
            assert answer.status_code == 200, path
            assert "script-src 'self';" in answer.headers["content-security-policy"]
            assert "frame-ancestors 'none'" in answer.headers["content-security-policy"]
        for path in ("/docs/core.py", "/docs/redoc.standalone.js"):
            assert_problem(client.get(path), 404)
        assert_problem(client.get("/docs/%2e%2e"), 400)
        with closing(HTTPConnection(client.base_url.host, client.base_url.port)) as plain:
            plain.request("GET", "/docs/..")  # the other client would ask for "/"
            assert plain.getresponse().status == 404
        assert "//" not in client.get("/docs").text.replace("<!DOCTYPE html>", "")


def test_browser_shows_the_operations(shared_installation: Installation, tmp_path: Path) -> None:
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("there is no chromium")
    with serving(shared_installation) as address:
        shown = subprocess.run(
            [
                chromium,
                *("--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"),
                *("--disable-component-update", "--no-first-run", f"--user-data-dir={tmp_path / 'chromium'}"),
                *("--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1", "--enable-logging=stderr"),
                *("--virtual-time-budget=20000", "--dump-dom", f"{address}/docs"),
            ],
            capture_output=True,
            text=True,
            timeout=120,
            check=True,
        )
    for operation in ("/v1/search", "/v1/conversations/{conversation_id}/messages", "/readyz"):
        assert f'data-path="{operation}"' in shown.stdout
    complaints = [line for line in shown.stderr.splitlines() if "CONSOLE" in line]
    assert not complaints
