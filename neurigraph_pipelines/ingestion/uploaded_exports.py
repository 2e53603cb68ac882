"""Uploaded exports of conversations: their conversations are added to the inbox, as ``neurigraph import`` adds them.

``export_lines`` reads the file in a confined process. What is added is recognised when the file is read again, so a
reader that died loses nothing and doubles nothing. The bytes of the file are not kept: the conversations are what is
remembered, and a conversation that is forgotten must not remain in a file.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import islice
from typing import Any

from neurigraph_pipelines.context import Context
from neurigraph_pipelines.errors import UnreadableFileError
from neurigraph_pipelines.ingestion.export_lines import conversations_of, format_of
from neurigraph_pipelines.ingestion.importing import Importer
from neurigraph_pipelines.ingestion.upload_leases import require_held
from neurigraph_pipelines.model import (
    Claims,
    ImportReport,
    NewConversation,
    Privacy,
    ReceivedThrough,
    RejectedItem,
    SourceKind,
    Tier,
)
from neurigraph_pipelines.model.sources import Channel, SourceDetails
from neurigraph_pipelines.ports import ExportReader
from neurigraph_pipelines.statements import statements
from neurigraph_pipelines.text.hygiene import clean_text
from neurigraph_pipelines.text.media_types import MediaType

SHOWN_REJECTIONS = 20
"""Rejected items of a file that are kept with their reasons; the others are counted."""

_QUERIES = statements("uploads")
_AT_ONCE = 128
_SHOWN_CHARACTERS = 300
_MEDIA_TYPES = ("application/zip", "application/json", "application/jsonl", "text/plain")


def may_be_export(upload: Mapping[str, Any], media: MediaType) -> bool:
    """Return whether an upload is looked at for conversations: not what its sender calls a document, nor a web page."""
    is_allowed = not upload["is_document"] and upload["received_through"] != ReceivedThrough.WEB
    return is_allowed and media.name in _MEDIA_TYPES and (media.file_type == "export" or "json" in media.name)


def import_export(context: Context, exports: ExportReader, upload: Mapping[str, Any]) -> ImportReport | None:
    """Add the conversations of an upload to its owner's inbox. Adding them again adds nothing.

    Args:
        upload: As ``lease_upload`` returns it.

    Returns:
        What was added; None if it is a document, because no conversation is in it.

    Raises:
        UnreadableFileError: It cannot be read to its end. What came before stays.
        TransientError: Another process has taken the upload over.
    """
    with context.database.pipeline() as tx:
        stated = tx.execute(_QUERIES["stated_of_upload"], {"source_id": upload["source_id"]}).fetchone()
    assert stated is not None
    caller = context.acting_for(Claims.of_author(upload["user_id"], stated["member_id"], ReceivedThrough.IMPORT))
    privacy = Privacy.PRIVATE if stated["privacy"] == Privacy.PRIVATE else None
    report = ImportReport()
    content = context.objects.get(upload["staging_key"])
    with exports.lines(content, upload["file_name"], stated["started_at"]) as lines:
        name = format_of(lines)
        if name is None:
            return None
        _note_group(context, upload, ())
        importer = Importer(caller, name, privacy, _details(stated), report)
        errors: list[UnreadableFileError] = []
        added = importer.add(_until_unreadable(conversations_of(lines), errors))
        while group := list(islice(added, _AT_ONCE)):
            _note_group(context, upload, group)
        for error in errors:
            seen = report.conversations_seen
            raise UnreadableFileError(f"{error} (conversations added before that: {seen:,})") from error
    if not report.conversations_seen:
        return None
    imported = {"source_id": upload["source_id"], "imported": json.dumps(_shown(name, report))}
    with context.database.pipeline() as tx:
        tx.execute(_QUERIES["imported"], imported)
    return report


def _until_unreadable(
    items: Iterator[NewConversation | RejectedItem], errors: list[UnreadableFileError]
) -> Iterator[NewConversation | RejectedItem]:
    """Yield items up to the error that ends them, and note that: those before it are added first."""
    try:
        yield from items
    except UnreadableFileError as error:
        errors.append(error)


def _details(stated: Mapping[str, Any]) -> SourceDetails:
    """Return what the sender of a file stated, for the conversations in it."""
    return SourceDetails(
        origin=stated["origin"],
        url=stated["url"],
        channel=Channel(stated["channel"]) if stated["channel"] else None,
        author=stated["author"],
        metadata=stated["metadata"] or {},
        tier=Tier(stated["tier"]) if stated["tier"] else None,
        container_tags=tuple(stated["container_tags"]),
    )


def _note_group(context: Context, upload: Mapping[str, Any], group: Sequence[NewConversation]) -> None:
    """Note that conversations are in an upload, as long as this process holds the lease on it."""
    kinds = [SourceKind.CONVERSATION if one.event_kind is None else SourceKind.EVENT for one in group]
    leased = {name: upload[name] for name in ("source_id", "user_id")}
    named = {"kinds": [kind.value for kind in kinds], "external_ids": [_storable(one.external_id) for one in group]}
    with context.database.pipeline() as tx:
        require_held(tx, upload)
        tx.execute(_QUERIES["note_in_export"], {**leased, **named})


def _shown(name: str, report: ImportReport) -> dict[str, Any]:
    """Return what is kept of an import."""
    rejected = [asdict(one) for one in report.rejected[:SHOWN_REJECTIONS]]
    return {
        "format": name,
        "conversations": report.conversations_seen,
        "conversations_added": report.conversations_added,
        "messages_added": report.messages_added,
        "messages_known": report.messages_known,
        "rejected_count": len(report.rejected),
        "rejected": [{field: _storable(text)[:_SHOWN_CHARACTERS] for field, text in one.items()} for one in rejected],
    }


def _storable(text: str) -> str:
    return clean_text(text, "repair")[0]
