"""An IMAP server of another project on the loopback address: pymap, whose mailboxes are in memory."""

from __future__ import annotations

import imaplib
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tests.support.waiting import wait_until

USER, PASSWORD, MAILBOX = "demouser", "demopass", "Crew mails"


@contextmanager
def imap_server() -> Iterator[int]:
    """Run the server with an empty mailbox, and give its port."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    program = [str(Path(sys.executable).parent / "pymap"), "--host", "127.0.0.1", "--port", str(port), "--no-tls"]
    quiet = subprocess.DEVNULL
    with subprocess.Popen([*program, "dict", "--demo-data"], stdout=quiet, stderr=quiet) as run:
        try:
            wait_until(lambda: _answers(port), "the mail server")
            with _logged_in(port) as session:
                session.create(f'"{MAILBOX}"')
            yield port
        finally:
            run.terminate()


def deliver(port: int, *mails: str) -> None:
    """Put mails into the mailbox."""
    with _logged_in(port) as session:
        for mail in mails:
            content = mail.replace("\n", "\r\n").encode()
            assert session.append(f'"{MAILBOX}"', "", "", content)[0] == "OK"


def remove(port: int, message_id: str | None = None) -> None:
    """Remove the mail with an id for good, or all mails with the mailbox, which is made again."""
    with _logged_in(port) as session:
        if message_id is None:
            session.delete(f'"{MAILBOX}"')
            session.create(f'"{MAILBOX}"')
            return
        session.select(f'"{MAILBOX}"')
        _, (found, *_) = session.search(None, "HEADER", "Message-ID", message_id)
        for number in found.split():
            session.store(number.decode(), "+FLAGS", "(\\Deleted)")
        session.expunge()


@contextmanager
def _logged_in(port: int) -> Iterator[imaplib.IMAP4]:
    with imaplib.IMAP4("127.0.0.1", port, timeout=20) as session:
        session.login(USER, PASSWORD)
        yield session


def _answers(port: int) -> bool:
    with suppress(OSError, imaplib.IMAP4.error), imaplib.IMAP4("127.0.0.1", port, timeout=5):
        return True
    return False
