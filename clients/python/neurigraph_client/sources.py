"""Sources of all kinds in one view; all other answers are views of the server."""

from __future__ import annotations

from uuid import UUID

from pydantic import AliasChoices, Field

from neurigraph_pipelines.views import sources


class Source(sources.Source):
    """A source: a conversation, event, upload or note, with its state and the memories made from it.

    Attributes:
        id: Its id, whatever it is; so is ``source_id``.
        record_ids: The memories that it became; empty in lists.
    """

    id: UUID = Field(validation_alias=AliasChoices("conversation_id", "event_id", "upload_id", "note_id"))
    record_ids: list[UUID] = Field(default_factory=list)

    @property
    def source_id(self) -> UUID:
        """The id of the conversation, event, upload or note."""
        return self.id
