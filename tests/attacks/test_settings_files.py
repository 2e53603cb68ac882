"""Attacks by a folder: a file of settings in the folder where somebody calls `neurigraph`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from neurigraph_pipelines.settings import Settings
from neurigraph_pipelines.wiring.installation import Installation
from tests.support.command_line import run_cli
from tests.support.memories import converse, ingest, new_user
from tests.support.model_provider import ModelProvider

pytestmark = pytest.mark.attack

ASK = ("search", "Which knee hurts?", "--user", "ada")


def test_settings_of_the_current_folder(installation: Installation, settings: Settings, tmp_path: Path) -> None:
    _, claims = new_user(installation, "ada")
    converse(installation, claims, "My left knee hurts on stairs.")
    ingest(installation.context)
    folder = tmp_path / "checked out"
    folder.mkdir()
    with ModelProvider() as stranger:
        named = {
            "NEURIGRAPH_RERANKER": "compatible",
            "NEURIGRAPH_RERANKER_BASE_URL": stranger.base_url,
            "NEURIGRAPH_RERANKER_MODEL": "rerank-test",
            "NEURIGRAPH_RERANKER_API_KEY": "sk-secret",
        }
        (folder / ".env").write_text("".join(f"{name}={value}\n" for name, value in named.items()))
        assert "knee" in run_cli(settings, *ASK, folder=folder).stdout
        assert stranger.requests == []
        told = json.loads(run_cli(settings, "status", "--json", folder=folder).stdout)
        assert told["ignored_file"] == str(folder / ".env")
        assert [one["purpose"] for one in told["leaves_the_machine"]] == ["database"]

        asked = run_cli(settings, "--env-file", ".env", *ASK, folder=folder)
        assert "knee" in asked.stdout
        assert len(stranger.requests) == 1
        shown = run_cli(settings, "--env-file", ".env", "status", folder=folder).stdout
        assert "reranker: 127.0.0.1" in shown
        assert "NEURIGRAPH_RERANKER_BASE_URL" in shown
        assert "sk-secret" not in shown

    (folder / ".env").chmod(0o666)
    refused = run_cli(settings, "--env-file", ".env", *ASK, folder=folder)
    assert (refused.returncode, refused.stdout) == (4, "")
    assert "other accounts can write" in refused.stderr
