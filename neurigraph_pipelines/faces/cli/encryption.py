"""The ``encryption`` commands: its state, encrypting files stored before, and another master key."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict
from typing import Annotated, Any

import typer

from neurigraph_pipelines.faces.cli import layouts, output
from neurigraph_pipelines.faces.cli.output import counted
from neurigraph_pipelines.faces.cli.session import opened, option
from neurigraph_pipelines.lifecycle.encrypting import encrypt_stored
from neurigraph_pipelines.model.errors import ConfigurationError
from neurigraph_pipelines.runtime.stack.home_lock import HomeLock
from neurigraph_pipelines.wiring.installation import Installation
from resources.storage.encrypted import EncryptedObjectStore

commands = typer.Typer()


@commands.command("show")
def status() -> None:
    """Show whether new files are encrypted, how many stored ones are, and which master key wraps the keys of graphs."""
    with opened() as installation:
        objects = installation.encrypted_objects
        found = None if objects is None else encrypt_stored(installation.context, objects, dry_run=True)
        keys = () if objects is None else installation.graph_keys.wrapped_by()
        names = Counter(name.hex() for _, _, name in keys)
    enabled = installation.settings.objects.encryption

    def layout() -> Any:
        state = "on" if enabled else "off"
        lines = [f"Encryption of new files is {state}: NEURIGRAPH_ENCRYPTION."]
        if found is not None:
            lines.append(f"{found.encrypted:,} stored files are encrypted, and {found.plain:,} are not.")
        lines += [f"Master key {name} wraps {counted(wrapped, 'key')}." for name, wrapped in names.items()]
        return layouts.lines(*lines)

    data = {"enabled": enabled, "keys": names.total(), "master_keys": dict(names)}
    counts = {} if found is None else {"encrypted": found.encrypted, "plain": found.plain}
    output.result({**data, **counts}, layout)


@commands.command()
def apply(
    limit: Annotated[int, typer.Option(min=1, help="Most files that are encrypted now.")] = 10_000,
    dry_run: Annotated[bool, option("Count the files, and encrypt none.", "--dry-run")] = False,
) -> None:
    """Encrypt the files that were stored before encryption was switched on. Run it again after an interruption."""
    with opened() as installation:
        report = encrypt_stored(installation.context, _required(installation), limit=limit, dry_run=dry_run)

    output.said(
        asdict(report),
        f"{counted(report.written, 'file')} encrypted now, {report.encrypted:,} before; {report.plain:,} are left.",
    )


@commands.command()
def rotate() -> None:
    """Wrap the keys of all graphs by a new master key; no file is written again. Run it again after an interruption.

    Stop `neurigraph up` before. If a command prints the master key, let it print the new one in a line before the old.
    """
    with opened() as installation:
        _required(installation)
        lock = HomeLock(installation.home)
        try:
            done = installation.rotate_master_key()
        finally:
            lock.release()

    output.said({"keys": done}, f"A new master key wraps {counted(done, 'key')}. Restart all running processes.")


def _required(installation: Installation) -> EncryptedObjectStore:
    objects = installation.encrypted_objects
    if objects is None or not installation.settings.objects.encryption:
        raise ConfigurationError("encryption is off: set NEURIGRAPH_ENCRYPTION=true (docs/object-storage.md)")
    return objects
