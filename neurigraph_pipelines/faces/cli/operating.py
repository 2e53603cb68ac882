"""Commands for operators of an installation: its database, its secrets, the HTTP API and counts."""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict
from typing import Annotated, Any

import typer

from neurigraph_pipelines.faces.cli import layouts, output
from neurigraph_pipelines.faces.cli.output import counted
from neurigraph_pipelines.faces.cli.session import AnyUserSlug, argument, installed, opened, option
from neurigraph_pipelines.graph import navigation, provisioning
from neurigraph_pipelines.inbox import triggers
from neurigraph_pipelines.model import Claims
from neurigraph_pipelines.model.errors import ConfigurationError
from neurigraph_pipelines.runtime.stack.home_lock import HomeLock
from neurigraph_pipelines.runtime.stack.keeper import Keeper
from neurigraph_pipelines.runtime.stack.marks import VARIABLE
from neurigraph_pipelines.wiring.installation import Installation

commands = typer.Typer()


@commands.command()
def migrate() -> None:
    """Make the schema in an empty database, or bring the database to this version. Embedded servers need no call.

    Makes the database of Dagster, too, which is called NAME_dagster.
    """
    with installed() as installation:
        report = installation.migrate(lambda name: output.note(f"applied {name}"))
        installation.ensure_dagster_database()

    output.said(
        asdict(report),
        f"The database is at migration {report.version}: {counted(len(report.applied), 'migration')} applied.",
    )


@commands.command(name="key")
def admin_key() -> None:
    """Print the key that may create users over HTTP."""
    with installed() as installation:
        key = installation.secrets.admin_key()

    output.result({"admin_key": key}, lambda: layouts.unbroken(key))


@commands.command(name="metrics-token")
def metrics_token() -> None:
    """Print the token that opens `/metrics`, for the credentials file of Prometheus."""
    with installed() as installation:
        token = installation.secrets.metrics_token()

    output.result({"metrics_token": token}, lambda: layouts.unbroken(token))


@commands.command(name="dagster-password")
def dagster_password() -> None:
    """Print the password of the database role `neurigraph_dagster`, for a Dagster that something else starts."""
    with installed() as installation:
        password = installation.secret.role_password("neurigraph_dagster")

    output.result({"dagster_password": password}, lambda: layouts.unbroken(password))


@commands.command(name="analyst-url")
def analyst_url() -> None:
    """Print the address of the database for analysts: its role reads counts and metadata of all users, and no words.

    It contains a password. `neurigraph admin rotate-secret` replaces it.
    """
    with opened() as installation:
        url = installation.analyst_address

    output.result({"analyst_url": url}, lambda: layouts.unbroken(url))


@commands.command(name="rotate-secret")
def rotate_secret() -> None:
    """Replace the secret that signs claims, and the passwords of the database roles. Restart `serve` afterwards.

    Secrets that settings name are taken from there; those in the home folder are generated again.
    """
    with installed() as installation:
        lock = HomeLock(installation.home)  # `up` would go on with the old ones
        try:
            made = installation.rotate_secret()
        finally:
            lock.release()

    def layout() -> Any:
        places = f"New in the home folder: {', '.join(made)}." if made else "Both secrets come from the settings."
        return layouts.lines(f"The database has the new secrets. {places} Restart all running processes.")

    output.result({"generated": list(made)}, layout)


@commands.command()
def serve(
    host: Annotated[str | None, option("Address to listen on. Default: the setting api_host.")] = None,
    port: Annotated[
        int | None, option("Port to listen on; 0 for any free port. Default: the setting api_port.", min=0, max=65_535)
    ] = None,
) -> None:
    """Serve the HTTP API until interrupted."""
    from neurigraph_pipelines.faces.serving import http_server

    with opened() as installation:
        settings = installation.settings
        with _listener(settings.api.host if host is None else host, settings.api.port if port is None else port) as at:
            address = at.getsockname()
            url = f"http://[{address[0]}]:{address[1]}" if ":" in address[0] else f"http://{address[0]}:{address[1]}"

            def layout() -> Any:
                return layouts.lines(
                    f"The API runs at {url}, its documentation at {url}/docs; agents reach it at {url}/mcp."
                )

            server = http_server(installation, is_process=True)
            output.result({"url": url}, layout)
            with installation.kept_server(output.note), keeper(installation):
                server.run(sockets=[at])
            if not server.started:
                raise ConfigurationError("the API did not start: the lines above give the reason")


def keeper(installation: Installation) -> AbstractContextManager[object]:
    """Return a keeper that stops embedded servers after a ``kill -9``; the stack's own keeper stops the home's."""
    home, *others = installation.databases.folders()
    if installation.server is not None and VARIABLE not in os.environ:
        others.append(home)
    return Keeper(others, None) if others else nullcontext()


def _listener(host: str, port: int) -> socket.socket:
    import socket

    try:
        return socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
    except OSError as error:
        raise ConfigurationError(
            f"cannot listen on {host}, port {port}: {error.strerror}. Choose another with --host and --port."
        ) from error


@commands.command()
def stats(user: AnyUserSlug = None) -> None:
    """Count stored memories and queued segments."""
    with opened() as installation:
        database = installation.database
        if user is not None:
            users = [provisioning.find_user(database, argument(user))]
        else:
            users = provisioning.list_users(database)
        rows = list[Mapping[str, object]]()
        for owner in users:
            with database.agent(Claims.of_user(owner.user_id)) as tx:
                rows.append({"user": owner.slug, **navigation.totals(tx, owner.user_id)})
        queue = triggers.queue(database, users[0].user_id if user is not None else None)

    def layout() -> Any:
        if not rows:
            return layouts.lines("There is no user yet: neurigraph import creates one.")
        waiting = f"Waiting to be stored: {counted(queue.due + queue.claimed, 'segment')}" + (
            f", the oldest for {queue.age_seconds:,.0f} s." if queue.due + queue.claimed else "."
        )
        return layouts.stacked(layouts.table(rows), layouts.lines(waiting))

    output.result({"users": rows, "queue": asdict(queue)}, layout)
