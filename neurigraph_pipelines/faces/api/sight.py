"""Looks at the ids in the address of a request, before its operation does."""

from __future__ import annotations

from fastapi import Request

from neurigraph_pipelines.faces.operations.sight import KINDS, look
from neurigraph_pipelines.model import Claims
from neurigraph_pipelines.wiring.installation import Installation


def look_at_address(request: Request, installation: Installation, caller: Claims) -> None:
    """Require that the caller sees the things whose ids are in the path and the query of a request.

    Raises:
        NotFoundError: One of them does not exist, or is hidden from the caller.
    """
    named = {**request.query_params, **request.path_params}
    look(installation.database, caller, **{name: text for name, text in named.items() if name in KINDS})
