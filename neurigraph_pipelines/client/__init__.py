"""A client of the HTTP API for Python programs: typed, with retries, waits, paging and streams of files.

``Memory`` calls and waits, ``AsyncMemory`` is the same for asyncio. Both need nothing of an installation but its
address and a key. ``asynchronous`` is the source of both: ``synchronous`` is generated from it (``make docs``).
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
    Hit,
    Message,
    MessageHit,
    Node,
    Note,
    Record,
    Reply,
    SearchResult,
    Source,
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
    "Unavailable",
]
