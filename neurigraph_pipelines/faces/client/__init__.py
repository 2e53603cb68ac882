"""A client of the HTTP API for Python programs: typed, with retries, waits, paging and streams of files.

``Memory`` calls and waits, ``AsyncMemory`` is the same for asyncio. Both need nothing of an installation but its
address and a key. The modules ``…asynchronous`` are the source of both: those named ``…synchronous`` are generated from
them (``make docs``).
"""

from neurigraph_pipelines.faces.client.asynchronous import AsyncMemory
from neurigraph_pipelines.faces.client.failures import (
    ApiError,
    Changed,
    Conflict,
    Denied,
    Gone,
    Invalid,
    NotFound,
    Unavailable,
)
from neurigraph_pipelines.faces.client.models import Message, Node, Record, Source
from neurigraph_pipelines.faces.client.synchronous import Memory
from neurigraph_pipelines.views.answers import Citation, Reply
from neurigraph_pipelines.views.fact_queries import QueriedFacts as FactQueryResult
from neurigraph_pipelines.views.facts import Fact, StatedFact
from neurigraph_pipelines.views.inbox import Added, Appended, Note
from neurigraph_pipelines.views.links import Link
from neurigraph_pipelines.views.retention import Archived, Purge
from neurigraph_pipelines.views.retention import Retention as Kept
from neurigraph_pipelines.views.search import Found as SearchResult
from neurigraph_pipelines.views.search import Hit, MessageHit

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
    "FactQueryResult",
    "Gone",
    "Hit",
    "Invalid",
    "Kept",
    "Link",
    "Memory",
    "Message",
    "MessageHit",
    "Node",
    "NotFound",
    "Note",
    "Purge",
    "Record",
    "Reply",
    "SearchResult",
    "Source",
    "StatedFact",
    "Unavailable",
]
