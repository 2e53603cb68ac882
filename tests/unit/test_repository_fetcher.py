"""Fetching of repositories: which addresses are called, what is refused, and what a server can make of it."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from neurigraph_pipelines.model.errors import ConflictError, InvalidInputError, TransientError
from resources.web_fetcher import HttpWebFetcher
from tests.support.certificates import certificate_of
from tests.support.git_server import GitServer, commit, git, git_server

_LOCAL = ("127.0.0.1",)


def _fetcher(seconds: float = 20.0, max_bytes: int = 1_000_000, local: tuple[str, ...] = _LOCAL) -> HttpWebFetcher:
    return HttpWebFetcher((), local, 5.0, 1_000, (seconds, max_bytes))


def _redirect(server: GitServer, name: str, target: str) -> str:
    server.redirects[f"/{name}/info/refs"] = f"{target}/info/refs?service=git-upload-pack"
    return server.url(name)


def test_newest_commit_is_fetched_without_its_history(tmp_path: Path) -> None:
    old = commit(tmp_path / "sloop", {"old.txt": "an old line\n" * 5_000})
    new = commit(tmp_path / "sloop", {"old.txt": None, "new.txt": "a new line\n"})
    with git_server(tmp_path) as server:
        fetched = _fetcher().fetch_repository(server.url("sloop"), old)
        assert fetched is not None
        with fetched.pack as pack:
            assert (fetched.commit, pack.read(4)) == (new, b"PACK")
        assert _fetcher().fetch_repository(server.url("sloop"), new) is None
        fetched = _fetcher().fetch_repository(_redirect(server, "moved", server.url("sloop")), None)
        assert fetched is not None
        fetched.pack.close()
        assert server.asked[-1] == ("POST", "/sloop/git-upload-pack")


def test_server_that_can_leaves_large_files_out(tmp_path: Path) -> None:
    commit(tmp_path / "sloop", {"large.bin": bytes(range(256)) * 8_000, "small.txt": "a line\n"})
    git(tmp_path / "sloop", "config", "uploadpack.allowFilter", "true")
    with git_server(tmp_path) as server:
        fetched = _fetcher(max_bytes=2_000).fetch_repository(server.url("sloop"), None)
    assert fetched is not None
    with fetched.pack as pack:
        assert len(pack.read()) < 1_000


def test_https_checks_the_certificate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = commit(tmp_path / "sloop", {"a.txt": "a line\n"})
    certificate = certificate_of("localhost", tmp_path)
    with git_server(tmp_path, certificate) as server:
        fetcher = _fetcher(local=("localhost",))
        with pytest.raises(TransientError):
            fetcher.fetch_repository(server.url("sloop"), None)
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
        fetched = fetcher.fetch_repository(server.url("sloop"), None)
    assert fetched is not None
    fetched.pack.close()
    assert fetched.commit == made


def test_addresses_are_checked_at_each_redirect(tmp_path: Path) -> None:
    commit(tmp_path / "sloop", {"a.txt": "a line\n"})
    with git_server(tmp_path) as server:
        with pytest.raises(InvalidInputError, match="redirects more than 5 times"):
            _fetcher().fetch_repository(_redirect(server, "ever", server.url("ever")), None)
        assert server.asked == [("GET", "/ever/info/refs")] * 6
        elsewhere = (
            ("http://localhost:1/x", "must begin with https"),
            ("https://example.org/x", "not allowed"),
            ("file:///etc", "must begin with"),
            ("http://169.254.169.254/x", "must begin with https"),
        )
        for target, reason in elsewhere:
            with pytest.raises(InvalidInputError, match=reason):
                _fetcher().fetch_repository(_redirect(server, "away", target), None)
        server.redirects["/sloop/git-upload-pack"] = server.url("sloop/git-upload-pack")
        with pytest.raises(InvalidInputError, match="answered 302"):  # what was asked is not sent elsewhere
            _fetcher().fetch_repository(server.url("sloop"), None)
    for url in ("https://127.0.0.1/x.git", "https://[::ffff:10.0.0.1]/x.git"):
        with pytest.raises(InvalidInputError, match="not public"):
            HttpWebFetcher(("*",), (), 5.0, 1_000).fetch_repository(url, None)
    with pytest.raises(InvalidInputError, match="link-local"):
        _fetcher(local=("169.254.169.254",)).fetch_repository("http://169.254.169.254/x.git", None)
    with pytest.raises(ConflictError, match="NEURIGRAPH_WEB_HOSTS"):
        HttpWebFetcher((), (), 5.0, 1_000).fetch_repository("https://example.org/x.git", None)


def test_what_is_no_repository_is_refused(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    git(tmp_path / "empty", "init", "-q")
    commit(tmp_path / "sloop", {"a.txt": "a line\n"})
    # A server of plain files, whose objects would be fetched one by one.
    (tmp_path / "plain").mkdir()
    git(tmp_path / "plain", "init", "-q", "--bare")
    git(tmp_path / "plain", "config", "http.uploadpack", "false")
    with git_server(tmp_path) as server:
        for name, reason in (("absent", "answered 404"), ("empty", "is empty"), ("plain", "answered 403")):
            with pytest.raises(InvalidInputError, match=reason):
                _fetcher().fetch_repository(server.url(name), None)
        names = (b"<html>a page</html>", b"", b"001e# service=git-upload-pack\n0000", b"ffff" + b"x" * 65_531)
        for answer in (*names, b"000eversion 2\n0000"):
            server.answers["GET"] = answer
            with pytest.raises(InvalidInputError, match="protocol"):
                _fetcher().fetch_repository(server.url("sloop"), None)
        del server.answers["GET"]
        for answer in (b"", b"0008NAK\n", b"fff0" + b"\x01" * 100, b"000dpackfile\n000c\x03broken0000"):
            server.answers["POST"] = answer
            with pytest.raises(InvalidInputError):
                _fetcher().fetch_repository(server.url("sloop"), None)


def test_repositories_are_bounded(tmp_path: Path) -> None:
    commit(tmp_path / "sloop", {"a.bin": bytes(hash(str(number)) % 256 for number in range(50_000))})
    with git_server(tmp_path) as server:
        with pytest.raises(InvalidInputError, match="exceeds 10,000 bytes"):
            _fetcher(max_bytes=10_000).fetch_repository(server.url("sloop"), None)
        server.pause_seconds = 4.0
        began = time.monotonic()
        with pytest.raises(TransientError, match="could not be fetched in 2 seconds"):
            _fetcher(seconds=2.0).fetch_repository(server.url("sloop"), None)
        assert time.monotonic() - began < 4
