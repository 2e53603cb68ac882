"""Messages that are not stored yet are found, once, by those who may read them."""

from __future__ import annotations

from neurigraph_pipelines.context import Context
from neurigraph_pipelines.graph.provisioning import User
from neurigraph_pipelines.model import Claims
from neurigraph_pipelines.retrieval.query.phase_one import phase_one
from neurigraph_pipelines.retrieval.query.question import Answer, Question
from neurigraph_pipelines.wiring import Installation
from tests.support.memories import WordEmbedder, converse, ingest, new_user, plain_context


def ask(context: Context, claims: Claims, query: str) -> Answer:
    return phase_one(context.acting_for(claims), Question(query, limit=50))


def test_message_is_found_before_and_after_it_is_stored(
    here: Installation, context: Context, bob: tuple[User, Claims]
) -> None:
    user, claims = bob
    source_id = converse(here, claims, "#Boats The varnish is amber.", "Amber it is.", ended=False, external_id="c-1")
    found = ask(context, claims, "amber varnish")
    print(found)
    converse(here, claims, "And the mast is spruce.", first=3, ended=False, external_id="c-1")
    print(ask(context, claims, "spruce mast"))
    converse(here, claims, first=4, external_id="c-1")
    ingest(context, user)
    print(ask(context, claims, "spruce mast"))
    assert 0
