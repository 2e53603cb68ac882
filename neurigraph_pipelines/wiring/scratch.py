"""Installations that are made for one use and removed after it."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from neurigraph_pipelines.settings import Settings
from neurigraph_pipelines.wiring.installation import Installation
from resources.postgres.embedded import EmbeddedPostgres

_LEFT_OUT = ("database_url", "database_replica_url", "objects_url", "secret", "role_secret")
"""Settings of places and secrets that hold other people's data."""


@contextmanager
def scratch_installation(settings: Settings) -> Iterator[Installation]:
    """Yield an empty installation with the same models, in a folder and on a server of its own; remove it at the end.

    A process that is killed by force leaves its folder ``neurigraph-scratch-…`` among the temporary files.
    """
    with tempfile.TemporaryDirectory(prefix="neurigraph-scratch-") as folder:
        home, before = Path(folder), settings.home.expanduser().absolute()
        home.chmod(0o711)  # the unprivileged account of a server that root starts passes through
        if (before / "models").is_dir():
            (home / "models").symlink_to(before / "models")
        tokens = settings.tokens.cache_dir or before / "tiktoken"
        changed = settings.changed(home=home, tiktoken_cache_dir=tokens, **dict.fromkeys(_LEFT_OUT))
        try:
            with Installation(changed) as installation:
                installation.migrate()
                yield installation
        finally:
            EmbeddedPostgres(home).delete()
