"""Files encrypted with age, for one key pair. Any age program decrypts them.

What is encrypted is decided by the callers.
"""

from __future__ import annotations

import hashlib
import io
import os
import threading
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pyrage
from pyrage import x25519

from neurigraph_pipelines.model.errors import ConfigurationError, DamagedObjectError, InvalidInputError

_PIECE_BYTES = 1 << 20
_HEADER = b"age-encryption.org/v1"
_IDENTITY, _RECIPIENT = "AGE-SECRET-KEY-1", "age1"


def is_encrypted(path: Path) -> bool:
    """Return whether a file is encrypted with age; a folder or an absent file is not."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(len(_HEADER)) == _HEADER


class AgeKey:
    """A key pair, or its public half alone, which encrypts only."""

    def __init__(self, recipient: Any, identity: Any | None) -> None:
        self._recipient = recipient
        self._identity = identity

    @classmethod
    def read(cls, path: Path) -> AgeKey:
        """Read a key file as ``age-keygen`` writes it; its one key is a secret key or a public one.

        Raises:
            ConfigurationError: The file cannot be read, or has no key.
        """
        try:
            lines = [line.strip() for line in path.read_text(encoding="ascii").splitlines()]
        except (OSError, ValueError) as error:
            raise ConfigurationError(f"the key file {path} cannot be read: give another") from error
        keys = [line for line in lines if line and not line.startswith("#")]
        try:
            if len(keys) == 1 and keys[0].startswith(_IDENTITY):
                identity = x25519.Identity.from_str(keys[0])
                return cls(identity.to_public(), identity)
            if len(keys) == 1 and keys[0].startswith(_RECIPIENT):
                return cls(x25519.Recipient.from_str(keys[0]), None)
        except (pyrage.IdentityError, pyrage.RecipientError):
            pass  # the message of the library may quote the key
        raise ConfigurationError(
            f"{path} does not hold one age key, secret or public: "
            f"make one with `neurigraph admin backup new-key {path}`"
        )

    @classmethod
    def make(cls, path: Path) -> str:
        """Write a new key file that only its owner can read.

        Returns:
            The public key.

        Raises:
            InvalidInputError: The file exists, or cannot be written.
        """
        identity = x25519.Identity.generate()
        public = str(identity.to_public())
        try:
            with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="ascii") as file:
                file.write(f"# public key: {public}\n{identity}\n")
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise InvalidInputError(f"{path} cannot be written ({error.strerror}): give another file") from error
        return public

    @property
    def can_decrypt(self) -> bool:
        """Whether the secret half is there."""
        return self._identity is not None

    @property
    def name_key(self) -> bytes:
        """A key for names of files, so that a name does not tell the content of a file. Follows from the public key."""
        return hashlib.sha256(f"neurigraph admin backup create names {self._recipient}".encode()).digest()

    def encrypt(self, chunks: Iterable[bytes]) -> Iterator[bytes]:
        """Yield the encrypted form of a file. Errors of ``chunks`` are raised."""
        reader = _Chunks(chunks)
        try:
            yield from _piped(lambda writer: pyrage.encrypt_io(reader, writer, [self._recipient]))
        except pyrage.EncryptError as error:
            raise reader.error or DamagedObjectError(f"encryption failed: {error}") from error

    def decrypt(self, chunks: Iterable[bytes]) -> Iterator[bytes]:
        """Yield the content of an encrypted file; every piece is authentic.

        Raises:
            ConfigurationError: The secret key is missing.
            DamagedObjectError: The file is damaged, cut off, or encrypted for another key.
        """
        if self._identity is None:
            raise ConfigurationError("this needs the secret key: give the key file that begins with AGE-SECRET-KEY-1")
        reader = _Chunks(chunks)
        try:
            yield from _piped(lambda writer: pyrage.decrypt_io(reader, writer, [self._identity]))
        except (pyrage.DecryptError, OSError) as error:
            raise reader.error or DamagedObjectError("it is damaged, or encrypted for another key") from error


class _Chunks(io.RawIOBase):
    """A readable stream of chunks that remembers the error of its source."""

    def __init__(self, chunks: Iterable[bytes]) -> None:
        super().__init__()
        self._chunks = iter(chunks)
        self._rest = memoryview(b"")
        self.error: BaseException | None = None

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        try:
            while not self._rest:
                self._rest = memoryview(next(self._chunks))
        except StopIteration:
            return b""
        except BaseException as error:
            self.error = error
            raise
        piece = bytes(self._rest[:size] if size >= 0 else self._rest)
        self._rest = self._rest[len(piece) :]
        return piece


def _piped(write: Callable[[Any], None]) -> Iterator[bytes]:
    """Yield the bytes that a function writes in a thread of its own."""
    source, target = os.pipe()
    failures: list[BaseException] = []

    def run() -> None:
        try:
            with os.fdopen(target, "wb", _PIECE_BYTES) as writer:
                write(writer)
        except BaseException as error:  # the thread that reads raises it
            failures.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        with os.fdopen(source, "rb") as reader:
            while piece := reader.read(_PIECE_BYTES):
                yield piece
    finally:
        thread.join()
    if failures:
        raise failures[0]
