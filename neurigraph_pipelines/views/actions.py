"""Actions, the votes on them, and standards."""

from __future__ import annotations

from datetime import datetime
from typing import Literal
from uuid import UUID

from pydantic import Field

from neurigraph_pipelines.views.base import Form, View
from neurigraph_pipelines.views.kinds import ActionKind, ActionState, Rule
from neurigraph_pipelines.views.pages import NEXT_CURSOR
from neurigraph_pipelines.views.scalars import UserJson


class Vote(View):
    """One vote. Others than the owner see their own."""

    voter: str = Field(description="`user:` or `persona:` and an id.")
    approves: bool
    voted_at: datetime


class Action(View):
    """Something that waits for a decision, or was decided."""

    COLUMNS = ("action_id", "kind", "reason", "state", "record_id", "fact_id", "places", "requested_at", "expires_at")

    action_id: UUID
    kind: ActionKind
    origin: str = Field(description="`policy` if a standard asks for it, `doubt` if a job does.")
    reason: str
    state: ActionState
    node_id: UUID = Field(description="The node whose standard applies.")
    other_node_id: UUID | None
    record_id: UUID | None
    other_record_id: UUID | None
    fact_id: UUID | None
    other_fact_id: UUID | None
    source_id: UUID | None = Field(description="The note that is held.")
    message: int | None
    details: UserJson = Field(description="Numbers, booleans and single words, such as `confidence`.")
    requested_by: str = Field(description="`persona:` and an id, or `job:` and a name.")
    requested_at: datetime
    expires_at: datetime
    decided_at: datetime | None
    finished_at: datetime | None
    failure: str | None = Field(
        description="Why it could not be carried out: `changed`, `gone`, `no_right` or another."
    )
    votes: list[Vote]
    places: list[str] = Field(
        description="Two places for a memory that is filed above them, the likelier first: paths of nodes, or areas of "
        "life without a node."
    )
    title: str | None = Field(description="Of the held note; only of a single open action.")
    text: str | None = Field(description="The held note; only of a single open action.")


class Actions(View):
    """A page of actions, newest first."""

    actions: list[Action]
    next_cursor: str | None = NEXT_CURSOR


class Setting(View):
    """One field of a standard."""

    value: str | int | None
    from_node_id: UUID | None = Field(description="The node that sets it; null for a default or a hidden node.")


class Standard(View):
    """The standards of a node: `write`, `promote`, `delete`, `approver`, `tier`, `ttl_seconds` and `note_id`."""

    standard: dict[str, Setting]


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
