"""The OpenAPI document of the API."""

from __future__ import annotations

import tempfile
from functools import cache
from typing import Any

from neurigraph_pipelines.faces.api.app import create_app
from neurigraph_pipelines.settings import Settings
from neurigraph_pipelines.wiring.installation import Installation


@cache
def document() -> dict[str, Any]:
    """Return the document, without a server."""
    with tempfile.TemporaryDirectory() as home:
        return create_app(Installation(Settings.model_validate({"home": home}))).openapi()
