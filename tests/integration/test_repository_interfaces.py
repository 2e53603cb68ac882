"""Repositories from outside: the command over HTTPS, the lines that passages are of, and the statuses of ``/v3``."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import httpx
import pytest

from neurigraph_pipelines.access.authentication import issue_api_key
from neurigraph_pipelines.ingestion.batch import run_due
from neurigraph_pipelines.model.ports import TextExtractor
from neurigraph_pipelines.settings import Settings
from neurigraph_pipelines.wiring.installation import Installation
from tests.support.api_server import serving
from tests.support.certificates import certificate_of
from tests.support.command_line import run_cli
from tests.support.git_server import commit, git_server
from tests.support.uploads import uploads_of, user

pytestmark = pytest.mark.slow

_LINES = [f"rope_{number} = {number * 7}  # metres of the rope with the number {number}" for number in range(1, 201)]
_FILES: dict[str, str | bytes | None] = {
    "README.md": "# Sloop\n\nSteers a small sloop across the sound.\n",
    "src/ropes.py": "\n".join(_LINES) + "\n",
}
_PLACE = re.compile(r"lines-(\d+)-(\d+)")


def _said(done: Any) -> dict[str, Any]:
    """Return what a command printed as JSON, or its error."""
    said: dict[str, Any] = json.loads(done.stdout if done.returncode == 0 else done.stderr.splitlines()[-1])
    return said


def test_command_fetches_a_repository_over_https(
    installation: Installation, settings: Settings, tmp_path: Path
) -> None:
    commit(tmp_path / "sloop.git", _FILES)
    certificate = certificate_of("localhost", tmp_path)
    trusted = {"NEURIGRAPH_WEB_LOCAL_HOSTS": "localhost", "SSL_CERT_FILE": str(certificate)}
    with git_server(tmp_path, certificate) as server:
        url = server.url("sloop.git")
        assert url.startswith("https://")

        def run(*arguments: str, **other: str) -> dict[str, Any]:
            return _said(run_cli(settings, *arguments, "--json", folder=tmp_path, more={**trusted, **other}))

        refused = run("import", url, "--user", "bob", NEURIGRAPH_WEB_LOCAL_HOSTS="")
        assert refused["error"] == "ConflictError"
        assert "NEURIGRAPH_WEB_HOSTS" in refused["message"]
        assert run("import", url, "--user", "bob", SSL_CERT_FILE="")["error"] == "TransientError"
        taken = run("import", url, "--user", "bob", "--space", "boats")
        assert (taken["new"], taken["state"], taken["document_type"]) == (True, "waiting", "repository")
        assert taken["format"] == "repository"
        assert run("ingest")["stored"] == 3  # the commit and two files
        hit = run("search", "How many metres has the rope with the number 150?", "--user", "bob")["hits"][0]
        assert (hit["title"], hit["source_kind"]) == ("src/ropes.py", "upload")
        assert run("search", "the rope with the number 150", "--user", "bob", "--space", "boats")["hits"]
        assert run("open", hit["record_id"], "--user", "bob", "--output", "copy.py")["bytes"] > 0
        assert (tmp_path / "copy.py").read_text() == _FILES["src/ropes.py"]
        assert run("import", url, "--user", "bob")["new"] is False
        commit(tmp_path / "sloop.git", {"README.md": "# Sloop\n\nSteers a large sloop.\n"})
        assert run("import", url, "--user", "bob")["new"] is True
        assert run("ingest")["stored"] == 2  # the commit and the file that changed


def test_passages_are_stretches_of_lines(installation: Installation, tmp_path: Path) -> None:
    installation.settings = installation.settings.changed(web_local_hosts=("127.0.0.1",))
    bob = user(installation, "bob")
    key = {"Authorization": f"Bearer {issue_api_key(installation.database, bob.user_id)}"}
    commit(tmp_path / "sloop.git", _FILES)
    with (
        git_server(tmp_path) as server,
        serving(installation) as base,
        httpx.Client(base_url=base, headers=key, timeout=60.0) as client,
    ):
        assert client.post("/v1/files", data={"url": server.url("sloop.git")}).status_code == 202
        installation.uploads.read_due(installation.text_extractor)
        list(run_due(installation.context, "tests"))
        (file,) = (row for row in uploads_of(installation, bob) if row["title"] == "src/ropes.py")
        opened = client.post(f"/v1/files/{file['file_id']}/open", params={"text": True}).text
        about, *passages = [json.loads(line) for line in opened.splitlines()]
        assert "ropes.py" in about["content"]
        next_line = 1
        for passage in passages:
            first, last = map(int, _PLACE.fullmatch(passage["external_id"]).groups())  # type: ignore[union-attr]
            assert first == next_line
            assert passage["content"] == "\n".join(_LINES[first - 1 : last])
            next_line = last + 1
        assert (len(passages) > 2, next_line) == (True, len(_LINES) + 1)
        asked = {"query": "How many metres has the rope with the number 150?"}
        best = client.post("/v1/search", json=asked).json()["messages"][0]
        assert (best["external_id"], best["section"]) == (passages[2]["external_id"], "src/ropes.py")
        document = client.post("/v3/search", json={"q": asked["query"]}).json()["results"][0]
        assert document["chunks"][0]["content"].startswith(passages[2]["content"].partition("\n")[0])
        assert _LINES[149] in document["chunks"][0]["content"]


class _Watched:
    """The extractor of an installation, which looks at a document before it opens a repository."""

    def __init__(self, extractor: TextExtractor, look: Any) -> None:
        self._extractor, self._look = extractor, look

    def unpack(self, *arguments: Any) -> Any:
        self._look()
        return self._extractor.unpack(*arguments)


def test_repository_and_its_files_pass_their_statuses(installation: Installation, tmp_path: Path) -> None:
    installation.settings = installation.settings.changed(web_local_hosts=("127.0.0.1",))
    bob = user(installation, "bob")
    key = {"Authorization": f"Bearer {issue_api_key(installation.database, bob.user_id)}"}
    commit(tmp_path / "sloop.git", _FILES)
    with (
        git_server(tmp_path) as server,
        serving(installation) as base,
        httpx.Client(base_url=base, headers=key, timeout=60.0) as client,
    ):
        added = client.post("/v3/documents", json={"content": server.url("sloop.git"), "type": "repository"}).json()
        seen = {added["id"]: [added["status"]]}

        def look() -> None:
            for document_id, statuses in seen.items():
                statuses.append(client.get(f"/v3/documents/{document_id}").json()["status"])

        installation.uploads.read_due(_Watched(installation.text_extractor, look))  # type: ignore[arg-type]
        seen |= {
            str(row["upload_id"]): [] for row in uploads_of(installation, bob) if str(row["upload_id"]) not in seen
        }
        look()
        list(run_due(installation.context, "tests", on_batch=lambda *_: look()))
        look()
    after = ["chunking", "embedding", "completed"]
    assert seen.pop(added["id"]) == ["pending", "processing", *after]
    assert list(seen.values()) == [after] * len(_FILES)
