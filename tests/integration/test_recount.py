"""Backfills of passages: their words are counted again, and nothing else of them changes."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from neurigraph_pipelines.ingestion.recount import Recounted, recount
from neurigraph_pipelines.wiring.installation import Installation
from tests.support.graphs import Graph, new_graph
from tests.support.memories import node_rows, schemas_of

COUNTED = {"lexemes", "frequencies", "lexeme_count", "window_length"}


@pytest.fixture
def graph(shared_installation: Installation) -> Graph:
    made = new_graph(shared_installation)
    made.remember("#Notes Die Gärten waren voller Blumen, und die Häuser standen leer.", "#Notes The gardens bloomed.")
    return made


def stored(graph: Graph) -> list[dict[str, Any]]:
    return [
        {name: str(value) for name, value in row.items()}
        for schema in schemas_of(graph.here, graph.user).values()
        for row in node_rows(graph.here, schema, "SELECT * FROM {schema}.passages ORDER BY record_id, seq")
    ]


def test_words_are_counted_again_for_another_language(graph: Graph) -> None:
    until, user_id, before = datetime.now(UTC) + timedelta(days=1), graph.user.user_id, stored(graph)

    def count(language: str, *, dry_run: bool = False) -> Recounted:
        settings = graph.here.settings.changed(language=language)
        return recount(graph.here.context.using(settings=settings), None, until, user_id, dry_run=dry_run)

    assert count("english") == Recounted(complete=2)
    found = count("german", dry_run=True)
    assert (found.records, stored(graph) == before) == (2, True)
    assert count("german") == found
    after = stored(graph)
    for row, old in zip(after, before, strict=True):
        assert {name for name in row if row[name] != old[name]} <= COUNTED
        assert row["lexemes"] != old["lexemes"]
    graph.check()  # the statistics of words follow
    assert count("german") == Recounted(complete=2)
    assert count("english").records == 2
    assert stored(graph) == before
