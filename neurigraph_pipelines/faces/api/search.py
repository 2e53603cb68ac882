"""Searches, and answers in words."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, BackgroundTasks, Query

from neurigraph_pipelines.faces.api import requests
from neurigraph_pipelines.faces.api.authentication import Caller, InstallationDep
from neurigraph_pipelines.faces.api.fact_forms import QueryFacts, SayTheSame
from neurigraph_pipelines.faces.api.problems import documented
from neurigraph_pipelines.faces.api.sight import look
from neurigraph_pipelines.knowledge.duplicates import find_duplicates
from neurigraph_pipelines.knowledge.fact_queries import query_facts
from neurigraph_pipelines.retrieval import ask as answering
from neurigraph_pipelines.retrieval.query import search as searching
from neurigraph_pipelines.retrieval.unstored import MAX_MESSAGES, open_unstored, unstored_view
from neurigraph_pipelines.text.container_tags import checked_tags
from neurigraph_pipelines.views.answers import Reply
from neurigraph_pipelines.views.fact_queries import QueriedFacts
from neurigraph_pipelines.views.files import UnstoredMessages
from neurigraph_pipelines.views.search import Duplicates, Found

router = APIRouter(responses=documented(401, 404, 413, 422, 503))


@router.post("/search", tags=["search"], response_model_exclude_unset=True)
def search(body: requests.Search, caller: Caller, installation: InstallationDep, background: BackgroundTasks) -> Found:
    """Search memories and messages for a question. No file is opened."""
    caller = caller.within(checked_tags(body.container_tags))
    look(installation, caller, node_id=body.node_id)
    return searching.search(
        installation.acting_for(caller), body.question, asked_at=body.asked_at, run_after=background.add_task
    )


@router.post("/duplicates", tags=["search"], response_model_exclude_unset=True)
def duplicates(body: SayTheSame, caller: Caller, installation: InstallationDep) -> Duplicates:
    """Find facts and messages that say the same as a text, before the text is written. Nothing is written."""
    return find_duplicates(installation.acting_for(caller), body.text, body.limit)


@router.post("/facts/query", tags=["search"], response_model_exclude_unset=True)
def walk_facts(body: QueryFacts, caller: Caller, installation: InstallationDep) -> QueriedFacts:
    """Follow the links of facts to causes, versions or connected facts, and return them with their paths."""
    caller = caller.within(checked_tags(body.container_tags))
    look(installation, caller, fact_id=body.fact_id)
    return query_facts(installation.acting_for(caller), body.asked)


@router.post("/ask", tags=["ask"])
def ask(body: requests.Ask, caller: Caller, installation: InstallationDep) -> Reply:
    """Answer a question in words, with citations. Only the messages that may hold the answer are read."""
    caller = caller.within(checked_tags(body.container_tags))
    look(installation, caller, node_id=body.node_id)
    return answering.ask(installation.acting_for(caller), body.question, asked_at=body.asked_at)


@router.get("/unstored/{source_id}", tags=["search"])
def unstored(
    source_id: UUID,
    caller: Caller,
    installation: InstallationDep,
    from_message: Annotated[int, Query(ge=1, le=2**31 - 1, description="Number of the first message.")] = 1,
    limit: Annotated[int, Query(ge=1, le=MAX_MESSAGES, description="Maximum number of messages.")] = 100,
) -> UnstoredMessages:
    """Read the messages of a conversation, event, upload or note that are not stored yet: no file has them."""
    found = open_unstored(installation.acting_for(caller), source_id, from_message=from_message, limit=limit)
    return unstored_view(found)
