"""Searches, and answers in words."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, BackgroundTasks, Query

from neurigraph_pipelines.faces.api import requests
from neurigraph_pipelines.faces.api.authentication import Caller, InstallationDep
from neurigraph_pipelines.faces.api.fact_forms import QueryFacts, SayTheSame
from neurigraph_pipelines.faces.api.problems import documented
from neurigraph_pipelines.faces.api.responses import retrieval as responses
from neurigraph_pipelines.faces.api.sight import look
from neurigraph_pipelines.retrieval import ask as answering
from neurigraph_pipelines.retrieval.duplicates import SIMILAR, find_duplicates
from neurigraph_pipelines.retrieval.fact_queries import query_facts
from neurigraph_pipelines.retrieval.query import search as searching
from neurigraph_pipelines.retrieval.unstored import MAX_MESSAGES, open_unstored, unstored_view
from neurigraph_pipelines.text.container_tags import checked_tags
from neurigraph_pipelines.views.fact_queries import QueriedFacts
from neurigraph_pipelines.views.files import UnstoredMessages

router = APIRouter(tags=["retrieval"], responses=documented(401, 404, 413, 422, 503))


@router.post("/search", response_model=responses.Found, response_model_exclude_unset=True)
def search(
    body: requests.Search, caller: Caller, installation: InstallationDep, background: BackgroundTasks
) -> dict[str, Any]:
    """Search memories and messages for a question. No file is opened."""
    caller = caller.within(checked_tags(body.container_tags))
    look(installation, caller, node_id=body.node_id)
    found = searching.search(
        installation.acting_for(caller),
        body.question,
        asked_at=body.asked_at,
        run_after=background.add_task,
    )
    return found.shown()


@router.post("/duplicates", response_model=responses.Duplicates, response_model_exclude_unset=True)
def duplicates(body: SayTheSame, caller: Caller, installation: InstallationDep) -> dict[str, Any]:
    """Find facts and messages that say the same as a text, before the text is written. Nothing is written."""
    found = find_duplicates(installation.acting_for(caller), body.text, body.limit)
    return {"facts": found.facts, "messages": found.messages, "threshold": SIMILAR}


@router.post("/facts/query", response_model_exclude_unset=True)
def walk_facts(body: QueryFacts, caller: Caller, installation: InstallationDep) -> QueriedFacts:
    """Follow the links of facts to causes, versions or connected facts, and return them with their paths."""
    caller = caller.within(checked_tags(body.container_tags))
    look(installation, caller, fact_id=body.fact_id)
    return query_facts(installation.acting_for(caller), body.asked)


@router.post("/ask", response_model=responses.Reply)
def ask(body: requests.Ask, caller: Caller, installation: InstallationDep) -> dict[str, Any]:
    """Answer a question in words, with citations. Only the messages that may hold the answer are read."""
    caller = caller.within(checked_tags(body.container_tags))
    look(installation, caller, node_id=body.node_id)
    return asdict(
        answering.ask(
            installation.acting_for(caller),
            body.question,
            asked_at=body.asked_at,
        )
    )


@router.get("/unstored/{source_id}")
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
