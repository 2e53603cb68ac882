"""Webhooks: the events, and the states of subscriptions and deliveries."""

from __future__ import annotations

from enum import StrEnum

EVENTS = (
    "record.stored",
    "record.revised",
    "record.superseded",
    "record.restored",
    "record.moved",
    "record.forgotten",
    "node.created",
    "node.renamed",
    "node.moved",
    "node.removed",
    "fact.stated",
    "fact.changed",
    "fact.confirmed",
    "fact.retracted",
    "fact.restored",
    "fact.superseded",
    "fact.disputed",
    "fact.forgotten",
    "fact.removed",
    "action.opened",
    "action.approved",
    "action.rejected",
    "action.executed",
    "action.failed",
    "action.expired",
    "erasure.finished",
)
"""What a webhook can ask for; ``webhook.test`` comes only when its owner asks for a test."""

ANY_EVENT = "*"
KINDS_OF_EVENTS = tuple(dict.fromkeys(f"{event.partition('.')[0]}.*" for event in EVENTS))
"""All events about one kind of thing, such as ``record.*``."""


class WebhookState(StrEnum):
    """Whether a webhook is called. ``gone``: its receiver answered 410."""

    ACTIVE = "active"
    PAUSED = "paused"
    GONE = "gone"


class DeliveryState(StrEnum):
    """What became of a delivery. ``withheld``: what it is about was hidden before it was sent."""

    WAITING = "waiting"
    DELIVERED = "delivered"
    DEAD = "dead"
    WITHHELD = "withheld"
