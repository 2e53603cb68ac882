"""The generated page ``docs/schema.md`` describes the schema as it is."""

from __future__ import annotations

import importlib

import pytest

from neurigraph_pipelines.database.secret import Secret
from tests.conftest import ROOT, SECRET


def test_schema_page_is_current(database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(ROOT / "docs")
    module = importlib.import_module("schema_page")
    page = (ROOT / "docs" / "schema.md").read_text(encoding="utf-8")
    written = page.splitlines()[2]
    assert module.page_of(database_url, written, Secret(SECRET)) == page, "docs/schema.md is stale: run `make docs`"


def test_every_table_has_a_description() -> None:
    page = (ROOT / "docs" / "schema.md").read_text(encoding="utf-8")
    for section in page.split("\n### neurigraph.")[1:]:
        name, _, body = section.partition("\n\n")
        assert name.startswith("schema_") or not body.startswith("|"), name
