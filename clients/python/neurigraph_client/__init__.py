"""A client of Neurigraph's HTTP API: typed, with retries, waits, paging and streams of files.

``Memory`` calls and waits, ``AsyncMemory`` is the same for asyncio. Both need nothing of an installation but its
address and a key. What is named here is loaded when it is used first, since httpx and the views take a while.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from neurigraph_client.failures import (
        ApiError,
        Changed,
        Conflict,
        Denied,
        Gone,
        Invalid,
        NotFound,
        Unavailable,
    )
    from neurigraph_client.memory import AsyncMemory, Memory
    from neurigraph_client.models import Message
    from neurigraph_client.sources import Source
    from neurigraph_pipelines.views.answers import Citation, Reply
    from neurigraph_pipelines.views.fact_queries import QueriedFacts
    from neurigraph_pipelines.views.facts import Fact, StatedFact
    from neurigraph_pipelines.views.inbox import Added, Appended, Note
    from neurigraph_pipelines.views.links import Link
    from neurigraph_pipelines.views.retention import Archived, Purge, Retention
    from neurigraph_pipelines.views.search import Found, Hit, MessageHit
else:
    _PLACES = {
        "neurigraph_client.failures": [
            "ApiError",
            "Changed",
            "Conflict",
            "Denied",
            "Gone",
            "Invalid",
            "NotFound",
            "Unavailable",
        ],
        "neurigraph_client.memory": ["AsyncMemory", "Memory"],
        "neurigraph_client.models": ["Message"],
        "neurigraph_client.sources": ["Source"],
        "neurigraph_pipelines.views.answers": ["Citation", "Reply"],
        "neurigraph_pipelines.views.fact_queries": ["QueriedFacts"],
        "neurigraph_pipelines.views.facts": ["Fact", "StatedFact"],
        "neurigraph_pipelines.views.inbox": ["Added", "Appended", "Note"],
        "neurigraph_pipelines.views.links": ["Link"],
        "neurigraph_pipelines.views.retention": ["Archived", "Purge", "Retention"],
        "neurigraph_pipelines.views.search": ["Found", "Hit", "MessageHit"],
    }

    def __getattr__(name: str) -> object:
        for module, names in _PLACES.items():
            if name in names:
                return getattr(import_module(module), name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = [
    "Added",
    "ApiError",
    "Appended",
    "Archived",
    "AsyncMemory",
    "Changed",
    "Citation",
    "Conflict",
    "Denied",
    "Fact",
    "Found",
    "Gone",
    "Hit",
    "Invalid",
    "Link",
    "Memory",
    "Message",
    "MessageHit",
    "NotFound",
    "Note",
    "Purge",
    "QueriedFacts",
    "Reply",
    "Retention",
    "Source",
    "StatedFact",
    "Unavailable",
]
