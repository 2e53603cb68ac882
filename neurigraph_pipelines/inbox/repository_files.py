"""The files of a repository that was fetched: each is an upload of its own, so only files that changed are read again.

The upload of the repository itself says which commit it is and which files it has.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import PurePosixPath
from typing import TYPE_CHECKING
from uuid import UUID

from psycopg.rows import DictRow

from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.inbox.privacy import put_into_spaces
from neurigraph_pipelines.model import (
    Claims,
    ExtractedPart,
    Extraction,
    Privacy,
    ReceivedThrough,
    RepositoryFile,
)
from neurigraph_pipelines.model.errors import UnreadableFileError
from neurigraph_pipelines.model.limits import MAX_TITLE_LENGTH
from neurigraph_pipelines.model.ports import Database, TextExtractor
from neurigraph_pipelines.model.sources import SourceDetails
from neurigraph_pipelines.text.external_ids import external_id_of

if TYPE_CHECKING:
    from neurigraph_pipelines.inbox.uploads import Uploads

SUFFIX = ".pack"
_QUERIES = statements("repositories")
_COMMIT_LENGTH = 40


def pack_name(name: str, commit: str) -> str:
    """Return the file name of a pack, which contains its commit unredacted."""
    return f"{name}@{commit}{SUFFIX}"


def commit_of(file_name: str) -> str:
    """Return the commit in the file name of a pack."""
    return file_name.removesuffix(SUFFIX)[-_COMMIT_LENGTH:]


def known_commit(database: Database, claims: Claims, external_id: str) -> tuple[UUID, str] | None:
    """Return the newest version of a repository: its upload and its commit; None if there is none, or it failed."""
    with database.pipeline() as tx:
        values = {"user_id": claims.user_id, "member_id": claims.member_id, "external_id": external_id}
        row = tx.execute(_QUERIES["newest_commit"], values).fetchone()
    return (row["source_id"], commit_of(row["file_name"])) if row is not None else None


def put_repository_into_spaces(
    database: Database, claims: Claims, source_id: UUID, external_id: str, container_tags: Sequence[str]
) -> None:
    """Put a repository that is known, and its files, into further spaces."""
    with database.agent(claims) as tx:
        of_files = {"user_id": claims.user_id, "member_id": claims.member_id, "prefix": _prefix_of(external_id)}
        files = [row["source_id"] for row in tx.execute(_QUERIES["files"], of_files)]
        put_into_spaces(tx, claims, container_tags, source_id, *files)


def _prefix_of(external_id: str) -> str:
    """Return the beginning of the external ids of a repository's files."""
    return f"file-of:{hashlib.sha256(external_id.encode()).hexdigest()[:32]}:"


def take_files(
    uploads: Uploads,
    database: Database,
    extractor: TextExtractor,
    source_id: UUID,
    content: Iterable[bytes],
    most_files: int,
) -> Extraction:
    """Read a repository, and receive each of its files that is new or has changed.

    A file that is no longer there gets a version that says so, which supersedes what it said. Repeated after a crash,
    it receives the rest.

    Args:
        source_id: The upload of the repository.
        content: The pack.
        most_files: Files to read.

    Returns:
        What the repository is, for its own upload.

    Raises:
        UnreadableFileError: The pack is damaged, exceeds a limit, or is of another commit than the server named.
    """
    with database.pipeline() as tx:
        (row,) = tx.execute(_QUERIES["repository"], {"source_id": source_id})
        prefix = _prefix_of(row["external_id"])
        values = {"user_id": row["user_id"], "member_id": row["member_id"], "prefix": prefix}
        known = {one["external_id"]: one for one in tx.execute(_QUERIES["files"], values)}
    files: list[RepositoryFile] = []
    found = extractor.unpack(content, most_files, files.append)
    if found.facts.get("commit") != commit_of(row["file_name"]):
        raise UnreadableFileError("the repository cannot be read: its server sent another commit than it named")
    receive = _receiver(uploads, row, datetime.fromisoformat(found.facts["committed"]))
    for file in files:
        before = known.pop(external_id := external_id_of(prefix.rstrip(":"), file.path), None)
        if before is None or before["sha256"] != hashlib.sha256(file.content).digest():
            receive(file, external_id)
    for external_id, gone in known.items():
        notice = _notice_of(gone["title"])
        if gone["sha256"] != hashlib.sha256(notice.content).digest():
            receive(notice, external_id)
    return replace(found, facts={"repository": row["url"] or "", **found.facts})


def _notice_of(title: str) -> RepositoryFile:
    """Return the version of a file that is no longer there."""
    notice = f"The file {title} is no longer among those that are read of its repository."
    return RepositoryFile(title, notice.encode(), [ExtractedPart("lines-1-1", notice, title)])


def _receiver(uploads: Uploads, row: DictRow, committed: datetime) -> Callable[[RepositoryFile, str], None]:
    """Return a function that receives a file with the owner, privacy and spaces of its repository."""
    claims = Claims.of_author(row["user_id"], row["member_id"], ReceivedThrough.WEB)
    claims = replace(claims, key_id=row["key_id"])
    details = SourceDetails.of_columns(row)

    def receive(file: RepositoryFile, external_id: str) -> None:
        stated = {"path": file.path, "commit": commit_of(row["file_name"])}
        uploads.receive_read(
            claims,
            PurePosixPath(file.path).name,
            file,
            title=file.path[-MAX_TITLE_LENGTH:],
            external_id=external_id,
            occurred_at=committed,
            privacy=Privacy(row["privacy"]),
            details=replace(details, metadata={**details.metadata, **stated}),
        )

    return receive
