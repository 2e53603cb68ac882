"""Backfills of passages: their words are counted again, and nothing else of them changes."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from neurigraph_pipelines.ingestion.recount import Recounted, recount
from neurigraph_pipelines.text.search_segments import SearchSegment
from neurigraph_pipelines.wiring.installation import Installation
from tests.support.graphs import Graph, new_graph
from tests.support.memories import rows

COUNTED = {"languages", "keys", "frequencies", "lexemes", "lexeme_count", "window_length", "words"}


@pytest.fixture
def graph(shared_installation: Installation) -> Graph:
    made = new_graph(shared_installation)
    made.remember("#Notes Die Gärten waren voller Blumen, und die Häuser standen leer.", "#Notes The gardens bloomed.")
    return made


def stored(graph: Graph) -> list[dict[str, Any]]:
    """Return the columns of all segments, and in place of their content the parts of it."""
    query = "SELECT * FROM neurigraph.segments WHERE user_id = %s ORDER BY record_id"
    found = rows(graph.here, query, graph.user.user_id)
    for row in found:
        segment = SearchSegment.read(row.pop("content"))
        row |= {name: segment.rows[name].tolist() for name in segment.rows.dtype.names or ()}
        row |= {"keys": segment.keys.tolist(), "frequencies": segment.frequencies.tolist()}
        row |= {"names": list(segment.names), "external_ids": list(segment.external_ids)}
    return found


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
        assert (row["keys"], row["languages"]) != (old["keys"], old["languages"])
    graph.check()  # the statistics of words follow
    assert count("german") == Recounted(complete=2)
    assert count("english").records == 2
    assert stored(graph) == before


def test_languages_beside_the_usual_one_are_counted_again(graph: Graph) -> None:
    """Words that stay as they are may be of another language than the new one: questions have to be asked in it."""
    graph.remember(
        "#Boats The landlord fixed the boiler on Friday and the plants in the hall died in the cold.",
        "#Boats The two ferns died as well, and the boiler houses a new pump now.",
    )

    def languages() -> list[list[str]]:
        query = "SELECT languages FROM neurigraph.segments WHERE user_id = %s AND speakers = '{}'"
        return sorted(row["languages"] for row in rows(graph.here, query, graph.user.user_id))

    def count(language: str) -> Recounted:
        settings = graph.here.settings.changed(language=language)
        until = datetime.now(UTC) + timedelta(days=1)
        return recount(graph.here.context.using(settings=settings), None, until, graph.user.user_id)

    before = languages()
    assert ["english"] not in before
    assert count("german").failed == []
    assert ["english"] in languages()
    graph.check()
    assert count("german").records == 0
    count("english")
    assert languages() == before
