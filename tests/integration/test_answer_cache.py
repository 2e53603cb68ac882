"""The answer cache: answers stay while nothing changes and are never stale."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from psycopg import sql

from neurigraph_pipelines.graph.history import authored
from neurigraph_pipelines.model import Claims
from neurigraph_pipelines.retrieval.query.question import Question
from neurigraph_pipelines.retrieval.query.search import search
from neurigraph_pipelines.views.search import Found
from neurigraph_pipelines.wiring.installation import Installation
from tests.support.memories import WordEmbedder, converse, ingest, new_user, plain_context, schemas_of


class CountingEmbedder(WordEmbedder):
    """An embedder that counts calls; a cached answer makes none."""

    def __init__(self) -> None:
        super().__init__()
        self.asked = 0

    def embed(self, *arguments: Any, **named: Any) -> Any:
        self.asked += 1
        return super().embed(*arguments, **named)


class Asker:
    def __init__(self, here: Installation) -> None:
        self.here, self.embedder = here, CountingEmbedder()
        self.user, self.claims = new_user(here)

    def remember(self, *contents: str) -> None:
        converse(self.here, self.claims, *contents)
        ingest(plain_context(self.here), self.user)

    def ask(self, text: str = "boat", claims: Claims | None = None, **more: Any) -> Found:
        asked = Question(text, limit=50, **more)
        return search(self.here.acting_for(claims or self.claims).using(embedder=self.embedder), asked)

    def kept(self) -> bool:
        """Return whether the answer comes from the cache."""
        before = self.embedder.asked
        self.ask()
        return self.embedder.asked == before


@pytest.fixture
def asker(shared_installation: Installation) -> Asker:
    made = Asker(shared_installation)
    made.remember("#Boats The boat needs oil.", "#Boats A boat floats.")
    return made


def test_answer_is_cached(asker: Asker) -> None:
    first = asker.ask()
    again = asker.ask()
    assert asker.embedder.asked == 1
    assert again == first
    again.hits.clear()
    assert asker.ask() == first, "what is kept is nobody's to change"


def test_cache_key_holds_question_claims_and_settings(asker: Asker) -> None:
    asker.ask()
    others: tuple[Callable[[], Found], ...] = (
        lambda: asker.ask("oil"),
        lambda: asker.ask(explain=True),
        lambda: asker.ask(speaker="Dave"),
        lambda: asker.ask(claims=Asker(asker.here).claims),
    )
    for ask in others:
        before = asker.embedder.asked
        ask()
        assert asker.embedder.asked == before + 1
    assert asker.ask(claims=replace(asker.claims, role="persona")).hits == [], "claims without nodes find nothing"
    off = asker.here.settings.changed(answer_cache_entries=0)
    for _ in range(2):
        search(
            asker.here.acting_for(asker.claims).using(embedder=asker.embedder, settings=off), Question("boat", limit=50)
        )
    assert asker.embedder.asked == 7


def in_node(statement: str) -> Callable[[Asker], None]:
    def change(asker: Asker) -> None:
        schema = sql.Identifier(schemas_of(asker.here, asker.user)["Boats"])
        with asker.here.database.owner() as tx:
            authored(tx, "tests")
            tx.execute(sql.SQL(statement).format(schema=schema))

    return change


def at_the_root(statement: str) -> Callable[[Asker], None]:
    def change(asker: Asker) -> None:
        with asker.here.database.owner() as tx:
            tx.execute(sql.SQL(statement), [asker.user.user_id])

    return change


@pytest.mark.parametrize(
    "change",
    [
        in_node("UPDATE {schema}.metadata_records SET title = 'Another'"),
        in_node("UPDATE {schema}.metadata_records SET summary = summary"),
        in_node(
            "SELECT set_config('neurigraph.compression_cause', 'manual', true); "
            "UPDATE {schema}.file_manifest SET compression_state = 'dormant'"
        ),
        at_the_root("UPDATE neurigraph.segments SET vectors = vectors WHERE user_id = %s"),
        in_node("SELECT set_config('neurigraph.erasing', 'on', true); DELETE FROM {schema}.metadata_records"),
        at_the_root("UPDATE neurigraph.graph_index SET aliases = '{Ships}' WHERE user_id = %s AND layer_depth = 1"),
        at_the_root("UPDATE neurigraph.graph_index SET node_summary = 'About boats.' WHERE user_id = %s"),
        at_the_root("UPDATE neurigraph.users SET embedding_model = 'another' WHERE user_id = %s"),
        lambda asker: asker.remember("#Boats Another boat."),
    ],
)
def test_related_change_ends_answer(asker: Asker, change: Callable[[Asker], None]) -> None:
    assert not asker.kept()
    assert asker.kept()
    change(asker)
    assert not asker.kept()


@pytest.mark.parametrize(
    "change",
    [
        in_node("UPDATE {schema}.metadata_records SET last_accessed_at = now()"),
        in_node("UPDATE {schema}.file_manifest SET last_accessed_at = now(), recompress_after = now()"),
        at_the_root("UPDATE neurigraph.graph_index SET last_accessed_at = now() WHERE user_id = %s"),
        at_the_root("UPDATE neurigraph.warm_nodes SET expires_at = now() WHERE user_id = %s"),
        lambda asker: Asker(asker.here).remember("#Boats Of somebody else."),
        lambda asker: undone(asker),
    ],
)
def test_unrelated_change_keeps_answer(asker: Asker, change: Callable[[Asker], None]) -> None:
    asker.ask()
    change(asker)
    assert asker.kept()


def undone(asker: Asker) -> None:
    """A change that is rolled back."""
    with asker.here.database.owner() as tx, tx.transaction(force_rollback=True):
        tx.execute("UPDATE neurigraph.graph_index SET node_summary = 'x' WHERE user_id = %s", [asker.user.user_id])


def test_committed_change_shows(asker: Asker) -> None:
    """The writer that began first commits last, and its change shows."""
    titles = [in_title(asker, "begun first"), in_title(asker, "begun second")]
    (early, first), (late, second) = titles
    with early.here.database.owner() as one:
        authored(one, "tests")
        one.execute(first)
        with late.here.database.owner() as two:
            authored(two, "tests")
            two.execute(second)
        assert "begun second" in shown(asker)
        assert asker.kept()
    assert {"begun first", "begun second"} <= shown(asker)


def in_title(asker: Asker, title: str) -> tuple[Asker, sql.Composed]:
    """A statement that renames one of the records; each call takes another."""
    schema = schemas_of(asker.here, asker.user)["Boats"]
    asker.remember(f"#Boats A boat to be {title}.")
    statement = sql.SQL("UPDATE {}.metadata_records SET title = {} WHERE summary LIKE {}").format(
        sql.Identifier(schema), sql.Literal(title), sql.Literal(f"%to be {title}.")
    )
    return asker, statement


def shown(asker: Asker) -> set[str]:
    return {hit.title for hit in asker.ask().hits}


def test_concurrent_writes_give_no_stale_answer(asker: Asker) -> None:
    here = asker.here
    schema = sql.Identifier(schemas_of(here, asker.user)["Boats"])
    written, stale = [0], []
    done = threading.Event()

    def write() -> None:
        try:
            for number in range(1, 60):
                with here.database.owner() as tx:
                    authored(tx, "tests")
                    tx.execute(sql.SQL("UPDATE {}.metadata_records SET title = %s").format(schema), [str(number)])
                written[0] = number
        finally:
            done.set()

    def read() -> None:
        reader = Asker.__new__(Asker)
        reader.here, reader.embedder, reader.user, reader.claims = here, CountingEmbedder(), asker.user, asker.claims
        while not done.is_set():
            before = written[0]
            titles = [hit.title for hit in reader.ask().hits]
            if before and int(titles[0]) < before:
                stale.append((titles[0], before))

    threads = [threading.Thread(target=work) for work in (write, read, read)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert stale == []
    assert shown(asker) == {"59"}


def test_change_notes_are_bounded(asker: Asker) -> None:
    for number in range(40):
        at_the_root(f"UPDATE neurigraph.graph_index SET node_summary = '{number}' WHERE user_id = %s")(asker)
    with asker.here.database.owner() as tx:
        row = tx.execute(
            "SELECT count(*) AS n FROM neurigraph.user_changes WHERE user_id = %s", [asker.user.user_id]
        ).fetchone()
    assert row is not None
    assert row["n"] < 10
