"""The upkeep of deliveries: unsent ones, figures for the check, and old ones."""

from __future__ import annotations

from dataclasses import dataclass

from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.exchange.webhooks.delivery import seconds_until_due
from neurigraph_pipelines.exchange.webhooks.outbox import Outbox

LEFT_SECONDS = 10.0
"""What has been due for so long was left by the process that should have sent it."""

LEAST_SHARE = 0.95
_DAY_SECONDS = 86_400.0
_QUERIES = statements("webhooks")


@dataclass(frozen=True, slots=True)
class DeliveryFigures:
    """Deliveries in numbers.

    Attributes:
        tried: Of the events of the last hour, without those of the last minute.
        arrived: Those of them that were delivered.
        median_seconds: From the event to its delivery, in the last hour; None without any.
    """

    tried: int
    arrived: int
    waiting: int
    dead: int
    median_seconds: float | None

    @property
    def share(self) -> float:
        """The share of the last hour that was delivered; 1 if there was nothing."""
        return self.arrived / self.tried if self.tried else 1.0


def has_work(outbox: Outbox) -> bool:
    """Return whether a delivery was left; costs one index lookup a webhook."""
    due = seconds_until_due(outbox) if outbox.sender.is_on else None
    return due is not None and due < -LEFT_SECONDS


def figures(outbox: Outbox) -> DeliveryFigures:
    """Count deliveries."""
    with outbox.context.database.pipeline() as tx:
        (row,) = tx.execute(_QUERIES["figures"])
    return DeliveryFigures(**row)


def drop_old(outbox: Outbox) -> int:
    """Delete events that were finished longer ago than the settings keep them; return how many."""
    seconds = outbox.context.settings.webhooks.kept_days * _DAY_SECONDS
    with outbox.context.database.pipeline() as tx:
        return tx.execute(_QUERIES["drop_old"], {"seconds": seconds}).rowcount
