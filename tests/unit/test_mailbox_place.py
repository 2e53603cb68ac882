"""Mail servers that mean harm, over a real connection."""

from __future__ import annotations

import re
import socketserver
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from neurigraph_pipelines.model.errors import InvalidInputError, TransientError
from resources.allowed_hosts import AllowedHosts
from resources.mailbox_place import MailboxPlace
from tests.support.certificates import certificate_of

PASSWORD = "correct horse"
Answers = dict[str, Callable[[str], Iterator[bytes]]]


def ok(tag: str) -> Iterator[bytes]:
    yield f"{tag} OK done\r\n".encode()


def capable(tag: str) -> Iterator[bytes]:
    yield b"* CAPABILITY IMAP4rev1\r\n"
    yield from ok(tag)


def selected(tag: str) -> Iterator[bytes]:
    yield b"* OK [UIDVALIDITY 1] \r\n"
    yield from ok(tag)


USUAL: Answers = {"CAPABILITY": capable, "LOGIN": ok, "EXAMINE": selected, "LOGOUT": ok}


@contextmanager
def mail_server(answers: Answers, certificate: Path | None = None) -> Iterator[int]:
    """Serve answers to commands, over TLS with a certificate, and yield the port; no thread is left."""

    class Server(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            self.wfile.write(b"* OK hello\r\n")
            for line in self.rfile:
                said = line.decode("utf-8", "replace")
                tag, name = re.split(r"[ \r]", said)[:2]
                name = " ".join(said.split()[2 : 3 + ("FETCH" in said)]) if name == "UID" else name
                try:
                    for piece in {**USUAL, **answers}[name](tag):
                        self.wfile.write(piece)
                except OSError:
                    return

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Server) as server:
        server.daemon_threads = True
        if certificate is not None:
            tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            tls.load_cert_chain(certificate)
            server.socket = tls.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server.server_address[1]
        finally:
            server.shutdown()
            thread.join()


@contextmanager
def place_at(
    answers: Answers, password: str = PASSWORD, *, certificate: Path | None = None, host: str = "127.0.0.1"
) -> Iterator[MailboxPlace]:
    """Serve answers to commands, over TLS with a certificate, and yield the place."""
    with mail_server(answers, certificate) as port:
        hosts = AllowedHosts((), ("127.0.0.1", "localhost"), "mailbox", "NEURIGRAPH_WEB_HOSTS")
        scheme = "imap" if certificate is None else "imaps"
        url = f"{scheme}://bob@{host}:{port}/INBOX"
        place = MailboxPlace(hosts, url, password, ("bob", "mails"), 2.0, 1_000_000)
        try:
            yield place
        finally:
            place.close()


def endless(tag: str) -> Iterator[bytes]:
    while True:
        yield b"* OK still busy\r\n" * 100


def dripping(tag: str) -> Iterator[bytes]:
    while True:
        yield b"*"
        time.sleep(0.2)


def long_number(tag: str) -> Iterator[bytes]:
    yield b"* OK [UIDVALIDITY " + b"9" * 5_000 + b"] \r\n"
    yield from ok(tag)


def refusing(tag: str) -> Iterator[bytes]:
    yield f"{tag} NO try 15 minutes later\r\n".encode()


@pytest.mark.parametrize(
    "answers",
    [{"SEARCH": endless}, {"LOGIN": endless}, {"SEARCH": dripping}, {"EXAMINE": long_number}, {"SEARCH": refusing}],
    ids=["endless", "endless login", "dripping", "long number", "refusing"],
)
def test_a_look_at_a_hostile_server_ends(answers: Answers) -> None:
    begun = time.monotonic()
    with place_at({"SEARCH": ok, **answers}) as place, pytest.raises(TransientError):
        list(place.files())
    assert time.monotonic() - begun < 10


def test_imaps_checks_the_certificate_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[str] = []

    def login(tag: str) -> Iterator[bytes]:
        sent.append(tag)
        yield from ok(tag)

    def found(tag: str) -> Iterator[bytes]:
        yield b"* SEARCH 4 7\r\n"
        yield from ok(tag)

    certificate = certificate_of("localhost", tmp_path)
    answers: Answers = {"LOGIN": login, "SEARCH": found}
    with place_at(answers, certificate=certificate, host="localhost") as place, pytest.raises(TransientError):
        list(place.files())
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    with place_at(answers, certificate=certificate) as place, pytest.raises(TransientError):
        list(place.files())
    assert sent == []
    with place_at(answers, certificate=certificate, host="localhost") as place:
        assert [file.name for file in place.files()] == ["mails/1/4.eml", "mails/1/7.eml"]


def test_no_message_has_the_password() -> None:
    def echo(tag: str) -> Iterator[bytes]:
        yield f"{tag} NO bob has said {PASSWORD}\r\n".encode()

    with place_at({"LOGIN": echo}) as place, pytest.raises(InvalidInputError, match="refuses the user") as refused:
        list(place.files())
    assert PASSWORD not in str(refused.value)
    with place_at({}, "süß") as place, pytest.raises(InvalidInputError, match="must be in ASCII"):
        list(place.files())
