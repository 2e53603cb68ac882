"""Sends events to webhooks: at least once each, with one id, by workers that lease deliveries from the database.

Any number of processes may deliver at once. One that dies leaves leases that end by themselves.
"""

from __future__ import annotations

import json
import random
import time
from collections.abc import Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from psycopg.rows import class_row

from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.exchange.webhooks.outbox import Outbox, hash_of, signature
from neurigraph_pipelines.exchange.webhooks.subscriptions import get_delivery, get_webhook
from neurigraph_pipelines.model.errors import ConflictError, ProviderError, TransientError
from neurigraph_pipelines.views.webhooks import Delivery, DeliveryState

RETRY_SECONDS = (5.0, 300.0, 1_800.0, 7_200.0, 18_000.0, 36_000.0, 50_400.0)
"""Waits before the second and later attempts; after the last one a delivery is dead."""

LONGEST_WAIT_SECONDS = 86_400.0
"""Longest wait that a receiver may ask for."""

LEASE_SECONDS = 120.0
"""Longer than the attempts of one batch can take; a dead worker's deliveries are sent again after it."""

BATCH = 32
OF_EACH = 8
"""Deliveries of one webhook in a batch, so that a slow receiver does not hold up the others."""

POLL_SECONDS = 0.5
"""Time between two looks for events while there are webhooks: one statement with an index lookup for each."""

UNUSED_SECONDS = 5.0
"""The same while there are none."""

_JITTER = 0.2
_GONE = 410
_OUTSIDE = ("node_id", "record_id", "fact_id", "other_id", "action_id", "erasure_id", "author")
_QUERIES = statements("webhooks")


@dataclass(frozen=True, slots=True)
class Sent:
    """The result of one round of deliveries."""

    delivered: int = 0
    failed: int = 0
    withheld: int = 0

    def __add__(self, other: Sent) -> Sent:
        return Sent(self.delivered + other.delivered, self.failed + other.failed, self.withheld + other.withheld)


class Leased(NamedTuple):
    """A delivery that a worker has leased, with its webhook and its event: a row of the query ``lease``."""

    delivery_id: UUID
    attempts: int
    webhook_id: UUID
    url: str
    secret_version: int
    secret_hash: bytes
    is_rotating: bool
    is_withheld: bool
    event_id: UUID
    event: str
    occurred_at: datetime
    author: str | None
    node_id: UUID | None
    record_id: UUID | None
    fact_id: UUID | None
    other_id: UUID | None
    action_id: UUID | None
    erasure_id: UUID | None


class _NextDue(NamedTuple):
    """When the next delivery is due, and whether there are webhooks."""

    seconds: float | None
    has_webhooks: bool


@dataclass(frozen=True, slots=True)
class _Outcome:
    """How an attempt ended; ``delay_seconds`` until the next one if the state is waiting."""

    leased: Leased
    state: DeliveryState
    status: int | None = None
    error: str | None = None
    delay_seconds: float = 0.0


def deliver_due(outbox: Outbox, most: int = 10_000) -> Sent:
    """Send due messages, and return when none is left or ``most`` were tried."""
    done = Sent()
    tried = 0
    with ThreadPoolExecutor(outbox.context.settings.webhooks.concurrency, "webhooks") as pool:
        while tried < most:
            leased = _lease(outbox)
            if not leased:
                break
            tried += len(leased)
            waiting: set[Future[_Outcome]] = {pool.submit(_attempt, outbox, one) for one in leased}
            while waiting:
                ended, waiting = wait(waiting, return_when=FIRST_COMPLETED)
                done += _settle(outbox, [one.result() for one in ended])
    return done


def deliver_test(outbox: Outbox, webhook_id: UUID) -> Delivery:
    """Send a test event to a webhook at once, once, and return its outcome.

    Raises:
        NotFoundError: There is no such webhook, or it is hidden from the caller.
        ConflictError: The receiver said that it is gone; change the webhook's state first.
    """
    database, claims = outbox.context.database, outbox.context.claims
    get_webhook(database, claims, webhook_id)
    with database.agent(claims) as tx:
        (row,) = tx.execute(_QUERIES["test"], {"webhook_id": webhook_id})
    leased = _lease(outbox, row["delivery_id"])
    found = get_delivery(database, claims, webhook_id, row["delivery_id"])
    if leased:
        outcome = _attempt(outbox, leased[0])
        _settle(outbox, [outcome])
        found = get_delivery(database, claims, webhook_id, row["delivery_id"])
    elif found.state is DeliveryState.WAITING and found.attempts == 0:
        raise ConflictError("the receiver of this webhook is gone: set its state to active first")
    return found


def seconds_until_due(outbox: Outbox) -> float | None:
    """Return the seconds until a delivery is due, negative for one that is; None if none waits."""
    return _next_due(outbox).seconds


def pause(outbox: Outbox) -> float:
    """Return the seconds until it is time to look again: 0 if something is due, and longer without any webhook."""
    found = _next_due(outbox)
    if not found.has_webhooks:
        return UNUSED_SECONDS
    return POLL_SECONDS if found.seconds is None else min(max(found.seconds, 0.0), POLL_SECONDS)


def _next_due(outbox: Outbox) -> _NextDue:
    with outbox.context.database.pipeline() as tx, tx.cursor(row_factory=class_row(_NextDue)) as rows:
        (row,) = rows.execute(_QUERIES["next_due"]).fetchall()
    return row


def _lease(outbox: Outbox, delivery_id: UUID | None = None) -> list[Leased]:
    values = {"most": BATCH, "of_each": OF_EACH, "lease_seconds": LEASE_SECONDS, "delivery_id": delivery_id}
    with outbox.context.database.pipeline() as tx, tx.cursor(row_factory=class_row(Leased)) as leases:
        return leases.execute(_QUERIES["lease"], values).fetchall()


def _attempt(outbox: Outbox, leased: Leased) -> _Outcome:
    """Send one message, and return the outcome for its delivery."""
    if leased.is_withheld:
        return _Outcome(leased, DeliveryState.WITHHELD)
    try:
        headers, body = message(outbox, leased)
        answer = outbox.sender.post(leased.url, headers, body)
    except ConflictError:
        return _retried(leased, error="secret_changed")
    except ProviderError:
        return _retried(leased, error="address_refused")
    except TransientError:
        return _retried(leased, error="unreachable")
    except Exception:  # one bad item must not fail the others
        return _retried(leased, error="failed")
    if 200 <= answer.status < 300:
        return _Outcome(leased, DeliveryState.DELIVERED, answer.status)
    if answer.status == _GONE:
        return _Outcome(leased, DeliveryState.DEAD, answer.status, "gone")
    return _retried(leased, status=answer.status, retry_after=answer.retry_after_seconds)


def message(outbox: Outbox, leased: Leased) -> tuple[dict[str, str], bytes]:
    """Return the headers and the body of a message: ids and the name of the event, never words.

    Raises:
        ConflictError: The installation's secret has changed, so the receiver could not verify the signature.
    """
    webhook_id, version = leased.webhook_id, leased.secret_version
    secret = outbox.secret_of(webhook_id, version)
    if hash_of(secret) != leased.secret_hash:
        raise ConflictError("the secret of this webhook is not the one that its receiver has: rotate it")
    about = {name: str(value) for name in _OUTSIDE if (value := getattr(leased, name)) is not None}
    occurred_at = leased.occurred_at.isoformat()
    body = json.dumps({"type": leased.event, "timestamp": occurred_at, "data": about}).encode()
    message_id, timestamp = str(leased.event_id), int(time.time())
    secrets = [secret, *([outbox.secret_of(webhook_id, version - 1)] if leased.is_rotating else [])]
    headers = {
        "Content-Type": "application/json",
        "User-Agent": "neurigraph",
        "webhook-id": message_id,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": " ".join(signature(one, message_id, timestamp, body) for one in secrets),
    }
    return headers, body


def _retried(
    leased: Leased, *, status: int | None = None, error: str | None = None, retry_after: float | None = None
) -> _Outcome:
    """Return the outcome of a failed attempt: the next one, or none after the last."""
    attempts = leased.attempts
    if attempts > len(RETRY_SECONDS):
        return _Outcome(leased, DeliveryState.DEAD, status, error)
    delay = max(RETRY_SECONDS[attempts - 1], min(retry_after or 0.0, LONGEST_WAIT_SECONDS))
    # Only longer, so that nobody is called before the time that they asked for.
    spread = 1 + _JITTER * random.random()  # noqa: S311 - spreads load
    return _Outcome(leased, DeliveryState.WAITING, status, error, delay * spread)


def _settle(outbox: Outbox, outcomes: Sequence[_Outcome]) -> Sent:
    """Write down the outcomes of attempts."""
    gone = [one.leased.webhook_id for one in outcomes if one.error == "gone"]
    values = {
        "delivery_ids": [one.leased.delivery_id for one in outcomes],
        "attempts": [one.leased.attempts for one in outcomes],
        "states": [one.state for one in outcomes],
        "statuses": [one.status for one in outcomes],
        "errors": [one.error for one in outcomes],
        "delays": [one.delay_seconds for one in outcomes],
    }
    with outbox.context.database.pipeline() as tx:
        tx.execute(_QUERIES["settle"], values)
        if gone:
            tx.execute(_QUERIES["end_webhooks"], {"webhook_ids": gone})
    states = [one.state for one in outcomes]
    delivered, withheld = states.count(DeliveryState.DELIVERED), states.count(DeliveryState.WITHHELD)
    return Sent(delivered, len(states) - delivered - withheld, withheld)
