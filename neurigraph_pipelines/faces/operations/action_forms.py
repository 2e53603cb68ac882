"""Request bodies about actions."""

from __future__ import annotations

from typing import Literal
from uuid import UUID

from pydantic import Field

from neurigraph_pipelines.views.base import Form


class NewAction(Form):
    """Something to do with a record, which its node's standard may let wait for an approval."""

    kind: Literal["delete", "promote", "archive", "digest"]
    record_id: UUID


class NewVote(Form):
    """A vote on an action."""

    approves: bool = Field(description="False rejects it.")
    second: bool = Field(default=False, description="Of two proposed places for a memory, take the second.")
