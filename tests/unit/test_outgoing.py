"""What leaves the machine follows from the settings, and the list holds no secret."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from neurigraph_pipelines.settings import Settings, list_settings
from neurigraph_pipelines.settings.outgoing import destinations

EVERYWHERE = {
    "openai_api_key": "sk-secret",
    "openai_base_url": "https://user:sk-secret@models.example:8443/v1",
    "embedder": "voyage",
    "voyage_api_key": "sk-secret",
    "reranker": "auto",
    "cohere_api_key": "sk-secret",
    "objects_url": "s3://bucket/prefix",
    "drop_url": "s3://bucket/drops",
    "s3_endpoint_url": "http://127.0.0.1:9000",
    "database_url": "postgresql://postgres:sk-secret@db.example:5433/neurigraph",
    "failure_webhook_url": "https://hooks.example/sk-secret",
    "jwt_audience": "a",
    "jwt_issuer": "i",
    "jwt_jwks_url": "https://issuer.example/keys",
    "tiktoken_download": True,
}


@pytest.fixture(autouse=True)
def _nothing_set(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for setting in list_settings():
        monkeypatch.delenv(setting.variable, raising=False)
    monkeypatch.delenv("NEURIGRAPH_ENV_FILE", raising=False)
    monkeypatch.setenv("NEURIGRAPH_HOME", str(tmp_path))


def test_default_installation_sends_nothing() -> None:
    assert destinations(Settings()) == []


def test_every_host_is_listed() -> None:
    found = destinations(Settings.model_validate(EVERYWHERE))
    assert {one.purpose: one.host for one in found} == {
        "language model": "models.example:8443",
        "embeddings": "api.voyageai.com",
        "reranker": "api.cohere.com",
        "object store": "127.0.0.1:9000",
        "drop place": "127.0.0.1:9000",
        "database": "db.example:5433",
        "failure webhook": "hooks.example",
        "keys of tokens": "issuer.example",
        "token counter": "openaipublic.blob.core.windows.net",
    }
    assert {one.purpose for one in found if one.is_local} == {"object store", "drop place"}
    assert "secret" not in repr(found)


@pytest.mark.parametrize(
    ("given", "host", "is_local"),
    [
        ({"database_url": "host=db.example password=sk-secret dbname=n"}, "db.example", False),
        ({"database_url": "postgresql:///neurigraph"}, "localhost", True),
        ({"database_url": "postgresql://user:sk/secret@[::1]:5432/n"}, "user", False),
        ({"database_url": "postgresql://u@[::1]:5432/n"}, "[::1]:5432", True),
        ({"openai_api_key": "k", "embedder": "minilm"}, "api.openai.com", False),
        ({"openai_api_key": "k", "language_model": "offline"}, "api.openai.com", False),
        ({"reranker": "compatible", "reranker_base_url": "http://localhost:9/v1"}, "localhost:9", True),
    ],
)
def test_host_of_an_address(given: dict[str, Any], host: str, is_local: bool) -> None:
    (found,) = destinations(Settings.model_validate(given))
    assert (found.host, found.is_local) == (host, is_local)
