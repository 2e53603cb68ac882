"""A process that reads what waits for facts with a language model at an address, for tests to kill.

Run as ``python -m tests.support.reading_process URL SECRET OBJECTS USER_ID MODEL_ADDRESS``.
"""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace
from uuid import UUID

from neurigraph_pipelines.database.secret import Secret
from neurigraph_pipelines.knowledge.reading import read_waiting
from neurigraph_pipelines.model.context import Context
from neurigraph_pipelines.settings import Settings
from resources.postgres.database import PostgresDatabase
from resources.providers.language_model import OpenAiLanguageModel
from resources.providers.retries import ProviderClient
from resources.storage.local import LocalObjectStore
from resources.tokens.tokenizer import EstimatedCounter
from tests.support.memories import WordEmbedder
from tests.support.pausing_run import LEASE_SECONDS

WINDOW_TOKENS = 500


def patient_client(address: str) -> ProviderClient:
    """Return a client that makes one call at a time, and none twice."""
    return ProviderClient("TestService", "sk-secret", address, 60.0, 0, 1, 0.02)


def small_windows(client: ProviderClient) -> OpenAiLanguageModel:
    """Return a model that reads windows of few tokens."""
    return OpenAiLanguageModel("gpt-test", client, EstimatedCounter(), WINDOW_TOKENS)


def main() -> None:
    url, secret, objects, user_id, address = sys.argv[1:]
    parts = SimpleNamespace(
        settings=Settings.model_validate({}).changed(claim_lease_seconds=LEASE_SECONDS),
        database=PostgresDatabase(url, Secret(secret)),
        objects=LocalObjectStore(Path(objects)),
        language_model=small_windows(patient_client(address)),
        embedder=WordEmbedder(),
        tokens=EstimatedCounter(),
    )
    read_waiting(Context(parts), user_id=UUID(user_id))


if __name__ == "__main__":
    main()
