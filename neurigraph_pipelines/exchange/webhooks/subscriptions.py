"""Webhooks as their owners see them: adding, changing, rotating and removing them, and the outcomes of deliveries.

Only the owner of a graph has webhooks. ``delivery`` sends.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from uuid import UUID, uuid4

from neurigraph_pipelines.access.authentication import require_owner, require_visible
from neurigraph_pipelines.database.asking import ask_views, value_of
from neurigraph_pipelines.database.paging import NEWEST, Listing, Page
from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.exchange.webhooks.outbox import Outbox, hash_of
from neurigraph_pipelines.model import Claims
from neurigraph_pipelines.model.errors import ConflictError, InvalidInputError, NotFoundError, require_found
from neurigraph_pipelines.model.ports import Database
from neurigraph_pipelines.model.webhooks import ANY_EVENT, EVENTS, KINDS_OF_EVENTS
from neurigraph_pipelines.views.scalars import ValuesByName
from neurigraph_pipelines.views.webhooks import Delivery, DeliveryState, Webhook, WebhookState, WebhookWithSecret

MAX_WEBHOOKS = 20
"""Webhooks of one user."""

MAX_GLOB = 500
MAX_URL = 2_000
ROTATION_SECONDS = 24 * 3600.0
"""For so long after a rotation messages are signed with the secret before, too."""

_AUTHOR = re.compile(r"(user|persona):[0-9a-f-]{36}|pipeline")
_QUERIES = statements("webhooks")


def add(
    outbox: Outbox,
    url: str,
    events: Sequence[str] = (ANY_EVENT,),
    path_glob: str | None = None,
    author: str | None = None,
) -> WebhookWithSecret:
    """Add a webhook and return it with its secret, which is not shown again.

    Args:
        events: Names of events, ``record.*`` and the like, or ``*``.
        path_glob: Only events at nodes whose path matches, and below them.
        author: Only what this author did.

    Raises:
        ForbiddenError: The caller does not own the graph; also in the functions below.
        InvalidInputError: The address may not be called, or a filter is none.
        ConflictError: The settings allow no webhooks, or the user has as many as are allowed.
    """
    claims = outbox.context.claims
    require_owner(claims)
    wanted = _checked(outbox, url, events, path_glob, author)
    webhook_id = uuid4()
    secret = outbox.secret_of(webhook_id, 1)
    with outbox.context.database.agent(claims) as tx:
        row = tx.execute(_QUERIES["count_of_user"], {"user_id": claims.user_id}).fetchone()
        if row is None or row["webhooks"] >= MAX_WEBHOOKS:
            raise ConflictError(f"a user has at most {MAX_WEBHOOKS} webhooks: remove one first")
        values = {"webhook_id": webhook_id, "user_id": claims.user_id, "secret_hash": hash_of(secret)}
        tx.execute(_QUERIES["add"], {**values, **wanted})
    return _with_secret(get_webhook(outbox.context.database, claims, webhook_id), secret)


def list_webhooks(database: Database, claims: Claims) -> list[Webhook]:
    """Return the caller's webhooks, oldest first."""
    require_owner(claims)
    return _webhooks(database, claims, None)


def get_webhook(database: Database, claims: Claims, webhook_id: UUID) -> Webhook:
    """Return one webhook.

    Raises:
        NotFoundError: There is no such webhook, or it is hidden from the caller; also in the functions below.
    """
    require_visible(database, claims, "webhook", webhook_id)
    require_owner(claims)
    found = _webhooks(database, claims, webhook_id)
    return require_found(next(iter(found), None))


def change(outbox: Outbox, webhook_id: UUID, changes: ValuesByName) -> Webhook:
    """Change some of ``url``, ``events``, ``path_glob``, ``author`` and ``state`` of a webhook.

    Raises:
        InvalidInputError: As for ``add``.
    """
    database, claims = outbox.context.database, outbox.context.claims
    found = get_webhook(database, claims, webhook_id)
    state = WebhookState(changes.get("state", found.state))
    fields = {name: changes.get(name, getattr(found, name)) for name in ("url", "events", "path_glob", "author")}
    wanted = _checked(outbox, **fields)
    with database.agent(claims) as tx:
        tx.execute(_QUERIES["change"], {"webhook_id": webhook_id, "state": state, **wanted})
    return get_webhook(database, claims, webhook_id)


def remove(database: Database, claims: Claims, webhook_id: UUID) -> None:
    """Remove a webhook with its deliveries."""
    get_webhook(database, claims, webhook_id)
    with database.agent(claims) as tx:
        tx.execute(_QUERIES["remove"], {"webhook_id": webhook_id})


def rotate(outbox: Outbox, webhook_id: UUID) -> WebhookWithSecret:
    """Give a webhook another secret and return it. For a day, messages are signed with both."""
    database, claims = outbox.context.database, outbox.context.claims
    get_webhook(database, claims, webhook_id)
    with database.agent(claims) as tx:
        row = require_found(tx.execute(_QUERIES["version"], {"webhook_id": webhook_id}).fetchone())
        secret = outbox.secret_of(webhook_id, row["secret_version"] + 1)
        values = {"version": row["secret_version"] + 1, "secret_hash": hash_of(secret), "seconds": ROTATION_SECONDS}
        tx.execute(_QUERIES["rotate"], {"webhook_id": webhook_id, **values})
    return _with_secret(get_webhook(database, claims, webhook_id), secret)


def replay(database: Database, claims: Claims, webhook_id: UUID, delivery_id: UUID | None = None) -> int:
    """Send one delivery again, or all dead ones. Return how many wait now.

    Raises:
        NotFoundError: There is no such delivery, or it is not finished.
    """
    get_webhook(database, claims, webhook_id)
    with database.agent(claims) as tx:
        replayed = value_of(int, tx.execute(_QUERIES["replay"], {"webhook_id": webhook_id, "delivery_id": delivery_id}))
    if delivery_id is not None and replayed == 0:
        raise NotFoundError("there is no such delivery, or it still waits")
    return replayed


def page_of_deliveries(asked: Listing, webhook_id: UUID, *, state: DeliveryState | None = None) -> Page[Delivery]:
    """Return a page of the deliveries of a webhook, newest first.

    Raises:
        InvalidInputError: The cursor is not one of this list.
    """
    get_webhook(asked.database, asked.claims, webhook_id)
    filters, statement = {"webhook_id": webhook_id, "state": state}, _QUERIES["deliveries"]
    return asked.views(
        "deliveries", filters, statement, Delivery, lambda one: (one.created_at, one.delivery_id), delivery_id=None
    )


def get_delivery(database: Database, claims: Claims, webhook_id: UUID, delivery_id: UUID) -> Delivery:
    """Return one delivery."""
    at, last = NEWEST
    values = {"webhook_id": webhook_id, "delivery_id": delivery_id, "state": None, "at": at, "id": last, "limit": 1}
    found = deliveries(database, claims, values)
    return require_found(next(iter(found), None))


def deliveries(database: Database, claims: Claims, values: Mapping[str, object]) -> list[Delivery]:
    """Return deliveries that the query finds."""
    return ask_views(database, claims, _QUERIES["deliveries"], Delivery, values)


def _checked(
    outbox: Outbox, url: str, events: Sequence[str], path_glob: str | None, author: str | None
) -> dict[str, object]:
    """Return the fields of a webhook, checked."""
    if len(url) > MAX_URL:
        raise InvalidInputError(f"the address has {len(url):,} characters and the limit is {MAX_URL:,}")
    outbox.sender.check(url)
    known = {ANY_EVENT, *KINDS_OF_EVENTS, *EVENTS}
    if not events or (unknown := set(events) - known):
        what = f"there is no event {sorted(unknown)[0][:60]!r}" if events else "a webhook needs events"
        raise InvalidInputError(f"{what}: give `*`, {', '.join(KINDS_OF_EVENTS)}, or the names in docs/peers.md")
    if path_glob is not None and not 1 <= len(path_glob) <= MAX_GLOB:
        raise InvalidInputError(f"a pattern of paths has 1 to {MAX_GLOB} characters")
    if author is not None and not _AUTHOR.fullmatch(author):
        raise InvalidInputError("an author is user:ID, persona:ID or pipeline")
    return {"url": url, "events": list(dict.fromkeys(events)), "path_glob": path_glob, "author": author}


def _webhooks(database: Database, claims: Claims, webhook_id: UUID | None) -> list[Webhook]:
    values = {"user_id": claims.user_id, "webhook_id": webhook_id}
    return ask_views(database, claims, _QUERIES["webhooks"], Webhook, values)


def _with_secret(webhook: Webhook, secret: str) -> WebhookWithSecret:
    return WebhookWithSecret(**dict(webhook), secret=secret)
