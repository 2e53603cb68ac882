"""The answers of publishers to the questions of a pull, with checks of their forms, because a publisher is a stranger.

``granted_rows`` has the forms of rows.
"""

from __future__ import annotations

from typing import Annotated, TypeVar
from uuid import UUID

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator

from neurigraph_pipelines.model import ConceptKind
from neurigraph_pipelines.model.errors import ProviderError

_MAX_INT = 2**31 - 1


def _clean(text: str) -> str:
    if "\0" in text or (not text.isascii() and any(0xD800 <= ord(one) < 0xE000 for one in text)):
        raise ValueError("a text has characters that cannot be stored")
    return text


Text = Annotated[str, AfterValidator(_clean)]
Count = Annotated[int, Field(ge=0, le=_MAX_INT)]


class Answer(BaseModel):
    """Something that a publisher says."""

    model_config = ConfigDict(frozen=True, extra="ignore")


Form = TypeVar("Form", bound=Answer)


class Node(Answer):
    """A node of a publisher."""

    node_id: UUID
    name: Annotated[Text, Field(min_length=1, max_length=120)]
    kind: ConceptKind
    records: Count
    digest: Annotated[str, Field(pattern="^[0-9a-f]{32}$")]


class Nodes(Answer):
    """A page of nodes."""

    horizon: UUID
    is_known: bool
    nodes: Annotated[list[Node], Field(max_length=1_000)]
    next_node: UUID | None


class Version(Answer):
    """A record and its version."""

    record_id: UUID
    version: UUID


class Part(Answer):
    """The records whose ids begin alike."""

    prefix: Annotated[str, Field(pattern="^[0-9a-f]{1,8}$")]
    digest: str


class Records(Answer):
    """The records of a node, or digests of parts."""

    records: Annotated[list[Version], Field(max_length=100_000)] | None = None
    parts: Annotated[list[Part], Field(max_length=256)] | None = None

    @model_validator(mode="after")
    def _one_of_both(self) -> Records:
        if (self.records is None) == (self.parts is None):
            raise ValueError("either records or parts")
        return self


def read(form: type[Form], answer: bytes | str) -> Form:
    """Return an answer in its form.

    Raises:
        ProviderError: It has another form. The message has names of fields, and no text of the answer.
    """
    try:
        return form.model_validate_json(answer)
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        place = ".".join("*" if isinstance(part, int) else str(part) for part in first["loc"])[:100]
        raise ProviderError(f"the publisher's answer has another form ({place}): nothing of it is used") from error
