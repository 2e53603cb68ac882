"""The OpenAPI document of the API."""

from __future__ import annotations

import re
import tempfile
from functools import cache
from typing import Any

from neurigraph_pipelines.faces.api.app import create_app
from neurigraph_pipelines.settings import Settings
from neurigraph_pipelines.wiring.installation import Installation
from tests.conftest import ROOT


def operations() -> list[tuple[str, str]]:
    """Return path and method of each operation, from the generated list: the document itself takes seconds to make."""
    listed = (ROOT / "tests" / "data" / "operations.txt").read_text(encoding="utf-8")
    return [(path, method.lower()) for method, path in re.findall(r"`([A-Z]+) (/[^`]+)`", listed)]


@cache
def document() -> dict[str, Any]:
    """Return the document, without a server."""
    with tempfile.TemporaryDirectory() as home:
        return create_app(Installation(Settings.model_validate({"home": home}))).openapi()
