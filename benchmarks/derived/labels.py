"""Labelled conversations: one JSON file each, with the dates, names, facts and answers that a person found in it."""

from __future__ import annotations

import json
import re
from datetime import date, datetime
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, StringConstraints, ValidationError, model_validator

from benchmarks.bench import PROJECT_ROOT, SkippedError
from neurigraph_pipelines.model import EventKind, ImportedConversation, IncomingMessage, Role

FOLDER = PROJECT_ROOT / "samples" / "labelled"
Form = Literal["assistant", "chat", "meeting", "tools", "essay"]
Language = Literal["english", "german", "spanish"]
Half = Literal["development", "held out"]
HALVES: tuple[Half, ...] = ("development", "held out")

_DATE = re.compile(r"(?P<year>\d{4})(?:-(?P<month>\d\d)(?:-(?P<day>\d\d))?)?")

Text = Annotated[str, StringConstraints(min_length=1, strip_whitespace=True)]


class LabelError(ValueError):
    """A file of labelled conversations is wrong; the message names the file and the field."""


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class LabelledMessage(_Strict):
    """A message of the conversation."""

    role: Role
    author: Text | None = None
    occurred_at: AwareDatetime
    content: Text


class Fact(_Strict):
    """A fact that a good summary holds; each of its words has alternatives after ``|``."""

    fact: Text
    words: tuple[Text, ...] = Field(min_length=1)


class LabelledQuestion(_Strict):
    """A question with the strings that its answer quotes, each with alternatives after ``|``; none if unanswerable."""

    question: Text
    answers: tuple[Text, ...]


class Labels(_Strict):
    """What a careful person found in the conversation.

    Attributes:
        dates: Days, months and years, such as ``2025-03-09``, ``2025-04`` and ``1998``.
        relationships: Who, what they are, to whom.
        node: The path where a person would file it, without the user.
    """

    dates: tuple[str, ...]
    entities: tuple[Text, ...]
    relationships: tuple[tuple[Text, Text, Text], ...]
    facts: tuple[Fact, ...]
    node: tuple[Text, ...] = Field(min_length=1)
    questions: tuple[LabelledQuestion, ...]


class Labelled(_Strict):
    """A labelled conversation. ``owner`` is the slug of the user whose memory it is."""

    id: Text
    held_out: bool
    language: Language
    form: Form
    owner: Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9_-]{0,62}$")]
    title: Text | None = None
    messages: tuple[LabelledMessage, ...] = Field(min_length=1)
    labels: Labels

    @model_validator(mode="after")
    def _dates_exist(self) -> Self:
        for text in self.labels.dates:
            match = _DATE.fullmatch(text)
            if match is None:
                raise ValueError(f"{text!r} is no date of the form 2025-03-09, 2025-03 or 2025")
            try:
                date(int(match["year"]), int(match["month"] or 1), int(match["day"] or 1))
            except ValueError as error:
                raise ValueError(f"there is no {text!r}") from error
        return self

    @property
    def half(self) -> Half:
        """Whether rules may be fitted to it."""
        return "held out" if self.held_out else "development"

    @property
    def ended_at(self) -> datetime:
        """When the last message was written."""
        return self.messages[-1].occurred_at

    def conversation(self) -> ImportedConversation:
        """Return the conversation as an importer would, without the labels."""
        return ImportedConversation(
            self.id,
            tuple(
                IncomingMessage(one.role, one.content, one.author, f"m{number}", one.occurred_at)
                for number, one in enumerate(self.messages, start=1)
            ),
            self.title,
            self.messages[0].occurred_at,
            self.ended_at,
            EventKind.MEETING if self.form == "meeting" else None,
        )


def load(folder: Path = FOLDER) -> list[Labelled]:
    """Read all conversations, in order of their ids.

    Raises:
        SkippedError: There are none.
        LabelError: A file is no labelled conversation.
    """
    paths = sorted(folder.glob("*.json"))
    if not paths:
        raise SkippedError(f"there is no labelled conversation in {folder}")
    return [read(path) for path in paths]


def read(path: Path) -> Labelled:
    """Read one conversation.

    Raises:
        LabelError: The file is no labelled conversation.
    """
    try:
        labelled = Labelled.model_validate(json.loads(path.read_text(encoding="utf-8")))
    except (UnicodeDecodeError, json.JSONDecodeError) as error:
        raise LabelError(f"{path.name} is no JSON in UTF-8: {error}") from error
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"])) or "labels.dates"
        raise LabelError(f"{path.name}, {where}: {first['msg']}") from error
    if labelled.id != path.stem:
        raise LabelError(f"{path.name}, id: is {labelled.id!r} and should be the file's name")
    return labelled
