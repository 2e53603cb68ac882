"""Uploading of files from a drop folder: each version of each file once. The folder is not changed.

The ``DropPlace`` adapter reads the folder or bucket; ``uploads`` stores the bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import islice
from uuid import UUID

from psycopg.rows import DictRow

from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.inbox.uploads import Uploads
from neurigraph_pipelines.model import Claims, DroppedFile, ReceivedThrough
from neurigraph_pipelines.model.errors import ConflictError, InvalidInputError, StorageError
from neurigraph_pipelines.model.ports import Database, DropPlace
from neurigraph_pipelines.model.sources import NO_DETAILS, SourceDetails
from neurigraph_pipelines.text.external_ids import external_id_of
from neurigraph_pipelines.text.hygiene import clean_text
from neurigraph_pipelines.text.note_dates import day_of_file

_QUERIES = statements("uploads")
_LISTED_AT_ONCE = 1_000
_GONE = "gone"
"""The version of a file that is no longer in its place."""


@dataclass(frozen=True, slots=True)
class DropResult:
    """The result of one dropped file: its upload or an error, and whether the result is final."""

    file: DroppedFile
    upload_id: UUID | None = None
    error: str | None = None
    final: bool = True


def new_files(database: Database, place: DropPlace) -> Iterator[tuple[UUID, DroppedFile]]:
    """Yield each new file or file version of a known user, with the user's id."""
    files = iter(place.files())
    while listed := list(islice(files, _LISTED_AT_ONCE)):
        with database.pipeline() as tx:
            rows = tx.execute(
                _QUERIES["new_dropped"],
                {
                    "slugs": [_storable(file.user_slug) for file in listed],
                    "file_names": [_storable(file.name) for file in listed],
                    "versions": [file.version for file in listed],
                },
            ).fetchall()
        for row in rows:
            yield row["user_id"], listed[row["place"] - 1]


def waiting(database: Database, place: DropPlace | None, uploads: Uploads) -> int:
    """Count the new files of a drop place and the due uploads."""
    return uploads.due() + (sum(1 for _ in new_files(database, place)) if place is not None else 0)


def ingest_drops(
    database: Database,
    place: DropPlace,
    uploads: Uploads,
    on_result: Callable[[DropResult], None] | None = None,
    *,
    details: SourceDetails = NO_DETAILS,
    is_document: bool = False,
) -> list[DropResult]:
    """Upload the new files. An unacceptable file is recorded with the reason and not tried again.

    If the process dies between upload and record, the file is uploaded again, which changes nothing: its bytes are
    known.

    Args:
        on_result: Called after each file.
        details: What is known of every file.
        is_document: Files are stored as they are, also if they are exports of conversations.
    """
    done: list[DropResult] = []
    for user_id, file in list(new_files(database, place)):
        try:
            received = uploads.receive(
                Claims.of_user(user_id, ReceivedThrough.WEB if file.url else ReceivedThrough.DROP),
                file.name,
                place.read(file),
                title=file.title,
                external_id=external_id_of("drop", _storable(file.name)),
                occurred_at=file.occurred_at or day_of_file(file.name) or file.modified_at,
                details=replace(details, updated_at=file.modified_at, url=file.url, author=file.author),
                is_document=is_document,
            )
            result = DropResult(file, received.upload_id)
        except (InvalidInputError, ConflictError) as error:
            result = DropResult(file, error=str(error))
        except StorageError as error:  # the file was replaced meanwhile, or the disk is full: retried later
            result = DropResult(file, error=str(error), final=False)
        if result.final:
            _record(database, user_id, result)
        done.append(result)
        if on_result is not None:
            on_result(result)
    return done


def listed_in(place: DropPlace) -> dict[str, DroppedFile]:
    """Return the files of a place by their names as they are stored."""
    return {_storable(file.name): file for file in place.files()}


def known_of_source(database: Database, owner: tuple[str, str]) -> list[DictRow]:
    """Return the last version of each document and mail of a user and a source."""
    slug, source = owner
    with database.pipeline() as tx:
        return tx.execute(_QUERIES["dropped_of_source"], {"slug": slug, "prefix": f"{source}/"}).fetchall()


def gone_of(known: Iterable[DictRow], listed: Mapping[str, DroppedFile]) -> list[DictRow]:
    """Return the documents and mails of a source that its place no longer lists.

    None is, if the place is empty: it is more likely one that was not mounted. Nor is a mail, if its folder is empty: a
    mailbox that was made again gives its mails new numbers, in another folder.
    """
    folders = {name.rpartition("/")[0] for name in listed}
    return [
        one
        for one in known
        if folders
        and one["file_name"] not in listed
        and one["version"] != _GONE
        and (one["mail"] is None or one["file_name"].rpartition("/")[0] in folders)
    ]


def has_gone(database: Database, place: DropPlace, owner: tuple[str, str]) -> bool:
    """Return whether a document or mail of a user and a source is no longer in its place."""
    return bool(gone_of(known_of_source(database, owner), listed_in(place)))


def say_gone(
    database: Database, place: DropPlace, uploads: Uploads, owner: tuple[str, str], details: SourceDetails
) -> int:
    """Give each document of a source that is no longer in its place a version that says so; return their number.

    That supersedes what it said. A file that comes back is its next version.

    Args:
        owner: User and source.
    """
    gone = gone_of(known_of_source(database, owner), listed_in(place))
    documents = [row for row in gone if row["mail"] is None]
    for row in documents:
        received = uploads.receive(
            Claims.of_user(row["user_id"], ReceivedThrough.DROP),
            row["file_name"],
            [f"The file {row['title']} is no longer in its place.".encode()],
            title=row["title"],
            external_id=external_id_of("drop", row["file_name"]),
            details=details,
            is_document=True,
            may_repeat=True,
        )
        record_gone(database, owner[0], {**row, "source_id": received.upload_id})
    return len(documents)


def record_gone(database: Database, slug: str, row: DictRow) -> None:
    """Record that a file of a user is no longer in its place."""
    file = DroppedFile(slug, row["file_name"], _GONE, datetime.now(UTC))
    _record(database, row["user_id"], DropResult(file, row["source_id"]))


def _record(database: Database, user_id: UUID, result: DropResult) -> None:
    with database.pipeline() as tx:
        tx.execute(
            _QUERIES["note_dropped"],
            {
                "user_id": user_id,
                "file_name": _storable(result.file.name),
                "version": result.file.version,
                "source_id": result.upload_id,
                "error": result.error,
            },
        )


def _storable(name: str) -> str:
    return clean_text(name, "repair")[0]
