"""Import of another program's file into a user's inbox, many conversations per transaction.

``imports`` reads the formats. Each conversation is imported as a whole or not at all, and stored messages are
recognised. So running an interrupted import again finishes it.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from uuid import UUID

import psycopg

from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.inbox.conversations import Inbox
from neurigraph_pipelines.inbox.export_formats import EXPORT_FORMATS
from neurigraph_pipelines.inbox.imports import read_conversations
from neurigraph_pipelines.inbox.imports.assemble import derived_id
from neurigraph_pipelines.inbox.imports.date_order import DateOrder
from neurigraph_pipelines.inbox.imports.zones import in_zone, zone_of
from neurigraph_pipelines.inbox.known_chats import Known, KnownChats
from neurigraph_pipelines.inbox.known_openings import KnownOpenings, is_by_opening
from neurigraph_pipelines.inbox.lost_files import lost_by_name, rewrite_transcripts
from neurigraph_pipelines.inbox.notes import UndoneError
from neurigraph_pipelines.inbox.source_details import checked_details
from neurigraph_pipelines.model import (
    ImportedConversation,
    ImportReport,
    IncomingMessage,
    Privacy,
    RejectedItem,
    SourceKind,
)
from neurigraph_pipelines.model.context import Context
from neurigraph_pipelines.model.errors import InvalidInputError, NeurigraphError, NotFoundError
from neurigraph_pipelines.model.sources import NO_DETAILS, SourceDetails
from neurigraph_pipelines.settings import Settings
from neurigraph_pipelines.text.hygiene import validate_message
from neurigraph_pipelines.views.inbox import Appended

Reject = Callable[[RejectedItem], None]
Result = tuple[bool, Appended] | None
"""Whether a conversation is new, and what happened to its messages; None for a rejected one."""

_PROGRAMS = ("chatgpt", "claude")
"""Formats that name the program that their conversations come from."""

_EVERYTHING = "everything"
_ACCOUNTS = statements("accounts")
"""The field of the metadata that asks for what is left out otherwise."""

_GROUPS_AT_ONCE = 2
"""Transactions at once: while the database stores one group, the next is checked and counted."""

_CONVERSATIONS_AT_ONCE = 128
_CHARACTERS_AT_ONCE = 1_000_000
"""Limits of one transaction: enough conversations to share its cost, few enough to fit in memory."""


def import_file(
    context: Context,
    path: Path,
    format_name: str,
    *,
    privacy: Privacy | None = None,
    details: SourceDetails = NO_DETAILS,
    dry_run: bool = False,
    on_bytes: Callable[[int], None] | None = None,
    on_rejected: Reject | None = None,
    date_order: DateOrder | None = None,
) -> ImportReport:
    """Import a file. Importing the file again adds only its new messages.

    Args:
        context: The inbox of its caller receives the conversations.
        format_name: One of ``imports.FORMATS``.
        privacy: Privacy of new conversations. Default: private if their channel is not public, otherwise shared.
        details: Where new conversations come from, where the file does not say so itself. A source that they replace is
            replaced by the first conversation of the file, and the others are rejected.
        dry_run: Add everything as usual, and undo each transaction at its end.
        on_bytes: Called with the number of bytes read since the last call.
        on_rejected: Called at once for each rejected item.
        date_order: Of dates in numbers. Default: as the file shows.

    Raises:
        InvalidInputError: The file cannot be read in this format.
    """
    ingestion, report = context.settings.ingestion, ImportReport()
    checked_details(details, ingestion.unstorable_text, None)

    def count_bytes(more: int) -> None:
        report.bytes_read += more
        if on_bytes is not None:
            on_bytes(more)

    items = read_conversations(
        path,
        format_name,
        on_bytes=count_bytes,
        max_message_bytes=ingestion.max_message_bytes,
        date_order=date_order,
        everything=wants_everything(details.metadata),
        on_note=report.notes.append,
    )
    if details.replaces is not None:
        items = _as_version(items, details.replaces)
    deque(Importer(context, format_name, privacy, details, report, on_rejected, dry_run=dry_run).add(items), maxlen=0)
    return report


def stated_format(metadata: Mapping[str, object]) -> str | None:
    """Return the format of conversations that the metadata of a file name; None if they name none that is read."""
    name = str(metadata.get("format", ""))
    return name if name in EXPORT_FORMATS else None


def wants_everything(metadata: Mapping[str, object]) -> bool:
    """Return whether the metadata of a file ask for spam, deleted mails and notices, too."""
    return str(metadata.get(_EVERYTHING, "")).lower() in ("true", "yes", "1")


def count_file(
    settings: Settings,
    path: Path,
    format_name: str,
    *,
    on_bytes: Callable[[int], None] | None = None,
    on_rejected: Reject | None = None,
    date_order: DateOrder | None = None,
) -> ImportReport:
    """Count the contents of a file, for a dry run of an import for a user who does not exist yet.

    Raises:
        InvalidInputError: The file cannot be read in this format.
    """
    report, names = ImportReport(), set[tuple[str, bool, str]]()
    reject = _rejecting(report, on_rejected)
    limit = settings.ingestion.max_message_bytes
    for item in read_conversations(
        path,
        format_name,
        on_bytes=on_bytes,
        max_message_bytes=limit,
        date_order=date_order,
        on_note=report.notes.append,
    ):
        if isinstance(item, RejectedItem):
            reject(item)
        else:
            names.add((*_name(item), _words(item) if is_by_opening(item) else ""))
            report.conversations_seen += 1
            report.messages_added += len(item.messages)
    report.conversations_added = len(names)
    return report


def _rejecting(report: ImportReport, on_rejected: Reject | None) -> Reject:
    def reject(item: RejectedItem) -> None:
        report.rejected.append(item)
        if on_rejected is not None:
            on_rejected(item)

    return reject


def _zone_of_owner(context: Context) -> str | None:
    """Return the time zone that the user or the organization of a graph names."""
    found = context.database.ask(context.claims, _ACCOUNTS["time_zone"], {"user_id": context.claims.user_id})
    return found[0]["time_zone"] if found else None


class Importer:
    """Adds conversations to the inbox of the context's caller, and counts them in a report.

    Args:
        format_name: The format that they were read from.
        privacy: As for ``import_file``, like the others.
        details: Their ``time_zone`` among the metadata is that of times without one, else that of the user or the
            organization, else that of the settings.

    Raises:
        InvalidInputError: The user or the organization names an unknown time zone.
    """

    def __init__(
        self,
        context: Context,
        format_name: str,
        privacy: Privacy | None,
        details: SourceDetails,
        report: ImportReport,
        on_rejected: Reject | None = None,
        *,
        dry_run: bool = False,
    ) -> None:
        if EXPORT_FORMATS[format_name].may_hold_keys:
            context = context.using(redactor=context.key_redactor)
        program = SourceDetails(origin=format_name if format_name in _PROGRAMS else None)
        self._context = context
        self._inbox = Inbox(context)
        self._privacy = privacy
        self._details = replace(details.over(program), replaces=None)
        self._report = report
        self._reject = _rejecting(report, on_rejected)
        self._chats = KnownChats(context.redactor)
        self._openings = KnownOpenings(self._inbox)
        self._dry_run = dry_run
        self._format = format_name
        self._zone = zone_of(details, _zone_of_owner(context) or context.settings.ingestion.time_zone)

    def add(self, items: Iterator[ImportedConversation | RejectedItem]) -> Iterator[ImportedConversation]:
        """Add conversations as a reader yields them, and yield those that are there once that is committed."""
        corrected = 0
        if self._zone is not None:
            items = in_zone(items, self._format, self._zone)
        for (conversation, shared), result in self._add_all_groups(_groups(items, self._reject)):
            if result is not None:
                _count(self._report, conversation, *_without_shared(*result, shared), self._reject)
                corrected += shared > 0
                yield conversation
        if corrected:
            self._report.notes.append(f"conversations whose dates were corrected: {corrected:,}")

    def _add_all_groups(self, groups: Iterable[Sequence[ImportedConversation]]) -> Iterator[tuple[Known, Result]]:
        """Add groups of conversations, a few groups at once, and yield each conversation with its result in order.

        A group waits for those before it if one of its conversations is among them: a later version follows.
        """
        pending: deque[tuple[Sequence[Known], Future[list[Result]]]] = deque()
        with ThreadPoolExecutor(_GROUPS_AT_ONCE, thread_name_prefix="import") as pool:
            for group in groups:
                known = self._recognised(group)
                names = {_name(one.conversation) for one in known}
                while pending and (
                    len(pending) > _GROUPS_AT_ONCE
                    or any(_name(one.conversation) in names for before, _ in pending for one in before)
                ):
                    yield from _results(*pending.popleft())
                pending.append((known, pool.submit(self._add, [one.conversation for one in known])))
            for before in pending:
                yield from _results(*before)

    def _recognised(self, group: Sequence[ImportedConversation]) -> list[Known]:
        if not any(one.by_words or one.by_opening for one in group):
            return [Known(one) for one in group]
        claims = self._context.claims
        with self._context.database.agent(claims) as tx:
            named = self._openings.recognised(tx, claims.user_id, group)
            return self._chats.recognised(tx, claims.user_id, named)

    def _add(self, group: Sequence[ImportedConversation]) -> list[Result]:
        """Add conversations in one transaction or, if it fails, each in its own; None for a rejected one."""
        try:
            return [*self._add_all(group)]
        except (NeurigraphError, psycopg.Error):  # one conversation must not fail the others
            return [self._add_one(conversation) for conversation in group]

    def _add_all(self, conversations: Sequence[ImportedConversation]) -> list[tuple[bool, Appended]]:
        claims = self._context.claims
        conversations = [replace(one, details=one.details.over(self._details)) for one in conversations]
        added: list[tuple[bool, Appended]] = []
        with suppress(UndoneError), self._context.database.agent(claims) as tx:
            added = self._inbox.add_conversations(tx, claims.user_id, conversations, self._privacy)
            if self._dry_run:
                raise UndoneError
        if not self._dry_run:
            self._rewrite_lost([one for one, (_, result) in zip(conversations, added, strict=True) if result.known])
        return added

    def _rewrite_lost(self, known: Sequence[ImportedConversation]) -> None:
        """Write the files of conversations that were stored before and have lost them."""
        if not known:
            return
        kinds = {one.external_id: SourceKind.EVENT if one.event_kind else SourceKind.CONVERSATION for one in known}
        lost = lost_by_name(self._context, self._context.claims.user_id, kinds)
        names = {file.external_id for file in lost}
        sent = {
            one.external_id: [checked.message for checked in self._inbox.checked(one.messages)]
            for one in known
            if one.external_id in names
        }
        rewrite_transcripts(self._context, lost, sent)

    def _add_one(self, conversation: ImportedConversation) -> Result:
        try:
            try:
                return self._add_all([conversation])[0]
            except InvalidInputError:  # only now find out which messages are invalid
                return self._add_all([_acceptable(conversation, self._context.settings, self._reject)])[0]
        except InvalidInputError as error:
            self._reject(RejectedItem(_called(conversation), str(error)))
        except NotFoundError:
            self._reject(RejectedItem(_called(conversation), "you have handed in no source that it could replace"))
        return None


def _results(group: Sequence[Known], added: Future[list[Result]]) -> Iterator[tuple[Known, Result]]:
    return zip(group, added.result(), strict=True)


def _without_shared(new: bool, result: Appended, shared: int) -> tuple[bool, Appended]:
    """Return a result in which the messages of a corrected day are known, not added."""
    if not shared:
        return new, result
    counts = {"added": max(0, result.added - shared), "known": result.known + shared}
    return False, result.model_copy(update=counts)


def _called(conversation: ImportedConversation) -> str:
    return conversation.external_id or f"the next version of {conversation.details.replaces}"


def _name(conversation: ImportedConversation) -> tuple[str, bool]:
    return _called(conversation), conversation.event_kind is None


def _words(conversation: ImportedConversation) -> str:
    """Return the words that identify a conversation without an id."""
    return derived_id("", *(part for one in conversation.messages for part in (one.role, one.content)))


def _as_version(
    items: Iterator[ImportedConversation | RejectedItem], replaces: UUID
) -> Iterator[ImportedConversation | RejectedItem]:
    """Yield the first conversation as the next version of a source, and reject the others."""
    is_first = True
    for item in items:
        if isinstance(item, RejectedItem):
            yield item
        elif is_first:
            yield replace(item, external_id="", details=replace(item.details, replaces=replaces))
            is_first = False
        else:
            yield RejectedItem(_called(item), "only one conversation can replace a source: import the others alone")


def _groups(
    items: Iterator[ImportedConversation | RejectedItem], reject: Reject
) -> Iterator[list[ImportedConversation]]:
    """Group the conversations of each transaction, none twice, and report the items that could not be read."""
    group: dict[tuple[str, bool], ImportedConversation] = {}
    size = 0
    for item in items:
        if isinstance(item, RejectedItem):
            reject(item)
            continue
        name = _name(item)
        if name in group or len(group) == _CONVERSATIONS_AT_ONCE or size >= _CHARACTERS_AT_ONCE:
            yield [*group.values()]
            group, size = {}, 0
        group[name] = item
        size += sum(len(message.content) for message in item.messages)
    if group:
        yield [*group.values()]


def _count(
    report: ImportReport, conversation: ImportedConversation, new: bool, result: Appended, reject: Reject
) -> None:
    report.conversations_added += new
    report.conversations_seen += 1
    report.messages_added += result.added
    report.messages_known += result.known
    report.messages_repaired += result.repaired
    report.redacted = dict(Counter(report.redacted) + Counter(result.redacted))
    report.tokens_added += result.tokens
    for external_id in result.conflicts:
        reject(
            RejectedItem(
                f"{_called(conversation)}, message {external_id}",
                "is stored already with other content, which was kept",
            )
        )


def _acceptable(conversation: ImportedConversation, settings: Settings, reject: Reject) -> ImportedConversation:
    """Return the conversation without its invalid messages, and report each of those."""
    kept: list[IncomingMessage] = []
    for number, message in enumerate(conversation.messages, start=1):
        try:
            validate_message(message, settings.ingestion.unstorable_text, settings.ingestion.max_message_bytes)
        except InvalidInputError as error:
            reject(RejectedItem(f"{_called(conversation)}, message {message.external_id or number}", str(error)))
            continue
        kept.append(message)
    if not kept:
        raise InvalidInputError("none of its messages can be stored")
    return replace(conversation, messages=tuple(kept))
