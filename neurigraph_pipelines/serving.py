"""The HTTP server of an installation: the API, and the endpoint for agents behind the same guards.

Faces do not know each other, so they are put together here.
"""

from __future__ import annotations

from typing import Any

import uvicorn

from neurigraph_pipelines.api import server
from neurigraph_pipelines.mcp.http import Endpoint
from neurigraph_pipelines.wiring import Installation


def http_server(installation: Installation, log_config: dict[str, Any] | None = None) -> uvicorn.Server:
    """Return a server of the API and of ``/mcp``, ready to run.

    Args:
        installation: A migrated installation, which the caller closes.
        log_config: A ``logging.config`` dictionary; None changes nothing.
    """
    return server.http_server(installation, log_config, [Endpoint(installation)])
