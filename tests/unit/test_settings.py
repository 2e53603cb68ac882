"""Settings: groups inside, flat environment variables outside."""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError
from pydantic_settings import SettingsError

from neurigraph_pipelines.settings import Settings, given_settings, list_settings
from resources.files import write_whole

WITHOUT_PREFIX = {
    "OPENAI_API_KEY",
    "OPENAI_BASE_URL",
    "VOYAGE_API_KEY",
    "COHERE_API_KEY",
    "TIKTOKEN_CACHE_DIR",
    "OTEL_EXPORTER_OTLP_ENDPOINT",
    "OTEL_EXPORTER_OTLP_HEADERS",
    "OTEL_SERVICE_NAME",
    "OTEL_SDK_DISABLED",
}


@pytest.fixture(autouse=True)
def _nothing_set(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for setting in list_settings():
        monkeypatch.delenv(setting.variable, raising=False)
    monkeypatch.delenv("NEURIGRAPH_ENV_FILE", raising=False)
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


def test_arguments_win_over_the_environment_and_it_over_files(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    kept = tmp_path / "home" / "settings.env"
    kept.write_text(
        "NEURIGRAPH_API_PORT=1\nNEURIGRAPH_UI_PORT=2\nNEURIGRAPH_HOME=/other\nOTHER=x\nOPENAI_API_KEY=a$b${c}\n"
    )
    monkeypatch.setenv("NEURIGRAPH_HOME", str(tmp_path / "home"))
    assert (Settings().api.port, Settings().ui.port, Settings().home) == (1, 2, tmp_path / "home")
    key = Settings().models.openai_api_key
    assert key is not None
    assert key.get_secret_value() == "a$b${c}"
    (tmp_path / "project.env").write_text("NEURIGRAPH_API_PORT=3\nNEURIGRAPH_S3_REGION=here\n")
    monkeypatch.setenv("NEURIGRAPH_ENV_FILE", str(tmp_path / "project.env"))
    assert (Settings().api.port, Settings().ui.port, Settings().s3.region) == (3, 2, "here")
    monkeypatch.setenv("NEURIGRAPH_API_PORT", "4")
    assert (Settings().api.port, Settings().ui.port) == (4, 2)
    direct = Settings.model_validate({"api_port": 5, "ui": {"port": 6}, "home": "/argument"})
    assert (direct.api.port, direct.ui.port, direct.home) == (5, 6, Path("/argument"))
    assert Settings.model_validate(direct.model_dump()) == direct


def test_file_in_the_current_folder_is_not_read(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    before = Settings()
    names = ("NEURIGRAPH_RERANKER_BASE_URL", "OPENAI_BASE_URL", "OPENAI_API_KEY", "NEURIGRAPH_FAILURE_WEBHOOK_URL")
    Path(".env").write_text("".join(f"{name}=http://evil.example\n" for name in names))
    assert Settings() == before
    monkeypatch.setenv("NEURIGRAPH_ENV_FILE", ".env")
    assert Settings().models.openai_base_url == "http://evil.example"


def test_unusable_files_are_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("NEURIGRAPH_ENV_FILE", str(tmp_path / "absent.env"))
    with pytest.raises(SettingsError, match=r"absent\.env cannot be read"):
        Settings()
    named = tmp_path / "named.env"
    named.write_text("NEURIGRAPH_API_PORT=1\n")
    monkeypatch.setenv("NEURIGRAPH_ENV_FILE", str(named))
    named.chmod(0o666)
    with pytest.raises(SettingsError, match="other accounts can write"):
        Settings()
    named.chmod(0o644)
    assert Settings().api.port == 1


@given(text=st.text(st.characters(exclude_characters="\0", codec="utf-8"), min_size=1))
def test_settings_are_handed_over_unchanged(text: str) -> None:
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as environment:
        file = Path(folder) / "settings.json"
        environment.setenv("OPENAI_API_KEY", text)
        write_whole(file, json.dumps(given_settings()).encode())
        environment.delenv("OPENAI_API_KEY")
        environment.setenv("NEURIGRAPH_ENV_FILE", str(file))
        key = Settings().models.openai_api_key
        assert key is not None
        assert key.get_secret_value() == text


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
