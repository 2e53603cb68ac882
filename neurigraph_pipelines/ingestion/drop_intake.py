"""Takes in what people leave in a drop place: each version of each file once, and the place stays as it is.

Where the files lie is for the ``DropPlace``; what becomes of their bytes, for ``uploads``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from uuid import UUID

from neurigraph_pipelines.errors import ConflictError, InvalidInputError, StorageError
from neurigraph_pipelines.ingestion.uploads import Uploads
from neurigraph_pipelines.model import Claims, DroppedFile
from neurigraph_pipelines.ports import Database, DropPlace
from neurigraph_pipelines.statements import statements
from neurigraph_pipelines.text.hygiene import clean_text

_QUERIES = statements("uploads")
_LISTED_AT_ONCE = 1_000


@dataclass(frozen=True, slots=True)
class Taken:
    """What came of one file: its upload, or why there is none, and whether that is the last word."""

    file: DroppedFile
    upload_id: UUID | None = None
    error: str | None = None
    final: bool = True


def new_files(database: Database, place: DropPlace) -> Iterator[tuple[UUID, DroppedFile]]:
    """Files of known users that were not seen in this version before, with their user."""
    files = iter(place.files())
    while listed := list(islice(files, _LISTED_AT_ONCE)):
        with database.pipeline() as tx:
            rows = tx.execute(
                _QUERIES["new_dropped"],
                {
                    "slugs": [_kept(file.user_slug) for file in listed],
                    "file_names": [_kept(file.name) for file in listed],
                    "versions": [file.version for file in listed],
                },
            ).fetchall()
        for row in rows:
            yield row["user_id"], listed[row["place"] - 1]


def waiting(database: Database, place: DropPlace | None, uploads: Uploads) -> int:
    """How many files of a drop place, and how many uploads, there is something to do about."""
    return uploads.due() + (sum(1 for _ in new_files(database, place)) if place is not None else 0)


def take_in(
    database: Database, place: DropPlace, uploads: Uploads, on_taken: Callable[[Taken], None] | None = None
) -> list[Taken]:
    """Upload what is new; a file that is not acceptable is noted with the reason, and not looked at again.

    A file of whose upload the note was lost is uploaded again, which changes nothing: its bytes are known.

    Args:
        on_taken: Told of each file.
    """
    done: list[Taken] = []
    for user_id, file in list(new_files(database, place)):
        try:
            received = uploads.receive(
                Claims.of_user(user_id), file.name, place.read(file), occurred_at=file.modified_at
            )
            taken = Taken(file, received.upload_id)
        except (InvalidInputError, ConflictError) as error:
            taken = Taken(file, error=str(error))
        except StorageError as error:  # it was replaced meanwhile, or the disk is full: looked at again
            taken = Taken(file, error=str(error), final=False)
        if taken.final:
            _note(database, user_id, taken)
        done.append(taken)
        if on_taken is not None:
            on_taken(taken)
    return done


def _note(database: Database, user_id: UUID, taken: Taken) -> None:
    with database.pipeline() as tx:
        tx.execute(
            _QUERIES["note_dropped"],
            {
                "user_id": user_id,
                "file_name": _kept(taken.file.name),
                "version": taken.file.version,
                "source_id": taken.upload_id,
                "error": taken.error,
            },
        )


def _kept(name: str) -> str:
    return clean_text(name, "repair")[0]
