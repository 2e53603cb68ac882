"""Searches, answers in words, and blocks of memory for prompts."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from pydantic import Field

from neurigraph_pipelines.faces.operations import requests
from neurigraph_pipelines.faces.operations.call import Call
from neurigraph_pipelines.faces.operations.fact_forms import SayTheSame
from neurigraph_pipelines.faces.operations.registry import OperationGroup
from neurigraph_pipelines.knowledge.duplicates import find_duplicates
from neurigraph_pipelines.knowledge.fact_queries import QueryFacts, query_facts
from neurigraph_pipelines.retrieval import ask as answering
from neurigraph_pipelines.retrieval import profile, prompt
from neurigraph_pipelines.retrieval.query import search as searching
from neurigraph_pipelines.retrieval.unstored import MAX_MESSAGES, open_unstored
from neurigraph_pipelines.text.hygiene import MAX_NAME_CHARACTERS
from neurigraph_pipelines.views.answers import Reply
from neurigraph_pipelines.views.fact_queries import QueriedFacts
from neurigraph_pipelines.views.files import UnstoredMessages
from neurigraph_pipelines.views.profiles import PersonProfile, PromptContext
from neurigraph_pipelines.views.search import Duplicates, Found

operation = OperationGroup("search")


@operation(
    "POST /search",
    "search",
    tool="search_memory",
    is_read=True,
    is_sparse=True,
    options={"include": "--facts"},
    sentences={
        "search": "Search memories for a question, and quote the best message of each. With --json no file is read."
    },
)
def search(call: Call, body: requests.Search) -> Found:
    """Search memories and messages for a question. No file is opened."""
    return searching.search(call.context, body.question, asked_at=body.asked_at, run_after=call.run_after)


@operation("POST /duplicates", "fact duplicates", is_read=True, is_sparse=True)
def duplicates(call: Call, body: SayTheSame) -> Duplicates:
    """Find facts and messages that say the same as a text, before the text is written. Nothing is written."""
    return find_duplicates(call.context, body.text, body.limit)


@operation(
    "POST /facts/query",
    tool="memory_facts",
    is_read=True,
    is_sparse=True,
    options={"query": None},
    presets={f"fact {kind}": {"kind": kind} for kind in ("why", "changed", "about", "connected")},
    sentences={
        "fact why": "Show the causes and influences of a fact, the shortest paths first.",
        "fact changed": "Show the earlier and later versions of facts, by when they occurred.",
        "fact about": "Show the facts about a person or a thing, the last said first, and what is related to them.",
        "fact connected": "Show important facts that are connected to a fact by up to six steps, the nearest first.",
    },
)
def walk_facts(call: Call, body: QueryFacts) -> QueriedFacts:
    """Follow the links of facts to causes, versions or connected facts, and return them with their paths."""
    return query_facts(call.context, body)


@operation("POST /ask", "ask", tool="get_context", is_read=True, tag="ask")
def ask(call: Call, body: requests.Ask) -> Reply:
    """Answer a question in words, with citations. Only the messages that may hold the answer are read."""
    return answering.ask(call.context, body.question, asked_at=body.asked_at)


@operation(
    "POST /context",
    "context",
    tool="get_context",
    is_read=True,
    tag="context",
    is_sparse=True,
    options={"query": None},
)
def context(call: Call, body: requests.PromptFor) -> PromptContext:
    """Make the block of memory for a prompt: who the user is, then what concerns the question, within a budget.

    Its beginning stays the same bytes until what it says changes, so that caches of prompts keep it.
    """
    return prompt.prompt_context(call.context, body.wanted, body.asked_at)


@operation("GET /profile", "user profile", tag="context", in_spaces=True)
def get_profile(
    call: Call,
    name: Annotated[
        str | None, Field(max_length=MAX_NAME_CHARACTERS, description="Of a person. Default: the owner of the graph.")
    ] = None,
    node_id: Annotated[UUID | None, Field(description="Only statements of memories in this node or below it.")] = None,
) -> PersonProfile:
    """Return what holds about the owner or another person, in sections, each statement with its source.

    A statement with a `fact_id` is confirmed, corrected, pinned, taken back and forgotten as any fact.
    """
    call.look(node_id=node_id)
    return profile.profile_of(call.context, name, node_id)


@operation("GET /unstored/{source_id}", tool="open_memory")
def unstored(
    call: Call,
    source_id: UUID,
    from_message: Annotated[int, Field(ge=1, le=2**31 - 1, description="Number of the first message.")] = 1,
    limit: Annotated[int, Field(ge=1, le=MAX_MESSAGES, description="Maximum number of messages.")] = 100,
) -> UnstoredMessages:
    """Read the messages of a conversation, event, upload or note that are not stored yet: no file has them."""
    return open_unstored(call.context, source_id, from_message=from_message, limit=limit)
