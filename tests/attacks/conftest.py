"""Fixtures of the attack tests: two users with memories, and connections as the agent's role."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest

from neurigraph_pipelines.access.authentication import issue_api_key
from neurigraph_pipelines.database.secret import Secret
from neurigraph_pipelines.model.ports import Transaction
from neurigraph_pipelines.wiring.installation import Installation
from tests.conftest import SECRET
from tests.support.api_server import serving
from tests.support.two_users import World, new_world


@pytest.fixture(scope="module")
def world(shared_installation: Installation) -> World:
    """Alice and Bob."""
    return new_world(shared_installation)


@pytest.fixture(scope="module")
def impatient(world: World) -> Iterator[httpx.Client]:
    """A client with Alice's key; its server waits a second for slow clients."""
    key = issue_api_key(world.installation.database, world.alice.user_id)
    settings = world.installation.settings.changed(api_client_seconds=1.0)
    with (
        Installation(settings) as installation,
        serving(installation) as address,
        httpx.Client(base_url=address, timeout=30.0, headers={"Authorization": f"Bearer {key}"}) as made,
    ):
        yield made


@pytest.fixture
def agent(world: World) -> Iterator[Transaction]:
    """A connection as the role of the faces, with Alice's own claims: SQL of her choice, as after an injection."""
    with world.agent(*Secret(SECRET).sign(world.alices)) as connection:
        connection.commit()
        connection.autocommit = True
        yield connection
