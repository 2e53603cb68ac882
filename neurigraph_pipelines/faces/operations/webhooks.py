"""Webhooks of a user: subscriptions, tests, rotation, and the results of deliveries."""

from __future__ import annotations

from typing import Annotated, Literal
from uuid import UUID

from pydantic import Field

from neurigraph_pipelines.exchange.webhooks import subscriptions
from neurigraph_pipelines.exchange.webhooks.delivery import deliver_test
from neurigraph_pipelines.faces.operations.call import Call, Who
from neurigraph_pipelines.faces.operations.forms import Cursor, Limit
from neurigraph_pipelines.faces.operations.registry import OperationGroup
from neurigraph_pipelines.model.webhooks import ANY_EVENT
from neurigraph_pipelines.views import webhooks as views
from neurigraph_pipelines.views.base import Form
from neurigraph_pipelines.views.webhooks import DeliveryState

_EVENTS = "Names of events, such as `record.stored`, `record.*` or `*`."
_GLOB = Field(default=None, description="Only events at the nodes whose path matches, with `*`, and below them.")
_AUTHOR = Field(default=None, description="Only changes by this author: `user:ID`, `persona:ID` or `pipeline`.")

operation = OperationGroup("webhooks")


class NewWebhook(Form):
    """An address to call."""

    url: str = Field(description="Begins with `https://`; its host is one that the operator allows.")
    events: list[str] = Field(default_factory=lambda: [ANY_EVENT], description=_EVENTS)
    path_glob: str | None = _GLOB
    author: str | None = _AUTHOR


class ChangeWebhook(Form):
    """Changes of a webhook. Fields that are left out stay."""

    url: str = Field(default="", description="Another address.")
    events: list[str] = Field(default_factory=list, description=_EVENTS)
    path_glob: str | None = _GLOB
    author: str | None = _AUTHOR
    state: Literal["active", "paused"] = Field(default="active", description="A paused webhook gets no events.")


class Replay(Form):
    """The deliveries to send again."""

    delivery_id: UUID | None = Field(default=None, description="One finished delivery; null for all dead ones.")


@operation("POST /webhooks", "access webhook add", status=201, refusals=(409,), who=Who.OWNER)
def add_webhook(call: Call, body: NewWebhook) -> views.WebhookWithSecret:
    """Add a webhook. The answer has its secret, which is not shown again."""
    outbox = call.installation.webhooks.acting_for(call.caller)
    return subscriptions.add(outbox, body.url, body.events, body.path_glob, body.author)


@operation("GET /webhooks", "access webhook list", who=Who.OWNER)
def list_webhooks(call: Call) -> views.Webhooks:
    """List the caller's webhooks, oldest first."""
    return views.Webhooks(webhooks=call.do(subscriptions.list_webhooks))


@operation("GET /webhooks/{webhook_id}", "access webhook show", who=Who.OWNER)
def webhook(call: Call, webhook_id: UUID) -> views.Webhook:
    """Return a webhook, with how many deliveries wait, arrived and were given up."""
    return call.do(subscriptions.get_webhook, webhook_id)


@operation("PATCH /webhooks/{webhook_id}", "access webhook edit", refusals=(409,), who=Who.OWNER)
def change_webhook(call: Call, webhook_id: UUID, body: ChangeWebhook) -> views.Webhook:
    """Change, pause or resume a webhook."""
    outbox = call.installation.webhooks.acting_for(call.caller)
    return subscriptions.change(outbox, webhook_id, body.model_dump(exclude_unset=True))


@operation("DELETE /webhooks/{webhook_id}", "access webhook remove", status=204, who=Who.OWNER)
def remove_webhook(call: Call, webhook_id: UUID) -> None:
    """Remove a webhook with its deliveries."""
    call.do(subscriptions.remove, webhook_id)


@operation("POST /webhooks/{webhook_id}/test", "access webhook test", refusals=(409,), who=Who.OWNER)
def test_webhook(call: Call, webhook_id: UUID) -> views.Delivery:
    """Send a `webhook.test` event at once, and return the result of its delivery."""
    return deliver_test(call.installation.webhooks.acting_for(call.caller), webhook_id)


@operation("POST /webhooks/{webhook_id}/rotate", "access webhook rotate", refusals=(409,), who=Who.OWNER)
def rotate_webhook(call: Call, webhook_id: UUID) -> views.WebhookWithSecret:
    """Give a webhook another secret. For a day messages are signed with both."""
    return subscriptions.rotate(call.installation.webhooks.acting_for(call.caller), webhook_id)


@operation("GET /webhooks/{webhook_id}/deliveries", "access webhook delivery list", who=Who.OWNER)
def list_deliveries(
    call: Call,
    webhook_id: UUID,
    state: Annotated[DeliveryState | None, Field(description="Only deliveries in this state.")] = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> views.Deliveries:
    """List the deliveries of a webhook, newest first."""
    return call.page(
        views.Deliveries, subscriptions.page_of_deliveries, webhook_id, state=state, limit=limit, cursor=cursor
    )


@operation("POST /webhooks/{webhook_id}/replay", "access webhook delivery replay", refusals=(409,), who=Who.OWNER)
def replay_deliveries(call: Call, webhook_id: UUID, body: Replay) -> views.Replayed:
    """Send all dead deliveries again, or one finished delivery."""
    return views.Replayed(replayed=call.do(subscriptions.replay, webhook_id, body.delivery_id))
