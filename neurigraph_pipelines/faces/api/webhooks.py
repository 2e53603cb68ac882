"""Webhooks of a user: subscriptions, tests, rotation, and the results of deliveries."""

from __future__ import annotations

from typing import Annotated, Literal
from uuid import UUID

from fastapi import APIRouter, Query
from pydantic import Field

from neurigraph_pipelines.exchange.webhooks import subscriptions
from neurigraph_pipelines.exchange.webhooks.delivery import deliver_test
from neurigraph_pipelines.faces.api.authentication import InstallationDep, Owner
from neurigraph_pipelines.faces.api.paging import Cursor, Limit
from neurigraph_pipelines.faces.api.problems import documented
from neurigraph_pipelines.faces.api.requests import Form
from neurigraph_pipelines.model.webhooks import ANY_EVENT
from neurigraph_pipelines.views import webhooks as views
from neurigraph_pipelines.views.kinds import DeliveryState

_EVENTS = "Names of events, such as `record.stored`, `record.*` or `*`."
_GLOB = Field(default=None, description="Only events at the nodes whose path matches, with `*`, and below them.")
_AUTHOR = Field(default=None, description="Only changes by this author: `user:ID`, `persona:ID` or `pipeline`.")

router = APIRouter(tags=["webhooks"], responses=documented(401, 403, 404, 422, 503))


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


@router.post("/webhooks", status_code=201, responses=documented(409, 413))
def add_webhook(body: NewWebhook, caller: Owner, installation: InstallationDep) -> views.WebhookWithSecret:
    """Add a webhook. The answer has its secret, which is not shown again."""
    outbox = installation.webhooks.acting_for(caller)
    return subscriptions.add(outbox, body.url, body.events, body.path_glob, body.author)


@router.get("/webhooks")
def list_webhooks(caller: Owner, installation: InstallationDep) -> views.Webhooks:
    """List the caller's webhooks, oldest first."""
    return views.Webhooks(webhooks=subscriptions.list_webhooks(installation.database, caller))


@router.get("/webhooks/{webhook_id}")
def webhook(webhook_id: UUID, caller: Owner, installation: InstallationDep) -> views.Webhook:
    """Return a webhook, with how many deliveries wait, arrived and were given up."""
    return subscriptions.get_webhook(installation.database, caller, webhook_id)


@router.patch("/webhooks/{webhook_id}", responses=documented(409, 413))
def change_webhook(
    webhook_id: UUID, body: ChangeWebhook, caller: Owner, installation: InstallationDep
) -> views.Webhook:
    """Change, pause or resume a webhook."""
    outbox = installation.webhooks.acting_for(caller)
    return subscriptions.change(outbox, webhook_id, body.model_dump(exclude_unset=True))


@router.delete("/webhooks/{webhook_id}", status_code=204)
def remove_webhook(webhook_id: UUID, caller: Owner, installation: InstallationDep) -> None:
    """Remove a webhook with its deliveries."""
    subscriptions.remove(installation.database, caller, webhook_id)


@router.post("/webhooks/{webhook_id}/test", responses=documented(409))
def test_webhook(webhook_id: UUID, caller: Owner, installation: InstallationDep) -> views.Delivery:
    """Send a `webhook.test` event at once, and return the result of its delivery."""
    return deliver_test(installation.webhooks.acting_for(caller), webhook_id)


@router.post("/webhooks/{webhook_id}/rotate", responses=documented(409))
def rotate_webhook(webhook_id: UUID, caller: Owner, installation: InstallationDep) -> views.WebhookWithSecret:
    """Give a webhook another secret. For a day messages are signed with both."""
    return subscriptions.rotate(installation.webhooks.acting_for(caller), webhook_id)


@router.get("/webhooks/{webhook_id}/deliveries")
def list_deliveries(
    webhook_id: UUID,
    caller: Owner,
    installation: InstallationDep,
    state: Annotated[DeliveryState | None, Query(description="Only deliveries in this state.")] = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> views.Deliveries:
    """List the deliveries of a webhook, newest first."""
    found = subscriptions.page_of_deliveries(
        installation.database,
        installation.cursors,
        caller,
        webhook_id,
        state=state,
        limit=limit,
        cursor=cursor,
    )
    return found.into(views.Deliveries)


@router.post("/webhooks/{webhook_id}/replay", responses=documented(409, 413))
def replay_deliveries(webhook_id: UUID, body: Replay, caller: Owner, installation: InstallationDep) -> views.Replayed:
    """Send all dead deliveries again, or one finished delivery."""
    return views.Replayed(replayed=subscriptions.replay(installation.database, caller, webhook_id, body.delivery_id))
