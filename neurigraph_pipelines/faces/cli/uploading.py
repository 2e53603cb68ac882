"""Files that are stored as they are: the parts of ``import`` and ``ingest`` for files."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID

from neurigraph_pipelines.faces.cli import layouts, output
from neurigraph_pipelines.faces.cli.session import argument, next_step, opened
from neurigraph_pipelines.graph.provisioning import User, find_user
from neurigraph_pipelines.inbox import drop_intake as drops
from neurigraph_pipelines.inbox.imports.source import unreadable
from neurigraph_pipelines.inbox.source_lists import get_source
from neurigraph_pipelines.inbox.uploads import Received
from neurigraph_pipelines.inbox.web_pages import receive_address
from neurigraph_pipelines.model import Claims, Privacy, ReceivedThrough, SourceKind
from neurigraph_pipelines.model.errors import InvalidInputError, NotFoundError, UnreadableFileError
from neurigraph_pipelines.model.sources import SourceDetails
from neurigraph_pipelines.text.media_types import GIT_PACK
from neurigraph_pipelines.text.note_dates import day_of_file
from neurigraph_pipelines.views.sources import Upload
from neurigraph_pipelines.wiring.installation import Installation

_READ_BYTES = 1 << 20


def import_document(
    path: Path, user: str, privacy: Privacy | None, external_id: str | None, details: SourceDetails
) -> None:
    """Upload a file and extract its text.

    Raises:
        UnreadableFileError: The file was received, and its text cannot be read.
    """
    try:
        status = path.stat()
        if not path.is_file():
            raise InvalidInputError(f"{path} is not a regular file: give the path of one")
    except (OSError, ValueError) as error:  # ValueError: a NUL byte in the path
        raise unreadable(path, error) from error
    with opened() as installation:
        installation, owner, created = ensure_owner(installation, user)
        claims = Claims.of_user(owner.user_id, ReceivedThrough.CLI)
        with output.progress(in_bytes=True) as progress:
            task = progress.add_task("uploading", total=status.st_size)
            received = installation.uploads.receive(
                claims,
                path.name,
                _chunks(path, lambda more: progress.advance(task, more)),
                external_id=argument(external_id) if external_id is not None else None,
                occurred_at=day_of_file(path.name) or datetime.fromtimestamp(status.st_mtime, UTC),
                details=details,
                privacy=privacy,
                is_document=True,
            )
        state = _read(installation, claims, received.upload_id, path.name)
    data = {"user": owner.slug, "user_created": created, "file": str(path), "format": "document"}
    _show(data, received, state)


def import_page(url: str, user: str, privacy: Privacy | None, external_id: str | None, details: SourceDetails) -> None:
    """Fetch a web page or a repository, and extract its text.

    Raises:
        UnreadableFileError: What was fetched was received; its text cannot be read.
    """
    with opened() as installation:
        installation, owner, created = ensure_owner(installation, user)
        claims = Claims.of_user(owner.user_id)
        with output.progress() as progress:
            progress.add_task("fetching", total=None)
            received = receive_address(
                installation.uploads,
                installation.web,
                claims,
                argument(url),
                external_id=argument(external_id) if external_id is not None else None,
                details=details,
                privacy=privacy,
            )
        state = _read(installation, claims, received.upload_id, url)
    led_to = "repository" if state.media_type == GIT_PACK.name else "page"
    data = {"user": owner.slug, "user_created": created, "file": url, "format": led_to}
    _show(data, received, state)


def _read(installation: Installation, claims: Claims, upload_id: UUID, name: str) -> Upload:
    """Extract the text of waiting uploads, and return the state of one of them.

    Raises:
        UnreadableFileError: Its text cannot be read.
    """
    installation.uploads.read_due(installation.text_extractor, claims.user_id)
    state = get_source(installation.database, claims, SourceKind.UPLOAD, upload_id)
    if state.state == "failed":
        raise UnreadableFileError(f"{name}: {state.error}")
    assert isinstance(state, Upload)
    return state


def _show(place: Mapping[str, object], received: Received, state: Upload) -> None:
    def layout() -> Any:
        known = "" if received.new else ", uploaded before"
        summary = f"{state.file_name}: {state.media_type} of {state.size_bytes:,} bytes{known}."
        notes = (f"Note: {note}." for note in [*received.notes, *state.notes])
        return layouts.lines(summary, *notes, *([next_step()] if state.state != "stored" else []))

    output.result({**place, "new": received.new, "kept": list(received.notes), **dict(state)}, layout)


def read_uploads(installation: Installation, user_id: UUID | None) -> list[dict[str, str]]:
    """Upload the files in the drop place, extract the text of waiting uploads, and print a note for each failure.

    Returns:
        The files that failed, each with its name and the error.
    """
    failed = []
    if installation.drop_place is not None and user_id is None:
        for taken in drops.ingest_drops(installation.database, installation.drop_place, installation.uploads):
            if taken.error is not None:
                output.note(f"not uploaded: {taken.file.user_slug}/{taken.file.name}: {taken.error}")
                failed.append({"file_name": taken.file.name, "error": taken.error})
    for read in installation.uploads.read_due(installation.text_extractor, user_id):
        if read.error is not None:
            output.note(f"not read: {read.file_name}: {read.error}")
            failed.append({"file_name": read.file_name, "error": read.error})
    return failed


def ensure_owner(installation: Installation, slug: str) -> tuple[Installation, User, bool]:
    """Return the installation in whose database a user lives, the user, and whether the user was created now."""
    place, owner, created = installation.databases.ensure_user(argument(slug))
    if created:
        output.note(f"created the user {owner.slug}")
    return place, owner, created


def find_owner(installation: Installation, slug: str) -> User | None:
    """Return a user, or None if there is none of that name."""
    try:
        return find_user(installation.database, argument(slug))
    except NotFoundError:
        return None


def _chunks(path: Path, on_bytes: Callable[[int], None]) -> Iterator[bytes]:
    try:
        with path.open("rb") as stream:
            while chunk := stream.read(_READ_BYTES):
                on_bytes(len(chunk))
                yield chunk
    except OSError as error:
        raise InvalidInputError(f"{path} cannot be read ({error.strerror}): check its permissions.") from error
