"""Questions to a graph that is in memory as a whole: the database only checks the claims and the version."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import Any

from neurigraph_pipelines.database.secret import Secret
from neurigraph_pipelines.model.ports import Database
from neurigraph_pipelines.retrieval.query.question import Question
from neurigraph_pipelines.retrieval.query.search import search
from neurigraph_pipelines.views.search import Found
from neurigraph_pipelines.wiring.installation import Installation
from resources.postgres.database import PostgresDatabase
from resources.postgres.delegating import DelegatingDatabase
from tests.conftest import SECRET
from tests.support.memories import NOTHING, WordEmbedder, converse, ingest, new_user, plain_context

QUESTIONS = (
    Question("Which boat needs oil in the harbour?"),
    Question("boats"),
    Question("What did we cook, and who says it isn't 5.5 C?"),
    Question("Where is the Zürich ferry?"),
    Question("nothing of that", explain=True),
    Question("the"),
    Question("oil", speaker="Dave"),
)


class Counting(DelegatingDatabase):
    """Counts the questions whose words the database compares, to which it sends the graph, or that it refuses."""

    def __init__(self, inner: Database) -> None:
        super().__init__(inner)
        self.asked = 0

    def ask(self, *arguments: Any, **named: Any) -> list[dict[str, Any]]:
        return self._counted(arguments[-1], super().ask(*arguments, **named))

    @contextmanager
    def asking(self, *arguments: Any, **named: Any) -> Iterator[Callable[[], list[dict[str, Any]]]]:
        with super().asking(*arguments, **named) as rows:
            yield lambda: self._counted(arguments[-1], rows())

    def _counted(self, parameters: dict[str, Any], found: list[dict[str, Any]]) -> list[dict[str, Any]]:
        if "stems" in parameters:
            self.asked += bool(parameters["stems"]) or not found or found[0]["node_ids"] is not None
        return found


def test_answers_from_memory(shared_installation: Installation) -> None:
    here = shared_installation
    user, claims = new_user(here)

    def remember(*contents: str) -> None:
        converse(here, claims, *contents)
        ingest(plain_context(here), user)

    remember("#Boats The boat needs oil.", "#Boats A boat floats in the harbour.")
    remember("#Food We cook soup.", "#Food Boat soup?", "#Food Zürich soup is better.")
    database = Counting(here.database)
    settings = here.settings.changed(answer_cache_entries=0)
    caching = here.acting_for(claims).using(settings=settings, embedder=WordEmbedder(), database=database)
    reading = caching.using(settings=settings.changed(layer_cache_mb=0), database=here.database)

    def ask(question: Question) -> tuple[Found, int]:
        before = database.asked
        return search(caching, question), database.asked - before

    ask(QUESTIONS[0])
    for question in QUESTIONS:
        answer, asked = ask(question)
        assert answer == search(reading, question), "word for word what the database finds"
        assert asked == (not question.query.isascii()), question
    below = Question("boat", node_id=ask(Question("soup"))[0].anchors[0].node_id)
    assert ask(below) == (search(reading, below), 0)

    remember("#Boats Another boat sinks.")
    assert ask(QUESTIONS[0]) == (search(reading, QUESTIONS[0]), 1), "a change is seen at once"
    assert ask(QUESTIONS[0]) == (search(reading, QUESTIONS[0]), 0)

    stranger = PostgresDatabase(here.administrator_url, Secret("another secret, which signs nothing here", SECRET))
    with closing(stranger):
        database.inner = stranger
        assert ask(QUESTIONS[0]) == (NOTHING, 1), "claims that do not verify find nothing, whatever is in memory"
