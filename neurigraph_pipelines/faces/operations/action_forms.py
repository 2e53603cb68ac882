"""Request bodies about actions and standards."""

from __future__ import annotations

from typing import Literal
from uuid import UUID

from pydantic import Field

from neurigraph_pipelines.faces.operations.forms import Form
from neurigraph_pipelines.views.kinds import Rule


class NewAction(Form):
    """Something to do with a record, which its node's standard may let wait for an approval."""

    kind: Literal["delete", "promote", "archive", "digest"]
    record_id: UUID


class NewVote(Form):
    """A vote on an action."""

    approve: bool = Field(description="False rejects it.")
    second: bool = Field(default=False, description="Of two proposed places for a memory, take the second.")


class NewStandard(Form):
    """The standard of a node. Fields that are left out are inherited."""

    write: Rule | None = Field(default=None, description="Who writes, of the personas with a grant.")
    promote: Rule | None = Field(default=None, description="Who promotes records to a longer tier.")
    delete: Rule | None = Field(default=None, description="Who deletes records.")
    approver: str | None = Field(
        default=None, description="Who approves besides the owner: `human` (nobody), `persona:ID` or `consensus:N`."
    )
    inherit: bool = Field(default=True, description="Take fields that are not set here from the nodes above.")
    tier: Literal["short", "mid", "long"] | None = Field(default=None, description="How long records are kept.")
    ttl_seconds: int | None = Field(default=None, ge=60, le=315_576_000, description="The same in seconds.")
    text: str | None = Field(default=None, description="The standard in words, which becomes a note of the node.")
