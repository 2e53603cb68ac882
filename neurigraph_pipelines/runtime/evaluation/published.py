"""Readers of published benchmarks, in the formats in which their authors publish them.

LoCoMo (ACL 2024), LongMemEval (ICLR 2025), BEAM (arXiv 2510.27246) and PersonaMem (COLM 2025). A file that is broken
ends an evaluation with an error: figures of a part would pass for figures of the whole.
"""

from __future__ import annotations

import ast
import csv
import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from itertools import groupby
from pathlib import Path
from typing import Any, Literal

from neurigraph_pipelines.inbox.imports import json_stream
from neurigraph_pipelines.inbox.imports import locomo as locomo_sessions
from neurigraph_pipelines.inbox.imports.source import parts_of, unreadable
from neurigraph_pipelines.model import ImportedConversation, IncomingMessage, RejectedItem, Role
from neurigraph_pipelines.model.errors import InvalidInputError
from neurigraph_pipelines.runtime.evaluation.samples import LabelledQuestion, Sample
from neurigraph_pipelines.views.scalars import WireObject

Published = Literal["locomo", "longmemeval", "beam", "personamem"]

CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", 5: "adversarial"}
"""LoCoMo's categories of questions; the adversarial ones name the wrong speaker."""

_MARK_OF_TURN = re.compile(r"\s*->->[\s\w,/.-]*$")
"""What BEAM appends to a user's message: the number of its turn."""

_BEAM_ANSWERS = ("answer", "ideal_answer", "ideal_response", "ideal_summary")
_BEAM_DATE = "%B-%d-%Y"
_SESSION_DATE = re.compile(r"(\d{4})/(\d{1,2})/(\d{1,2})(?: \(\w{2,9}\))?(?: (\d{1,2}):(\d{2}))?")
_MOST_FIELD_CHARACTERS = 1 << 24
_REMEDY = "say with --format which one it has, or download it again"


def read_published(name: Published, path: Path) -> Iterator[Sample]:
    """Read the samples of a file one after the other.

    Raises:
        InvalidInputError: The file is absent or broken; the message names the place.
    """
    parts_of(path)  # says what is wrong with a path
    with _explained(path, name):
        yield from _READERS[name](path)


def count_questions(name: Published, path: Path, most: int | None) -> int:
    """Read a whole file, and return how many of its questions are asked.

    Raises:
        InvalidInputError: The file is absent or broken, or has no question.
    """
    count = 0
    for sample in read_published(name, path):
        if not sample.conversations:
            raise InvalidInputError(f"{path} has no conversation for {sample.name[:80]!r}: {_REMEDY}")
        count += len(sample.questions)
    if count == 0:
        raise InvalidInputError(f"{path} has no question: {_REMEDY}")
    return count if most is None else min(count, most)


def locomo(path: Path) -> Iterator[Sample]:
    """Read samples of two people over months. A field with several ids is split, and unknown ids are dropped."""
    for where, item in _items(path):
        conversations = tuple(_accepted(locomo_sessions.conversations(item, where, None)))
        sample = Sample(str(item["sample_id"]).lower(), conversations, ())
        known, questions = sample.messages.keys(), []
        for asked in item["qa"]:
            sources = known & set(re.split(r"[;\s]+", " ".join(asked.get("evidence") or ())))
            category = CATEGORIES[asked["category"]]
            gold = str(asked.get("answer", ""))
            is_false = asked["category"] == 5
            questions.append(
                LabelledQuestion(_question(asked), frozenset(sources), category, gold, is_unanswerable=is_false)
            )
        yield Sample(sample.name, conversations, tuple(questions))


def longmemeval(path: Path) -> Iterator[Sample]:
    """Read questions, each with its own history of sessions between a user and an assistant."""
    for _, item in _items(path):
        name, sessions = str(item["question_id"]), item["haystack_sessions"]
        ids = item.get("haystack_session_ids") or [f"session {n}" for n in range(len(sessions))]
        conversations, sources = [], set()
        for number, (session, turns, day) in enumerate(zip(ids, sessions, item["haystack_dates"], strict=True)):
            begin, messages = _session_date(day), []
            for place, turn in enumerate(turns):
                message_id = f"{number}:{session}:{place}"
                if turn["content"].strip():
                    moment = begin + timedelta(seconds=place)
                    messages.append(IncomingMessage(Role(turn["role"]), turn["content"], None, message_id, moment))
                    sources |= {message_id} if turn.get("has_answer") else set()
            if messages:
                conversations.append(_conversation(f"{number}:{session}", messages, begin))
        is_abstention = name.endswith("_abs")
        asked = LabelledQuestion(
            _question(item),
            frozenset() if is_abstention else frozenset(sources),
            item["question_type"],
            str(item.get("answer", "")),
            _session_date(item["question_date"]) if item.get("question_date") else None,
            is_abstention,
        )
        yield Sample(name, tuple(conversations), (asked,))


def beam(path: Path) -> Iterator[Sample]:
    """Read a chat over months, a conversation for each of its batches, and the probing questions beside it."""
    sample = beam_chat(path)
    known, questions = sample.messages.keys(), []
    for kind, items in json.loads(beam_questions(path).read_text(encoding="utf-8")).items():
        for item in items:
            gold = next((str(item[name]) for name in _BEAM_ANSWERS if item.get(name)), "")
            gold = gold or "\n".join(map(str, item.get("rubric") or ()))
            sources = frozenset(map(str, leaves(item.get("source_chat_ids")))) & known
            category = kind.replace("_", " ")
            is_abstention = kind == "abstention"
            questions.append(LabelledQuestion(_question(item), sources, category, gold, is_unanswerable=is_abstention))
    yield Sample(sample.name, sample.conversations, tuple(questions))


def beam_chat(path: Path) -> Sample:
    """Read a chat without its questions."""
    name = path.resolve().parent.name if path.stem == "chat" else path.name.partition(".")[0]
    batches = json.loads(path.read_text(encoding="utf-8"))
    return Sample(f"beam-{name}", tuple(_batch(name, n, batch) for n, batch in enumerate(batches, 1)), ())


def beam_questions(path: Path) -> Path:
    """Return the file of the questions of a chat, at their published place or beside it."""
    places = (
        path.parent / "probing_questions" / "probing_questions.json",
        path.with_name(path.name.replace("chat", "questions")),
    )
    found = next((one for one in places if one != path and one.is_file()), None)
    if found is None:
        raise InvalidInputError(f"{path} has no questions: put them at {places[0]}")
    return found


def personamem(path: Path) -> Iterator[Sample]:
    """Read questions with options (CSV) about contexts (JSON lines) that they share; sources are not published."""
    if "questions" not in path.name or path.suffix != ".csv":
        raise InvalidInputError(f"{path} is not named like questions_32k.csv, beside shared_contexts_32k.jsonl")
    contexts = path.with_name(path.name.replace("questions", "shared_contexts")).with_suffix(".jsonl")
    parts_of(contexts)
    with contexts.open(encoding="utf-8") as lines:
        shared = {name: turns for line in lines if line.strip() for name, turns in json.loads(line).items()}
    csv.field_size_limit(_MOST_FIELD_CHARACTERS)
    with path.open(encoding="utf-8", newline="") as rows:
        questions = [_of_persona(row) for row in csv.DictReader(rows)]
    for (context, end), group in groupby(questions, key=lambda one: one[0]):
        if context not in shared:
            raise InvalidInputError(f"{contexts} has no context {context[:80]!r}: use the contexts of these questions")
        conversations = tuple(_persona_sessions(shared[context][:end]))
        yield Sample(f"{context[:8]}-{end}", conversations, tuple(asked for _, asked in group))


_READERS: dict[Published, Callable[[Path], Iterator[Sample]]] = {
    "locomo": locomo,
    "longmemeval": longmemeval,
    "beam": beam,
    "personamem": personamem,
}


def leaves(ids: Any) -> Iterator[Any]:
    """Yield the ids of lists and of dictionaries of lists."""
    if isinstance(ids, dict | list):
        for item in ids.values() if isinstance(ids, dict) else ids:
            yield from leaves(item)
    elif ids is not None:
        yield ids


@contextmanager
def _explained(path: Path, name: Published) -> Iterator[None]:
    """Turn any error of reading into one that says that the file is not in the published format."""
    try:
        yield
    except InvalidInputError:
        raise
    except (ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError, csv.Error) as error:
        what = f"it lacks {error}" if isinstance(error, KeyError) else " ".join(str(error).split())[:200]
        raise InvalidInputError(f"{path} is not in the format {name} ({what}): {_REMEDY}") from error
    except OSError as error:
        raise unreadable(path, error) from error


def _items(path: Path) -> Iterator[tuple[str, WireObject]]:
    with path.open("rb") as stream:
        yield from _accepted(json_stream.read_items(stream, path.name))


def _accepted(items: Iterator[Any]) -> Iterator[Any]:
    for item in items:
        if isinstance(item, RejectedItem):
            raise ValueError(f"{item.where}: {item.reason}")  # noqa: TRY004 - the value is what is wrong
        yield item


def _conversation(external_id: str, messages: list[IncomingMessage], begin: datetime) -> ImportedConversation:
    return ImportedConversation(external_id, tuple(messages), started_at=begin, ended_at=messages[-1].occurred_at)


def _question(item: WireObject, name: str = "question") -> str:
    text = item[name]
    if not isinstance(text, str) or not text.strip():
        raise ValueError(f"a question is {str(text)[:50]!r} and no text")
    return text


def _session_date(text: Any) -> datetime:
    """Parse a date such as ``2023/05/20 (Sat) 02:21``, taken as UTC."""
    match = _SESSION_DATE.fullmatch(str(text))
    if match is None:
        raise ValueError(f"the date {str(text)[:50]!r} is not written like '2023/05/20 (Sat) 02:21'")
    year, month, day, hour, minute = (int(part or 0) for part in match.groups())
    return datetime(year, month, day, hour, minute, tzinfo=UTC)


def _batch(chat: str, number: int, batch: WireObject) -> ImportedConversation:
    """Read one batch, whose first message alone has a date."""
    turns = [message for turn in batch["turns"] for message in turn]
    date = datetime.strptime(turns[0]["time_anchor"], _BEAM_DATE).replace(tzinfo=UTC)
    messages = [
        IncomingMessage(
            Role(turn["role"]), _MARK_OF_TURN.sub("", turn["content"]), occurred_at=date, external_id=str(turn["id"])
        )
        for turn in turns
    ]
    return _conversation(f"beam-{chat}:{number}", messages, date)


def _of_persona(row: WireObject) -> tuple[tuple[str, int], LabelledQuestion]:
    """Return the context of a question, how many of its turns come before, and the question."""
    options = tuple(map(str, ast.literal_eval(row["all_options"])))
    letter = row["correct_answer"].strip().strip("()").lower()
    right = next((one for one in options if one.lower().startswith(f"({letter})")), None)
    if right is None:
        raise ValueError(f"question {row['question_id'][:80]!r} has no option ({letter[:8]})")
    text = _question(row, "user_question_or_message" if "user_question_or_message" in row else "question")
    asked = LabelledQuestion(text, frozenset(), row["question_type"], right, options=options)
    return (row["shared_context_id"], int(row["end_index_in_shared_context"])), asked


def _persona_sessions(turns: list[dict[str, str]]) -> Iterator[ImportedConversation]:
    """Yield the sessions, each of which begins with a message of the system. Nothing has a date: all end now."""
    begins = [place for place, turn in enumerate(turns) if place == 0 or turn["role"] == "system"]
    now = datetime.now(UTC) - timedelta(hours=len(begins))
    for number, (first, after) in enumerate(zip(begins, [*begins[1:], len(turns)], strict=True)):
        begin = now + timedelta(hours=number)
        messages = [
            IncomingMessage(
                Role(turn["role"]),
                turn["content"].removeprefix(f"{turn['role'].title()}: "),
                external_id=str(first + place),
                occurred_at=begin + timedelta(seconds=place),
            )
            for place, turn in enumerate(turns[first:after])
            if turn["content"].strip()
        ]
        if messages:
            yield _conversation(f"session:{number}", messages, begin)
