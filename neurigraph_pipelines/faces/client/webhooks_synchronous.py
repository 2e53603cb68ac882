"""Waiting calls about webhooks. Written by docs/generate.py from ``webhooks_asynchronous``."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any
from uuid import UUID


class Webhooks(ABC):
    """Adds, changes, tests and removes webhooks. Values are those of the API."""

    @abstractmethod
    def call(self, method: str, path: str, body: Any = None, *, etag: str | None = None, **query: Any) -> Any:
        """Make a call of the API and return its JSON."""

    @abstractmethod
    def _pages(self, path: str, name: str, filters: dict[str, Any]) -> Iterator[dict[str, Any]]: ...

    def add_webhook(
        self, url: str, events: Sequence[str] = ("*",), *, path_glob: str | None = None, author: str | None = None
    ) -> dict[str, Any]:
        """Add a webhook and return it with its ``secret``, which is not shown again."""
        body = {"url": url, "events": list(events), "path_glob": path_glob, "author": author}
        made: dict[str, Any] = self.call("POST", "/v1/webhooks", body)
        return made

    def webhooks(self) -> list[dict[str, Any]]:
        """Return the webhooks, oldest first."""
        found: list[dict[str, Any]] = (self.call("GET", "/v1/webhooks"))["webhooks"]
        return found

    def change_webhook(self, webhook_id: UUID, **fields: Any) -> dict[str, Any]:
        """Change a webhook.

        Args:
            fields: As the API takes them: ``url``, ``events``, ``path_glob``, ``author`` and ``state``.
        """
        changed: dict[str, Any] = self.call("PATCH", f"/v1/webhooks/{webhook_id}", fields)
        return changed

    def remove_webhook(self, webhook_id: UUID) -> None:
        """Remove a webhook with its deliveries."""
        self.call("DELETE", f"/v1/webhooks/{webhook_id}")

    def test_webhook(self, webhook_id: UUID) -> dict[str, Any]:
        """Send a test event at once and return its delivery."""
        sent: dict[str, Any] = self.call("POST", f"/v1/webhooks/{webhook_id}/test")
        return sent

    def rotate_webhook(self, webhook_id: UUID) -> dict[str, Any]:
        """Give a webhook another ``secret``. For a day messages are signed with both."""
        made: dict[str, Any] = self.call("POST", f"/v1/webhooks/{webhook_id}/rotate")
        return made

    def deliveries(self, webhook_id: UUID, **filters: Any) -> Iterator[dict[str, Any]]:
        """Yield the deliveries of a webhook, newest first, page after page.

        Args:
            filters: As the API takes them, such as ``state``.
        """
        for one in self._pages(f"/v1/webhooks/{webhook_id}/deliveries", "deliveries", filters):
            yield one

    def replay_webhook(self, webhook_id: UUID, delivery_id: UUID | None = None) -> int:
        """Send all dead deliveries again, or one that is finished; return how many."""
        body = {"delivery_id": None if delivery_id is None else str(delivery_id)}
        return int((self.call("POST", f"/v1/webhooks/{webhook_id}/replay", body))["replayed"])
