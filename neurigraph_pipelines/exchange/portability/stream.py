"""The stream that carries data of a user, all or a granted part: a header, then parts in order, then an ending.

A part is the rows of one table as JSON lines, or one stored object. ``export`` writes streams, ``restore`` reads them,
and ``archive`` keeps them in files. A move writes a stream into the reader of the other database.
"""

from __future__ import annotations

import hashlib
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from pydantic import BaseModel

from neurigraph_pipelines.exchange.portability.tables import Table
from neurigraph_pipelines.model.errors import InvalidInputError

VERSION = 5
"""Version of the stream; it changes when older readers would misread it."""

OBJECTS = "objects/"
"""Beginning of the names of stored objects; their keys follow."""

_MAX_LINE_BYTES = 256 << 20
_NAME = re.compile(
    r"tables/[a-z_]+\.jsonl|nodes/[0-9a-f-]{36}/[a-z_]+\.jsonl|objects/(?:durable|staging)(?:/[A-Za-z0-9._-]+)+"
)


class Hashed:
    """Pieces of bytes that are read once; after the last one their number and SHA-256 in hex are known."""

    def __init__(self, chunks: Iterable[bytes], on_bytes: Callable[[int], object] = lambda _: None) -> None:
        self._chunks = chunks
        self._on_bytes = on_bytes
        self._digest = hashlib.sha256()
        self.size_bytes = 0

    def __iter__(self) -> Iterator[bytes]:
        for chunk in self._chunks:
            self._digest.update(chunk)
            self.size_bytes += len(chunk)
            self._on_bytes(len(chunk))
            yield chunk

    @property
    def sha256(self) -> str:
        """The checksum of the pieces so far."""
        return self._digest.hexdigest()

    def read(self) -> str:
        """Read all pieces, and return the checksum."""
        for _ in self:
            pass
        return self.sha256


@dataclass(frozen=True, slots=True)
class StreamPart:
    """One part of a stream: its name, and its bytes in pieces, which are read once and before the next part."""

    name: str
    chunks: Iterator[bytes]

    def lines(self) -> Iterator[str]:
        """Yield the lines.

        Raises:
            InvalidInputError: A line is longer than a row can be.
        """
        begun: list[bytes] = []
        size = 0
        for chunk in self.chunks:
            first, *others = chunk.split(b"\n")
            begun.append(first)
            size += len(first)
            if size > _MAX_LINE_BYTES:
                raise InvalidInputError(f"{self.name} of the export has a line that is too long: export it again")
            for other in others:
                yield b"".join(begun).decode()
                begun, size = [other], len(other)
        if any(begun):
            yield b"".join(begun).decode()


class StreamUser(BaseModel):
    """The user of a stream."""

    user_id: UUID
    slug: str


class Header(BaseModel):
    """The version of a stream, its user unless it is a granted part, and the versions of the table definitions."""

    version: int
    neurigraph: str
    exported_at: datetime
    user: StreamUser | None
    shared_ddl: int
    node_ddl: int


class Ending(BaseModel):
    """The numbers of rows by table, and the keys of lost and forgotten objects."""

    rows: dict[str, int]
    lost_objects: list[str] = []
    forgotten_objects: list[str] = []


class Stream(ABC):
    """All data of a user. The parts come once, first the rows, and then the objects that these name."""

    @abstractmethod
    def header(self) -> Header:
        """Return the header."""

    @abstractmethod
    def parts(self) -> Iterator[StreamPart]:
        """Yield the parts."""

    @abstractmethod
    def ending(self) -> Ending:
        """Return the ending, after the last part."""

    @abstractmethod
    def verify(self, on_bytes: Callable[[int], None]) -> None:
        """Read a stream that is kept in files, and raise InvalidInputError if a file is damaged."""


def rows_name(table: Table | str, node_id: object = None) -> str:
    """Return the name of the part with the rows of a shared table, or of a table of a node."""
    name = table if isinstance(table, str) else table.name
    return f"tables/{name}.jsonl" if node_id is None else f"nodes/{node_id}/{name}.jsonl"


def table_of(name: str) -> str:
    """Return the table of a part with rows."""
    return name.rpartition("/")[2].removesuffix(".jsonl")


def is_part(name: str) -> bool:
    """Return whether a part may have this name."""
    return _NAME.fullmatch(name) is not None and not {".", ".."} & set(name.split("/"))
