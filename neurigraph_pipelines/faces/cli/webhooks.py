"""Commands about webhooks: ``webhooks add``, ``list``, ``test`` and the others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from neurigraph_pipelines.faces.cli.output import Json, Output, counted, more
from neurigraph_pipelines.faces.cli.session import Cursor, Limit, UserSlug, claims_of, opened, parse_id
from neurigraph_pipelines.views.kinds import DeliveryState

if TYPE_CHECKING:
    from rich.console import RenderableType

    from neurigraph_pipelines.views.webhooks import Delivery, Webhook, WebhookWithSecret

commands = typer.Typer()
_webhooks = typer.Typer(no_args_is_help=True, help="Let addresses of yours be called when something happens.")
commands.add_typer(_webhooks, name="webhooks")

WebhookId = Annotated[str, typer.Argument(metavar="WEBHOOK", help="Id of a webhook.")]
Events = Annotated[
    list[str] | None, typer.Option("--event", help="An event, such as record.stored or record.*. Repeatable.")
]
PathGlob = Annotated[str | None, typer.Option("--path", help="Only at nodes whose path matches, and below them.")]
Author = Annotated[str | None, typer.Option(help="Only changes by this author: user:ID, persona:ID or pipeline.")]


@_webhooks.command("add")
def add(
    url: Annotated[str, typer.Argument(help="Address to call.")],
    user: UserSlug,
    event: Events = None,
    path: PathGlob = None,
    author: Author = None,
    as_json: Json = False,
) -> None:
    """Add a webhook and print its secret, which is not shown again."""
    from neurigraph_pipelines.exchange.webhooks import subscriptions

    with opened() as installation:
        outbox = installation.webhooks.acting_for(claims_of(installation, user))
        made = subscriptions.add(outbox, url, event or ["*"], path, author)
    _print_with_secret(made, as_json)


@_webhooks.command("list")
def list_webhooks(user: UserSlug, as_json: Json = False) -> None:
    """List the webhooks of a user, oldest first."""
    from neurigraph_pipelines.exchange.webhooks import subscriptions

    with opened() as installation:
        found = subscriptions.list_webhooks(installation.database, claims_of(installation, user))
    shown = [_line(one) for one in found] or ["There is no webhook."]
    Output(as_json).result({"webhooks": found}, lambda: _lines(*shown))


@_webhooks.command("show")
def show(webhook: WebhookId, user: UserSlug, as_json: Json = False) -> None:
    """Show a webhook."""
    from neurigraph_pipelines.exchange.webhooks import subscriptions

    with opened() as installation:
        found = subscriptions.get_webhook(installation.database, claims_of(installation, user), _id(webhook))
    _print(found, as_json)


@_webhooks.command("change")
def change(
    webhook: WebhookId,
    user: UserSlug,
    url: Annotated[str | None, typer.Option(help="Another address.")] = None,
    event: Events = None,
    path: PathGlob = None,
    author: Author = None,
    pause: Annotated[bool | None, typer.Option("--pause/--resume", help="Get no events, or get them again.")] = None,
    as_json: Json = False,
) -> None:
    """Change, pause or resume a webhook. An empty --path or --author drops that filter."""
    from neurigraph_pipelines.exchange.webhooks import subscriptions

    given = {"url": url, "events": event or None, "path_glob": path, "author": author}
    changes = {name: value or None for name, value in given.items() if value is not None}
    if pause is not None:
        changes["state"] = "paused" if pause else "active"
    with opened() as installation:
        outbox = installation.webhooks.acting_for(claims_of(installation, user))
        changed = subscriptions.change(outbox, _id(webhook), changes)
    _print(changed, as_json)


@_webhooks.command("remove")
def remove(webhook: WebhookId, user: UserSlug, as_json: Json = False) -> None:
    """Remove a webhook with its deliveries."""
    from neurigraph_pipelines.exchange.webhooks import subscriptions

    with opened() as installation:
        subscriptions.remove(installation.database, claims_of(installation, user), _id(webhook))
    Output(as_json).result({"removed": webhook}, lambda: _lines(f"Removed {webhook}."))


@_webhooks.command("test")
def send_test(webhook: WebhookId, user: UserSlug, as_json: Json = False) -> None:
    """Send a test event at once."""
    from neurigraph_pipelines.exchange.webhooks.delivery import deliver_test

    with opened() as installation:
        sent = deliver_test(installation.webhooks.acting_for(claims_of(installation, user)), _id(webhook))
    Output(as_json).result(sent, lambda: _lines(_line_of_delivery(sent)))


@_webhooks.command("rotate")
def rotate(webhook: WebhookId, user: UserSlug, as_json: Json = False) -> None:
    """Give a webhook another secret. For a day messages are signed with both."""
    from neurigraph_pipelines.exchange.webhooks import subscriptions

    with opened() as installation:
        made = subscriptions.rotate(installation.webhooks.acting_for(claims_of(installation, user)), _id(webhook))
    _print_with_secret(made, as_json)


@_webhooks.command("deliveries")
def deliveries(
    webhook: WebhookId,
    user: UserSlug,
    state: Annotated[DeliveryState | None, typer.Option(help="Only deliveries in this state.")] = None,
    limit: Limit = 50,
    cursor: Cursor = None,
    as_json: Json = False,
) -> None:
    """List the deliveries of a webhook, newest first."""
    from neurigraph_pipelines.exchange.webhooks import subscriptions

    with opened() as installation:
        found = subscriptions.page_of_deliveries(
            installation.database,
            installation.cursors,
            claims_of(installation, user),
            _id(webhook),
            state=state,
            limit=limit,
            cursor=cursor,
        )
    shown = [*map(_line_of_delivery, found.items), *more(found.next_cursor)] or ["There is no delivery."]
    Output(as_json).result(found.shown("deliveries"), lambda: _lines(*shown))


@_webhooks.command("replay")
def replay(
    webhook: WebhookId,
    user: UserSlug,
    delivery: Annotated[str | None, typer.Option(help="One finished delivery. Default: all dead ones.")] = None,
    as_json: Json = False,
) -> None:
    """Send dead deliveries again."""
    from neurigraph_pipelines.exchange.webhooks import subscriptions

    one = parse_id(delivery, "delivery", "webhooks deliveries") if delivery is not None else None
    with opened() as installation:
        claims = claims_of(installation, user)
        replayed = subscriptions.replay(installation.database, claims, _id(webhook), one)
    Output(as_json).result(
        {"replayed": replayed}, lambda: _lines(f"To be sent again: {counted(replayed, 'delivery', 'deliveries')}.")
    )


def _id(webhook: str) -> Any:
    return parse_id(webhook, "webhook", "webhooks list")


def _print(webhook: Webhook, as_json: bool) -> None:
    Output(as_json).result(webhook, lambda: _lines(_line(webhook)))


def _print_with_secret(webhook: WebhookWithSecret, as_json: bool) -> None:
    Output(as_json).result(webhook, lambda: _lines(_line(webhook), f"secret: {webhook.secret}"))


def _line(webhook: Webhook) -> str:
    only = [f"at {webhook.path_glob}"] * bool(webhook.path_glob) + [f"by {webhook.author}"] * bool(webhook.author)
    wanted = " ".join([", ".join(webhook.events), *only])
    counts = f"{webhook.delivered} delivered, {webhook.waiting} waiting, {webhook.dead} dead"
    return f"{webhook.webhook_id}  {webhook.url}  {wanted}  {webhook.state}, {counts}"


def _line_of_delivery(one: Delivery) -> str:
    why = one.last_error or one.last_status
    return (
        f"{one.delivery_id}  {one.event} {one.occurred_at:%Y-%m-%d %H:%M:%S} UTC  {one.state}, "
        f"{counted(one.attempts, 'attempt')}{f', last: {why}' if why is not None else ''}"
    )


def _lines(*texts: str) -> RenderableType:
    from neurigraph_pipelines.faces.cli import views

    return views.lines(*texts)
