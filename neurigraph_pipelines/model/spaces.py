"""Spaces: named sets of sources, each known by its container tag."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from neurigraph_pipelines.model.sources import Scalar

MAX_TAGS = 100
"""Most container tags that one request, key or filter names."""

MAX_NAME_LENGTH = 300
MAX_ENTITY_CONTEXT_LENGTH = 1_500

_TAG = re.compile(r"[A-Za-z0-9_:-]{1,100}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Space:
    """A named set of sources.

    Attributes:
        container_tag: Names it in filters, on writes and for keys; never changes.
        entity_context: What language models are told about its sources.
        sources: How many sources in it the caller sees.
    """

    space_id: UUID
    name: str
    container_tag: str
    entity_context: str | None
    created_at: datetime
    sources: int
    metadata: Mapping[str, Scalar] = field(default_factory=dict)


def is_container_tag(text: Any) -> bool:
    """Return whether a value is a well-formed container tag, such as ``sm_project_garden``."""
    return isinstance(text, str) and _TAG.fullmatch(text) is not None
