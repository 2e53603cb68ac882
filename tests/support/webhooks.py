"""Webhooks of a user whose receiver is on this machine."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from neurigraph_pipelines.database.secret import Secret
from neurigraph_pipelines.exchange.webhooks.outbox import Outbox
from neurigraph_pipelines.model import Claims
from neurigraph_pipelines.wiring.installation import Installation
from resources.webhook_sender import HttpWebhookSender
from tests.conftest import SECRET
from tests.support.memories import rows

ELSEWHERE = "https://hooks.example.com/x"


def local_outbox(installation: Installation, claims: Claims, seconds: float = 5.0) -> Outbox:
    """Return an outbox that may call this machine and every public host."""
    context = installation.context.acting_for(claims)
    return Outbox(context, HttpWebhookSender(("*",), ("127.0.0.1",), seconds), Secret(SECRET))


def raised(installation: Installation, webhook_id: UUID) -> list[dict[str, Any]]:
    """Return the events for a webhook in order, each with what it names."""
    found = rows(
        installation,
        """SELECT e.event, e.author, e.node_id, e.record_id, e.fact_id, e.other_id, e.action_id, e.erasure_id, d.state
        FROM neurigraph.webhook_deliveries AS d INNER JOIN neurigraph.webhook_events AS e ON d.event_id = e.event_id
        WHERE d.webhook_id = %s ORDER BY e.occurred_at""",
        webhook_id,
    )
    return [{name: value for name, value in row.items() if value is not None} for row in found]


def names(installation: Installation, webhook_id: UUID) -> list[str]:
    """Return the names of the events for a webhook, in order."""
    return [event["event"] for event in raised(installation, webhook_id)]


def make_due(installation: Installation) -> None:
    """Let waiting deliveries be due, and leases be over."""
    with installation.database.pipeline() as tx:
        tx.execute("UPDATE neurigraph.webhook_deliveries SET next_attempt_at = now() WHERE state = 'waiting'")
