"""The stored messages of a graph, by the names under which questions and searches refer to them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from uuid import UUID

from neurigraph_pipelines.database.paging import MAX_PAGE, Cursors, Listing
from neurigraph_pipelines.graph.record_lists import RecordFilter, list_records
from neurigraph_pipelines.model import Quotable, speaker_called
from neurigraph_pipelines.model.context import Context
from neurigraph_pipelines.model.errors import StorageError
from neurigraph_pipelines.retrieval.open import open_in_files
from neurigraph_pipelines.text.visible import visible
from neurigraph_pipelines.views.files import Message
from neurigraph_pipelines.views.records import ListedRecord

SHORT = 8
"""Characters of the beginning of an id by which it may be named."""


@dataclass(frozen=True, slots=True)
class Told:
    """A stored message with its record."""

    record: ListedRecord
    message: Message

    @property
    def key(self) -> str:
        """The name of the message among all."""
        return key_of(self.record.record_id, self.message.seq)

    @property
    def names(self) -> Iterator[str]:
        """All names of the message, of its memory and of its source, in lower case."""
        yield from ((self.message.external_id or "").lower(), self.record.title.lower(), self.key)
        yield f"{self.key[:SHORT]}:{self.message.seq}"
        for one in (self.record.record_id, self.record.source_id, self.message.file_id):
            yield from (str(one), str(one)[:SHORT])

    @property
    def quotable(self) -> Quotable:
        """The message as a language model may quote it."""
        one = self.message
        speaker = speaker_called(one.author, one.voice, one.role.value)
        return Quotable(one.content, speaker, one.occurred_at, self.record.title, one.voice)

    @property
    def line(self) -> str:
        """The message in one line, as a block for a prompt has it."""
        said = self.quotable
        day = f"{said.occurred_at.day} {said.occurred_at:%b %Y}"
        return f"- {' '.join(visible(f'{said.speaker}, {day}: {said.text}').split())}"


def key_of(record_id: UUID | None, seq: int | None) -> str:
    """Return the name of a message among all."""
    return f"{record_id}:{seq}"


class History:
    """All stored messages that a caller sees, in the order of their times. They are read as any reader would."""

    def __init__(self, context: Context, cursors: Cursors) -> None:
        """Read them.

        Raises:
            StorageError: A file cannot be read.
        """
        told = sorted(_read(context, cursors), key=lambda one: (one.message.occurred_at, one.key))
        self.messages: Mapping[str, Told] = {one.key: one for one in told}
        self.lines = {key: one.line for key, one in self.messages.items()}
        counts = context.tokens.count_each([f"\n{line}" for line in self.lines.values()])
        self._tokens = dict(zip(self.lines, counts, strict=True))

    @cached_property
    def _named(self) -> dict[str, set[str]]:
        named: dict[str, set[str]] = {}
        for key, one in self.messages.items():
            for name in filter(None, one.names):
                named.setdefault(name, set()).add(key)
        return named

    @cached_property
    def _flat(self) -> dict[str, str]:
        return {key: _flat(one.message.content) for key, one in self.messages.items()}

    def named(self, source: str) -> frozenset[str]:
        """Return the messages that a source names: an id, the beginning of one, a title, or else words of a message."""
        found = self._named.get(source.strip().lower())
        quote = _flat(source)
        return frozenset(found or (key for key, text in self._flat.items() if quote in text))

    def within(self, ranked: Sequence[str], budget: int) -> list[str]:
        """Return the messages of a ranking that fit into a budget of tokens as lines; those too long are left out."""
        chosen = []
        for key in ranked:
            if self._tokens[key] <= budget:
                chosen.append(key)
                budget -= self._tokens[key]
        return chosen

    def text(self, keys: Collection[str]) -> str:
        """Return messages as lines, in the order of their times."""
        return "\n".join(line for key, line in self.lines.items() if key in keys)

    def quotables(self, ranked: Sequence[str]) -> list[Quotable]:
        """Return messages as a language model may quote them, best first."""
        return [self.messages[key].quotable for key in ranked]


def _flat(text: str) -> str:
    return " ".join(text.casefold().split())


def _read(context: Context, cursors: Cursors) -> Iterator[Told]:
    asked = Listing(context.database, cursors, context.claims, MAX_PAGE)
    while True:
        page = list_records(asked, RecordFilter())
        records = [one for one in page.items if one.file_id is not None]
        opened = open_in_files(context, {one.file_id: None for one in records if one.file_id is not None})
        for record in records:
            found = opened[record.file_id] if record.file_id is not None else []
            if isinstance(found, StorageError):
                raise found
            yield from (Told(record, message) for message in found if message.content.strip())
        if page.next_cursor is None:
            return
        asked = replace(asked, cursor=page.next_cursor)
