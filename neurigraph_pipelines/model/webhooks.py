"""Webhooks: the events, and the states of subscriptions and deliveries."""

from __future__ import annotations

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
"""The events that a webhook can ask for; ``webhook.test`` comes only when its owner asks for a test."""

ANY_EVENT = "*"
KINDS_OF_EVENTS = tuple(dict.fromkeys(f"{event.partition('.')[0]}.*" for event in EVENTS))
"""All events about one kind of thing, such as ``record.*``."""
