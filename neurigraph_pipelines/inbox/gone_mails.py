"""Mails that are gone from their place: their thread gets a version without them, which supersedes what they said.

The other mails of the thread are read from the place again, because the inbox drops what is stored.
"""

from __future__ import annotations

import re
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime

from psycopg.rows import DictRow

from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.inbox import drop_intake
from neurigraph_pipelines.inbox.export_lines import conversations_of, format_of
from neurigraph_pipelines.inbox.importing import Importer
from neurigraph_pipelines.model import (
    Claims,
    DroppedFile,
    ImportedConversation,
    ImportReport,
    IncomingMessage,
    ReceivedThrough,
    Role,
)
from neurigraph_pipelines.model.context import Context
from neurigraph_pipelines.model.errors import InvalidInputError, StorageError, UnreadableFileError
from neurigraph_pipelines.model.ports import DropPlace, ExportReader
from neurigraph_pipelines.model.sources import SourceDetails
from neurigraph_pipelines.views.kinds import Channel

_QUERIES = statements("uploads")
_FORMAT = "mail"
_HEAD = b"From mail Thu Jan  1 00:00:00 1970\n"
_LIKE_HEAD = re.compile(rb"^(>*From )", re.MULTILINE)
_NONE_LEFT = "no-mail-is-left"
"""The id of the message that says so."""


def shorten_threads(
    context: Context, exports: ExportReader, place: DropPlace, owner: tuple[str, str], details: SourceDetails
) -> int:
    """Give each thread with a mail that is no longer in its place a version without it; return the number of mails.

    A thread with messages from elsewhere stays as it is, and so does one whose mails cannot be read now.

    Args:
        owner: User and source.
        details: What is known of every mail.
    """
    listed = drop_intake.listed_in(place)
    rows = [one for one in drop_intake.known_of_source(context.database, owner) if one["mail"]]
    gone = {row["file_name"]: row for row in drop_intake.gone_of(rows, listed)}
    threads: dict[str, list[DictRow]] = defaultdict(list)
    for row in rows:
        threads[row["mail"]["thread"]].append(row)
    followed = 0
    for mails in threads.values():
        lost = [one for one in mails if one["file_name"] in gone]
        left = [listed[one["file_name"]] for one in mails if one["file_name"] in listed]
        if lost and _shorten(context, exports, lost, _mailbox(place, left), details):
            for one in lost:
                drop_intake.record_gone(context.database, owner[0], one)
            followed += len(lost)
    return followed


def _shorten(
    context: Context, exports: ExportReader, lost: Sequence[DictRow], left: Iterable[bytes], details: SourceDetails
) -> bool:
    """Give a thread a version without some mails, if that can be done; return False to try again at the next look."""
    thread = lost[0]["mail"]["thread"]
    caller = context.acting_for(Claims.of_user(lost[0]["user_id"], ReceivedThrough.IMPORT))
    with caller.database.agent(caller.claims) as tx:
        values = {"user_id": caller.claims.user_id, "external_id": thread}
        newest = tx.execute(_QUERIES["newest_thread"], values).fetchone()
    if newest is None:
        return True
    try:
        kept = {one.external_id: one for one in _read(exports, thread, left)}
    except (InvalidInputError, StorageError, UnreadableFileError):
        return False
    known = set(newest["message_ids"]) - {_NONE_LEFT}
    said = {name for one in lost for name in one["mail"]["messages"]}
    if not (known & said) - kept.keys() or known - said - kept.keys():
        return True
    messages = tuple(one for name, one in kept.items() if name in known)
    version = ImportedConversation(
        external_id="",
        messages=messages or (_none_left(newest),),
        title=newest["title"],
        ended_at=datetime.now(UTC),
        details=SourceDetails(origin="e-mail", channel=Channel.PRIVATE, replaces=newest["source_id"]),
    )
    report = ImportReport()
    deque(Importer(caller, _FORMAT, None, replace(details, metadata={}), report).add(iter([version])), maxlen=0)
    return not report.rejected


def _none_left(thread: Mapping[str, object]) -> IncomingMessage:
    words = f"The mails of the thread {thread['title'] or 'without a subject'} are no longer in their mailbox."
    return IncomingMessage(Role.USER, words, external_id=_NONE_LEFT, occurred_at=datetime.now(UTC))


def _read(exports: ExportReader, thread: str, left: Iterable[bytes]) -> list[IncomingMessage]:
    """Return the messages that the mails of a thread have, as the reader of mails gives them."""
    now = datetime.now(UTC)
    with exports.lines(left, "thread.mbox", now, everything=True, format_name=_FORMAT) as lines:
        format_of(lines)
        found = [one for one in conversations_of(lines) if isinstance(one, ImportedConversation)]
    return [message for one in found if one.external_id == thread for message in one.messages]


def _mailbox(place: DropPlace, mails: Sequence[DroppedFile]) -> Iterator[bytes]:
    """Yield mails as one file in the format of RFC 4155."""
    for mail in mails:
        yield _HEAD + _LIKE_HEAD.sub(rb">\1", b"".join(place.read(mail))) + b"\n\n"
