"""Import of a vault: each note becomes a note at a node of its own, whose path is that of the file.

First the nodes of all notes are made, then the notes are written, so that each link finds its node when its note is
stored. A note is known by its path: the same text adds nothing, another text is its next version. ``moved_notes``
recognises those with another path. So running a killed import again finishes it. ``note_records`` turns the links into
edges.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from uuid import UUID

from neurigraph_pipelines.graph.navigation import PATH_SEPARATOR
from neurigraph_pipelines.inbox.imports.vault import BASIC_MEMORY, FORMAT, FORMS, NoteFile, Vault, open_vault, read_note
from neurigraph_pipelines.inbox.moved_notes import FormerNote, follow_file, moved_notes, rename_source
from neurigraph_pipelines.inbox.note_links import NoteIndex, lines_of, links_in
from neurigraph_pipelines.inbox.notes import IncomingNote, OnConflict, known_notes, node_at, write_note
from neurigraph_pipelines.model import Privacy, RejectedItem
from neurigraph_pipelines.model.context import Context
from neurigraph_pipelines.model.errors import ConflictError, InvalidInputError, NotFoundError
from neurigraph_pipelines.model.limits import MAX_TAG_LENGTH, MAX_TAGS, MAX_TITLE_LENGTH
from neurigraph_pipelines.model.sources import NO_DETAILS, SourceDetails
from neurigraph_pipelines.settings import Settings
from neurigraph_pipelines.text.external_ids import external_id_of
from neurigraph_pipelines.text.front_matter import FrontMatter, front_matter
from neurigraph_pipelines.text.note_dates import date_in_name
from neurigraph_pipelines.text.observed_notes import metadata_of, tags_of
from neurigraph_pipelines.views.scalars import MetadataValue

_ORIGINS = {FORMAT: "obsidian", BASIC_MEMORY: BASIC_MEMORY}
_MOST_SHOWN = 100
_AT_ONCE = 500
"""Notes that are looked up in one statement."""


@dataclass(slots=True)
class VaultReport:
    """The result of the import of a vault.

    Attributes:
        changed: Notes that got a next version.
        moved: Notes that were stored under another path, of a file that is gone.
        empty: Notes without text, of which only the node is made.
        links: Links that name another note of the vault.
        unresolved: Number of the others.
        unresolved_first: The first of them, each with the note that has it.
        others: Files that are no notes.
        beyond: Notes beyond the most that are read.
        redacted: Number of redactions by kind.
        undated: Notes that say no date, neither in their properties nor in their name, and have that of their file.
        noted: What of a note could not be used; the note itself was imported.
    """

    added: int = 0
    changed: int = 0
    moved: int = 0
    known: int = 0
    empty: int = 0
    links: int = 0
    unresolved: int = 0
    unresolved_first: list[RejectedItem] = field(default_factory=list)
    others: int = 0
    beyond: int = 0
    undated: int = 0
    redacted: dict[str, int] = field(default_factory=dict)
    noted: list[RejectedItem] = field(default_factory=list)
    rejected: list[RejectedItem] = field(default_factory=list)

    @property
    def notes_seen(self) -> int:
        """Number of notes that were read."""
        return self.added + self.changed + self.moved + self.known + self.empty


def import_vault(
    context: Context | None,
    settings: Settings,
    folder: Path,
    *,
    privacy: Privacy | None = None,
    details: SourceDetails = NO_DETAILS,
    form: str = FORMAT,
    dry_run: bool = False,
    on_note: Callable[[int, int], None] | None = None,
) -> VaultReport:
    """Import the notes of a folder. Importing the folder again adds only new and changed notes.

    Args:
        context: Of the caller whose notes they become; None in a dry run for a user who does not exist yet.
        privacy: Privacy of new notes.
        details: Where new notes come from, where a note does not say so itself.
        form: Of ``imports.vault.FORMS``.
        dry_run: Count what would be done, and change nothing.
        on_note: Called after each note, with the number of finished steps and of all.

    Raises:
        InvalidInputError: The folder cannot be read, or ``details`` say what is replaced.
    """
    if details.replaces is not None:
        raise InvalidInputError("a vault replaces nothing: each note is the next version of what its path was before")
    vault = open_vault(folder, form)
    steps = len(vault.notes) * (1 if dry_run else 2)
    report = VaultReport(others=vault.others, beyond=vault.beyond, rejected=[*vault.rejected])
    known: dict[str, UUID | None] = {}
    for ids in _in_groups([_id_of(vault, note.path) for note in vault.notes]):
        known |= known_notes(context, ids) if context is not None else {}
    writer = _Writer(context, vault, known, privacy, details, report, dry_run)
    writer.find_moved(settings.ingestion.max_message_bytes)
    done = 0
    for work in (writer.read,) if dry_run else (writer.make_node, writer.read):
        for note in vault.notes:
            work(note, settings.ingestion.max_message_bytes)
            done += 1
            if on_note is not None:
                on_note(done, steps)
    return report


class _Writer:
    """Makes the nodes of a vault, and writes its notes."""

    def __init__(
        self,
        context: Context | None,
        vault: Vault,
        known: dict[str, UUID | None],
        privacy: Privacy | None,
        details: SourceDetails,
        report: VaultReport,
        dry_run: bool,
    ) -> None:
        self._context = context
        self._vault = vault
        self._nodes = known
        self._is_known = frozenset(known)
        self._moved: dict[str, FormerNote] = {}
        self._privacy = privacy
        self._details = details.over(SourceDetails(origin=_ORIGINS[vault.form]))
        self._report = report
        self._dry_run = dry_run
        self._index = NoteIndex(note.parts for note in vault.notes)

    def find_moved(self, max_bytes: int) -> None:
        """Find the notes whose files have another path than before."""
        if self._context is None:
            return
        new = [note for note in self._vault.notes if _id_of(self._vault, note.path) not in self._is_known]
        prefix = f"{self._vault.form}:{self._vault.name}/"
        self._moved = moved_notes(
            self._context, self._vault, prefix, new, lambda note: read_note(self._vault, note, max_bytes)[0]
        )
        for path, former in self._moved.items():
            self._nodes[_id_of(self._vault, path)] = former.node_id

    def make_node(self, note: NoteFile, _: int) -> None:
        """Make the node of a note, unless an earlier import has put the note at one."""
        key = _id_of(self._vault, note.path)
        if self._context is not None and note.path in self._moved:
            follow_file(self._context, self._moved[note.path], note)
        if self._context is None or self._nodes.get(key) is not None:
            return
        try:
            self._nodes[key] = node_at(self._context, PATH_SEPARATOR.join(note.names), personas=False)
        except (InvalidInputError, ConflictError, NotFoundError) as error:
            self._report.rejected.append(RejectedItem(note.path, str(error)))

    def read(self, note: NoteFile, max_bytes: int) -> None:
        """Read a note, count its links, and write it."""
        key = _id_of(self._vault, note.path)
        if not self._dry_run and self._nodes.get(key) is None:
            return  # it has no node, and that is reported
        try:
            text, encoding = read_note(self._vault, note, max_bytes)
            if encoding is not None:
                self._report.noted.append(RejectedItem(note.path, f"its encoding was {encoding}"))
            if text.strip():
                self._write(note, key, text)
            else:
                self._report.empty += 1
        except (InvalidInputError, ConflictError, NotFoundError) as error:
            self._report.rejected.append(RejectedItem(note.path, str(error)))
            return
        for link in links_in(text):
            if self._index.find(link, note.parts) is None:
                self._report.unresolved += 1
                if len(self._report.unresolved_first) < _MOST_SHOWN:
                    self._report.unresolved_first.append(RejectedItem(note.path, link.target))
            else:
                self._report.links += 1

    def _write(self, note: NoteFile, key: str, text: str) -> None:
        new = self._new_note(note, key, text)
        is_created = True
        former = self._moved.get(note.path)
        if self._context is not None and former is not None:
            if not self._dry_run:
                rename_source(self._context, former, new)
            self._report.moved += 1
            return
        if self._context is not None and self._nodes.get(key) is not None:
            written = write_note(self._context, new, dry_run=self._dry_run)
            is_created = written.created
            for kind, count in written.redacted.items():
                self._report.redacted[kind] = self._report.redacted.get(kind, 0) + count
        if not is_created:
            self._report.known += 1
        elif key in self._is_known:
            self._report.changed += 1
        else:
            self._report.added += 1

    def _new_note(self, note: NoteFile, key: str, text: str) -> IncomingNote:
        said = front_matter(text)
        if said.problem is not None:
            self._report.noted.append(RejectedItem(note.path, said.problem))
        happened_at = said.date or self._date_in_name(note) or said.happened_at
        self._report.undated += happened_at is None
        tags, metadata = said.tags, dict[str, MetadataValue](vault_path=note.path[-500:])
        if self._vault.form == BASIC_MEMORY:
            tags = tuple(dict.fromkeys((*tags, *tags_of(lines_of(text)))))
            metadata |= self._properties(note, said)
        stated = SourceDetails(metadata=metadata, updated_at=said.updated_at)
        return IncomingNote(
            text,
            title=(said.title or note.names[-1])[:MAX_TITLE_LENGTH],
            node_id=self._nodes.get(key),
            tags=tuple(tag for tag in tags if len(tag) <= MAX_TAG_LENGTH)[:MAX_TAGS],
            on_conflict=OnConflict.VERSION,
            privacy=self._privacy,
            external_id=key,
            occurred_at=happened_at or note.modified_at,
            details=stated.over(self._details),
        )

    def _properties(self, note: NoteFile, said: FrontMatter) -> dict[str, MetadataValue]:
        """Return the further properties of a note, and report those that have no place here."""
        kept = metadata_of(said.others)
        for name in said.others.keys() - kept.keys():
            if said.others[name] is not None:
                self._report.noted.append(RejectedItem(note.path, f"its property {name[:40]!r} has no place here"))
        return kept

    def _date_in_name(self, note: NoteFile) -> datetime | None:
        try:
            return date_in_name(note.path)
        except InvalidInputError as error:
            self._report.noted.append(RejectedItem(note.path, str(error)))
            return None


def note_ids(folder: Path) -> list[str]:
    """Return the ids by which the notes of a folder are known."""
    vault = open_vault(folder)
    return [_id_of(vault, note.path) for note in vault.notes]


def _id_of(vault: Vault, path: str) -> str:
    """Return the id by which a note is known: the name of its vault and its path."""
    return external_id_of(vault.form, f"{vault.name}/{path}")


def form_of(external_id: str | None) -> str | None:
    """Return the form of the vault that a note with an id is of; None for any other note."""
    form = (external_id or "").partition(":")[0]
    return form if form in FORMS else None


def _in_groups(ids: list[str]) -> Iterator[list[str]]:
    return (ids[start : start + _AT_ONCE] for start in range(0, len(ids), _AT_ONCE))
