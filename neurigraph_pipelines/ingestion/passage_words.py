"""The search segment of a record, made of its passages: languages, stems, and the keys of statements.

A defect in one leaves it out: words are then found as they are written.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from neurigraph_pipelines.model import Message, Voice
from neurigraph_pipelines.model.enriching import enriched
from neurigraph_pipelines.text.languages import languages_of
from neurigraph_pipelines.text.lexemes import count_plainly, lexer_of, window_lengths
from neurigraph_pipelines.text.search_segments import SearchSegment, Spoken, Words
from neurigraph_pipelines.text.statement_key import statement_key
from neurigraph_pipelines.text.transcript import Passage


def count_words(passage: Passage, language: str) -> Words:
    """Return the lexemes of a passage."""
    return Words(*lexer_of(language).count_passage(passage.message.author, passage.text))


def segment_of(
    passages: Sequence[Passage], voices: Mapping[int, Voice], languages: Mapping[int, str], left_out: list[str]
) -> SearchSegment:
    """Return the search segment of some passages.

    Args:
        voices: Who speaks in each message, by its number.
        languages: The stemmer of each message, likewise.
        left_out: Gets the enrichments that a defect leaves out.
    """
    words = [_counted(one, languages[one.message.seq], left_out) for one in passages]
    lengths = window_lengths([one.total for one in words])
    return SearchSegment.of(
        [
            Spoken(
                one.seq,
                one.message.seq,
                one.message.author,
                one.message.section,
                one.message.external_id,
                one.message.role,
                voices[one.message.seq],
                counts,
                _key_of_statement(one, left_out),
                length,
                one.byte_offset,
                one.byte_length,
            )
            for one, counts, length in zip(passages, words, lengths, strict=True)
        ]
    )


def columns_of(segment: SearchSegment, languages: Iterable[str], usual: str) -> dict[str, object]:
    """Return the columns of ``neurigraph.segments`` that follow from a segment and the stemmers of its messages."""
    return {
        "passages": len(segment.rows),
        "words": len(segment.keys),
        "speakers": segment.speakers,
        "languages": sorted({*languages} - {usual}),
        "content": segment.content,
    }


def languages_spoken(messages: Sequence[Message], usual: str, left_out: list[str]) -> tuple[str, list[str]]:
    """Return ``languages_of``, or the usual language if a defect ends that."""
    return enriched(
        "languages", lambda: languages_of(messages, usual), lambda: (usual, [usual] * len(messages)), left_out
    )


def _counted(passage: Passage, language: str, left_out: list[str]) -> Words:
    """Return the lexemes of a passage, or its words as they are written if a defect ends that."""
    return enriched(
        "stems", lambda: count_words(passage, language), lambda: Words(*count_plainly(passage.text)), left_out
    )


def _key_of_statement(passage: Passage, left_out: list[str]) -> int:
    return enriched("statements", lambda: statement_key(passage.text), lambda: 0, left_out)
