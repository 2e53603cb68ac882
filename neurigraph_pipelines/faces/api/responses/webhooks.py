"""Response bodies about webhooks."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from pydantic import BaseModel, Field

from neurigraph_pipelines.faces.api.responses.pages import NEXT_CURSOR
from neurigraph_pipelines.views.kinds import DeliveryState, WebhookState


class Webhook(BaseModel):
    """An address that is called."""

    webhook_id: UUID
    url: str
    events: list[str]
    path_glob: str | None
    author: str | None
    state: WebhookState = Field(description="`gone` if the receiver answered 410.")
    rotated_until: datetime | None = Field(description="Until then messages are signed with the secret before, too.")
    created_at: datetime
    waiting: int
    delivered: int
    dead: int = Field(description="Deliveries that were given up; `replay` sends them again.")


class WebhookWithSecret(Webhook):
    """A webhook that was added or got another secret."""

    secret: str = Field(description="Verifies its messages (Standard Webhooks); not shown again.")


class Webhooks(BaseModel):
    """The caller's webhooks, oldest first."""

    webhooks: list[Webhook]


class Delivery(BaseModel):
    """One event for one webhook."""

    delivery_id: UUID
    event_id: UUID = Field(description="The header `webhook-id` of its message.")
    event: str
    occurred_at: datetime
    state: DeliveryState
    attempts: int
    last_status: int | None = Field(description="What the receiver answered last.")
    last_error: str | None = Field(
        description="Why the last attempt failed: `unreachable`, `address_refused`, `secret_changed`, `gone`, `failed`."
    )
    next_attempt_at: datetime | None
    created_at: datetime
    finished_at: datetime | None


class Deliveries(BaseModel):
    """A page of deliveries, newest first."""

    deliveries: list[Delivery]
    next_cursor: str | None = NEXT_CURSOR


class Replayed(BaseModel):
    """How many deliveries wait again."""

    replayed: int
