"""A plugin of SQLAlchemy that keeps a connection of Dagster's storage open.

The address of the storage names it (``dagster_home``), and ``pyproject.toml`` registers it. Nothing else belongs here.
"""

from __future__ import annotations

import sys
from multiprocessing import parent_process

from sqlalchemy import URL
from sqlalchemy.engine import CreateEnginePlugin
from sqlalchemy.pool import NullPool, QueuePool

from neurigraph_pipelines.views.scalars import ValuesByName

_RECYCLE_SECONDS = 3_600


class KeptConnections(CreateEnginePlugin):
    """Keep one connection of an engine open, where Dagster asks for a new one for each statement.

    Further ones are closed after use, as before. A connection is tried before use: the server may have been restarted.
    """

    def __init__(self, url: URL, kwargs: ValuesByName) -> None:
        if kwargs.get("poolclass") is NullPool and not _is_code_server():  # the webserver asks for pools of its own
            kwargs |= {"poolclass": QueuePool, "pool_size": 1, "max_overflow": -1}
            kwargs |= {"pool_pre_ping": True, "pool_recycle": _RECYCLE_SECONDS}

    def update_url(self, url: URL) -> URL:
        """Return the address as it is: it has no parameters for the plugin."""
        return url


def _is_code_server() -> bool:
    """Return whether this process opens engines for each tick, and never closes them; a run is a child of it."""
    return "grpc" in sys.argv and parent_process() is None
