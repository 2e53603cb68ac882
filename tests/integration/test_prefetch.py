"""Prefetch of neighbouring nodes: two edges out, per caller, without cost when unused."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.model import Claims
from neurigraph_pipelines.retrieval.index.caches import caches_of
from neurigraph_pipelines.retrieval.index.node_layers import NodeLayers
from neurigraph_pipelines.retrieval.query.question import Question
from neurigraph_pipelines.retrieval.query.search import search
from neurigraph_pipelines.retrieval.query.warming import prefetch
from neurigraph_pipelines.wiring.installation import Installation
from tests.support.locks import wait_until_locked
from tests.support.memories import WordEmbedder, converse, ingest, new_user, plain_context, rows

CHAIN = ("One", "Two", "Three", "Four", "Five")


@pytest.fixture
def claims(shared_installation: Installation) -> Claims:
    """A user whose nodes form a chain of edges."""
    here = shared_installation
    user, claims = new_user(here)
    for text in ("#One first", *(f"#{name} next @{before}:after" for before, name in pairwise(CHAIN))):
        converse(here, claims, text)
        ingest(plain_context(here), user)
    return claims


def ask(here: Installation, claims: Claims, text: str) -> int:
    settings = here.settings.changed(answer_cache_entries=0)
    return search(
        here.acting_for(claims).using(embedder=WordEmbedder(), settings=settings), Question(text, limit=1)
    ).warmed


def staged(here: Installation, claims: Claims) -> set[str]:
    """Return the staged nodes once background work is done."""
    here.database.wait_for_background()
    return staged_by_now(here, claims)


def staged_by_now(here: Installation, claims: Claims) -> set[str]:
    query = """SELECT g.node_name FROM neurigraph.warm_nodes AS w JOIN neurigraph.graph_index AS g USING (node_id)
    WHERE w.user_id = %s AND w.expires_at > now()"""
    return {row["node_name"] for row in rows(here, query, claims.user_id)}


def states(here: Installation, claims: Claims) -> list[dict[str, Any]]:
    return rows(
        here, "SELECT * FROM neurigraph.compression_state_log WHERE user_id = %s ORDER BY log_id", claims.user_id
    )


def test_prefetch_stops_at_third_layer(shared_installation: Installation, claims: Claims) -> None:
    here = shared_installation
    before = states(here, claims)
    assert ask(here, claims, "One") == 3
    assert staged(here, claims) == {"One", "Two", "Three"}
    assert prefetch(here.acting_for(claims)) == 3
    assert staged(here, claims) == {"One", "Two", "Three"}, "bringing in stages nothing further"
    assert ask(here, claims, "Two") == 4
    assert staged(here, claims) == {"One", "Two", "Three", "Four"}, "only an explicit move warms further"
    assert states(here, claims) == before, "no file was opened"


def test_prefetched_layer_is_not_reread(shared_installation: Installation, claims: Claims) -> None:
    here = shared_installation
    ask(here, claims, "One")
    assert prefetch(here.acting_for(claims)) == 3
    with here.database.owner() as tx:
        (two,) = tx.execute(
            "SELECT g.node_id::text, v.version FROM neurigraph.graph_index AS g "
            "CROSS JOIN LATERAL neurigraph_private.node_version(g.node_id) AS v "
            "WHERE g.user_id = %s AND g.node_name = 'Two'",
            [claims.user_id],
        ).fetchall()
    layers = caches_of(here.database).nodes
    kept = layers.get(NodeLayers, two["node_id"], (two["version"], "words"))
    assert kept is not None
    ask(here, claims, "Two")
    assert layers.get(NodeLayers, two["node_id"], (two["version"], "words")) is kept
    assert prefetch(here.acting_for(claims).using(settings=here.settings.changed(layer_cache_mb=0))) == 0


def test_answer_does_not_wait_for_prefetch(shared_installation: Installation, claims: Claims) -> None:
    here = shared_installation
    age = "UPDATE neurigraph.graph_index SET last_accessed_at = now() - interval '1 year' WHERE user_id = %s"
    clocks = """SELECT node_name FROM neurigraph.graph_index
    WHERE user_id = %s AND last_accessed_at BETWEEN now() - interval '1 minute' AND now()"""
    with here.database.owner() as tx:
        tx.execute(age, [claims.user_id])
    with here.database.owner() as tx:
        tx.execute("LOCK TABLE neurigraph.warm_nodes IN SHARE MODE")
        assert ask(here, claims, "One") == 3
        wait_until_locked(here)
        assert ask(here, claims, "Five") == 3, "nor does the next one"
        assert staged_by_now(here, claims) == set()
        assert rows(here, clocks, claims.user_id) == []
    assert staged(here, claims) == set(CHAIN)
    assert {row["node_name"] for row in rows(here, clocks, claims.user_id)} == {"One", "Five"}


def test_node_erased_during_staging(shared_installation: Installation, claims: Claims) -> None:
    here = shared_installation
    with here.database.owner() as tx:
        tx.execute(statements("erasure")["begin_erasing"])
        tx.execute("DELETE FROM neurigraph.graph_index WHERE user_id = %s AND node_name = 'Three'", [claims.user_id])
        assert ask(here, claims, "One") == 3, "what was there when it was asked"
        wait_until_locked(here)
    assert staged(here, claims) == set()
    assert ask(here, claims, "Two") == 2


def test_failed_prefetch_is_silent(shared_installation: Installation, claims: Claims) -> None:
    here = shared_installation
    ask(here, claims, "One")
    with here.database.owner() as tx:
        tx.execute("ALTER FUNCTION neurigraph.staged(integer) RENAME TO gone")
    try:
        assert prefetch(here.acting_for(claims)) == 0
    finally:
        with here.database.owner() as tx:
            tx.execute("ALTER FUNCTION neurigraph.gone(integer) RENAME TO staged")
