"""A client of the HTTP API for Python programs: typed, with retries, waits, paging and streams of files.

``Memory`` calls and waits, ``AsyncMemory`` is the same for asyncio. Both need nothing of an installation but its
address and a key. The modules ``…asynchronous`` are the source of both: those named ``…synchronous`` are generated from
them (``make docs``).
"""

from neurigraph_pipelines.client.asynchronous import AsyncMemory
from neurigraph_pipelines.client.failures import (
    ApiError,
    Changed,
    Conflict,
    Denied,
    Invalid,
    NotFound,
    Unavailable,
)
from neurigraph_pipelines.client.models import (
    Appended,
    Citation,
    Fact,
    FactQueryResult,
    Hit,
    Message,
    MessageHit,
    Node,
    Note,
    Record,
    Reply,
    SearchResult,
    Source,
    StatedFact,
)
from neurigraph_pipelines.client.synchronous import Memory

__all__ = [
    "ApiError",
    "Appended",
    "AsyncMemory",
    "Changed",
    "Citation",
    "Conflict",
    "Denied",
    "Fact",
    "FactQueryResult",
    "Hit",
    "Invalid",
    "Memory",
    "Message",
    "MessageHit",
    "Node",
    "NotFound",
    "Note",
    "Record",
    "Reply",
    "SearchResult",
    "Source",
    "StatedFact",
    "Unavailable",
]
