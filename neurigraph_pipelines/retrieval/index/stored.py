"""A record as a metadata layer holds it, as typed values."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import NamedTuple

from neurigraph_pipelines.views.scalars import WireObject


class Origin(NamedTuple):
    """Where a record comes from; all None if it is from before that was recorded.

    Attributes:
        persona_id: The persona that handed it in or a part of it; None is the owner.
        key_id: The API key that all of it came with.
        received_through: The door that all of it came through.
        received_at: When the last of it arrived, in ISO 8601.
        source: The known fields of its source besides the text (``Provenance.of``); None if nothing.
    """

    persona_id: str | None
    key_id: str | None
    received_through: str | None
    received_at: str | None
    source: WireObject | None = None


class StoredRecord(NamedTuple):
    """A record as it is stored now.

    Attributes:
        source_id: The conversation, event, upload or note that it came from.
        source_name: What that source is called elsewhere (its external id).
        file_id: The file that it points at; None if it has none.
        file_state: The compression state of that file.
        origin: Where it comes from.
        voices: The number of its passages by voice.
    """

    record_id: str
    title: str
    summary: str
    occurred_at: datetime
    source_kind: str
    source_id: str
    source_name: str | None
    file_id: str | None
    file_state: str | None
    origin: Origin
    voices: Mapping[str, int]
