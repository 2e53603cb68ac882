"""Reader of a user's own questions: a file with one JSON object a line."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Annotated

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, StringConstraints, ValidationError, model_validator

from neurigraph_pipelines.inbox.imports.json_stream import parse_object
from neurigraph_pipelines.inbox.imports.jsonl import lines_of
from neurigraph_pipelines.inbox.imports.source import parts_of
from neurigraph_pipelines.model import RejectedItem
from neurigraph_pipelines.model.errors import InvalidInputError
from neurigraph_pipelines.retrieval.query.question import MAX_QUERY_CHARACTERS
from neurigraph_pipelines.runtime.evaluation.samples import LabelledQuestion
from neurigraph_pipelines.text.exact_json import KeepingParser
from neurigraph_pipelines.text.hygiene import clean_text

MOST_QUESTIONS = 10_000
_MOST_LINE_BYTES = 1 << 20
_OWN = "own"
_EXAMPLE = '{"question": "Where is the key?", "answer": "Under the mat", "sources": ["under the mat"]}'

Text = Annotated[str, StringConstraints(min_length=1, strip_whitespace=True)]


class _Line(BaseModel):
    model_config = ConfigDict(extra="forbid")

    question: Annotated[Text, Field(max_length=MAX_QUERY_CHARACTERS)]
    answer: Text | None = None
    sources: list[Text] = []
    category: Text = _OWN
    asked_at: AwareDatetime | None = None

    @model_validator(mode="after")
    def _says_what_is_right(self) -> _Line:
        if not self.sources and "answer" not in self.model_fields_set:
            raise ValueError("give an answer, sources or both; an answer of null says that nothing answers it")
        return self


def read_questions(path: Path, limit: int | None = None) -> list[LabelledQuestion]:
    """Read the first questions of a file. An answer that is null says that nothing remembered answers the question.

    Raises:
        InvalidInputError: The file is absent, empty or too long, or a line is broken; the message has its number.
    """
    parts_of(path)  # says what is wrong with a path
    questions = list(islice(_read(path), MOST_QUESTIONS + 1 if limit is None else limit))
    if not questions:
        raise InvalidInputError(f"{path} has no question: write one a line, such as {_EXAMPLE}")
    if len(questions) > MOST_QUESTIONS:
        raise InvalidInputError(f"{path} has more than {MOST_QUESTIONS:,} questions: split it, or give --limit")
    return questions


def _read(path: Path) -> Iterator[LabelledQuestion]:
    parser = KeepingParser()
    with path.open("rb") as stream:
        for number, line in lines_of(stream, _MOST_LINE_BYTES):
            where = f"{path}, line {number}"
            if isinstance(line, RejectedItem):
                raise InvalidInputError(f"{where} is longer than {_MOST_LINE_BYTES:,} bytes: write a question a line")
            try:
                one = _Line.model_validate(parse_object(line, parser))
            except InvalidInputError as error:
                raise InvalidInputError(f"{where}: {error}. Write it such as {_EXAMPLE}") from error
            except ValidationError as error:
                wrong = error.errors()[0]
                field = clean_text(".".join(map(str, wrong["loc"]))[:80], "repair")[0]
                message = f"{where}: {field + ': ' if field else ''}{wrong['msg'].removeprefix('Value error, ')}"
                raise InvalidInputError(f"{message}. Write it such as {_EXAMPLE}") from error
            is_unanswerable = one.answer is None and "answer" in one.model_fields_set
            gold = one.answer or ""
            yield LabelledQuestion(
                one.question, frozenset(one.sources), one.category, gold, one.asked_at, is_unanswerable
            )
