"""The segments of exports of versions 1 and 2, which have the passages of each node as rows of a table."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Annotated, NamedTuple
from uuid import UUID

import numpy as np
from pydantic import BaseModel, BeforeValidator, Field, ValidationError, model_validator

from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.exchange.portability.segments import line_of
from neurigraph_pipelines.exchange.portability.stream import rows_name
from neurigraph_pipelines.exchange.received_segments import known_languages, read_segment
from neurigraph_pipelines.model import PASSAGE_DIMENSIONS, Role, SourceKind, Voice
from neurigraph_pipelines.model.errors import InvalidInputError
from neurigraph_pipelines.model.ports import Transaction
from neurigraph_pipelines.text.lexemes import MAX_FREQUENCY, window_lengths
from neurigraph_pipelines.text.search_segments import DamagedSegmentError, SearchSegment, Spoken, Words, pack_vectors

_QUERIES = statements("portability")
_LANGUAGE_MARK = "#"  # With a language after it, it stood among the lexemes.
_VOICES = {
    Role.USER: Voice.OWNER,
    Role.ASSISTANT: Voice.ASSISTANT,
    Role.SYSTEM: Voice.SYSTEM,
    Role.TOOL: Voice.TOOL,
}

_Int = Annotated[int, Field(ge=0, lt=1 << 31)]
_Numbers = Annotated[
    list[Annotated[float, Field(ge=-65_504, le=65_504)]],
    Field(min_length=PASSAGE_DIMENSIONS, max_length=PASSAGE_DIMENSIONS),
    BeforeValidator(lambda text: json.loads(text) if isinstance(text, str) else text),
]


class _Passage(BaseModel):
    record_id: UUID
    seq: Annotated[int, Field(ge=1, lt=1 << 31)]
    first_message: _Int
    author: str | None = None
    byte_offset: Annotated[int, Field(ge=0, lt=1 << 62)]
    byte_length: _Int
    lexemes: list[str]
    frequencies: list[Annotated[int, Field(ge=0, le=MAX_FREQUENCY)]]
    lexeme_count: _Int
    role: Role | None = None
    window_length: Annotated[float, Field(ge=0, le=3e38)] | None = None
    voice: Voice | None = None
    statement_key: Annotated[int, Field(ge=-(1 << 63), lt=1 << 63)] | None = None
    section: str | None = None
    embedding: _Numbers | None = None
    embedding_next: _Numbers | None = None

    @model_validator(mode="after")
    def _has_counts(self) -> _Passage:
        if len(self.lexemes) != len(self.frequencies):
            raise ValueError("a passage has a frequency for each lexeme")
        return self

    @property
    def words(self) -> Words:
        """The words, without the mark of the language."""
        kept = [
            (lexeme, frequency)
            for lexeme, frequency in zip(self.lexemes, self.frequencies, strict=True)
            if not lexeme.startswith(_LANGUAGE_MARK)
        ]
        return Words([lexeme for lexeme, _ in kept], [frequency for _, frequency in kept], self.lexeme_count)

    @property
    def language(self) -> str | None:
        """The stemmer, if it is not the usual one where the export was made."""
        return next((lexeme[1:] for lexeme in self.lexemes if lexeme.startswith(_LANGUAGE_MARK)), None)


class _Values(NamedTuple):
    """The values of a segment that come from other rows."""

    source_id: str
    model: str | None
    next_model: str | None
    voice: Voice | None


def segments_of_passages(tx: Transaction, parts: Iterable[str], usual: str) -> Iterator[tuple[str, int]]:
    """Yield the rows of segments for the staged passages of a former export, each with its number of passages.

    Args:
        parts: The names of all staged parts.
        usual: The stemmer of this installation.

    Raises:
        InvalidInputError: A row of passages is none.
    """
    tx.execute(_QUERIES["create_messages_table"], {"part": rows_name("messages")})
    tx.execute(_QUERIES["index_messages_table"])
    for part in parts:
        folder, _, name = part.rpartition("/")
        if not folder.startswith("nodes/") or name != "passages.jsonl":
            continue
        records = _records(tx, f"{folder}/metadata_records.jsonl")
        node_id = folder.removeprefix("nodes/")
        for record_id, passages in groupby(_passages(tx, part), lambda one: one.record_id):
            found = list(passages)
            yield _line(tx, found, records.get(record_id), node_id, usual), len(found)


def _passages(tx: Transaction, part: str) -> Iterator[_Passage]:
    after = 0
    while rows := tx.execute(_QUERIES["some_lines"], {"part": part, "after": after}).fetchall():
        after = rows[-1]["number"]
        for row in rows:
            try:
                yield _Passage.model_validate_json(row["line"])
            except ValidationError as error:
                place = ".".join(map(str, error.errors(include_input=False, include_url=False)[0]["loc"]))[:100]
                raise InvalidInputError(f"a passage of the export is damaged ({place}): export it again") from error


def _records(tx: Transaction, part: str) -> dict[UUID, _Values]:
    """Return the records of a node, by id."""
    found = {}
    for row in tx.execute(_QUERIES["records_of_part"], {"part": part, "sources": rows_name("sources")}):
        # Those from before voices were recorded got theirs from their source.
        by_source = Voice.DOCUMENT if row["source_kind"] == SourceKind.UPLOAD else None
        voice = Voice.PERSONA if row["is_of_persona"] else by_source
        models = (row["embedding_model"], row["embedding_next_model"])
        found[row["record_id"]] = _Values(row["source_id"], *models, voice if row["received_at"] is None else None)
    return found


def _line(tx: Transaction, passages: Sequence[_Passage], record: _Values | None, node_id: str, usual: str) -> str:
    """Return the row of the segment of some passages, which are those of one record."""
    if record is None:
        raise InvalidInputError("passages of the export belong to no record: export it again")
    segment = _segment(tx, passages, record)
    vectors = _packed([one.embedding for one in passages])
    next_vectors = _packed([one.embedding_next for one in passages])
    others = {
        "record_id": str(passages[0].record_id),
        "node_id": node_id,
        "user_id": None,
        "vectors": vectors,
        "model": record.model if vectors is not None else None,
        "next_vectors": next_vectors,
        "next_model": record.next_model if next_vectors is not None else None,
    }
    return line_of(segment, known_languages(one.language for one in passages if one.language), usual, others)


def _segment(tx: Transaction, passages: Sequence[_Passage], record: _Values) -> SearchSegment:
    values = {"source_id": record.source_id, "numbers": [one.first_message for one in passages]}
    external_ids = {row["seq"]: row["external_id"] for row in tx.execute(_QUERIES["ids_of_messages"], values)}
    lengths = window_lengths([one.lexeme_count for one in passages])
    made = SearchSegment.of(
        [
            Spoken(
                one.seq,
                one.first_message,
                one.author,
                one.section,
                external_ids.get(one.first_message),
                one.role,
                one.voice or record.voice or (_VOICES[one.role] if one.role is not None else None),
                one.words,
                one.statement_key or 0,
                one.window_length if one.window_length is not None else length,
                one.byte_offset,
                one.byte_length,
            )
            for one, length in zip(passages, lengths, strict=True)
        ]
    )
    try:
        return read_segment(made.content)
    except DamagedSegmentError as error:
        raise InvalidInputError(
            f"the passages of a record of the export are none ({error}): export it again"
        ) from error


def _packed(vectors: Sequence[Sequence[float] | None]) -> bytes | None:
    """Return the vectors of passages; None if one is missing."""
    return None if any(one is None for one in vectors) else pack_vectors(np.array(vectors, np.float32))
