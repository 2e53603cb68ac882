"""Repositories by address: fetched from Git's own server, read, changed, removed, bounded and killed."""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
from pathlib import Path
from typing import Any

import httpx
import pytest

from neurigraph_pipelines.access.authentication import issue_api_key
from neurigraph_pipelines.inbox.repository_files import pack_name
from neurigraph_pipelines.inbox.uploads import Uploads
from neurigraph_pipelines.inbox.web_pages import receive_address
from neurigraph_pipelines.model import Claims, Privacy, ReceivedThrough
from neurigraph_pipelines.model.sources import SourceDetails
from neurigraph_pipelines.settings import Settings
from neurigraph_pipelines.views.kinds import DocumentType
from neurigraph_pipelines.views.sources import Provenance
from neurigraph_pipelines.wiring.installation import Installation
from tests.support.api_server import serving
from tests.support.git_server import commit, git_server, many_files
from tests.support.uploads import found, staged, store, uploads_of, user

pytestmark = pytest.mark.slow

_SAIL = "def reef(wind):\n    return 'two reefs' if wind > 20 else 'full sail'\n"
_FIRST: dict[str, str | bytes | None] = {
    "README.md": "# Sloop\n\nSteers a small sloop across the sound.\n",
    "src/sail.py": _SAIL,
    "src/anchor.py": "CHAIN_METRES = 30  # of the main anchor\n",
    "copy/sail.py": _SAIL,
    "logo.png": b"\x89PNG\r\n\x1a\n" + bytes(50),
    "data/large.csv": "a,b\n" * 200_000,
    "title/<img src=x onerror=alert(1)>.txt": "A harmless line about the mainsheet traveller.\n",
}
_READ = ["README.md", "copy/sail.py", "src/anchor.py", "title/<img src=x onerror=alert(1)>.txt"]


def _allowed(installation: Installation, **changed: Any) -> None:
    installation.settings = installation.settings.changed(web_local_hosts=("127.0.0.1",), **changed)


def _fetch(installation: Installation, claims: Claims, url: str, **stated: Any) -> Any:
    return receive_address(installation.uploads, installation.web, claims, url, **stated)


def _files(installation: Installation) -> dict[str, int]:
    """Return the newest version of each file, by path."""
    query = """SELECT s.title, max(s.version) AS version FROM neurigraph.sources AS s
               WHERE s.metadata ->> 'path' IS NOT NULL GROUP BY s.title ORDER BY s.title"""
    with installation.database.pipeline() as tx:
        return {row["title"]: row["version"] for row in tx.execute(query)}


def _best(installation: Installation, claims: Claims, question: str) -> Provenance:
    """Return what is stated of the source of the best hit."""
    return found(installation, claims, question).hits[0].origin.source


def test_repository_is_read_and_only_changed_files_again(installation: Installation, tmp_path: Path) -> None:
    _allowed(installation)
    bob = user(installation, "bob")
    commit(tmp_path / "sloop.git", _FIRST)
    (tmp_path / "sloop.git/link").symlink_to("/etc/passwd")
    first = commit(tmp_path / "sloop.git", {}, "Add a link")
    with git_server(tmp_path) as server:
        url = server.url("sloop.git")
        boats = SourceDetails(container_tags=("boats",))
        received = _fetch(installation, bob, url, privacy=Privacy.PRIVATE, details=boats)
        assert len(store(installation)) == 5
        assert _files(installation) == dict.fromkeys(_READ, 1)
        source = _best(installation, bob, "How many metres of chain has the main anchor?")
        assert (source.metadata, source.url) == ({"path": "src/anchor.py", "commit": first}, url)
        assert source.document_type == DocumentType.CODE
        rows = uploads_of(installation, bob)
        assert {(row["privacy"], row["received_through"]) for row in rows} == {("private", "web")}
        assert len(uploads_of(installation, bob.within(["boats"]))) == 5
        assert staged(installation) == []

        server.asked.clear()
        again = _fetch(installation, bob, url)
        assert (again.new, again.upload_id) == (False, received.upload_id)
        assert len(server.asked) <= 2  # what the server can do, and its branches; no pack

        changed: dict[str, str | bytes | None] = {"src/anchor.py": "CHAIN_METRES = 45  # of the main anchor\n"}
        second = commit(tmp_path / "sloop.git", {**changed, "README.md": None})
        assert _fetch(installation, bob, url).new
        assert len(store(installation)) == 3  # the commit, the file that changed, and the notice
        assert _files(installation) == {**dict.fromkeys(_READ, 1), "README.md": 2, "src/anchor.py": 2}
        assert _best(installation, bob, "How many metres of chain has the main anchor?").metadata["commit"] == second
        third = commit(tmp_path / "sloop.git", {"src/anchor.py": "CHAIN_METRES = 50  # of the main anchor\n"})
        assert _fetch(installation, bob, url).new
        assert len(store(installation)) == 2  # no second notice
    assert _best(installation, bob, "anchor chain").metadata["commit"] == third


def test_description_says_what_is_left_out(installation: Installation, tmp_path: Path) -> None:
    _allowed(installation, web_repository_files=2)
    bob = user(installation, "bob")
    made = commit(tmp_path / "sloop.git", _FIRST, "Set sail")
    with git_server(tmp_path) as server:
        received = _fetch(installation, bob, server.url("sloop.git"))
        installation.uploads.read_due(installation.text_extractor)
    assert list(_files(installation)) == ["README.md", "copy/sail.py"]
    with installation.database.pipeline() as tx:
        query = "SELECT m.content FROM neurigraph.messages AS m WHERE m.source_id = %s ORDER BY m.seq"
        said, message, listed = (row["content"] for row in tx.execute(query, [received.upload_id]))
    assert f"commit {made}, committed 2024-05-01T10:00:00+00:00, files 2, left out" in said
    assert "1 larger than 524,288 bytes" in said
    assert "1 that repeat another one" in said
    assert "1 without text" in said
    assert "2 beyond the limit of 2 files" in said
    assert (message.strip(), listed) == ("Set sail", "README.md\ncopy/sail.py")


def test_pack_of_another_commit_is_refused(installation: Installation, tmp_path: Path) -> None:
    _allowed(installation)
    bob = user(installation, "bob")
    commit(tmp_path / "sloop.git", {"a.txt": "The keel needs bolts.\n"})
    with git_server(tmp_path) as server:
        fetched = installation.web.fetch_repository(server.url("sloop.git"), None)
    assert fetched is not None
    with fetched.pack as pack:
        content = pack.read()
    for name, external_id in ((pack_name("sloop", "1" * 40), "one"), (pack_name("sloop", fetched.commit), "other")):
        installation.uploads.receive(
            bob.through(ReceivedThrough.WEB), name, [content], external_id=external_id, may_repeat=True
        )
    wrong, right = installation.uploads.read_due(installation.text_extractor)
    assert wrong.error is not None
    assert "another commit than it named" in wrong.error
    assert (right.error, _files(installation)) == (None, {"a.txt": 1})


def test_repository_is_a_document_over_http(installation: Installation, tmp_path: Path) -> None:
    bob = user(installation, "bob")
    key = {"Authorization": f"Bearer {issue_api_key(installation.database, bob.user_id)}"}
    commit(tmp_path / "sloop", _FIRST)
    _allowed(installation)
    with (
        git_server(tmp_path) as server,
        serving(installation) as base,
        httpx.Client(base_url=base, headers=key, timeout=60.0) as client,
    ):
        document = {"content": server.url("sloop"), "type": "repository", "title": "<b>Sloop</b>"}
        added = client.post("/v3/documents", json=document)
        assert (added.status_code, added.json()["status"]) == (202, "pending")
        same = client.post("/v1/files", data={"url": server.url("sloop"), "document_type": "repository"})
        assert (same.status_code, same.json()["upload_id"]) == (200, added.json()["id"])
        client.post("/v3/documents", json={**document, "containerTags": ["boats"]})
        text = client.post("/v3/documents", json={"content": f"See {server.url('sloop')}", "type": "repository"})
        assert text.status_code == 202
        store(installation)
        shown = client.get(added.headers["location"]).json()
        assert (shown["status"], shown["type"], shown["title"]) == ("completed", "repository", "<b>Sloop</b>")
        assert "src/anchor.py" in shown["content"]
        assert client.get(text.headers["location"]).json()["content"].startswith("See http")
        hits = client.post("/v3/search", json={"q": "metres of the anchor chain"}).json()["results"]
        assert hits[0]["metadata"]["path"] == "src/anchor.py"
        client.post("/v3/documents", json={**document, "containerTags": ["harbour"]})
        for tag in ("boats", "harbour"):
            asked = {"q": "metres of the anchor chain", "containerTags": [tag]}
            assert client.post("/v3/search", json=asked).json()["results"][0]["metadata"]["path"] == "src/anchor.py"
        absent = client.post("/v1/files", data={"url": server.url("absent.git")})
        assert (absent.status_code, "answered 404" in absent.text) == (422, True)


def test_repository_of_many_files_is_read_in_part(installation: Installation, tmp_path: Path) -> None:
    _allowed(installation, web_repository_files=20, extraction_seconds=240.0)
    bob = user(installation, "bob")
    many_files(tmp_path / "many.git", 100_000)
    with git_server(tmp_path) as server:
        received = _fetch(installation, bob, server.url("many.git"))
    installation.uploads.read_due(installation.text_extractor)
    assert len(_files(installation)) == 20
    with installation.database.pipeline() as tx:
        query = "SELECT m.content FROM neurigraph.messages AS m WHERE m.source_id = %s AND m.seq = 1"
        (said,) = (row["content"] for row in tx.execute(query, [received.upload_id]))
    assert "files 20, left out 99,980 beyond the limit of 20 files" in said


class _DyingUploads(Uploads):
    """Dies when it has received two files of a repository."""

    received = 0

    def receive_read(self, *args: Any, **stated: Any) -> None:
        super().receive_read(*args, **stated)
        self.received += 1
        if self.received == 2:
            os.kill(os.getpid(), signal.SIGKILL)


def _read_and_die(settings: Settings) -> None:
    here = Installation(settings)  # connections of its own: the parent's would stay open
    _DyingUploads(here.context, here.export_reader).read_due(here.text_extractor)


def _fetch_slowly(settings: Settings, claims: Claims, url: str) -> None:
    _fetch(Installation(settings), claims, url)


def test_killed_fetching_and_reading_lose_and_double_nothing(installation: Installation, tmp_path: Path) -> None:
    _allowed(installation, extraction_seconds=10.0, claim_lease_seconds=1.0, ocr_seconds=0.0)
    bob = user(installation, "bob")
    commit(tmp_path / "sloop.git", _FIRST)
    context = multiprocessing.get_context("fork")
    with git_server(tmp_path) as server:
        url = server.url("sloop.git")
        server.pause_seconds = 5.0
        fetching = context.Process(target=_fetch_slowly, args=(installation.settings, bob, url))
        fetching.start()
        while not [one for one in server.asked if one[0] == "POST"]:
            time.sleep(0.05)
        os.kill(fetching.pid or 0, signal.SIGKILL)
        fetching.join()
        assert (uploads_of(installation, bob), staged(installation)) == ([], [])
        server.pause_seconds = 0.0
        _fetch(installation, bob, url)
    reading = context.Process(target=_read_and_die, args=(installation.settings,))
    reading.start()
    reading.join()
    assert reading.exitcode == -signal.SIGKILL
    assert len(_files(installation)) == 2
    with installation.database.owner() as tx:
        tx.execute("UPDATE neurigraph.uploads SET next_attempt_at = now()")  # the lease of the dead process
    assert len(store(installation)) == 5
    assert _files(installation) == dict.fromkeys(_READ, 1)
