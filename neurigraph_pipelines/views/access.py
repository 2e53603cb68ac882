"""Users, accounts, keys, grants and personas."""

from __future__ import annotations

from datetime import datetime
from typing import Literal
from uuid import UUID

from pydantic import Field, model_validator

from neurigraph_pipelines.views.base import View
from neurigraph_pipelines.views.kinds import GrantType
from neurigraph_pipelines.views.pages import NEXT_CURSOR
from neurigraph_pipelines.views.scalars import Scalar, ValuesByName


class User(View):
    """A user, and the database that they live in."""

    COLUMNS = ("slug", "user_id", "database")

    user_id: UUID
    slug: str
    root_node_id: UUID
    database: str


class Users(View):
    """A page of the users of an installation, by slug."""

    users: list[User]
    next_cursor: str | None = NEXT_CURSOR


class CreatedUser(User):
    """A user that was created, with a first API key that is shown only here."""

    api_key: str


class Identity(View):
    """The caller, and the caller's view and rights."""

    role: str = Field(description="`user`, `bound`, `persona`, `member` or `third_party`.")
    subject_id: str = Field(description="The user, persona or third party that calls.")
    user_id: UUID = Field(description="Whose memory it is.")
    key_id: UUID | None = Field(description="The API key of the call.")
    may_write: bool
    may_forget: bool
    top_node_id: UUID | None = Field(description="The topmost node that the caller sees; null if there is none.")
    top_node_path: str | None
    node_count: int = Field(description="Number of nodes that the caller sees.")
    record_count: int
    version: str = Field(description="Of the installation.")


class Account(View):
    """The profile that a user states."""

    user_id: UUID
    slug: str
    display_name: str | None
    email: str | None
    metadata: dict[str, Scalar]
    has_password: bool = Field(description="Whether a password opens the page.")


class SignedIn(View):
    """A key of a user who signed in, shown only here."""

    key_id: UUID
    api_key: str
    expires_at: datetime


class Held(View):
    """A grant or key of a persona or a third party. Queries name its holder in the column ``subject_id``."""

    persona_id: UUID | None = Field(default=None, description="The persona that holds it, by its node.")
    third_party: str | None = Field(default=None, description="The third party that holds it.")

    @model_validator(mode="before")
    @classmethod
    def _name_the_holder(cls, row: ValuesByName) -> ValuesByName:
        kind = row.get("subject_type") or row.get("role") or ""
        holder = {"persona": "persona_id", "third_party": "third_party"}.get(kind)
        return {**row, holder: row["subject_id"]} if holder is not None and "subject_id" in row else row


class Key(Held):
    """An API key, without its secret."""

    key_id: UUID
    role: Literal["user", "persona", "third_party", "member"]
    label: str
    created_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None
    last_used_at: datetime | None = Field(description="Rounded to the hour.")
    container_tags: list[str] | None = Field(description="The spaces that the key is bound to; null is no limit.")


class IssuedKey(Key):
    """An API key that was just created, with its secret."""

    api_key: str = Field(description="The secret. It is shown only here.")


class Keys(View):
    """A page of the keys of a graph, newest first."""

    keys: list[Key]
    next_cursor: str | None = NEXT_CURSOR


class Grant(Held):
    """Access of one persona or third party to one node."""

    grant_id: UUID
    node_id: UUID
    node_path: str
    grant_type: GrantType
    granted_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None


class Grants(View):
    """A page of the grants of a graph, newest first."""

    grants: list[Grant]
    next_cursor: str | None = NEXT_CURSOR


class OpenedRecord(View):
    """A memory that a grant would open."""

    record_id: UUID
    title: str
    occurred_at: datetime


class GrantPreview(View):
    """The memories that a grant on a node would open. Private ones stay closed."""

    node_id: UUID
    node_path: str
    record_count: int
    compared: int = Field(description="The newest memories, at most 5,000, among which foreign ones are looked for.")
    first_at: datetime | None
    last_at: datetime | None
    newest: list[OpenedRecord] = Field(description="At most 20, newest first.")
    foreign_looking: list[OpenedRecord] = Field(
        description="Memories about other areas of life than the others of the node, which may be filed in the wrong "
        "place: at most 20, the least like the others first. None of fewer than four."
    )


class Persona(View):
    """A node with keys of its own, whose holders read it and the nodes below it."""

    node_id: UUID
    name: str
    path: str
    record_count: int


class Personas(View):
    """The personas of a graph, by path."""

    personas: list[Persona]
