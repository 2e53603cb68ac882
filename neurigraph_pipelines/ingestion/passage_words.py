"""The search segment of a record, made of its passages: languages, stems, and the keys of statements.

A defect in one leaves it out: words are then found as they are written.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from neurigraph_pipelines.ingestion.records import MadeSegment
from neurigraph_pipelines.model import Segment, Voice
from neurigraph_pipelines.model.enriching import enriched
from neurigraph_pipelines.text.languages import CODES, languages_of, stemmer_of
from neurigraph_pipelines.text.lexemes import count_plainly, lexer_of, window_lengths
from neurigraph_pipelines.text.search_segments import SearchSegment, Spoken, Words
from neurigraph_pipelines.text.statement_key import statement_key
from neurigraph_pipelines.text.transcript import Passage


def count_words(passage: Passage, language: str) -> Words:
    """Return the lexemes of a passage."""
    return Words(*lexer_of(language).count_passage(passage.message.author, passage.text))


def made_segment(part: Segment, passages: Sequence[Passage], voices: Mapping[int, Voice], usual: str) -> MadeSegment:
    """Return the search segment of a record.

    Args:
        part: The messages of the record.
        passages: Their passages; none if the record gets no segment.
        voices: Who speaks in each message, by its number.
        usual: The stemmer of this installation.
    """
    left_out: list[str] = []
    messages, default = part.messages, CODES[usual]
    mostly, spoken = enriched(
        "languages",
        lambda: languages_of(messages, default),
        lambda: (default, [default] * len(messages)),
        left_out,
    )
    stemmers = {message.seq: stemmer_of(one) for message, one in zip(messages, spoken, strict=True)}
    columns = None
    if passages:
        columns = columns_of(_segment_of(passages, voices, stemmers, left_out), stemmers.values(), usual)
    return MadeSegment(stemmer_of(mostly), tuple(stemmers), columns, tuple(left_out))


def _segment_of(
    passages: Sequence[Passage], voices: Mapping[int, Voice], languages: Mapping[int, str], left_out: list[str]
) -> SearchSegment:
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


def _counted(passage: Passage, language: str, left_out: list[str]) -> Words:
    """Return the lexemes of a passage, or its words as they are written if a defect ends that."""
    return enriched(
        "stems", lambda: count_words(passage, language), lambda: Words(*count_plainly(passage.text)), left_out
    )


def _key_of_statement(passage: Passage, left_out: list[str]) -> int:
    return enriched("statements", lambda: statement_key(passage.text), lambda: 0, left_out)
