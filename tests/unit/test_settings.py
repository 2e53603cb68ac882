"""Settings: groups inside, flat environment variables outside."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import ValidationError

from neurigraph_pipelines.settings import Settings, list_settings

WITHOUT_PREFIX = {"OPENAI_API_KEY", "OPENAI_BASE_URL", "VOYAGE_API_KEY", "COHERE_API_KEY", "TIKTOKEN_CACHE_DIR"}


@pytest.fixture(autouse=True)
def _nothing_set(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for setting in list_settings():
        monkeypatch.delenv(setting.variable, raising=False)
    monkeypatch.chdir(tmp_path)


def test_variables_are_unique_and_prefixed() -> None:
    variables = [setting.variable for setting in list_settings()]
    assert len(set(variables)) == len(variables)
    assert {name for name in variables if not name.startswith("NEURIGRAPH_")} == WITHOUT_PREFIX


@pytest.mark.parametrize(
    ("variable", "text", "group", "name", "value"),
    [
        ("NEURIGRAPH_S3_PART_BYTES", "6000000", "s3", "part_bytes", 6_000_000),
        ("NEURIGRAPH_STATEMENT_TIMEOUT_SECONDS", "2.5", "database", "statement_timeout_seconds", 2.5),
        ("NEURIGRAPH_DORMANCY_DAYS", "7", "lifecycle", "dormancy_days", 7.0),
        ("NEURIGRAPH_RERANKER", "auto", "reranker", "choice", "auto"),
        ("NEURIGRAPH_RERANKER_TOP_N", "9", "reranker", "top_n", 9),
        ("neurigraph_redact", "email, key", "ingestion", "redact", ("email", "key")),
        ("OPENAI_BASE_URL", "http://127.0.0.1:1", "models", "openai_base_url", "http://127.0.0.1:1"),
        ("TIKTOKEN_CACHE_DIR", "/t", "tokens", "cache_dir", Path("/t")),
    ],
)
def test_variable_sets_its_group(
    monkeypatch: pytest.MonkeyPatch, variable: str, text: str, group: str, name: str, value: object
) -> None:
    monkeypatch.setenv(variable, text)
    assert getattr(getattr(Settings(), group), name) == value


def test_arguments_win_over_the_environment_and_it_over_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    Path(".env").write_text("NEURIGRAPH_API_PORT=1\nNEURIGRAPH_UI_PORT=2\nNEURIGRAPH_HOME=/file\nOTHER=x\n")
    assert (Settings().api.port, Settings().ui.port, Settings().home) == (1, 2, Path("/file"))
    monkeypatch.setenv("NEURIGRAPH_API_PORT", "3")
    assert (Settings().api.port, Settings().ui.port) == (3, 2)
    given = Settings.model_validate({"api_port": 4, "ui": {"port": 5}, "home": "/argument"})
    assert (given.api.port, given.ui.port, given.home) == (4, 5, Path("/argument"))
    assert Settings.model_validate(given.model_dump()) == given


def test_errors_name_all_wrong_variables_and_hide_values(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NEURIGRAPH_S3_PART_BYTES", "1")
    monkeypatch.setenv("NEURIGRAPH_LANGUAGE", "klingon")
    monkeypatch.setenv("NEURIGRAPH_JWT_SECRET", "a secret of more than thirty-two characters")
    with pytest.raises(ValidationError) as caught:
        Settings()
    message = str(caught.value)
    for variable in ("NEURIGRAPH_S3_PART_BYTES", "NEURIGRAPH_LANGUAGE", "NEURIGRAPH_JWT_AUDIENCE"):
        assert variable in message
    assert "a secret of" not in message


def test_changed_replaces_values_of_several_groups() -> None:
    settings = Settings()
    other = settings.changed(claim_lease_seconds=0, max_attempts=1, api_port=9, home=Path("/h"))
    assert (other.ingestion.claim_lease_seconds, other.ingestion.max_attempts) == (0, 1)
    assert (other.api.port, other.home) == (9, Path("/h"))
    assert settings == Settings()
    with pytest.raises(KeyError):
        settings.changed(no_such_setting=1)


def test_single_setting_wins_over_its_group() -> None:
    base = Settings.model_validate({"objects_url": "/one", "s3_region": "us-east-1"})
    both = Settings.model_validate({**base.model_dump(), "objects_url": "/two"})
    assert (both.objects.url, both.s3.region) == ("/two", "us-east-1")
