"""Notes of a vault whose file has another path or name than before: the same words are the same note.

``vaults`` imports the notes. A note that was moved and changed between two imports is a new note.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import PurePath
from uuid import UUID

from psycopg.types.json import Jsonb

from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.graph.changes import node_and_below
from neurigraph_pipelines.graph.navigation import PATH_SEPARATOR
from neurigraph_pipelines.graph.reshaping import move_node, rename_node
from neurigraph_pipelines.inbox.imports.vault import NoteFile, Vault, names_of
from neurigraph_pipelines.inbox.intake import content_hash
from neurigraph_pipelines.inbox.notes import IncomingNote, NoteWords, node_at
from neurigraph_pipelines.model.context import Context
from neurigraph_pipelines.model.errors import ConflictError, ForbiddenError, InvalidInputError, NotFoundError

_QUERIES = statements("notes")


@dataclass(frozen=True, slots=True)
class FormerNote:
    """A stored note of a vault whose file is gone.

    Attributes:
        path: The path of that file below the vault.
        node_id: The node that the note is pinned to; None if it was removed.
    """

    source_id: UUID
    path: str
    node_id: UUID | None


def moved_notes(
    context: Context, vault: Vault, prefix: str, new: Sequence[NoteFile], read: Callable[[NoteFile], str]
) -> dict[str, FormerNote]:
    """Return the stored notes whose files were renamed, by the new path: same words, and the former file is gone.

    Of several notes of the same words, one of the same file name comes first.

    Args:
        vault: The vault as it is now.
        prefix: The beginning of the ids of its notes, before their paths.
        new: Files with other paths than the stored notes have.
        read: Returns the text of a file.
    """
    gone: defaultdict[bytes, list[FormerNote]] = defaultdict(list)
    values = {"user_id": context.claims.user_id, "prefix": prefix}
    listed = {note.path for note in vault.notes} | {item.where for item in vault.rejected}
    with context.database.agent(context.claims) as tx:
        for row in tx.execute(_QUERIES["notes_of_vault"], values) if new else ():
            path = row["external_id"].removeprefix(prefix)
            if path not in listed and not (vault.beyond and (vault.folder / path).exists()):
                gone[bytes(row["content_hash"])].append(FormerNote(row["source_id"], path, row["node_id"]))
    found: dict[str, FormerNote] = {}
    words = {note.path: digest for note in new if gone and (digest := _digest(context, note, read)) is not None}
    for is_named_alike in (True, False):
        for path in [one for one in words if one not in found]:
            alike = gone[words[path]]
            fitting = [one for one in alike if not is_named_alike or PurePath(one.path).name == PurePath(path).name]
            if fitting:
                found[path] = fitting[0]
                alike.remove(fitting[0])
    return found


def _digest(context: Context, note: NoteFile, read: Callable[[NoteFile], str]) -> bytes | None:
    """Return the hash of the words of a file as they would be stored; None for a file that is not stored."""
    try:
        return content_hash(NoteWords.of(context, IncomingNote(read(note))).message)
    except InvalidInputError:
        return None


def follow_file(context: Context, former: FormerNote, note: NoteFile) -> None:
    """Move the node of a note to the path of its file, if it is where the import put it and has nothing below it.

    A node that its owner has renamed, moved or merged stays, and so does one whose new path is taken.
    """
    if former.node_id is None:
        return
    with suppress(ConflictError, ForbiddenError, InvalidInputError, NotFoundError):
        with context.database.agent(context.claims) as tx:
            node, *below = node_and_below(tx, context.claims.user_id, former.node_id)
        *folders, name = note.names
        if below or node.names[1:] != [note.names[0], *names_of(former.path)]:
            return
        if folders != node.names[1:-1]:
            parent_id = node_at(context, PATH_SEPARATOR.join(folders), personas=False)
            move_node(context.database, context.claims, former.node_id, parent_id)
        rename_node(context.database, context.claims, former.node_id, name)


def rename_source(context: Context, former: FormerNote, note: IncomingNote) -> None:
    """Give a stored note the id of its new path, so that the same words at that path are known.

    Args:
        former: A note of the caller, as ``moved_notes`` returned it.
        note: The note as it stands at the new path, whose metadata replace those of the same names.
    """
    digest = NoteWords.of(context, note).digest(former.node_id, note)
    values = {"source_id": former.source_id, "external_id": note.external_id, "digest": digest}
    with context.database.pipeline() as tx:
        tx.execute(_QUERIES["rename_note"], {**values, "metadata": Jsonb(dict(note.details.metadata))})
