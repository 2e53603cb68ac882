"""Fixtures of the attack tests: two users with memories, and connections as the agent's role."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from neurigraph_pipelines.access import Secret
from neurigraph_pipelines.ports import Transaction
from neurigraph_pipelines.wiring import Installation
from tests.conftest import SECRET
from tests.support.two_users import World, new_world


@pytest.fixture(scope="module")
def world(shared_installation: Installation) -> World:
    """Alice and Bob."""
    return new_world(shared_installation)


@pytest.fixture
def agent(world: World) -> Iterator[Transaction]:
    """A connection as the role of the faces, with Alice's own claims: SQL of her choice, as after an injection."""
    with world.agent(*Secret(SECRET).sign(world.alices)) as connection:
        connection.commit()
        connection.autocommit = True
        yield connection
