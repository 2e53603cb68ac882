"""A mailbox as a drop place: each mail is a file, which nothing changes and no look marks as read.

The connection goes to an address that ``allowed_hosts`` has checked. A look and a mail have limits of time and size.
"""

from __future__ import annotations

import imaplib
import re
import socket
import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from typing import Any
from urllib.parse import unquote, urlsplit

import httpx

from neurigraph_pipelines.model import DroppedFile
from neurigraph_pipelines.model.errors import InvalidInputError, ProviderError, StorageError, TransientError
from resources.allowed_hosts import AllowedHosts
from resources.outgoing_request import addresses_of

_PORTS = {"imaps": 993, "imap": 143}
_NUMBER = re.compile(r"\d{1,10}")
_OVERHEAD = 1_000_000
"""Bytes that an answer may have besides a mail: the numbers of a hundred thousand mails."""


class MailboxPlace:
    """A ``DropPlace`` over IMAP.

    Args:
        hosts: Hosts that may be called; ``imap`` without TLS is for local ones.
        url: ``imaps://user@host/mailbox``; the mailbox is INBOX by default.
        password: Of the user.
        owner: User and source that all mails belong to.
        seconds: Time limit of one look, and of one mail.
        max_bytes: Largest mail.
    """

    def __init__(
        self, hosts: AllowedHosts, url: str, password: str, owner: tuple[str, str], seconds: float, max_bytes: int
    ) -> None:
        self._hosts = hosts
        self._url = urlsplit(url)
        self._password = password
        self._owner = owner
        self._seconds = seconds
        self._max_bytes = max_bytes
        self._session: _Session | None = None

    def files(self) -> Iterator[DroppedFile]:
        """Yield the mails of the mailbox.

        Raises:
            ConflictError: The settings allow no host.
            InvalidInputError: The host may not be called, or the server refuses user or mailbox.
            TransientError: The server could not be reached, or gave no answer in time.
        """
        user, source = self._owner
        with self._answering() as session:
            found, *_ = session.asked("SEARCH", "ALL")
        for uid in _NUMBER.findall((found or b"").decode("ascii", "replace")):
            yield DroppedFile(user, f"{source}/{session.validity}/{uid}.eml", "1", datetime.now(UTC))

    def read(self, file: DroppedFile) -> Iterator[bytes]:
        """Yield the bytes of a mail.

        Raises:
            InvalidInputError: It is too large.
            StorageError: It is gone, or the server did not give it in time: it alone is left for the next look.
            TransientError: The server could not be reached.
        """
        with self._answering():
            pass  # a server that cannot be reached gives no mail at all
        try:
            yield self._fetched(file.name.rpartition("/")[2].removesuffix(".eml"))
        except TransientError as error:
            raise StorageError("the mail server does not give this mail in time: it is tried again later") from error

    def _fetched(self, uid: str) -> bytes:
        with self._answering() as session:
            size, *_ = session.asked("FETCH", uid, "(RFC822.SIZE)")
            stated = re.search(rb"RFC822\.SIZE (\d{1,15})", size if isinstance(size, bytes) else b"")
            if stated and int(stated[1]) > self._max_bytes:
                raise InvalidInputError(f"the mail has {int(stated[1]):,} bytes, and the limit is {self._max_bytes:,}")
            parts = session.asked("FETCH", uid, "(BODY.PEEK[])")
        mail: bytes | None = next((one[1] for one in parts if isinstance(one, tuple)), None)
        if not mail:
            raise StorageError("the mail is no longer in its mailbox")
        return mail

    def close(self) -> None:
        """Close the connection."""
        if self._session is not None:
            with suppress(OSError, ValueError, imaplib.IMAP4.error):
                self._session.logout()
            with suppress(OSError):  # a logout that fails leaves it open
                self._session.shutdown()
            self._session = None

    @contextmanager
    def _answering(self) -> Iterator[_Session]:
        try:
            if self._session is None:
                self._session = self._log_in()
            self._session.begin()
            yield self._session
        except UnicodeEncodeError:
            raise InvalidInputError("user, password and name of a mailbox must be in ASCII") from None
        except imaplib.IMAP4.error as error:
            is_refused = self._session is None and not isinstance(error, imaplib.IMAP4.abort)
            self.close()
            if is_refused:
                said = (str(error).replace(self._password, "…") if self._password else str(error))[:200]
                raise InvalidInputError(f"the mail server refuses the user, password or mailbox ({said})") from None
            raise TransientError("the mail server ended the connection, or its answer is no use: look again") from None
        except (OSError, ValueError) as error:
            self.close()
            raise TransientError(f"the mail server could not be reached in time ({type(error).__name__})") from error

    def _log_in(self) -> _Session:
        host, scheme = self._url.hostname or "", self._url.scheme
        url = f"{'https' if scheme == 'imaps' else 'http'}://{self._url.netloc.rpartition('@')[2]}/"
        try:
            check = self._hosts.check(url)
        except InvalidInputError as error:
            local = "imap:// is for hosts in NEURIGRAPH_WEB_LOCAL_HOSTS: use imaps://"
            raise InvalidInputError(str(error) if scheme == "imaps" else local) from error
        addresses = addresses_of(httpx.URL(url), time.monotonic() + self._seconds)
        try:
            for one in addresses:
                check(one)
        except ProviderError as error:
            raise InvalidInputError(f"the mailbox cannot be read: {error}") from error
        target = (host, addresses[0], self._url.port or _PORTS[scheme])
        session = _Session(target, is_tls=scheme == "imaps", seconds=self._seconds, max_bytes=self._max_bytes)
        try:
            session.login(unquote(self._url.username or ""), self._password)
            mailbox = unquote(self._url.path.strip("/")) or "INBOX"
            quoted = mailbox.replace("\\", "\\\\").replace('"', '\\"')
            answer, said = session.select(f'"{quoted}"', readonly=True)
            if answer != "OK":
                raise imaplib.IMAP4.error(said[0])
            session.validity = session.number_of("UIDVALIDITY")
        except BaseException:
            session.shutdown()
            raise
        return session


class _Session(imaplib.IMAP4):
    """A connection to an address that was checked; imaplib documents that these methods may be replaced."""

    validity = 0
    """Of the numbers of the mails in the mailbox that is open."""

    def __init__(self, target: tuple[str, str, int], *, is_tls: bool, seconds: float, max_bytes: int) -> None:
        self._target = target
        self._is_tls = is_tls
        self._max_bytes = max_bytes
        self._seconds = seconds
        self.begin()
        super().__init__(target[0], target[2], seconds)

    def begin(self) -> None:
        """Begin something that has its own limits."""
        self._ends = time.monotonic() + self._seconds
        self._left = self._max_bytes + _OVERHEAD

    def asked(self, *command: str) -> list[Any]:
        """Return the answer to a command that names mails by their UIDs."""
        answer, found = self.uid(*command)
        if answer != "OK":
            raise self.abort(f"{command[0]} is refused")
        return found

    def open(self, host: str = "", port: int = 143, timeout: float | None = None) -> None:
        """Connect to the address, with TLS where it is asked for."""
        self.host, address, self.port = self._target
        self.sock = socket.create_connection((address, self.port), timeout)
        if self._is_tls:
            try:
                self.sock = ssl.create_default_context().wrap_socket(self.sock, server_hostname=self.host)
            except OSError:
                self.sock.close()
                raise
        self.file = self.sock.makefile("rb")

    def read(self, size: int) -> bytes:
        """Read a literal, within the limits."""
        with self._limited(size):
            return super().read(size)

    def readline(self) -> bytes:
        """Read a line, within the limits."""
        with self._limited():
            line = super().readline()
        self._left -= len(line)
        return line

    def number_of(self, name: str) -> int:
        """Return a number that the server stated about the mailbox; it is read once."""
        _, (found, *_) = self.response(name)
        return int(found) if found and found.isdigit() else 0

    @contextmanager
    def _limited(self, size: int = 0) -> Iterator[None]:
        self._left -= size
        seconds = self._ends - time.monotonic()
        if self._left < 0 or seconds <= 0:
            raise self.abort("the answer is too long")
        # Timeouts of sockets bound each piece alone.
        ends = threading.Timer(seconds, self._shut_down)
        ends.start()
        try:
            yield
        finally:
            ends.cancel()

    def _shut_down(self) -> None:
        with suppress(OSError):
            self.sock.shutdown(socket.SHUT_RDWR)
