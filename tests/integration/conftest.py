"""Fixtures shared here: an installation per module with plain models, and a model provider on loopback."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from neurigraph_pipelines.database import statements
from neurigraph_pipelines.database.statements import newest, numbered
from neurigraph_pipelines.graph.provisioning import User
from neurigraph_pipelines.model import Claims
from neurigraph_pipelines.model.context import Context
from neurigraph_pipelines.wiring.installation import Installation
from tests.support.memories import new_user, plain_context
from tests.support.model_provider import ModelProvider


@pytest.fixture
def here(shared_installation: Installation) -> Installation:
    """An installation that the tests of a module share, each with a user of its own."""
    return shared_installation


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


@pytest.fixture
def later_node_ddl(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], int]]:
    """Adds a file to the node DDL with each call, so that present nodes are of an earlier version; gives its number."""
    folder = tmp_path / "later" / "sql"

    def add() -> int:
        if not folder.exists():
            shutil.copytree(statements.SQL_ROOT, folder)
            monkeypatch.setattr(statements, "SQL_ROOT", folder)
        number = newest("node") + 1
        (folder / "node" / f"{number:04d}_later.sql").write_text(
            f"ALTER TABLE {{schema}}.metadata_records ADD COLUMN later_{number} real NOT NULL DEFAULT 0.5;\n"
        )
        numbered.cache_clear()
        return number

    yield add
    numbered.cache_clear()
