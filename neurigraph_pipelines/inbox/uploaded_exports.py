"""Uploaded exports of conversations: their conversations are added to the inbox, as ``neurigraph import`` adds them.

``export_lines`` reads the file in a confined process. What is added is recognised when the file is read again, so a
reader that died loses nothing and doubles nothing. The bytes of the file are not kept: the conversations are what is
remembered, and a conversation that is forgotten must not remain in a file.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from itertools import islice

from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.inbox.export_formats import READ
from neurigraph_pipelines.inbox.export_lines import AS_IT_IS, Line, conversations_of, format_of
from neurigraph_pipelines.inbox.importing import Importer, stated_format, wants_everything
from neurigraph_pipelines.inbox.imports.date_order import stated_order
from neurigraph_pipelines.inbox.imports.vault import FORMAT as VAULT
from neurigraph_pipelines.inbox.upload_leases import LeasedUpload, require_held
from neurigraph_pipelines.inbox.vaults import import_vault, note_ids
from neurigraph_pipelines.inbox.zipped_vaults import unpacked
from neurigraph_pipelines.model import (
    Claims,
    ImportedConversation,
    ImportReport,
    Privacy,
    ReceivedThrough,
    RejectedItem,
    SourceKind,
)
from neurigraph_pipelines.model.context import Context
from neurigraph_pipelines.model.errors import UnreadableFileError
from neurigraph_pipelines.model.ports import ExportReader
from neurigraph_pipelines.model.sources import SourceDetails
from neurigraph_pipelines.text.hygiene import clean_text
from neurigraph_pipelines.text.media_types import MediaType

SHOWN_REJECTIONS = 20
"""Rejected items of a file that are kept with their reasons; the others are counted."""

_QUERIES = statements("uploads")
_AT_ONCE = 128
_SHOWN_CHARACTERS = 300
_MOST_OF_MAIL = 200
"""Messages of one mail, with those that it forwards."""

_MEDIA_TYPES = (
    "application/zip",
    "application/json",
    "application/jsonl",
    "text/plain",
    "text/html",
    "application/vnd.ms-outlook",
)


def may_be_export(upload: LeasedUpload, media: MediaType) -> bool:
    """Return whether an upload is searched for conversations: no web page is, and no file called a document is."""
    is_allowed = not upload.is_document and upload.received_through != ReceivedThrough.WEB
    return is_allowed and media.name in _MEDIA_TYPES and (media.file_type == "export" or "json" in media.name)


def import_export(context: Context, exports: ExportReader, upload: LeasedUpload) -> ImportReport | None:
    """Add the conversations of an upload to its owner's inbox. Adding them again adds nothing.

    Returns:
        What was added; None if it is a document, because no conversation is in it.

    Raises:
        UnreadableFileError: It cannot be read to its end. What came before stays.
        TransientError: Another process has taken the upload over.
    """
    with context.database.pipeline() as tx:
        (stated,) = tx.execute(_QUERIES["stated_of_upload"], {"source_id": upload.source_id})
    caller = context.acting_for(Claims.of_author(upload.user_id, stated["member_id"], ReceivedThrough.IMPORT))
    privacy = Privacy.PRIVATE if stated["privacy"] == Privacy.PRIVATE else None
    details = SourceDetails.of_columns(stated)
    report = ImportReport()
    content = context.objects.get(upload.staging_key)
    how = (stated_order(details.metadata), wants_everything(details.metadata), stated_format(details.metadata))
    with exports.lines(content, upload.file_name, stated["started_at"], *how) as lines:
        name, vault = format_of(lines)
        if name is None:
            return None
        _note_group(context, upload, ())
        if name == VAULT:
            return _import_notes(caller, upload, privacy, details, vault, lines)
        importer = Importer(caller, name, privacy, details, report)
        errors: list[UnreadableFileError] = []
        added = importer.add(_until_unreadable(conversations_of(lines, report.notes.append), errors))
        mail: dict[str, object] | None = None
        while group := list(islice(added, _AT_ONCE)):
            _note_group(context, upload, group)
            mail = _mail_of(name, report, group)
        for error in errors:
            seen = report.conversations_seen
            raise UnreadableFileError(f"{error} (conversations added before that: {seen:,})") from error
    _require_something(name, report)
    _finish(context, upload, name, report, mail)
    return report


def _mail_of(name: str, report: ImportReport, group: Sequence[ImportedConversation]) -> dict[str, object] | None:
    """Return the thread and the messages of a file that is one mail, so that they are known when it is gone."""
    if name != "mail" or report.conversations_seen != 1 or len(group[0].messages) > _MOST_OF_MAIL:
        return None
    (one,) = group
    ids = [_storable(message.external_id) for message in one.messages if message.external_id]
    return {"thread": _storable(one.external_id), "messages": ids}


def _import_notes(
    caller: Context,
    upload: LeasedUpload,
    privacy: Privacy | None,
    details: SourceDetails,
    vault: str,
    lines: Iterator[Line],
) -> ImportReport:
    """Add the notes of a zip as those of a vault."""
    with unpacked(vault, lines) as (folder, rejected):
        found = import_vault(caller, caller.settings, folder, privacy=privacy, details=details)
        _note(caller, upload, [(SourceKind.NOTE, one) for one in note_ids(folder)])
    report = ImportReport(
        conversations_added=found.added,
        conversations_seen=found.notes_seen,
        messages_added=found.added + found.changed,
        messages_known=found.known + found.moved,
        rejected=[*rejected, *found.rejected],
        notes=[f"{one.where}: {one.reason}" for one in found.noted],
    )
    report.notes += [f"files that are no notes, not read: {found.others:,}"] if found.others else []
    report.notes += [f"notes without a date, dated by the file: {found.undated:,}"] if found.undated else []
    _require_something(VAULT, report)
    _finish(caller, upload, VAULT, report)
    return report


def _require_something(name: str, report: ImportReport) -> None:
    """Require that something of an export was read, or left out for a reason that is said.

    Raises:
        UnreadableFileError: Nothing was.
    """
    if not report.conversations_seen and (report.rejected or not report.notes):
        first = report.rejected[0] if report.rejected else None
        reason = f"{first.where}: {first.reason}" if first is not None else "it is empty"
        raise UnreadableFileError(f"nothing in it can be read as {name} ({reason}). {READ}. {AS_IT_IS}")


def _finish(
    context: Context, upload: LeasedUpload, name: str, report: ImportReport, mail: dict[str, object] | None = None
) -> None:
    kept = _kept(name, report) | ({"mail": mail} if mail else {})
    imported = {"source_id": upload.source_id, "imported": json.dumps(kept)}
    with context.database.pipeline() as tx:
        tx.execute(_QUERIES["imported"], imported)


def _until_unreadable(
    items: Iterator[ImportedConversation | RejectedItem], errors: list[UnreadableFileError]
) -> Iterator[ImportedConversation | RejectedItem]:
    """Yield items up to the error that ends them, and note that: those before it are added first."""
    try:
        yield from items
    except UnreadableFileError as error:
        errors.append(error)


def _note_group(context: Context, upload: LeasedUpload, group: Sequence[ImportedConversation]) -> None:
    """Note that conversations are in an upload, as long as this process holds the lease on it."""
    kinds = [SourceKind.CONVERSATION if one.event_kind is None else SourceKind.EVENT for one in group]
    _note(context, upload, [(kind, _storable(one.external_id)) for kind, one in zip(kinds, group, strict=True)])


def _note(context: Context, upload: LeasedUpload, sources: Sequence[tuple[SourceKind, str]]) -> None:
    leased = {"source_id": upload.source_id, "user_id": upload.user_id}
    named = {"kinds": [kind.value for kind, _ in sources], "external_ids": [one for _, one in sources]}
    with context.database.pipeline() as tx:
        require_held(tx, upload)
        tx.execute(_QUERIES["note_in_export"], {**leased, **named})


def _kept(name: str, report: ImportReport) -> dict[str, object]:
    """Return the counts and notes of an import that its upload keeps."""
    rejected = [asdict(one) for one in report.rejected[:SHOWN_REJECTIONS]]
    return {
        "format": name,
        "conversations": report.conversations_seen,
        "conversations_added": report.conversations_added,
        "messages_added": report.messages_added,
        "messages_known": report.messages_known,
        "rejected_count": len(report.rejected),
        "notes": [_storable(note)[:_SHOWN_CHARACTERS] for note in report.notes[:SHOWN_REJECTIONS]],
        "rejected": [{field: _storable(text)[:_SHOWN_CHARACTERS] for field, text in one.items()} for one in rejected],
    }


def _storable(text: str) -> str:
    return clean_text(text, "repair")[0]
