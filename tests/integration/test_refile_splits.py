"""Splitting of stored memories by subject: what follows the messages, what stays, and who sees it."""

from __future__ import annotations

from uuid import UUID

import pytest

from neurigraph_pipelines.ingestion.filing_again import FiledAgain, file_again
from neurigraph_pipelines.wiring.installation import Installation
from tests.support.dying_refile import other_context, tomorrow
from tests.support.graphs import Graph, new_graph
from tests.support.memories import converse, ingest, plain_context, stored

TALK = (
    "#Hobbies A new rod for the trip.",
    "Nice, when do you leave?",
    "TAX is due in May, 412 euros.",
    "TAX paid by transfer.",
    "#Hobbies We leave on Friday with the boat and the new rod.",
    "Bring a net.",
)


@pytest.fixture
def graph(here: Installation) -> Graph:
    return new_graph(here)


def again(graph: Graph, *, dry_run: bool = False, again: bool = False) -> FiledAgain:
    context = other_context(graph.here)
    return file_again(context, None, tomorrow(), graph.user.user_id, dry_run=dry_run, again=again)


def talk(graph: Graph, *contents: str) -> UUID:
    converse(graph.here, graph.claims, *(contents or TALK))
    (one,) = stored(ingest(plain_context(graph.here), graph.user))
    return one.record_id


def test_memory_of_several_subjects_is_split(graph: Graph) -> None:
    record_id = talk(graph)
    would = again(graph, dry_run=True)
    done = again(graph)
    print(done, graph.records)
    assert done == would
    from neurigraph_pipelines.lifecycle.verification import verify
    for f in verify(graph.here.context, user_id=graph.user.user_id).findings: print(f)
    graph.check()
