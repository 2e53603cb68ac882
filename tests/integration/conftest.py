"""Fixtures shared here: an installation per module with plain models, and a model provider on loopback."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest

from neurigraph_pipelines.graph.provisioning import User
from neurigraph_pipelines.model import Claims
from neurigraph_pipelines.model.context import Context
from neurigraph_pipelines.wiring.installation import Installation
from tests.support.api_server import serving
from tests.support.changing_record import Memory, Remember
from tests.support.memories import converse, ingest, new_user, plain_context, stored
from tests.support.model_provider import ModelProvider


@pytest.fixture
def here(shared_installation: Installation) -> Installation:
    """An installation that the tests of a module share, each with a user of its own."""
    return shared_installation


@pytest.fixture(scope="module")
def address(shared_installation: Installation) -> Iterator[str]:
    """The address of a server of the module's installation."""
    with serving(shared_installation) as served:
        yield served


@pytest.fixture
def bob(here: Installation) -> tuple[User, Claims]:
    """A new user, and their claims."""
    return new_user(here)


@pytest.fixture
def context(here: Installation) -> Context:
    """What the domain takes, with the plain models."""
    return plain_context(here)


@pytest.fixture(scope="module")
def provider_server() -> Iterator[ModelProvider]:
    """One provider for the tests of a module."""
    with ModelProvider() as running:
        yield running


@pytest.fixture
def provider(provider_server: ModelProvider) -> ModelProvider:
    """The provider, which knows nothing of the tests before."""
    provider_server.reset()
    return provider_server


@pytest.fixture(scope="module")
def client(address: str) -> Iterator[httpx.Client]:
    """A client of the API of the module's installation."""
    with httpx.Client(base_url=address, timeout=60.0) as made:
        yield made


@pytest.fixture
def remember(here: Installation, context: Context, bob: tuple[User, Claims]) -> Remember:
    """Store a text as a memory of one user's."""
    user, claims = bob

    def remembered(text: str) -> Memory:
        converse(here, claims, f"#Notes {text}")
        (record,) = stored(ingest(context, user))
        return Memory(here, context.embedder, claims, record.record_id)

    return remembered


@pytest.fixture
def memory(remember: Remember) -> Memory:
    """A memory of one user's."""
    return remember("the walnut desk")
