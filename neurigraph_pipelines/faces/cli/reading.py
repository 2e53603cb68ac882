"""Commands that read memories: ``search``, ``ask``, ``open``, ``tree`` and ``node``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any
from uuid import UUID

import typer

from neurigraph_pipelines.faces.cli.output import Json, Output
from neurigraph_pipelines.faces.cli.session import (
    SpaceTags,
    UserSlug,
    argument,
    claims_of,
    file_id_of,
    moment,
    node_id_of,
    opened,
)
from neurigraph_pipelines.model import TOOL_FIELDS, SourceKind
from neurigraph_pipelines.model.errors import InvalidInputError, NotFoundError

if TYPE_CHECKING:
    from neurigraph_pipelines.model import Claims
    from neurigraph_pipelines.model.context import Context
    from neurigraph_pipelines.retrieval.open import OpenedFile
    from neurigraph_pipelines.retrieval.query.question import Question
    from neurigraph_pipelines.views.files import Message
    from neurigraph_pipelines.wiring.installation import Installation

commands = typer.Typer()
QUOTED_CHARACTERS = 240


Query = Annotated[str, typer.Argument(help="A question in plain words.", show_default=False)]
Node = Annotated[
    str | None, typer.Option(help="Search only this node and the nodes below it, by path or id.", show_default=False)
]
After = Annotated[
    str | None,
    typer.Option(
        metavar="TIME",
        help="Only events at this time or later, for example 2023-05-08.",
        show_default=False,
    ),
]
Before = Annotated[
    str | None, typer.Option(metavar="TIME", help="Only memories of events before this time.", show_default=False)
]
Kind = Annotated[
    list[SourceKind] | None,
    typer.Option(help="Only memories from this kind of source; may be repeated.", show_default=False),
]
Speaker = Annotated[str | None, typer.Option(help="Only messages of the speaker with this name.", show_default=False)]
At = Annotated[
    str | None,
    typer.Option(metavar="TIME", help="Only memories stored by then, as they were then.", show_default=False),
]
Superseded = Annotated[
    bool, typer.Option("--include-superseded", help="Also return memories that newer ones have replaced.")
]


@commands.command(short_help="Find memories, and quote the best messages.")
def search(
    query: Query,
    user: UserSlug,
    limit: Annotated[int, typer.Option(help="Maximum number of records.")] = 10,
    node: Node = None,
    after: After = None,
    before: Before = None,
    kind: Kind = None,
    speaker: Speaker = None,
    at: At = None,
    include_superseded: Superseded = False,
    space: SpaceTags = None,
    facts: Annotated[bool, typer.Option("--facts", help="Also return facts: single statements.")] = False,
    explain: Annotated[
        bool, typer.Option("--explain", help="Show the components of every score, and all changes of the ranking.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Search memories for a question, and quote the best message of each. With --json no file is read."""
    from neurigraph_pipelines.retrieval.query.search import search
    from neurigraph_pipelines.retrieval.quotes import best_quotes

    with opened() as installation:
        claims = claims_of(installation, user, space)
        question = _question(installation, claims, query, node, after, before, kind, speaker, at, include_superseded)
        question = replace(question, limit=limit, explain=explain, include_facts=facts)
        found = search(
            installation.acting_for(claims),
            question,
            asked_at=question.at or _now(),
        )
        quotes = {} if as_json else best_quotes(installation.acting_for(claims), query, found, QUOTED_CHARACTERS)

    def layout() -> Any:
        from neurigraph_pipelines.faces.cli import layouts

        return layouts.answer(found, user, quotes)

    Output(as_json).result(found.model_dump(exclude_unset=True), layout)


@commands.command(short_help="Answer a question in words, with citations.")
def ask(
    query: Query,
    user: UserSlug,
    node: Node = None,
    after: After = None,
    before: Before = None,
    kind: Kind = None,
    speaker: Speaker = None,
    at: At = None,
    include_superseded: Superseded = False,
    space: SpaceTags = None,
    as_json: Json = False,
) -> None:
    """Answer a question in words, with citations. Only the messages that may hold the answer are read."""
    from neurigraph_pipelines.retrieval import ask as answering

    with opened() as installation:
        claims = claims_of(installation, user, space)
        question = _question(installation, claims, query, node, after, before, kind, speaker, at, include_superseded)
        reply = answering.ask(
            installation.acting_for(claims),
            question,
            asked_at=question.at or _now(),
        )

    def layout() -> Any:
        from neurigraph_pipelines.faces.cli import layouts

        return layouts.reply(reply, user)

    Output(as_json).result(reply, layout)


def _question(
    installation: Installation,
    claims: Claims,
    query: str,
    node: str | None,
    after: str | None,
    before: str | None,
    kinds: list[SourceKind] | None,
    speaker: str | None,
    at: str | None,
    include_superseded: bool,
) -> Question:
    """Return the question that the options of ``search`` and ``ask`` describe."""
    from neurigraph_pipelines.retrieval.query.question import Question

    return Question(
        argument(query),
        node_id=None if node is None else node_id_of(installation, claims, node),
        at=moment("--at", at),
        occurred_after=moment("--after", after),
        occurred_before=moment("--before", before),
        source_kinds=tuple(kinds or ()),
        speaker=None if speaker is None else argument(speaker),
        include_superseded=include_superseded,
    )


def _now() -> datetime:
    """Return the current time in this machine's time zone, whose days the user means."""
    return datetime.now(UTC).astimezone()


@commands.command("open", short_help="Open a file, or one message of it.")
def open_file(
    identifier: Annotated[
        str,
        typer.Argument(
            metavar="FILE_OR_RECORD_ID", help="Id from `neurigraph search`, or a place such as `1f3a9c2d:5`."
        ),
    ],
    user: UserSlug,
    message: Annotated[int | None, typer.Option(min=1, max=2**31 - 1, help="Open only this message.")] = None,
    text: Annotated[bool, typer.Option("--text", help="For an upload, open the text extracted from it.")] = False,
    stored: Annotated[
        bool, typer.Option("--stored", help="Open a transcript byte by byte as stored, with stated authors alone.")
    ] = False,
    wait: Annotated[
        float, typer.Option(min=0, max=86_400, help="Seconds to wait while another process decompresses the file.")
    ] = 0.0,
    output_file: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write the bytes to this file.", show_default=False)
    ] = None,
    as_json: Json = False,
) -> None:
    """Open exactly one file, or one message of it; of a conversation's id, the messages that are not stored yet.

    A dormant file is decompressed first. If another process is decompressing it and needs longer than --wait, the exit
    code is 6.
    """
    from neurigraph_pipelines.access.short_ids import place_of

    identifier, place = place_of(identifier)
    message = message or place
    with opened() as installation:
        claims = claims_of(installation, user)
        context = installation.acting_for(claims)
        try:
            file_id = file_id_of(installation, claims, identifier)
        except NotFoundError:
            if output_file is not None or not _show_unstored(context, identifier, message, Output(as_json)):
                raise
            return
        with _naming(identifier, message):
            data, layout, content = _read(context, file_id, message, text, stored, wait)
        if output_file is None:
            Output(as_json).result(data, layout)
        else:
            _write(Output(as_json), output_file, file_id, content)


def _read(
    context: Context, file_id: UUID, message: int | None, as_text: bool, as_stored: bool, wait: float
) -> tuple[object, Callable[[], Any], Iterable[bytes]]:
    """Return a file, or one message of it, as data, in words and as bytes."""
    from neurigraph_pipelines.retrieval import open as opening

    if message is not None:
        one = opening.open_message(context, file_id, message)
        return one, partial(_message_view, one), [one.content.encode()]
    file = opening.open_file(context, file_id, as_text=as_text, as_stored=as_stored, wait=wait)
    return _file_data(file), partial(_file_view, file), file.chunks()


@contextmanager
def _naming(identifier: str, message: int | None) -> Iterator[None]:
    """Let the error of a missing file name what was asked for."""
    try:
        yield
    except NotFoundError:
        where = "" if message is None else f" with a message {message}"
        raise NotFoundError(f"there is no file or record {identifier}{where}") from None


def _show_unstored(context: Context, identifier: str, message: int | None, output: Output) -> bool:
    """Show the messages of a source that are not stored yet, or say what they became; False if there is none."""
    from neurigraph_pipelines.access.short_ids import id_of
    from neurigraph_pipelines.retrieval.unstored import MAX_MESSAGES, open_unstored

    try:
        source_id = id_of(context.database, context.claims, "source", identifier)
        found = open_unstored(context, source_id, from_message=message or 1, limit=1 if message else MAX_MESSAGES)
    except NotFoundError:
        return False
    if message is not None and found.messages and found.messages[0].seq != message:
        return False

    def layout() -> Any:
        from neurigraph_pipelines.faces.cli import layouts

        records = [f"stored as {record_id}" for record_id in found.record_ids]
        return layouts.stacked(
            layouts.transcript([one.model_dump() for one in found.messages]), layouts.lines(*records)
        )

    output.result(found, layout)
    return True


def _file_data(file: OpenedFile) -> dict[str, object]:
    """Return the name, type and size of a file, and the messages of a transcript."""
    from neurigraph_pipelines.retrieval.open import speaker_lines

    data = {
        "file_id": file.file_id,
        "name": file.file_name,
        "media_type": file.media_type,
        "size_bytes": file.size_bytes,
    }
    return {**data, "messages": speaker_lines(file.content)} if file.is_transcript else data


def _file_view(file: OpenedFile) -> Any:
    from neurigraph_pipelines.faces.cli import layouts
    from neurigraph_pipelines.retrieval.open import speaker_lines

    if file.is_transcript:
        return layouts.transcript(speaker_lines(file.content))
    return layouts.lines(
        f"{file.file_name}: {file.media_type} of {file.size_bytes:,} bytes. "
        "Use --output to write it, or --text to show its text."
    )


def _message_view(message: Message) -> Any:
    from neurigraph_pipelines.faces.cli import layouts

    is_named = any(getattr(message, name) is not None for name in ("author", *TOOL_FIELDS))
    return layouts.lines(f"{layouts.sayer(dict(message))}: {message.content}" if is_named else message.content)


def _write(output: Output, path: Path, file_id: UUID, content: Iterable[bytes]) -> None:
    """Write a file's bytes, and say how many."""
    try:
        with path.open("wb") as written:
            size = sum(map(written.write, content))
    except OSError as error:
        raise InvalidInputError(f"cannot write {path}: {error.strerror}") from error

    output.said({"file_id": file_id, "output": str(path), "bytes": size}, f"{size:,} bytes written to {path}")
