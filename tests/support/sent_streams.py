"""The stream that a publisher sends for records, opened to be changed by a hostile one, and packed again."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

from neurigraph_pipelines.exchange.portability.archive import MANIFEST
from neurigraph_pipelines.exchange.portability.stream import OBJECTS, table_of


@dataclass(slots=True)
class SentStream:
    """An answer with records.

    Attributes:
        rows: By the names of their parts.
        objects: By the names of their parts.
        manifest: Its files, sizes and checksums are those of the parts when it is packed, then ``stated`` changes them.
        stated: Changes of what the manifest says of files, by their names.
        unnamed: Files that the manifest does not name.
    """

    rows: dict[str, list[dict[str, Any]]]
    objects: dict[str, bytes]
    manifest: dict[str, Any]
    stated: dict[str, dict[str, Any]] = field(default_factory=dict)
    unnamed: dict[str, bytes] = field(default_factory=dict)

    @classmethod
    def read(cls, content: bytes) -> SentStream:
        """Open an answer."""
        with zipfile.ZipFile(io.BytesIO(content)) as members:
            files = {name: members.read(name) for name in members.namelist()}
        manifest = json.loads(files.pop(MANIFEST))
        rows = {
            name: [json.loads(line) for line in text.splitlines()]
            for name, text in files.items()
            if not name.startswith(OBJECTS)
        }
        return cls(rows, {name: files[name] for name in files if name not in rows}, manifest)

    def of(self, table: str) -> list[dict[str, Any]]:
        """Return the rows of a table."""
        return next(rows for name, rows in self.rows.items() if table_of(name) == table)

    def update(self, table: str, values: Mapping[str, Any]) -> None:
        """Change columns of all rows of a table."""
        for row in self.of(table):
            row |= values

    def packed(self) -> bytes:
        """Return the answer as bytes."""
        files = {name: "\n".join(map(json.dumps, rows)).encode() + b"\n" for name, rows in self.rows.items()}
        files |= self.objects
        entries = [
            {"name": name, "size_bytes": len(content), "sha256": sha256(content).hexdigest()}
            | self.stated.get(name, {})
            for name, content in files.items()
        ]
        counts = {table_of(name): len(rows) for name, rows in self.rows.items()}
        manifest = {**self.manifest, "files": entries, "rows": counts}
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as members:
            for name, content in {**files, MANIFEST: json.dumps(manifest).encode(), **self.unnamed}.items():
                members.writestr(name, content)
        return buffer.getvalue()
