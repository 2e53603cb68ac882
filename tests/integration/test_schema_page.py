"""The page of the site that describes the schema."""

from __future__ import annotations

import importlib

import pytest

from neurigraph_pipelines.database.secret import Secret
from tests.conftest import ROOT, SECRET


def test_every_table_has_a_description(database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(ROOT / "docs")
    page = importlib.import_module("schema_page").page_of(database_url, "written", Secret(SECRET))
    sections = page.split("\n### neurigraph.")[1:]
    assert len(sections) > 50
    for section in sections:
        name, _, body = section.partition("\n\n")
        assert name.startswith("schema_") or not body.startswith("|"), name
