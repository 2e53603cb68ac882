"""Webhooks and their deliveries."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from uuid import UUID

from pydantic import Field

from neurigraph_pipelines.views.base import View
from neurigraph_pipelines.views.pages import NEXT_CURSOR


class WebhookState(StrEnum):
    """Whether a webhook is called. ``gone``: its receiver answered 410."""

    ACTIVE = "active"
    PAUSED = "paused"
    GONE = "gone"


class DeliveryState(StrEnum):
    """The result of a delivery. ``withheld``: its subject was hidden before it was sent."""

    WAITING = "waiting"
    DELIVERED = "delivered"
    DEAD = "dead"
    WITHHELD = "withheld"


class Webhook(View):
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


class Webhooks(View):
    """The caller's webhooks, oldest first."""

    webhooks: list[Webhook]


class Delivery(View):
    """One event for one webhook."""

    delivery_id: UUID
    event_id: UUID = Field(description="The header `webhook-id` of its message.")
    event: str
    occurred_at: datetime
    state: DeliveryState
    attempts: int
    last_status: int | None = Field(description="The last answer of the receiver.")
    last_error: str | None = Field(
        description="Why the last attempt failed: `unreachable`, `address_refused`, `secret_changed`, `gone`, `failed`."
    )
    next_attempt_at: datetime | None
    created_at: datetime
    finished_at: datetime | None


class Deliveries(View):
    """A page of deliveries, newest first."""

    deliveries: list[Delivery]
    next_cursor: str | None = NEXT_CURSOR


class Replayed(View):
    """How many deliveries wait again."""

    replayed: int
