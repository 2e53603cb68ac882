"""A real Git server on the loopback address: Git's own program behind HTTP or HTTPS, and repositories for it."""

from __future__ import annotations

import os
import ssl
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

_BACKEND = ["git", "http-backend"]
_AUTHOR = {
    **{f"GIT_{who}_{what}": value for who in ("AUTHOR", "COMMITTER") for what, value in (("NAME", "Ana"),)},
    **{f"GIT_{who}_EMAIL": "ana@example.org" for who in ("AUTHOR", "COMMITTER")},
    **{f"GIT_{who}_DATE": "2024-05-01T10:00:00Z" for who in ("AUTHOR", "COMMITTER")},
}


class GitServer(ThreadingHTTPServer):
    """Serves the repositories of a folder.

    Attributes:
        asked: Method and path of each request.
        redirects: Paths that lead elsewhere, and where.
        answers: Bodies that take the place of Git's, by method.
        pages: Web pages beside the repositories, by path.
        pause_seconds: Waits so long in the middle of each pack.
    """

    def __init__(self, folder: Path) -> None:
        super().__init__(("127.0.0.1", 0), _Requests)
        self.folder = folder
        self.asked: list[tuple[str, str]] = []
        self.redirects: dict[str, str] = {}
        self.answers: dict[str, bytes] = {}
        self.pages: dict[str, bytes] = {}
        self.pause_seconds = 0.0
        self.scheme = "http"

    def url(self, name: str) -> str:
        """Return the address of a repository."""
        host = "localhost" if self.scheme == "https" else "127.0.0.1"
        return f"{self.scheme}://{host}:{self.server_port}/{name}"


class _Requests(BaseHTTPRequestHandler):
    server: GitServer

    def do_GET(self) -> None:
        self._answer()

    def do_POST(self) -> None:
        self._answer()

    def _answer(self) -> None:
        path, _, query = self.path.partition("?")
        self.server.asked.append((self.command, path))
        sent = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if path in self.server.redirects:
            self.send_response(302)
            self.send_header("Location", self.server.redirects[path])
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        page = self.server.pages.get(path)
        head, body = self._git(path, query, sent) if page is None else (["Content-Type: text/html"], page)
        body = self.server.answers.get(self.command, body)
        status = next((line.split()[1] for line in head if line.startswith("Status:")), "200")
        self.send_response(int(status))
        for line in head:
            if not line.startswith("Status:"):
                self.send_header(*line.split(": ", 1))
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        half = len(body) // 2 if self.command == "POST" else len(body)
        self.wfile.write(body[:half])
        self.wfile.flush()
        time.sleep(self.server.pause_seconds if half < len(body) else 0)
        self.wfile.write(body[half:])

    def _git(self, path: str, query: str, sent: bytes) -> tuple[list[str], bytes]:
        environment = {
            "PATH": os.environ["PATH"],
            "GIT_PROJECT_ROOT": str(self.server.folder),
            "GIT_HTTP_EXPORT_ALL": "1",
            "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""),
            "REQUEST_METHOD": self.command,
            "PATH_INFO": path,
            "QUERY_STRING": query,
            "CONTENT_TYPE": self.headers.get("Content-Type", ""),
            "CONTENT_LENGTH": str(len(sent)),
        }
        done = subprocess.run(_BACKEND, input=sent, env=environment, check=True, capture_output=True)
        head, _, body = done.stdout.partition(b"\r\n\r\n")
        return head.decode().split("\r\n"), body

    def log_message(self, *args: Any) -> None:
        """Say nothing."""


@contextmanager
def git_server(folder: Path, certificate: Path | None = None) -> Iterator[GitServer]:
    """Serve the repositories of a folder; over HTTPS with a certificate for ``localhost``."""
    with GitServer(folder) as server:
        if certificate is not None:
            tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            tls.load_cert_chain(certificate)
            server.socket = tls.wrap_socket(server.socket, server_side=True)
            server.scheme = "https"
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


def commit(repository: Path, files: dict[str, str | bytes | None], message: str = "Change") -> str:
    """Write files into a repository, which is made if it is absent, and commit them; None removes one.

    Returns:
        The id of the commit.
    """
    if not repository.exists():
        repository.mkdir()
        git(repository, "init", "-q", "-b", "main")
    for name, content in files.items():
        path = repository / name
        if content is None:
            path.unlink()
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content if isinstance(content, bytes) else content.encode())
    git(repository, "add", "-A")
    git(repository, "commit", "-q", "-m", message)
    return git(repository, "rev-parse", "HEAD").decode().strip()


def git(repository: Path, *arguments: str, sent: bytes | None = None) -> bytes:
    """Run Git in a repository, with no settings but its own; return what it writes."""
    environment = {"PATH": os.environ["PATH"], "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1", **_AUTHOR}
    command = ["git", "-C", str(repository), *arguments]
    return subprocess.run(command, input=sent, env=environment, check=True, capture_output=True).stdout


def many_files(repository: Path, count: int) -> str:
    """Make a bare repository with so many small files in folders; return the id of its commit."""
    repository.mkdir()
    git(repository, "init", "-q", "--bare", "-b", "main")
    lines = [b"commit refs/heads/main\ncommitter Ana <a@example.org> 1700000000 +0000\ndata 4\nMany"]
    for number in range(count):
        text = b"value = %d\n" % number
        lines.append(b"M 100644 inline d%d/m%d.py\ndata %d\n%s" % (number % 100, number, len(text), text))
    git(repository, "fast-import", "--quiet", sent=b"\n".join([*lines, b""]))
    return git(repository, "rev-parse", "HEAD").decode().strip()
