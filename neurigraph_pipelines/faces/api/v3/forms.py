"""Bodies of requests below ``/v3`` and ``/chat``, in camel case, and their meaning here.

Only the form is checked here, as in ``faces.operations.requests``; the domain checks texts, times and metadata.
"""

from __future__ import annotations

from datetime import datetime
from functools import cached_property
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import ConfigDict, Field, ValidationError, field_validator
from pydantic.alias_generators import to_camel

from neurigraph_pipelines.faces.operations.source_fields import CONTAINER_TAGS
from neurigraph_pipelines.model.chat import Turn
from neurigraph_pipelines.model.errors import InvalidInputError
from neurigraph_pipelines.model.limits import MAX_TITLE_LENGTH
from neurigraph_pipelines.model.sources import MAX_URL_LENGTH, SourceDetails
from neurigraph_pipelines.model.spaces import MAX_TAGS
from neurigraph_pipelines.retrieval.chat.loop import Asked, Mode
from neurigraph_pipelines.retrieval.documents import HALF_LIFE_DAYS, THRESHOLD, DocumentRequest
from neurigraph_pipelines.retrieval.query.question import MAX_QUERY_CHARACTERS
from neurigraph_pipelines.text.container_tags import checked_tags
from neurigraph_pipelines.text.external_ids import MAX_EXTERNAL_ID_LENGTH, MAX_PARTS
from neurigraph_pipelines.text.flat_metadata import MAX_METADATA_KEYS
from neurigraph_pipelines.views.base import Form
from neurigraph_pipelines.views.kinds import DocumentType
from neurigraph_pipelines.views.scalars import UserJson
from neurigraph_pipelines.views.spaces import ONLY_SPACES

_MAX_DOCUMENTS, _MAX_SCOPE, _MAX_TURNS = 50, 100, 100
_MAX_TONE, _MAX_ID = 100, 200
_CUSTOM_ID = (
    f"An id of your own, at most {MAX_PARTS} parts between slashes. Another content under the same id is the next "
    "version of the document."
)
_METADATA = (
    "Texts, numbers, booleans and lists of them by name. `url`, `source`, `containerTags`, `customId`, `author` and "
    "`publishedAt` are read as what they name, unless the body states that itself."
)
Label = Literal[
    "text", "pdf", "tweet", "google_doc", "google_slide", "google_sheet", "image", "video", "notion_doc", "webpage",
    "onedrive", "repository",
]  # fmt: skip
"""The document types of that API."""

_Scope = Annotated[
    list[UUID], Field(default_factory=list, max_length=_MAX_SCOPE, description="Only these documents. Default: all.")
]


def _short(most: int, about: str) -> Any:
    """Return a text that may be left out; the domain says its limit."""
    return Field(default=None, description=about, json_schema_extra={"maxLength": most})


class CamelForm(Form):
    """A JSON object with only the documented fields, which are in camel case."""

    model_config = ConfigDict(extra="forbid", alias_generator=to_camel)


class KnownMetadata(CamelForm):
    """The names in metadata that have a meaning here."""

    url: str | None = None
    source: str | None = None
    container_tags: list[str] = Field(default_factory=list)
    custom_id: str | None = None
    author: str | None = None
    published_at: datetime | None = None


_NAMES = frozenset(map(to_camel, KnownMetadata.model_fields))


class NewDocument(CamelForm):
    """A document to remember."""

    content: str = Field(
        description="Its text; of a `repository` also its address, which is fetched.",
        json_schema_extra={"minLength": 1},
    )
    title: str | None = _short(MAX_TITLE_LENGTH, "Default: its first line.")
    url: str | None = _short(MAX_URL_LENGTH, "The page to read it at. The page is not fetched.")
    type: Label | None = Field(
        default=None,
        description="A label: the type of the document where it comes from. Default: the type of its content.",
    )
    container_tags: list[str] = Field(default_factory=list, max_length=MAX_TAGS, description=CONTAINER_TAGS)
    custom_id: str | None = _short(MAX_EXTERNAL_ID_LENGTH, _CUSTOM_ID)
    metadata: UserJson = Field(default_factory=dict, max_length=MAX_METADATA_KEYS, description=_METADATA)

    @cached_property
    def stated(self) -> KnownMetadata:
        """The statements of its metadata about it."""
        given = {name: self.metadata[name] for name in _NAMES if self.metadata.get(name) is not None}
        try:
            return KnownMetadata.model_validate(given)
        except ValidationError as error:
            first = error.errors()[0]
            raise InvalidInputError(f"metadata.{first['loc'][0]}: {first['msg']}") from error

    @property
    def details(self) -> SourceDetails:
        """Its details as a source."""
        return SourceDetails(
            origin=self.stated.source,
            document_type=DocumentType(self.type) if self.type else None,
            url=self.url or self.stated.url,
            author=self.stated.author,
            metadata={name: value for name, value in self.metadata.items() if name not in _NAMES},
            container_tags=tuple(self.container_tags or self.stated.container_tags),
        )


class SearchDocuments(CamelForm):
    """A search for documents."""

    q: str = Field(description="The question.", json_schema_extra={"minLength": 1, "maxLength": MAX_QUERY_CHARACTERS})
    limit: int = Field(default=20, ge=1, le=_MAX_DOCUMENTS, description="Maximum number of documents.")
    threshold: float = Field(
        default=THRESHOLD, ge=0, le=1, description="Documents and chunks with a lower score, before age, are left out."
    )
    include_summary: bool = Field(default=True, description="Return the summary of each document.")
    include_full_docs: bool = Field(default=False, description="Return the text of each document, or its beginning.")
    container_tags: list[str] = Field(default_factory=list, max_length=MAX_TAGS, description=ONLY_SPACES)
    scoped_document_ids: _Scope
    recency_weight: float = Field(
        default=0, ge=0, le=1, description="Share of the score that the age of a document decides."
    )
    half_life_days: float = Field(
        default=HALF_LIFE_DAYS, gt=0, le=36_500, description="Age in days at which the score of age is 1/e."
    )
    rerank: bool = Field(default=False, description="Let the reranker, if there is one, put the documents in order.")

    @property
    def wanted(self) -> DocumentRequest:
        """The search as a domain value."""
        asked = (self.q, self.limit, self.threshold, self.scoped_document_ids or None, self.recency_weight)
        return DocumentRequest(*asked, self.half_life_days, self.rerank, self.include_full_docs)


class TextPart(CamelForm):
    """A part of a message."""

    type: Literal["text"]
    text: str


class ChatMessage(CamelForm):
    """A message of a chat."""

    role: Literal["user", "assistant"]
    content: str | list[TextPart] = Field(description="A text, or its parts.", json_schema_extra={"minLength": 1})
    id: str | None = Field(default=None, max_length=_MAX_ID, description="Yours: it is not added twice under it.")

    @property
    def turn(self) -> Turn:
        """The message as a domain value."""
        said = self.content if isinstance(self.content, str) else "\n".join(part.text for part in self.content)
        return Turn(self.role, said, self.id)


class ChatMetadata(CamelForm):
    """How a chat looks for answers."""

    project_id: str | None = Field(default=None, description="A container tag: it is searched, and the chat is in it.")
    expand_context: bool = Field(default=False, description="Also read the messages around the best ones.")
    preferred_tone: str | None = Field(default=None, max_length=_MAX_TONE, description="Not of the offline model.")


class Chat(CamelForm):
    """A message to a chat."""

    messages: list[ChatMessage] = Field(
        min_length=1, max_length=_MAX_TURNS, description="The chat so far; the last, which is added, is the question."
    )
    conversation_id: UUID | None = Field(default=None, description="The chat to go on with. Default: a new one.")
    mode: Mode = Field(default=Mode.SIMPLE, description="`agentic`: up to 4 calls of tools. `deep`: up to 12.")
    metadata: ChatMetadata = Field(default_factory=ChatMetadata)
    scoped_document_ids: _Scope
    stream: bool = Field(default=True, description="False: the answer in one JSON object, without events.")

    @field_validator("messages")
    @classmethod
    def _ends_with_question(cls, sent: list[ChatMessage]) -> list[ChatMessage]:
        if sent[-1].role != "user" or not sent[-1].turn.content.strip():
            raise ValueError("the last message is the user's question")
        return sent

    @property
    def asked(self) -> Asked:
        """The message as a domain value."""
        tags = checked_tags([self.metadata.project_id]) if self.metadata.project_id is not None else ()
        chat = ([message.turn for message in self.messages], self.mode, self.conversation_id)
        where = (tags[0] if tags else None, frozenset(self.scoped_document_ids) or None)
        return Asked(*chat, *where, self.metadata.expand_context, self.metadata.preferred_tone)
