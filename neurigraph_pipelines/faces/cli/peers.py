"""The ``peers`` commands: mirror granted nodes of other installations, and show this one's key to its own peers."""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from neurigraph_pipelines.exchange.peers import pulling, subscriptions
from neurigraph_pipelines.exchange.peers.signatures import PublisherKey
from neurigraph_pipelines.exchange.peers.subscriptions import Peer
from neurigraph_pipelines.faces.cli import output
from neurigraph_pipelines.faces.cli.operations import Confirmed, confirm
from neurigraph_pipelines.faces.cli.output import counted
from neurigraph_pipelines.faces.cli.session import DryRun, UserSlug, argument, claims_of, opened, positional
from neurigraph_pipelines.model.errors import InvalidInputError, NeurigraphError

commands = typer.Typer()

PeerName = Annotated[str, positional("Name of a peer.", "PEER")]
KeyFile = Annotated[
    Path,
    typer.Option("--key-file", help="File with the key that the publisher issued; - reads it from standard input."),
]
_THROUGH = "command line"
_NOT_ALL = 1


@commands.command("publisher-key")
def publisher_key() -> None:
    """Print the public key that signs this installation's answers to its peers."""
    with opened() as installation:
        shown = PublisherKey(installation.secret).public
    output.said({"publisher_key": shown}, shown)


@commands.command("add")
def add(
    name: Annotated[str, positional("A name for the peer, and for the node that its memories are below.")],
    url: Annotated[str, positional("Address of the publisher's API.")],
    user: UserSlug,
    key_file: KeyFile,
    publisher_key: Annotated[
        str, typer.Option("--publisher-key", help="The key that `neurigraph access peer publisher-key` prints there.")
    ],
) -> None:
    """Add a publisher whose granted nodes are mirrored from now on. The next pull fetches them."""
    key = _key(key_file)
    with opened() as installation:
        peering = installation.peers.acting_for(claims_of(installation, user))
        made = subscriptions.add(peering, argument(name), url, publisher_key, key)
    output.said(_shown(made), _line(made))


@commands.command("edit")
def edit(peer: PeerName, user: UserSlug, key_file: KeyFile) -> None:
    """Give a peer another key of its publisher."""
    given = _key(key_file)
    with opened() as installation:
        peering = installation.peers.acting_for(claims_of(installation, user))
        subscriptions.give_key(peering, argument(peer), given)
    output.said({"name": peer}, f"{peer} has another key.")


@commands.command("list")
def list_peers(user: UserSlug) -> None:
    """List the peers of a user, with the counts of mirrored nodes and records, and the times of their last pulls."""
    with opened() as installation:
        found = subscriptions.list_peers(installation.database, claims_of(installation, user))
    shown = [_line(one) for one in found] or ["There is no peer."]
    output.said({"peers": [_shown(one) for one in found]}, *shown)


@commands.command("pull")
def pull(
    user: UserSlug,
    peer: Annotated[str | None, typer.Argument(metavar="[PEER]", help="Name of a peer. Default: all.")] = None,
) -> None:
    """Mirror the nodes and records that peers grant now, and forget removed ones."""
    done, failed = [], 0
    with opened() as installation:
        claims = claims_of(installation, user)
        database = installation.database
        wanted = (
            [subscriptions.get_peer(database, claims, argument(peer))]
            if peer is not None
            else subscriptions.list_peers(database, claims)
        )
        for one in wanted:
            try:
                with output.progress() as progress:
                    tasks = {what: progress.add_task(what, total=None) for what in ("forgotten", "mirrored")}
                    found = pulling.pull(
                        installation.peers,
                        one.peer_id,
                        lambda what, count, p=progress, t=tasks: p.advance(t[what], count),  # type: ignore[misc]
                    )
                done.append({"name": one.name, **asdict(found)})
            except NeurigraphError as error:
                if peer is not None:
                    raise
                failed += 1
                output.note(f"{one.name}: {error}")
    output.said(
        {"pulled": done, "failed": failed},
        *(
            f"{one['name']}: {counted(one['mirrored'], 'record')} mirrored, {one['forgotten']:,} forgotten, "
            f"{one['sent_bytes']:,} bytes"
            for one in done
        ),
    )
    if failed:
        raise typer.Exit(_NOT_ALL)


@commands.command("remove")
def remove(
    peer: PeerName,
    user: UserSlug,
    dry_run: DryRun = False,
    yes: Confirmed = False,
) -> None:
    """Remove a peer with everything that is mirrored of it."""
    with opened() as installation:
        peering = installation.peers.acting_for(claims_of(installation, user))
        name = argument(peer)
        preview = subscriptions.preview_removal(peering, name)
        what = f"{counted(len(preview.nodes), 'node')} and {counted(preview.record_count, 'record')}"
        if dry_run:
            output.said(preview, f"Removing {peer} would forget {what}.")
            return
        if not yes:
            confirm(preview)
        receipt = subscriptions.remove(peering, name, _THROUGH)
    output.said(receipt, f"Removed {peer}: {what} are forgotten.")


def _key(file: Path) -> str:
    try:
        return (sys.stdin.read() if str(file) == "-" else file.read_text(encoding="utf-8")).strip()
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInputError(f"{file} cannot be read: give a file with the key that the publisher issued") from error


def _shown(peer: Peer) -> dict[str, object]:
    return {**peer._asdict(), "is_current": peer.is_current}


def _line(peer: Peer) -> str:
    last = f"pulled {peer.pulled_at:%Y-%m-%d %H:%M:%S} UTC" if peer.pulled_at is not None else "never pulled"
    why = f", last pull failed: {peer.last_error}" if peer.last_error is not None else ""
    return f"{peer.name}  {peer.url}  {counted(peer.nodes, 'node')}, {counted(peer.records, 'record')}, {last}{why}"
