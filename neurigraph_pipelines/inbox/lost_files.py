"""Files of records whose durable objects are missing, written again from a source that is handed in again.

The inbox drops the words of what is stored, so only their sender has them. Bytes count only if they have the recorded
checksum: a caller that sends others changes nothing. ``lifecycle.verification`` finds lost files, and repairs them from
working copies.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from uuid import UUID

from psycopg import sql
from psycopg.rows import DictRow

from neurigraph_pipelines.database.asking import rows_of
from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.inbox import triggers
from neurigraph_pipelines.lifecycle import transitions
from neurigraph_pipelines.lifecycle.stored_bytes import Manifest, VerifiedBytes, make_working_copy, remake_durable
from neurigraph_pipelines.lifecycle.transitions import FileLocation
from neurigraph_pipelines.model import CompressionState, IncomingMessage, Message, Segment, SourceKind, ToolEvent
from neurigraph_pipelines.model.context import Context
from neurigraph_pipelines.model.errors import NotFoundError
from neurigraph_pipelines.model.ports import Transaction
from neurigraph_pipelines.text.stored_text import decompress
from neurigraph_pipelines.text.transcript import Layout, transcript_writer

_LOOKERS = 8  # threads; they wait for a disk or a network
_QUERIES = statements("lost_files")
_LIFECYCLE = statements("lifecycle")

Sent = Mapping[str, Sequence[IncomingMessage]]
"""Messages as the inbox takes them, by the external id of their source."""


@dataclass(frozen=True, slots=True)
class LostFile:
    """A file whose durable object is missing."""

    external_id: str
    location: FileLocation
    manifest: Manifest

    @property
    def is_transcript(self) -> bool:
        """Whether it is the text of a record, rather than an uploaded file."""
        return self.manifest.file_type == "transcript"


def lost_by_name(context: Context, user_id: UUID, kinds: Mapping[str, SourceKind]) -> list[LostFile]:
    """Return the lost files of sources, given their kinds by their external ids."""
    values = {"user_id": user_id, "kinds": list(kinds.values()), "external_ids": list(kinds)}
    with context.database.pipeline() as tx:
        return _lost(context, tx, tx.execute(_QUERIES["records_by_name"], values).fetchall())


def lost_of_upload(context: Context, upload_id: UUID) -> list[LostFile]:
    """Return the lost files of an upload and of the conversations that came from it."""
    with context.database.pipeline() as tx:
        return _lost(context, tx, tx.execute(_QUERIES["records_of_upload"], {"source_id": upload_id}).fetchall())


def rewrite_transcripts(context: Context, lost: Iterable[LostFile], sent: Sent) -> int:
    """Write lost transcripts again from the messages that were sent again; return their number."""
    rewritten = 0
    for file in lost:
        if file.is_transcript and (content := _transcript(context, file, sent.get(file.external_id, ()))) is not None:
            rewritten += rewrite_file(context, file, content)
    return rewritten


def rewrite_file(context: Context, file: LostFile, content: VerifiedBytes) -> bool:
    """Write a lost file again; return whether the content is the same."""
    with suppress(NotFoundError), context.database.pipeline() as tx:  # it was forgotten meanwhile
        manifest = transitions.lock(tx, file.location)
        if context.objects.exists(manifest.storage_path) or not remake_durable(context.objects, manifest, content):
            return False
        if manifest.compression_state == CompressionState.ACTIVE:
            make_working_copy(context.objects, manifest, lambda: None)
        query = _LIFECYCLE["clear_failure"].format(schema=file.location.schema)
        tx.execute(query, {"file_id": file.location.file_id})
        return True
    return False


def mend_upload(context: Context, upload_id: UUID, fresh_key: str) -> bool:
    """Let an upload be read again if its bytes, or files of its records, are missing.

    Args:
        fresh_key: The object with the same bytes, received again.

    Returns:
        Whether the upload has that object now.
    """
    with context.database.pipeline() as tx:
        row = tx.execute(_QUERIES["staged_upload"], {"source_id": upload_id}).fetchone()
    lost = lost_of_upload(context, upload_id)
    waits = row is not None and row["staging_key"] is not None
    if row is None or not (lost or (waits and not context.objects.exists(row["staging_key"]))):
        return False
    for file in lost:
        if not file.is_transcript:
            rewrite_file(context, file, VerifiedBytes(context.objects.get(fresh_key)))
    with context.database.pipeline() as tx:  # it may be forgotten by now
        return tx.execute(_QUERIES["read_again"], {"source_id": upload_id, "staging_key": fresh_key}).rowcount > 0


def _lost(context: Context, tx: Transaction, records: Sequence[DictRow]) -> list[LostFile]:
    by_schema: dict[str, dict[UUID, DictRow]] = {}
    for row in records:
        by_schema.setdefault(row["schema_name"], {})[row["record_id"]] = row
    found: list[LostFile] = []
    for schema_name, rows in by_schema.items():
        query = _LIFECYCLE["files_of_records"].format(schema=sql.Identifier(schema_name))
        for manifest in rows_of(tx, query, Manifest, {"record_ids": list(rows)}):
            row = rows[manifest.record_id]
            location = FileLocation(manifest.file_id, row["node_id"], schema_name)
            found.append(LostFile(row["external_id"], location, manifest))
    with ThreadPoolExecutor(_LOOKERS) as pool:
        present = list(pool.map(context.objects.exists, [file.manifest.storage_path for file in found]))
    return [file for file, is_there in zip(found, present, strict=True) if not is_there]


def _transcript(context: Context, file: LostFile, sent: Sequence[IncomingMessage]) -> VerifiedBytes | None:
    """Return the text of a lost transcript, if these messages give the recorded checksum."""
    values = {"record_id": file.manifest.record_id}
    with context.database.pipeline() as tx:
        part = tx.execute(_QUERIES["part"].format(schema=file.location.schema), values).fetchone()
        ref = triggers.segment_of_record(tx, file.location.schema, file.manifest.record_id)
        if part is None or ref is None:
            return None
        segment = triggers.load(context.database, ref, (part["first_message"], part["last_message"]))
        words = {one.external_id: one for one in sent}
        messages = [_with_words(tx, one, words.get(one.external_id)) for one in segment.messages]
    text = decompress(transcript_writer(context).members(Segment(segment.ref, tuple(messages)), Layout()))
    content = VerifiedBytes(text)
    return content if content.sha256 == file.manifest.content_sha256 else None


def _with_words(tx: Transaction, stored: Message, sent: IncomingMessage | None) -> Message:
    """Return a stored message with the words that the inbox has dropped."""
    if stored.content or sent is None:
        return stored
    event = json.dumps(sent.event.fields(sent.content)) if sent.event is not None else None
    values = {"tool_calls": json.dumps(list(sent.tool_calls)), "tool_event": event}
    (row,) = tx.execute(_QUERIES["as_stored"], values)
    return replace(
        stored,
        content=sent.content,
        tool_calls=tuple(row["tool_calls"]),
        event=ToolEvent.of_fields(row["tool_event"], sent.content) if row["tool_event"] is not None else None,
    )
