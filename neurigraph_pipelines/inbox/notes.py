"""Writing notes: sources of one message that somebody wants remembered as it is.

A note goes through the inbox and the ingestion job, as everything does; ``note_records`` is the part of the job. The
writer can pin it to a node, and decides what happens if that node has a note of its title.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any
from uuid import UUID

from psycopg import sql
from psycopg.rows import DictRow
from psycopg.types.json import Jsonb

from neurigraph_pipelines.access.authentication import require_write, require_writer
from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.graph.history import superseded_of
from neurigraph_pipelines.graph.naming import checked_name
from neurigraph_pipelines.graph.navigation import PATH_SEPARATOR, find_node
from neurigraph_pipelines.graph.provisioning import provision_node
from neurigraph_pipelines.inbox.conversations import Inbox
from neurigraph_pipelines.inbox.redaction import redact_message
from neurigraph_pipelines.inbox.source_details import checked_details
from neurigraph_pipelines.model import MAX_LAYER_DEPTH, IncomingMessage, Privacy, ReceivedThrough, Role, SourceKind
from neurigraph_pipelines.model.context import Context
from neurigraph_pipelines.model.errors import ConflictError, ForbiddenError, InvalidInputError, NotFoundError
from neurigraph_pipelines.model.limits import MAX_CONTENT_BYTES, MAX_TAG_LENGTH, MAX_TAGS, MAX_TITLE_LENGTH
from neurigraph_pipelines.model.ports import Transaction
from neurigraph_pipelines.model.sources import NO_DETAILS, SourceDetails, starting_privacy
from neurigraph_pipelines.text.hygiene import clean_text, validate_message
from neurigraph_pipelines.text.json_fields import JsonObject
from neurigraph_pipelines.views.inbox import Note

MAX_PRIORITY = 10

_NO_NODE = "there is no such node"
_OF_PERSONA = "a persona's keys would read this: rename the folder, or write the note with the id of its node"

_GRAPH = statements("graph")
_QUERIES = statements("notes")
_VERSIONS = statements("source_versions")


class OnConflict(StrEnum):
    """The effect of a current note at the node with the same title.

    ``error`` refuses the new note. ``version`` makes it the next version of that note, whose memory supersedes the one
    before. ``supersede`` writes another note, whose memory supersedes that one.
    """

    ERROR = "error"
    VERSION = "version"
    SUPERSEDE = "supersede"


@dataclass(frozen=True, slots=True)
class IncomingNote:
    """A note to write.

    Attributes:
        path: Pin it to the node at this path, such as ``Family/Dave``. The owner's missing nodes are created.
        node_id: Pin it to this node instead.
        importance: From 0 to 1.
        priority: From 1 to 10 instead; 10 is an importance of 1.
        tags: Topics of the memory.
        fact: The fields besides its words of the fact that it states; None for a note that is read for facts.
        follows: The fact that it is the next version of.
        replaces: The note whose memory this one will supersede; if no fact follows another, the caller's own.
        external_id: Its id where it comes from: other text under it is its next version, wherever its node is now.
        occurred_at: The time of its text. Default: now.
        privacy: Default: the owner's is private if its channel is not public; every other note is shared.
        details: What else is known of it. The first version of a note decides for all.
    """

    text: str
    title: str | None = None
    path: str | None = None
    node_id: UUID | None = None
    importance: float | None = None
    priority: int | None = None
    tags: tuple[str, ...] = ()
    on_conflict: OnConflict = OnConflict.ERROR
    privacy: Privacy | None = None
    fact: JsonObject | None = None
    follows: UUID | None = None
    replaces: UUID | None = None
    external_id: str | None = None
    occurred_at: datetime | None = None
    details: SourceDetails = NO_DETAILS


class UndoneError(Exception):
    """The transaction of a dry run ends."""


def write_note(context: Context, note: IncomingNote, *, dry_run: bool = False) -> Note:
    """Write a note to the inbox. The same note again changes nothing.

    Notes are the same if their text, title, node and privacy are, they have one writer, and the memory of the first is
    current. Two notes are in conflict if the later one is pinned to a node in which a current note has its title.

    Args:
        context: With the caller's claims.
        note: The note.
        dry_run: Write it as usual, to a node that exists, and undo that.

    Raises:
        InvalidInputError: A text, a tag or a combination of fields is not acceptable.
        NotFoundError: The node does not exist, or the caller may not write to it; or the note to replace is not theirs.
        ForbiddenError: The caller may not write at all.
        ConflictError: The node has a note of this title, and the new one may not replace it.
    """
    require_writer(context.database, context.claims)
    words = NoteWords.of(context, note)
    importance = _importance(note)
    checked_details(note.details, context.settings.ingestion.unstorable_text, None)
    if note.on_conflict is not OnConflict.ERROR and (words.title is None or (note.path or note.node_id) is None):
        raise InvalidInputError(f"on_conflict={note.on_conflict} needs a title and a node: notes meet by both")
    node_id, claims = _pin(context, note), context.claims
    decides = claims.acts_for_owner or claims.role == "member"
    note = replace(note, privacy=starting_privacy(note.privacy, note.details.channel, decides=decides))
    with suppress(UndoneError), context.database.agent(claims) as tx:
        written = _write(tx, context, words, note, node_id, importance)
        if dry_run:
            raise UndoneError
    return written


def _write(
    tx: Transaction,
    context: Context,
    words: NoteWords,
    note: IncomingNote,
    node_id: UUID | None,
    importance: float | None,
) -> Note:
    """Write a checked note, unless the same is there already."""
    user_id, digest = context.claims.user_id, words.digest(node_id, note)
    tx.execute(_QUERIES["lock_notes"], {"user_id": user_id})
    known = _same(tx, user_id, digest, even_superseded=note.external_id is not None)
    if known is not None:
        return known
    if note.replaces is not None and note.follows is None:
        _require_own(tx, user_id, note.replaces)
    if note.external_id is not None:
        met = tx.execute(_QUERIES["note_of_id"], {"user_id": user_id, "external_ids": [note.external_id]}).fetchone()
    else:
        met = _namesake(tx, user_id, node_id, words.title)
    if met is not None and met["is_held"]:
        raise ConflictError(f"note {met['source_id']} of this title waits for an approval: wait for it, too")
    if met is not None and met["source_id"] != note.replaces and note.external_id is None:
        _require_replaceable(met, note)
    replaces = met["source_id"] if met is not None else note.replaces
    values = {"node_id": node_id, "importance": importance, "digest": digest}
    source_id, version = _insert(tx, context, words, note, replaces, values)
    waiting = tx.execute(_QUERIES["action_of"], {"source_id": source_id, "message": version}).fetchone()
    action_id = waiting["action_id"] if waiting is not None else None
    return Note(
        note_id=source_id,
        version=version,
        created=True,
        node_id=node_id,
        replaces=replaces,
        redacted=words.redacted,
        action_id=action_id,
    )


def _insert(
    tx: Transaction,
    context: Context,
    words: NoteWords,
    note: IncomingNote,
    met: UUID | None,
    values: Mapping[str, object],
) -> tuple[UUID, int]:
    """Insert a note, or the next version of an existing note, and return its id and version."""
    inbox, user_id = Inbox(context), context.claims.user_id
    is_version = note.on_conflict is OnConflict.VERSION
    source_id = met if is_version else None
    if source_id is None:
        source_id, _ = inbox.open_source(
            tx,
            user_id,
            SourceKind.NOTE,
            external_id=note.external_id,
            title=words.title,
            started_at=note.occurred_at,
            privacy=note.privacy,
            details=note.details,
        )
    inbox.append(tx, SourceKind.NOTE, source_id, [words.message])
    columns = {
        **values,
        "source_id": source_id,
        "tags": list(words.tags),
        "replaces": None if is_version else met,
        "fact": None if note.fact is None else Jsonb(dict(note.fact)),
        "follows": note.follows,
    }
    (row,) = tx.execute(_QUERIES["insert_note"], columns)
    inbox.end(tx, SourceKind.NOTE, source_id, note.occurred_at)
    return source_id, row["message"]


@dataclass(frozen=True, slots=True)
class NoteWords:
    """The texts of a note, checked and redacted."""

    message: IncomingMessage
    title: str | None
    tags: tuple[str, ...]
    redacted: dict[str, int]

    @classmethod
    def of(cls, context: Context, note: IncomingNote) -> NoteWords:
        """Check and redact the texts of a note; raises the errors of ``write_note`` about them."""
        if not note.text.strip():
            raise InvalidInputError("a note needs a text")
        if (size := len(note.text.encode("utf-8", "surrogatepass"))) > MAX_CONTENT_BYTES:
            raise InvalidInputError(
                f"the text has {size:,} bytes and the limit is {MAX_CONTENT_BYTES:,}: upload a file"
            )
        settings, redactor = context.settings.ingestion, context.redactor
        # A note that a model writes through its tools is the model's, not the owner's.
        role = Role.ASSISTANT if context.claims.received_through is ReceivedThrough.MCP else Role.USER
        written = IncomingMessage(role, note.text, occurred_at=note.occurred_at or datetime.now(UTC))
        message, _ = validate_message(written, settings.unstorable_text, settings.max_message_bytes)
        redacted: dict[str, int] = {}
        if redactor is not None:
            message, counts = redact_message(redactor, message)
            redacted = dict(counts)

        def short(text: str, what: str, limit: int) -> str:
            cleaned = " ".join(clean_text(text, settings.unstorable_text)[0].split())
            if len(cleaned) > limit:
                raise InvalidInputError(f"{what} has {len(cleaned):,} characters and the limit is {limit}: shorten it")
            return cleaned if redactor is None else redactor.redact(cleaned)[0][:limit]

        title = short(note.title, "the title", MAX_TITLE_LENGTH) if note.title is not None else None
        if len(note.tags) > MAX_TAGS:
            raise InvalidInputError(f"the note has {len(note.tags):,} tags and the limit is {MAX_TAGS}")
        tags: dict[str, str] = {}
        for tag in filter(None, (short(tag, "a tag", MAX_TAG_LENGTH) for tag in note.tags)):
            tags.setdefault(tag.casefold(), tag)
        return cls(message, title or None, tuple(tags.values()), redacted)

    def digest(self, node_id: UUID | None, note: IncomingNote) -> bytes:
        """Return the digest by which the same note is recognised."""
        said: list[Any] = [self.message.role, self.message.content, self.title]
        # Merges move a note that has an id, and its first version decides its privacy.
        said += [str(node_id), note.privacy] if note.external_id is None else [note.external_id]
        if note.fact is not None:
            said += [sorted(note.fact.items()), str(note.follows)]
        return hashlib.sha256(json.dumps(said).encode()).digest()


def _importance(note: IncomingNote) -> float | None:
    if note.importance is not None and note.priority is not None:
        raise InvalidInputError("give an importance or a priority, not both")
    if note.priority is not None:
        if not 1 <= note.priority <= MAX_PRIORITY:
            raise InvalidInputError(f"a priority lies between 1 and {MAX_PRIORITY}")
        return note.priority / MAX_PRIORITY
    if note.importance is not None and not 0 <= note.importance <= 1:
        raise InvalidInputError("an importance lies between 0 and 1")
    return note.importance


def _pin(context: Context, note: IncomingNote) -> UUID | None:
    """Return the node to pin a note to, and create the owner's missing nodes.

    Raises:
        NotFoundError: It does not exist, or the caller may not write to it: one answer for both.
    """
    if note.path is not None and note.node_id is not None:
        raise InvalidInputError("give a path or a node_id, not both")
    if note.path is None and note.node_id is None:
        return None
    node_id = note.node_id if note.node_id is not None else node_at(context, note.path or "")
    with context.database.agent(context.claims) as tx:
        if tx.execute(_GRAPH["node_by_id"], {"node_id": node_id}).fetchone() is None:
            raise NotFoundError(_NO_NODE)
        try:
            require_write(tx, node_id, held=True)
        except ForbiddenError:
            raise NotFoundError(_NO_NODE) from None
    return node_id


def node_at(context: Context, path: str, *, personas: bool = True) -> UUID:
    """Return the node at a path; the owner's missing nodes are created as topics.

    Args:
        personas: Whether it may be at or below a persona, whose keys read what lies there.

    Raises:
        InvalidInputError: A name is not acceptable, the path is too deep, or it leads to a persona.
        NotFoundError: There is no such node, and the caller may not create it.
    """
    claims = context.claims
    names = [name for name in clean_text(path, "repair")[0].split(PATH_SEPARATOR) if name.strip()]
    for depth in range(len(names), -1, -1):
        try:
            with context.database.agent(claims) as tx:
                node_id = find_node(tx, claims.user_id, PATH_SEPARATOR.join(names[:depth]))
                node = tx.execute(_GRAPH["node_by_id"], {"node_id": node_id}).fetchone()
            break
        except NotFoundError:
            if claims.role != "user" or depth == 0:
                raise NotFoundError(_NO_NODE) from None
    if not personas and node is not None and claims.role != "persona":
        with context.database.pipeline() as tx:
            if tx.execute(_GRAPH["is_of_persona"], {"node_id": node_id}).fetchone():
                raise InvalidInputError(_OF_PERSONA)
    missing = [checked_name(name) for name in names[depth:]]
    if missing and node is not None and node["layer_depth"] + len(missing) > MAX_LAYER_DEPTH:
        raise InvalidInputError(f"layer {MAX_LAYER_DEPTH} is the deepest: shorten the path")
    for number, name in enumerate(missing, start=depth + 1):
        try:
            node_id = provision_node(context.database, claims, node_id, name).node_id
        except ConflictError:  # created concurrently
            with context.database.agent(claims) as tx:
                node_id = find_node(tx, claims.user_id, PATH_SEPARATOR.join(names[:number]))
    return node_id


def _same(tx: Transaction, user_id: UUID, digest: bytes, *, even_superseded: bool) -> Note | None:
    """Return the note with the same words. A note whose memory is superseded counts only on request."""
    row = tx.execute(_QUERIES["same_note"], {"user_id": user_id, "digest": digest}).fetchone()
    if row is None:
        return None
    memories = () if even_superseded else row["record_ids"]
    if memories and superseded_of(tx, memories).issuperset(memories):
        return None
    said = {name: row[name] for name in ("node_id", "replaces", "record_ids")}
    return Note(note_id=row["source_id"], version=row["message"], created=False, **said)


def _require_own(tx: Transaction, user_id: UUID, note_id: UUID) -> None:
    """Require that the caller has written a note."""
    values = {"user_id": user_id, "kind": SourceKind.NOTE.value, "source_id": note_id}
    if tx.execute(_VERSIONS["lock_replaced"], values).fetchone() is None:
        raise NotFoundError("there is no such note of yours to replace")


def known_notes(context: Context, external_ids: Sequence[str]) -> dict[str, UUID | None]:
    """Return the node of each note that the caller has under some ids; None for one whose node was removed."""
    values = {"user_id": context.claims.user_id, "external_ids": list(external_ids)}
    with context.database.agent(context.claims) as tx:
        return {row["external_id"]: row["node_id"] for row in tx.execute(_QUERIES["note_of_id"], values)}


def _namesake(tx: Transaction, user_id: UUID, node_id: UUID | None, title: str | None) -> DictRow | None:
    """Return the newest current note of a title at a node, whether it waits or is stored."""
    if node_id is None or title is None:
        return None
    values = {"user_id": user_id, "node_id": node_id, "title": title}
    waiting = tx.execute(_QUERIES["waiting_namesake"], values).fetchone()
    node = tx.execute(_GRAPH["node_by_id"], {"node_id": node_id}).fetchone()
    if waiting is not None or node is None:
        return waiting
    return tx.execute(_QUERIES["stored_namesake"].format(schema=sql.Identifier(node["schema_name"])), values).fetchone()


def _require_replaceable(met: DictRow, note: IncomingNote) -> None:
    """Raise ``ConflictError`` unless a note may replace the one that it met."""
    name = f"record {met['record_id']}" if met["record_id"] is not None else f"note {met['source_id']}"
    if note.on_conflict is OnConflict.ERROR:
        raise ConflictError(f"{name} has this title at this node: send on_conflict as version or supersede")
    if note.on_conflict is OnConflict.VERSION and not met["is_own"]:
        raise ConflictError(f"{name} of this title has another writer: send on_conflict as supersede")
    if note.on_conflict is OnConflict.VERSION and note.privacy is Privacy.PRIVATE and met["privacy"] != note.privacy:
        raise ConflictError(f"{name} of this title is shared: make it private, then write its next version")
