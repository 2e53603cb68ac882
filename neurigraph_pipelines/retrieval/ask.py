"""Answers in words, with citations: a search, then only the bytes of the messages that it found.

The answer rests on the messages read here and on nothing else. The citations of a language model are checked against
the messages it was given; if none can be checked, the messages themselves are the answer. ``query.search`` finds
messages and ``open`` reads them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import accumulate
from typing import Any
from uuid import UUID

from neurigraph_pipelines.model import Evidence, Statement, Voice
from neurigraph_pipelines.model.chat import CHAT_ORIGIN
from neurigraph_pipelines.model.context import Context
from neurigraph_pipelines.model.enriching import leave_out
from neurigraph_pipelines.model.errors import NeurigraphError, StorageError
from neurigraph_pipelines.model.measuring import measured
from neurigraph_pipelines.model.ports import LanguageModel, TokenCounter
from neurigraph_pipelines.retrieval.changed import notes_of
from neurigraph_pipelines.retrieval.excerpts import asked_words, excerpt
from neurigraph_pipelines.retrieval.log import note
from neurigraph_pipelines.retrieval.open import OpenedMessage, open_messages
from neurigraph_pipelines.retrieval.passages import Passage, in_context, places_of, with_replies
from neurigraph_pipelines.retrieval.query.parse import parse
from neurigraph_pipelines.retrieval.query.present import key_of
from neurigraph_pipelines.retrieval.query.question import Answer, Question
from neurigraph_pipelines.retrieval.query.rerank import rerank
from neurigraph_pipelines.retrieval.query.search import search
from neurigraph_pipelines.retrieval.restating import Restated, restated
from neurigraph_pipelines.text.hygiene import storable
from neurigraph_pipelines.text.lexemes import lexer_of

HITS = 50
MESSAGES = 200
"""Limits of the search: messages of few records often lead the ranking, and files have a limit of their own."""

EVIDENCE_CHARACTERS = 4_000
"""Most characters of one message that a language model is given."""

CITED_CHARACTERS = 1_000
"""Most characters of one message that a citation shows."""

STATED_CHARACTERS = 300
"""Most characters of one message that stands for an answer if no language model gives one."""

MAX_STATEMENTS = 5

CANDIDATES = 3
"""How many times as many messages are read for a reranker to choose from."""

NOTHING_FOUND = "Nothing that is remembered answers this."

ACCORDING_TO = "According to "
"""How a statement begins that rests on nothing but what others said."""

BEFORE_THAT = "Before that, "
"""How a statement begins that was said before things changed."""

CHANGED = "What was said about this has changed: the latest comes first."

SourceRule = Callable[[str], bool]
"""Says whether messages of a source count, by its id."""

_LIKE_A_CITATION = re.compile(r"\[(\d{1,3})\]")


@dataclass(frozen=True, slots=True)
class Citation:
    """A message that an answer rests on; of a record whose messages are not indexed, its summary.

    Attributes:
        number: The number by which the answer cites it.
        record_id: None, like ``node_path``, if the message is not stored yet.
        source_id: The conversation, event, upload or note that it was said in.
        seq: The number of the message in its conversation, event or file; None for a summary.
        section: The part of a document that it is of: its headings, or its page.
        author: The name that it is shown under.
        voice: Who speaks, as the server knows it; None for a summary.
        origin: Where its memory comes from, as in a hit.
        text: The message, or the part of it that the question is about.
    """

    number: int
    record_id: str | None
    source_id: str
    stored: bool
    node_path: str | None
    title: str
    file_id: str | None
    seq: int | None
    external_id: str | None
    section: str | None
    author: str | None
    voice: Voice | None
    origin: dict[str, Any]
    occurred_at: datetime
    text: str


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer in words.

    Attributes:
        answer: Statements, one a line, each followed by the numbers of its citations.
        found: False if no memory answers the question.
        citations: In the order in which the answer cites them.
        model: The model that worded the answer.
        notes: What the answer lacks, one sentence each.
    """

    answer: str
    found: bool
    citations: list[Citation]
    model: str
    notes: list[str] = field(default_factory=list)


@measured("ask")
def ask(context: Context, question: Question, *, asked_at: datetime | None = None) -> Reply:
    """Answer a question from what the caller may see.

    At most ``ask_passages`` messages from ``ask_files`` files are read, and at most ``ask_tokens`` tokens of them are
    given to the language model. A reranker reads ``CANDIDATES`` times as many and says which are best.

    Args:
        question: Its limits are not used; its filters are.

    Raises:
        InvalidInputError: As ``search``.
        NotFoundError: As ``search``.
    """
    moment = asked_at or question.at or datetime.now(UTC)
    notes: list[str] = []
    passages = find_passages(context, question, moment, notes)
    return reply_from(context, question.query, moment, passages, notes)


def find_passages(
    context: Context, question: Question, moment: datetime, notes: list[str], *, sources: SourceRule | None = None
) -> list[Passage]:
    """Return the messages that may answer a question, best first, each cut to what a language model is given.

    Args:
        question: As for ``ask``.
        moment: Relative times count from here.
        notes: What the answer lacks is added to them.
        sources: Whether messages of a source count, by its id; by default those of all.

    Raises:
        InvalidInputError: As ``search``.
        NotFoundError: As ``search``.
    """
    settings, reranker = context.settings, context.reranker
    wide = replace(question, limit=HITS, message_limit=MESSAGES, explain=False)
    question = parse(wide, settings.language).question
    found = search(context.using(reranker=None), question, asked_at=moment, is_noted=False)
    if sources is not None:
        kept = [[one for one in each if sources(one["source_id"])] for each in (found.hits, found.messages)]
        found = replace(found, hits=kept[0], messages=kept[1])
    found = _without_answers(found)
    notes += found.notes
    lexer = lexer_of(settings.language)
    asked = asked_words(question.query, lexer)
    most = settings.ask.passages * (CANDIDATES if reranker else 1)
    return [
        replace(passage, text=excerpt(passage.text, asked, lexer, EVIDENCE_CHARACTERS))
        for passage in with_replies(context, question, _read(context, found, most, notes))[:most]
    ]


def _without_answers(found: Answer) -> Answer:
    """Leave out what chats with this memory answered: it repeats memories that are found themselves."""
    chats = {key_of(hit) for hit in found.hits if hit["origin"]["source"]["origin"] == CHAT_ORIGIN}
    told = [one for one in found.messages if key_of(one) not in chats or one["voice"] != Voice.ASSISTANT]
    hits = found.hits if told else [hit for hit in found.hits if key_of(hit) not in chats]
    return replace(found, hits=hits, messages=told)


def reply_from(
    context: Context,
    query: str,
    moment: datetime,
    passages: Sequence[Passage],
    notes: list[str],
    *,
    worded: str | None = None,
    without: Collection[UUID] = (),
) -> Reply:
    """Return the answer to a question from some passages, best first.

    Args:
        worded: The question as the language model reads it, if it says more than ``query``.
        without: Records that no note on conflicts may rest on.
    """
    settings, reranker = context.settings, context.reranker
    lexer = lexer_of(settings.language)
    asked = asked_words(query, lexer)
    order, rerank_notes = rerank(reranker, query, [passage.text for passage in passages])
    notes += rerank_notes
    passages = [passages[place] for place in order][: settings.ask.passages]
    evidence = _within(in_context(passages), settings.ask.tokens, context.tokens)
    retrieved = [passage.hit["record_id"] for passage in passages[: len(evidence)] if passage.hit["stored"]]
    note(context, "ask", retrieved, query)
    said = restated([(_source_of(one), one.text) for one in passages[: len(evidence)]])
    statements = said.once_a_source(_statements(context.language_model, worded or query, moment, evidence, notes))
    if any(statement.is_superseded for statement in statements):
        notes.append(CHANGED)
    cited = dict.fromkeys(place for statement in statements for place in statement.evidence)
    notes += notes_of(context, places_of(passages[place - 1] for place in cited), without)
    numbers = {place: number for number, place in enumerate(cited, start=1)}
    return Reply(
        "\n".join(_worded(statement, numbers, evidence, said) for statement in statements) or NOTHING_FOUND,
        bool(statements),
        [
            _citation(number, passages[place - 1], excerpt(passages[place - 1].text, asked, lexer, CITED_CHARACTERS))
            for place, number in numbers.items()
        ],
        context.language_model.name,
        notes,
    )


def _within(evidence: list[Evidence], most: int, tokens: TokenCounter) -> list[Evidence]:
    """Return as much of the evidence as fits, and always the best of it."""
    sizes = accumulate(tokens.count(one.text) for one in evidence)
    return evidence[: max(1, sum(size <= most for size in sizes))]


def _read(context: Context, found: Answer, most: int, notes: list[str]) -> list[Passage]:
    """Read the best messages of a search, best first; only their bytes are read."""
    files = context.settings.ask.files
    hits = {key_of(hit): hit for hit in found.hits if hit["file_id"] or not hit["stored"]}
    if not found.messages:
        return [Passage(hit, hit["summary"], datetime.fromisoformat(hit["occurred_at"])) for hit in found.hits[:files]]
    wanted: dict[str, list[int]] = {}
    places: list[tuple[str, int]] = []
    read: dict[tuple[str, int], Passage] = {}
    sections = {(key_of(message), message["seq"]): message["section"] for message in found.messages}
    for message in found.messages:
        record_id, seq = key_of(message), message["seq"]
        if record_id not in hits or len(places) == most:
            continue
        if not message["stored"]:
            read[record_id, seq] = _unstored(hits[record_id], message)
        elif record_id in wanted or len(wanted) < files:
            wanted.setdefault(record_id, []).append(seq)
        else:
            continue
        places.append((record_id, seq))
    for record_id, numbers in wanted.items():
        file_id = UUID(hits[record_id]["file_id"])
        try:
            opened = open_messages(context, file_id, numbers)
        except Exception as error:  # the others may answer
            if not isinstance(error, StorageError):
                leave_out("messages", error)
            notes.append(f"The file of the memory {hits[record_id]['title']!r} could not be read.")
            continue
        read |= {
            (record_id, one.seq): Passage(
                hits[record_id], one.text, one.occurred_at, one, sections.get((record_id, one.seq))
            )
            for one in opened
        }
    return [read[place] for place in places if place in read]


def _unstored(hit: dict[str, Any], found: Mapping[str, Any]) -> Passage:
    """Return a message that is not stored yet; the search has its words."""
    occurred_at = datetime.fromisoformat(found["occurred_at"])
    said = (found["seq"], found["role"], found["author"], found["voice"], found["external_id"], occurred_at)
    return Passage(hit, found["content"], occurred_at, OpenedMessage(None, *said, found["content"]), found["section"])


def _statements(
    model: LanguageModel, query: str, asked_at: datetime, evidence: Sequence[Evidence], notes: list[str]
) -> list[Statement]:
    """Return the language model's statements about the evidence, checked; or the evidence itself."""
    if not evidence:
        return []
    try:
        given = storable(model.answer(query, asked_at, evidence))
    except NeurigraphError as error:
        notes.append(f"{model.name} gave no answer, so these are the messages found. {error}")
        return _verbatim(evidence)
    except Exception as error:  # a defect of a model, or files of a local one that cannot be read
        left_out = type(error).__name__ if isinstance(error, OSError) else leave_out("answer", error)
        notes.append(f"{model.name} gave no answer, so these are the messages found. Left out by a defect: {left_out}.")
        return _verbatim(evidence)
    usable = list(_usable(given, len(evidence)))
    if sum(len(s.evidence) for s in usable) < sum(len(s.evidence) for s in given):
        notes.append(f"{model.name} cited what it was not given: those citations were dropped.")
    if len(usable) < len(given):
        notes.append(f"{model.name} said something without a citation: it was left out.")
    return usable if usable or not given else _verbatim(evidence)


def _usable(given: Sequence[Statement], most: int) -> Iterator[Statement]:
    """Yield the statements that cite given evidence, with only those citations."""
    for statement in given:
        cited = tuple(number for number in statement.evidence if 1 <= number <= most)
        if cited:
            yield replace(statement, evidence=cited)


def _verbatim(evidence: Sequence[Evidence]) -> list[Statement]:
    """Return the best evidence word for word, as statements."""
    return [
        Statement(f"{one.speaker}: {' '.join(one.text.split())[:STATED_CHARACTERS]}", (number,))
        for number, one in enumerate(evidence[:MAX_STATEMENTS], start=1)
    ]


def _source_of(passage: Passage) -> str:
    """Return the persona that handed in a message, or else its source."""
    return str(passage.hit["origin"]["persona_id"] or passage.hit["source_id"])


def _worded(statement: Statement, numbers: dict[int, int], evidence: Sequence[Evidence], said: Restated) -> str:
    """Return a statement with its citations; what only others said, or one source again and again, begins with that."""
    # Numbers in brackets would pass for citations.
    text = _LIKE_A_CITATION.sub(r"(\1)", " ".join(statement.text.split()))
    cited = [evidence[place - 1] for place in statement.evidence]
    if all(one.is_of_others for one in cited):
        speaker = _LIKE_A_CITATION.sub(r"(\1)", " ".join(cited[0].speaker.split()))
        text = ACCORDING_TO + (text if text.startswith(speaker) else f"{speaker}: {text}")
    elif times := said.times(statement.evidence):
        title = _LIKE_A_CITATION.sub(r"(\1)", " ".join(cited[0].title.split()))
        text = f"{ACCORDING_TO}“{title}”, which says so {times} times: {text}"
    if statement.is_superseded:
        text = BEFORE_THAT + text.replace(ACCORDING_TO, ACCORDING_TO.lower(), 1)
    return f"{text} {''.join(f'[{numbers[place]}]' for place in statement.evidence)}"


def _citation(number: int, passage: Passage, text: str) -> Citation:
    hit, message = passage.hit, passage.message
    return Citation(
        number,
        hit["record_id"],
        hit["source_id"],
        hit["stored"],
        hit["node_path"],
        hit["title"],
        hit["file_id"],
        message.seq if message else None,
        message.external_id if message else None,
        passage.section,
        message.author if message else None,
        message.voice if message else None,
        hit["origin"],
        passage.occurred_at,
        text,
    )
