"""The client's calls about webhooks, a part of ``AsyncMemory``."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Any
from uuid import UUID

from neurigraph_client.calls_asynchronous import AsyncCalls
from neurigraph_pipelines.views.webhooks import Delivery, Webhook, WebhookWithSecret
from neurigraph_pipelines.views.webhooks import Webhooks as WebhookList


class AsyncWebhooks(AsyncCalls):
    """Adds, changes, tests and removes webhooks. Values are as in the API."""

    async def add_webhook(
        self, url: str, events: Sequence[str] = ("*",), *, path_glob: str | None = None, author: str | None = None
    ) -> WebhookWithSecret:
        """Add a webhook and return it with its ``secret``, which is not shown again."""
        body = {"url": url, "events": list(events), "path_glob": path_glob, "author": author}
        return WebhookWithSecret.model_validate(await self.call("POST", "/v1/webhooks", body))

    async def webhooks(self) -> list[Webhook]:
        """Return the webhooks, oldest first."""
        return WebhookList.model_validate(await self.call("GET", "/v1/webhooks")).webhooks

    async def change_webhook(self, webhook_id: UUID, **fields: Any) -> Webhook:
        """Change a webhook.

        Args:
            fields: As the API takes them: ``url``, ``events``, ``path_glob``, ``author`` and ``state``.
        """
        return Webhook.model_validate(await self.call("PATCH", f"/v1/webhooks/{webhook_id}", fields))

    async def remove_webhook(self, webhook_id: UUID) -> None:
        """Remove a webhook with its deliveries."""
        await self.call("DELETE", f"/v1/webhooks/{webhook_id}")

    async def test_webhook(self, webhook_id: UUID) -> Delivery:
        """Send a test event at once and return its delivery."""
        return Delivery.model_validate(await self.call("POST", f"/v1/webhooks/{webhook_id}/test"))

    async def rotate_webhook(self, webhook_id: UUID) -> WebhookWithSecret:
        """Give a webhook another ``secret``. For a day messages are signed with both."""
        return WebhookWithSecret.model_validate(await self.call("POST", f"/v1/webhooks/{webhook_id}/rotate"))

    def deliveries(self, webhook_id: UUID, **filters: Any) -> AsyncIterator[Delivery]:
        """Yield the deliveries of a webhook, newest first, page after page.

        Args:
            filters: As the API takes them, such as ``state``.
        """
        return self._pages(f"/v1/webhooks/{webhook_id}/deliveries", "deliveries", Delivery, filters)

    async def replay_webhook(self, webhook_id: UUID, delivery_id: UUID | None = None) -> int:
        """Send all dead deliveries again, or one finished delivery; return how many."""
        body = {"delivery_id": None if delivery_id is None else str(delivery_id)}
        return int((await self.call("POST", f"/v1/webhooks/{webhook_id}/replay", body))["replayed"])
