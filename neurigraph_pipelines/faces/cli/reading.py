"""The command ``open``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Annotated, Any
from uuid import UUID

import typer

from neurigraph_pipelines.access.short_ids import id_of, place_of
from neurigraph_pipelines.faces.cli import layouts, output
from neurigraph_pipelines.faces.cli.session import (
    UserSlug,
    claims_of,
    file_id_of,
    opened,
    option,
    positional,
)
from neurigraph_pipelines.model import TOOL_FIELDS
from neurigraph_pipelines.model.context import Context
from neurigraph_pipelines.model.errors import InvalidInputError, NotFoundError
from neurigraph_pipelines.retrieval import open as opening
from neurigraph_pipelines.retrieval.open import OpenedFile, speaker_lines
from neurigraph_pipelines.retrieval.unstored import MAX_MESSAGES, open_unstored
from neurigraph_pipelines.views.files import Message

commands = typer.Typer()


@commands.command("open")
def open_file(
    identifier: Annotated[
        str, positional("Id from `neurigraph search`, or a place such as `1f3a9c2d:5`.", "FILE_OR_RECORD_ID")
    ],
    user: UserSlug,
    message: Annotated[int | None, option("Open only this message.", min=1, max=2**31 - 1)] = None,
    text: Annotated[bool, option("For an upload, open the text extracted from it.", "--text")] = False,
    stored: Annotated[
        bool, option("Open a transcript byte by byte as stored, with stated authors alone.", "--stored")
    ] = False,
    wait: Annotated[
        float, typer.Option(min=0, max=86_400, help="Seconds to wait while another process decompresses the file.")
    ] = 0.0,
    output_file: Annotated[Path | None, option("Write the bytes to this file.", "--output", "-o")] = None,
) -> None:
    """Open exactly one file, or one message of it; of a conversation's id, the messages that are not stored yet.

    A dormant file is decompressed first. If another process is decompressing it and needs longer than --wait, the exit
    code is 6.
    """
    identifier, place = place_of(identifier)
    message = message or place
    with opened() as installation:
        claims = claims_of(installation, user)
        context = installation.acting_for(claims)
        try:
            file_id = file_id_of(installation, claims, identifier)
        except NotFoundError:
            if output_file is not None or not _show_unstored(context, identifier, message):
                raise
            return
        with _naming(identifier, message):
            data, layout, content = _read(context, file_id, message, text, stored, wait)
        if output_file is None:
            output.result(data, layout)
        else:
            _write(output_file, file_id, content)


def _read(
    context: Context, file_id: UUID, message: int | None, as_text: bool, as_stored: bool, wait: float
) -> tuple[object, Callable[[], Any], Iterable[bytes]]:
    """Return a file, or one message of it, as data, in words and as bytes."""
    if message is not None:
        one = opening.open_message(context, file_id, message)
        return one, partial(_message_view, one), [one.content.encode()]
    file = opening.open_file(context, file_id, as_text=as_text, as_stored=as_stored, wait=wait)
    return _file_data(file), partial(_file_view, file), file.chunks()


@contextmanager
def _naming(identifier: str, message: int | None) -> Iterator[None]:
    """Let the error of a missing file name the thing asked for."""
    try:
        yield
    except NotFoundError:
        where = "" if message is None else f" with a message {message}"
        raise NotFoundError(f"there is no file or record {identifier}{where}") from None


def _show_unstored(context: Context, identifier: str, message: int | None) -> bool:
    """Show the messages of a source that are not stored yet, or name its memories; False if there is none."""
    try:
        source_id = id_of(context.database, context.claims, "source", identifier)
        found = open_unstored(context, source_id, from_message=message or 1, limit=1 if message else MAX_MESSAGES)
    except NotFoundError:
        return False
    if message is not None and found.messages and found.messages[0].seq != message:
        return False

    def layout() -> Any:
        records = [f"stored as {record_id}" for record_id in found.record_ids]
        return layouts.stacked(
            layouts.transcript([one.model_dump() for one in found.messages]), layouts.lines(*records)
        )

    output.result(found, layout)
    return True


def _file_data(file: OpenedFile) -> dict[str, object]:
    """Return the name, type and size of a file, and the messages of a transcript."""
    data = {
        "file_id": file.file_id,
        "name": file.file_name,
        "media_type": file.media_type,
        "size_bytes": file.size_bytes,
    }
    return {**data, "messages": speaker_lines(file.content)} if file.is_transcript else data


def _file_view(file: OpenedFile) -> Any:
    if file.is_transcript:
        return layouts.transcript(speaker_lines(file.content))
    return layouts.lines(
        f"{file.file_name}: {file.media_type} of {file.size_bytes:,} bytes. "
        "Use --output to write it, or --text to show its text."
    )


def _message_view(message: Message) -> Any:
    is_named = any(getattr(message, name) is not None for name in ("author", *TOOL_FIELDS))
    return layouts.lines(f"{layouts.sayer(dict(message))}: {message.content}" if is_named else message.content)


def _write(path: Path, file_id: UUID, content: Iterable[bytes]) -> None:
    """Write a file's bytes, and say how many."""
    try:
        with path.open("wb") as written:
            size = sum(map(written.write, content))
    except OSError as error:
        raise InvalidInputError(f"cannot write {path}: {error.strerror}") from error

    output.said({"file_id": file_id, "output": str(path), "bytes": size}, f"{size:,} bytes written to {path}")
