"""The fields of a source besides its text: its origin, and the source that it replaces."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from datetime import datetime
from typing import Self
from uuid import UUID

from neurigraph_pipelines.views.kinds import Channel, DocumentType, Privacy, Tier
from neurigraph_pipelines.views.scalars import MetadataValue, Row

MAX_ORIGIN_LENGTH = 100
MAX_URL_LENGTH = 2_000

FORMATS_OF_FILES = frozenset(
    {
        *(DocumentType.TEXT, DocumentType.PDF, DocumentType.IMAGE, DocumentType.VIDEO, DocumentType.DOCUMENT),
        *(DocumentType.TABLE, DocumentType.AUDIO, DocumentType.CODE, DocumentType.FILE),
    }
)
"""Types that the bytes of a file decide, whatever its writer states. The others say which program it is from."""


def starting_privacy(stated: Privacy | None, channel: Channel | None, *, decides: bool) -> Privacy:
    """Return the privacy that a source starts with; ``insert_sources`` of ``inbox.sql`` has the same rule.

    Args:
        decides: The caller may make sources private: the owner of a graph, or a member of an organization own ones.
            What others hand in starts as shared.
    """
    if stated is not None:
        return stated
    return Privacy.PRIVATE if decides and channel in (Channel.DM, Channel.PRIVATE) else Privacy.SHARED


@dataclass(frozen=True, slots=True)
class SourceDetails:
    """The fields that the writer of a source states besides its text.

    Attributes:
        origin: The program or site that it comes from, such as ``slack``.
        url: A page to read it at.
        author: Who wrote it.
        metadata: Texts, numbers, booleans and lists of them by name.
        updated_at: When it last changed where it comes from.
        replaces: The source that it is the next version of.
        tier: How long its records are meant to be kept. Their own page shows that, so it is not shown of the source.
        container_tags: The spaces that it is put in.
    """

    origin: str | None = None
    document_type: DocumentType | None = None
    url: str | None = None
    channel: Channel | None = None
    author: str | None = None
    metadata: Mapping[str, MetadataValue] = field(default_factory=dict)
    updated_at: datetime | None = None
    replaces: UUID | None = None
    tier: Tier | None = None
    container_tags: tuple[str, ...] = ()

    @classmethod
    def of_columns(cls, row: Row) -> Self:
        """Return the details of a row of ``sources`` with its spaces."""
        return cls(
            origin=row["origin"],
            url=row["url"],
            channel=Channel(row["channel"]) if row["channel"] else None,
            author=row["author"],
            metadata=row["metadata"] or {},
            tier=Tier(row["tier"]) if row["tier"] else None,
            container_tags=tuple(row["container_tags"]),
        )

    def over(self, others: SourceDetails) -> SourceDetails:
        """Return these details, with others where nothing is stated."""
        stated = {one.name: getattr(self, one.name) or getattr(others, one.name) for one in fields(self)}
        return SourceDetails(**{**stated, "metadata": {**others.metadata, **self.metadata}})


NO_DETAILS = SourceDetails()
