"""Answers in words, with citations: a search, then only the bytes of the messages that it found.

The answer rests on the messages read here and on nothing else. The citations of a language model are checked against
the messages it was given; if none can be checked, the messages themselves are the answer. ``query.search`` finds
messages and ``open`` reads them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from itertools import accumulate
from uuid import UUID

from neurigraph_pipelines.model import Quotable, Statement, Voice
from neurigraph_pipelines.model.chat import CHAT_ORIGIN
from neurigraph_pipelines.model.context import Context
from neurigraph_pipelines.model.enriching import leave_out
from neurigraph_pipelines.model.errors import NeurigraphError, StorageError
from neurigraph_pipelines.model.measuring import measured
from neurigraph_pipelines.model.ports import LanguageModel, TokenCounter
from neurigraph_pipelines.model.tool_events import event_fields
from neurigraph_pipelines.retrieval.about import Told, told_about
from neurigraph_pipelines.retrieval.because import causes_behind
from neurigraph_pipelines.retrieval.changed import conflicts_of, latest_first, note_of
from neurigraph_pipelines.retrieval.corrected import corrected_conflicts, corrected_first, with_corrections
from neurigraph_pipelines.retrieval.excerpts import asked_words, excerpt
from neurigraph_pipelines.retrieval.log import note
from neurigraph_pipelines.retrieval.oneself import told_of_owner
from neurigraph_pipelines.retrieval.open import open_in_files
from neurigraph_pipelines.retrieval.passages import (
    STATED_CHARACTERS,
    ReadMessage,
    in_context,
    owner_named,
    places_of,
    stated,
    with_replies,
)
from neurigraph_pipelines.retrieval.query.parse import parse
from neurigraph_pipelines.retrieval.query.question import Question
from neurigraph_pipelines.retrieval.query.rerank import rerank
from neurigraph_pipelines.retrieval.query.search import search
from neurigraph_pipelines.retrieval.restating import Restated, restated
from neurigraph_pipelines.text.hygiene import storable
from neurigraph_pipelines.text.lexemes import lexer_of
from neurigraph_pipelines.views.answers import Citation, Reply
from neurigraph_pipelines.views.files import Message
from neurigraph_pipelines.views.search import Found, Hit, MessageHit

HITS = 50
MESSAGES = 200
"""Limits of the search: messages of few records often lead the ranking, and files have a limit of their own."""

PASSAGE_CHARACTERS = 4_000
"""Most characters of one message that a language model is given."""

CITED_CHARACTERS = 1_000
"""Most characters of one message that a citation shows."""

MAX_STATEMENTS = 5

CANDIDATES = 3
"""How many times as many messages are read for a reranker to choose from."""

NOTHING_FOUND = "Nothing that is remembered answers this."

ACCORDING_TO = "According to "
"""How a statement begins that rests on nothing but words of others."""

BEFORE_THAT = "Before that, "
"""How a statement begins that was said before things changed."""

BEHIND_THAT = "Behind that, "
"""How a statement begins that tells the cause of another one."""

CHANGED = "What was said about this has changed: the latest comes first."

SourceRule = Callable[[UUID], bool]
"""Says whether messages of a source count, by its id."""

_LIKE_A_CITATION = re.compile(r"\[(\d{1,3})\]")


@measured("ask")
def ask(context: Context, question: Question, *, asked_at: datetime | None = None) -> Reply:
    """Answer a question from the memories that the caller may see.

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
    told = told_of_owner(context, question) or told_about(context, question)
    passages = [] if told.is_all and told else find_passages(context, question, moment, notes)
    return reply_from(context, question.query, moment, passages, notes, told=told)


def find_passages(
    context: Context, question: Question, moment: datetime, notes: list[str], *, sources: SourceRule | None = None
) -> list[ReadMessage]:
    """Return the messages that may answer a question, best first, each cut for a language model.

    Args:
        question: As for ``ask``.
        moment: Relative times count from here.
        notes: The function adds a sentence for each part that the answer lacks.
        sources: Whether messages of a source count, by its id; by default those of all.

    Raises:
        InvalidInputError: As ``search``.
        NotFoundError: As ``search``.
    """
    wide = replace(question, limit=HITS, message_limit=MESSAGES, explain=False)
    found = search(context.using(reranker=None), wide, asked_at=moment, is_noted=False)
    if sources is not None:
        hits = [one for one in found.hits if sources(one.source_id)]
        messages = [one for one in found.messages if sources(one.source_id)]
        found = found.model_copy(update={"hits": hits, "messages": messages})
    return passages_of(context, question, found, notes)


def passages_of(
    context: Context, question: Question, found: Found, notes: list[str], *, most_asking: int | None = None
) -> list[ReadMessage]:
    """Return the messages that a search found, as ``find_passages`` does; replies follow messages that only ask."""
    settings = context.settings
    question = parse(question, settings.language).question
    found = _without_answers(found)
    notes += found.notes
    lexer = lexer_of(settings.language)
    asked = asked_words(question.query, lexer)
    most = settings.ask.passages * (CANDIDATES if context.reranker else 1)
    return [
        replace(passage, text=excerpt(passage.text, asked, lexer, PASSAGE_CHARACTERS))
        for passage in with_replies(context, question, _read(context, found, most, notes), most_asking)[:most]
    ]


def _without_answers(found: Found) -> Found:
    """Leave out answers of chats with this memory: they repeat memories that are found themselves."""
    chats = {hit.key for hit in found.hits if hit.origin.source.origin == CHAT_ORIGIN}
    told = [one for one in found.messages if one.key not in chats or one.voice is not Voice.ASSISTANT]
    hits = found.hits if told else [hit for hit in found.hits if hit.key not in chats]
    return found.model_copy(update={"hits": hits, "messages": told})


def reply_from(
    context: Context,
    query: str,
    moment: datetime,
    passages: Sequence[ReadMessage],
    notes: list[str],
    *,
    worded: str | None = None,
    without: Collection[UUID] = (),
    told: Told | None = None,
) -> Reply:
    """Return the answer to a question from some passages, best first.

    Args:
        worded: The question as the language model reads it, if it says more than ``query``.
        without: Records that no note on conflicts may rest on.
        told: The known facts of the node that the question is about; they come first.
    """
    told = told or Told()
    lexer = lexer_of(context.settings.language)
    asked = asked_words(query, lexer)
    best = told.before(_best(context, query, passages, notes))
    passages = with_corrections(context, owner_named(context, best))
    quotable = _within(in_context(passages), context.settings.ask.tokens, context.tokens)
    note(context, "ask", [one.hit.record_id for one in passages[: len(quotable)] if one.hit.record_id], query)
    said = restated([(_source_of(one), told.words_beside(one)) for one in passages[: len(quotable)]])
    statements = told.stated(passages[: len(quotable)])
    if not told.is_all or not statements:
        found = _statements(context.language_model, worded or query, moment, quotable, notes)
        statements = told.with_others(statements, said.once_a_source(found), passages)
    statements = corrected_first(context, asked, statements, passages)
    known = conflicts_of(context, places_of(passages[n - 1] for n in _cited(statements)), without)
    conflicts = list(corrected_conflicts(known, passages, lexer))
    passages = passages[: len(quotable)]
    statements = latest_first(statements, passages, conflicts, lexer)
    causes = owner_named(context, causes_behind(context, query, [passages[n - 1] for n in _cited(statements)]))
    passages, quotable = [*passages, *causes], [*quotable, *in_context(causes)]
    statements += _behind(passages, len(causes))
    notes += [*([CHANGED] if any(one.is_superseded for one in statements) else []), *map(note_of, conflicts)]
    numbers = {place: number for number, place in enumerate(_cited(statements), start=1)}
    cited = [(number, passages[place - 1]) for place, number in numbers.items()]
    return Reply(
        answer="\n".join(_worded(one, numbers, quotable, said) for one in statements) or NOTHING_FOUND,
        found=bool(statements),
        citations=[_citation(n, one, excerpt(one.text, asked, lexer, CITED_CHARACTERS)) for n, one in cited],
        model=context.language_model.name,
        notes=notes,
    )


def _behind(passages: Sequence[ReadMessage], causes: int) -> Iterator[Statement]:
    """Yield the last passages as statements: they are the causes of the others."""
    for place in range(len(passages) - causes + 1, len(passages) + 1):
        one = stated(passages, place)
        yield replace(one, text=f"{BEHIND_THAT}{one.text}")


def _cited(statements: Iterable[Statement]) -> Iterable[int]:
    """Return the numbers of the passages that some statements quote, each once."""
    return dict.fromkeys(number for statement in statements for number in statement.quoted)


def _best(context: Context, query: str, passages: Sequence[ReadMessage], notes: list[str]) -> list[ReadMessage]:
    """Return the best passages, in the order of the reranker if there is one."""
    order, rerank_notes = rerank(context.reranker, query, [passage.text for passage in passages])
    notes += rerank_notes
    return [passages[place] for place in order][: context.settings.ask.passages]


def _within(quotable: list[Quotable], most: int, tokens: TokenCounter) -> list[Quotable]:
    """Return as much of the passages as fits, and always the best of it."""
    sizes = accumulate(tokens.count(one.text) for one in quotable)
    return quotable[: max(1, sum(size <= most for size in sizes))]


def _read(context: Context, found: Found, most: int, notes: list[str]) -> list[ReadMessage]:
    """Read the best messages of a search, best first; only their bytes are read."""
    most_files = context.settings.ask.files
    hits = {hit.key: hit for hit in found.hits if hit.file_id or not hit.stored}
    if not found.messages:
        return [ReadMessage(hit, hit.summary, hit.occurred_at) for hit in found.hits[:most_files]]
    wanted: dict[UUID, list[int]] = {}
    places: list[tuple[UUID, int]] = []
    read: dict[tuple[UUID, int], ReadMessage] = {}
    sections = {(message.key, message.seq): message.section for message in found.messages}
    for message in found.messages:
        record_id, seq = message.key, message.seq
        if record_id not in hits or len(places) == most:
            continue
        if not message.stored:
            read[record_id, seq] = _unstored(hits[record_id], message)
        elif record_id in wanted or len(wanted) < most_files:
            wanted.setdefault(record_id, []).append(seq)
        else:
            continue
        places.append((record_id, seq))
    files_of = {record_id: hits[record_id].file_id for record_id in wanted}
    opened = open_in_files(context, {file_id: wanted[record_id] for record_id, file_id in files_of.items() if file_id})
    for record_id, file_id in files_of.items():
        hit = hits[record_id]
        found_in = opened[file_id] if file_id else []
        if isinstance(found_in, StorageError):
            notes.append(f"The file of the memory {hit.title!r} could not be read.")
            continue
        for one in found_in:
            place = record_id, one.seq
            read[place] = ReadMessage(hit, one.content, one.occurred_at, one, sections.get(place))
    return [read[place] for place in places if place in read]


def _unstored(hit: Hit, found: MessageHit) -> ReadMessage:
    """Return a message that is not stored yet; the search has its words."""
    assert found.role is not None
    said = {"occurred_at": found.occurred_at or hit.occurred_at, "content": found.content or ""}
    fields = {**dict(found), **said, **event_fields(found.role, None), "file_id": None, "tool_calls": []}
    message = Message.model_validate(fields)
    return ReadMessage(hit, message.content, message.occurred_at, message, found.section)


def _statements(
    model: LanguageModel, query: str, asked_at: datetime, quotable: Sequence[Quotable], notes: list[str]
) -> list[Statement]:
    """Return the language model's statements about the passages, checked; or the passages itself."""
    if not quotable:
        return []
    try:
        given = storable(model.answer(query, asked_at, quotable))
    except NeurigraphError as error:
        notes.append(f"{model.name} gave no answer, so these are the messages found. {error}")
        return _verbatim(quotable)
    except Exception as error:  # a defect of a model, or files of a local one that cannot be read
        left_out = type(error).__name__ if isinstance(error, OSError) else leave_out("answer", error)
        notes.append(f"{model.name} gave no answer, so these are the messages found. Left out by a defect: {left_out}.")
        return _verbatim(quotable)
    usable = list(_usable(given, len(quotable)))
    if sum(len(s.quoted) for s in usable) < sum(len(s.quoted) for s in given):
        notes.append(f"{model.name} cited what it was not given: those citations were dropped.")
    if len(usable) < len(given):
        notes.append(f"{model.name} said something without a citation: it was left out.")
    return usable if usable or not given else _verbatim(quotable)


def _usable(given: Sequence[Statement], most: int) -> Iterator[Statement]:
    """Yield the statements that cite given passages, with only those citations."""
    for statement in given:
        cited = tuple(number for number in statement.quoted if 1 <= number <= most)
        if cited:
            yield replace(statement, quoted=cited)


def _verbatim(quotable: Sequence[Quotable]) -> list[Statement]:
    """Return the best passages word for word, as statements."""
    return [
        Statement(f"{one.speaker}: {' '.join(one.text.split())[:STATED_CHARACTERS]}", (number,))
        for number, one in enumerate(quotable[:MAX_STATEMENTS], start=1)
    ]


def _source_of(passage: ReadMessage) -> str:
    """Return the persona that handed in a message, or else its source."""
    return str(passage.hit.origin.persona_id or passage.hit.source_id)


def _worded(statement: Statement, numbers: dict[int, int], quotable: Sequence[Quotable], said: Restated) -> str:
    """Return a statement with its citations; it begins with the speaker or source if only these say it."""
    # Numbers in brackets would pass for citations.
    text = _LIKE_A_CITATION.sub(r"(\1)", " ".join(statement.text.split()))
    cited = [quotable[place - 1] for place in statement.quoted]
    if all(one.is_of_others for one in cited):
        speaker = _LIKE_A_CITATION.sub(r"(\1)", " ".join(cited[0].speaker.split()))
        text = ACCORDING_TO + (text if text.startswith(speaker) else f"{speaker}: {text}")
    elif times := said.times(statement.quoted):
        title = _LIKE_A_CITATION.sub(r"(\1)", " ".join(cited[0].title.split()))
        text = f"{ACCORDING_TO}“{title}”, which says so {times} times: {text}"
    if statement.is_superseded:
        text = BEFORE_THAT + text.replace(ACCORDING_TO, ACCORDING_TO.lower(), 1)
    return f"{text} {''.join(f'[{numbers[place]}]' for place in statement.quoted)}"


def _citation(number: int, passage: ReadMessage, text: str) -> Citation:
    said = dict(passage.message or dict.fromkeys(("seq", "external_id", "author", "voice")))
    own = {"number": number, "section": passage.section, "occurred_at": passage.occurred_at, "text": text}
    return Citation.model_validate({**said, **dict(passage.hit), **own})
