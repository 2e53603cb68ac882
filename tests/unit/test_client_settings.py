"""Defaults of the client agree with those of the server."""

from __future__ import annotations

from neurigraph_client.transport import DEFAULT_URL
from neurigraph_pipelines.settings import Settings


def test_default_address_is_that_of_the_api() -> None:
    api = Settings().api
    assert f"http://{api.host}:{api.port}" == DEFAULT_URL
