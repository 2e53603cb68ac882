"""Values made of a segment or read from a question: summaries, keywords, periods, quotable passages and statements."""

from __future__ import annotations

from dataclasses import dataclass, fields
from datetime import datetime

from neurigraph_pipelines.model.facts import ReadFact
from neurigraph_pipelines.model.origin import OTHERS
from neurigraph_pipelines.views.kinds import Voice


@dataclass(frozen=True, slots=True)
class Keywords:
    """Structured keywords, each field stored in a column of its own.

    Attributes:
        entities: People, organisations, products, places.
        topics: Concept tags.
        dates: ISO dates or periods (``2023-05-07``, ``2023-05``, ``2022``), relative phrases already resolved.
        relationships: Descriptors such as ``coworker: Dave``.
    """

    entities: tuple[str, ...] = ()
    topics: tuple[str, ...] = ()
    dates: tuple[str, ...] = ()
    relationships: tuple[str, ...] = ()


KEYWORD_COLUMNS = {kind.name: f"kw_{kind.name}" for kind in fields(Keywords)}
"""The column of a record for each field of ``Keywords``."""


@dataclass(frozen=True, slots=True)
class AlsoRead:
    """The keywords and facts that a language model reads in the same call as a summary, so that a text is sent once.

    Attributes:
        window: SHA-256 in hexadecimal digits of all that a call for the facts alone would send.
    """

    keywords: Keywords
    facts: tuple[ReadFact, ...]
    window: str


@dataclass(frozen=True, slots=True)
class Summary:
    """Title and summary of a segment, and the other answers of the same call."""

    title: str
    text: str
    also: AlsoRead | None = None


@dataclass(frozen=True, slots=True)
class Quotable:
    """A message or an excerpt of one, from which a question may be answered.

    Attributes:
        speaker: How an answer calls who said it.
        title: Title of its memory.
        voice: Who speaks, as the server knows it; None if unknown.
        before: The message just before it, such as the question that it answers.
        is_correction: Whether it is what a person has written in the place of something that a passage after it says.
    """

    text: str
    speaker: str
    occurred_at: datetime
    title: str = ""
    voice: Voice | None = None
    before: str = ""
    is_correction: bool = False

    @property
    def is_of_others(self) -> bool:
        """Whether neither the owner nor the owner's assistant said it."""
        return self.voice in OTHERS


@dataclass(frozen=True, slots=True)
class Statement:
    """A part of an answer, with the numbers (from 1) of the passages that it quotes.

    Attributes:
        is_superseded: Whether it was said before things changed; the statement before it has the latest.
    """

    text: str
    quoted: tuple[int, ...]
    is_superseded: bool = False
