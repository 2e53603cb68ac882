"""The clients: what is done every day, beside the groups of all operations."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self
from uuid import UUID

from neurigraph_client.calls import Asyncio, Pages, Steps, W, Waiting, answer, asked, call_of, listed, named, read
from neurigraph_client.models import Given, Kind, Privacy
from neurigraph_client.operations import Operations
from neurigraph_client.transport import Call, connection, given, messages_of

if TYPE_CHECKING:  # a view takes a while: it is loaded when an answer is read
    from neurigraph_client.sources import Source
    from neurigraph_pipelines.views.answers import Reply
    from neurigraph_pipelines.views.erasures import Forgotten
    from neurigraph_pipelines.views.inbox import Added, Appended, Note
    from neurigraph_pipelines.views.profiles import PromptContext
    from neurigraph_pipelines.views.search import Found

MESSAGES_AT_ONCE = 500
"""Messages in one request; longer conversations are sent in several."""

WAIT_SECONDS = 20.0
"""Seconds that one request waits on the server for something to be stored."""

_SOURCE = "neurigraph_client.sources.Source"


class _Daily(Operations[W]):
    @asked
    def add(self, /, what: str | Sequence[Given], *, wait: float | None = None, **fields: Any) -> Steps[Added]:
        """Add a text, or the messages of a conversation that is over; either can be found at once.

        Args:
            what: A text, or messages as in ``store_conversation``, at most 1,000.
            wait: Seconds to wait until it is stored; None does not wait.
            fields: As the API takes them, such as ``title``, ``container_tags``, ``node_id`` and ``metadata``.
        """
        said = {"content": what} if isinstance(what, str) else {"messages": messages_of(what)}
        added: Added = yield from _post("/v1/memories", "inbox.Added", {**said, **fields})
        if wait is None:
            return added
        found = yield from _stored("note" if isinstance(what, str) else "conversation", added.source_id, wait)
        return added.model_copy(update={"state": found.state, "record_ids": found.record_ids})

    @asked
    def remember(self, /, content: str, *, wait: float | None = None, **fields: Any) -> Steps[Note]:
        """Store a note.

        Args:
            wait: Seconds to wait until it is stored; None does not wait.
            fields: As ``inbox.remember`` takes them, such as ``title``, ``path``, ``tags`` and ``metadata``.
        """
        note: Note = yield from _post("/v1/notes", "inbox.Note", {"content": content, **fields})
        if wait is not None:
            yield from _stored("note", note.note_id, wait)
        return note

    @asked
    def store_conversation(
        self, /, messages: Sequence[Given], *, wait: float | None = None, **fields: Any
    ) -> Steps[UUID]:
        """Store a whole conversation of any length and return its id.

        Args:
            messages: Texts of the user, mappings or ``Message`` objects, in their order.
            wait: Seconds to wait until it is stored; None does not wait.
            fields: As ``inbox.open_conversation`` takes them. A known ``external_id`` continues that conversation.
        """
        conversation_id = yield from _opened(fields)
        yield from _appended(conversation_id, messages)
        yield from _ended(conversation_id, None)
        if wait is not None:
            yield from _stored("conversation", conversation_id, wait)
        return conversation_id

    @asked
    def open_conversation(self, /, **fields: Any) -> Steps[UUID]:
        """Open a conversation, to which messages are added while it goes on; return its id."""
        return _opened(fields)

    @asked
    def add_messages(self, conversation_id: UUID, messages: Sequence[Given]) -> Steps[Appended]:
        """Add messages to a conversation; give them external ids if they may be sent again."""
        return _appended(conversation_id, messages)

    @asked
    def end_conversation(self, conversation_id: UUID, ended_at: datetime | None = None) -> Steps[None]:
        """End a conversation, so that it is stored."""
        return _ended(conversation_id, ended_at)

    @asked
    def upload(self, /, path: Path, *, wait: float | None = None, **fields: Any) -> Steps[UUID]:
        """Send a file and return the id of the upload; its bytes are streamed from the disk.

        Args:
            wait: Seconds to wait until its text is stored; None does not wait.
            fields: ``title``, ``external_id`` and where it comes from, as for ``remember``.
        """
        response = yield Call("POST", "/v1/files", form=given(**fields), file=path)
        upload_id = UUID(response.json()["upload_id"])
        if wait is not None:
            yield from _stored("upload", upload_id, wait)
        return upload_id

    @asked
    def source(self, kind: Kind, source_id: UUID, *, wait: float = 0.0) -> Steps[Source]:
        """Return a source with its state and memories; its ``etag`` makes a later change safe.

        Args:
            wait: Seconds, at most 20, to wait for it to be stored or to fail.
        """
        return _source(kind, source_id, wait)

    @asked
    def stored(self, kind: Kind, source_id: UUID, seconds: float = 300.0) -> Steps[Source]:
        """Wait until something is stored, or has failed, and return it.

        Raises:
            TimeoutError: Neither happened in time.
        """
        return _stored(kind, source_id, seconds)

    @listed
    def sources(self, /, kind: Kind, **filters: Any) -> Pages[Source]:
        """Yield sources, newest first; filters are the API's, such as ``state`` and ``received_after``."""
        return Pages(Call("GET", f"/v1/{kind}s", query=filters), f"{kind}s", _SOURCE)

    @asked
    def set_privacy(self, kind: Kind, source_id: UUID, privacy: Privacy, *, etag: str | None = None) -> Steps[None]:
        """Make something that was handed in and all memories from it ``private``, or ``shared`` again.

        Args:
            etag: Change it only if it is as it was read.
        """
        yield call_of(f"PATCH /v1/{kind}s/{source_id}", {"privacy": privacy, "etag": etag}, body=True, changes=True)

    @asked
    def search(self, /, query: str, **filters: Any) -> Steps[Found]:
        """Find memories and messages, as ``retrieval.search``; no file is opened.

        Args:
            filters: As the API takes them, such as ``limit``, ``node_id``, ``occurred_after`` and ``speaker``.
        """
        return answer("POST /v1/search", "search.Found", {"query": query, **filters}, body=True)

    @asked
    def ask(self, /, query: str, **filters: Any) -> Steps[Reply]:
        """Answer a question in words, with citations. ``filters`` are as in ``search``."""
        return answer("POST /v1/ask", "answers.Reply", {"query": query, **filters}, body=True)

    @asked
    def context(self, /, query: str, **fields: Any) -> Steps[PromptContext]:
        """Make the block of memory for a prompt: who the user is, then what concerns the query."""
        return answer("POST /v1/context", "profiles.PromptContext", {"query": query, **fields}, body=True)

    @asked
    def forget(self, record_id: UUID, *, dry_run: bool = True, etag: str | None = None) -> Steps[Forgotten]:
        """Count what would be erased with a memory, or erase it for good.

        Args:
            dry_run: Pass False to erase.
            etag: Erase it only if it is as it was read.
        """
        values = {"dry_run": dry_run, "etag": etag}
        response = yield call_of(f"DELETE /v1/records/{record_id}", values, changes=True)
        found: Forgotten = read(response, "erasures.ErasureWithObjects | erasures.ErasurePreview")
        return found

    @asked
    def call(self, /, method: str, path: str, body: Any = None, *, etag: str | None = None, **query: Any) -> Steps[Any]:
        """Make any call of the API and return its JSON, with retries.

        Args:
            etag: For a change: make it only if the object is as it was read.
        """
        headers = {} if etag is None else {"If-Match": etag}
        is_change = method.upper() in ("PATCH", "DELETE")
        response = yield Call(method.upper(), path, body, query, headers, is_change=is_change)
        return response.json() if response.content else None


class Memory(_Daily[Waiting]):
    """A user's memory, or the part of it that a key may see. Use it as a context manager, or close it.

    Every operation of the API is a method of its group, such as ``memory.links.end(link_id)``. Every method raises
    ``ApiError`` or one of its subclasses where the server refuses, and ``httpx.TransportError`` where it cannot be
    reached. Calls are repeated after temporary faults; changes happen only once.

    Args:
        url: Address of the API; ``NEURIGRAPH_URL`` or http://127.0.0.1:8400 by default.
        api_key: Key or token; ``NEURIGRAPH_API_KEY`` by default.
        timeout: Seconds to wait for one answer.
        retries: Attempts after the first.

    Raises:
        ValueError: There is no key.
    """

    def __init__(
        self, url: str | None = None, api_key: str | None = None, *, timeout: float = 60.0, retries: int = 4
    ) -> None:
        super().__init__(Waiting(connection(url, api_key, timeout), retries))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._sender.http.close()

    @contextmanager
    def file(self, file_id: UUID, *, wait: float = 30.0) -> Iterator[Iterator[bytes]]:
        """Open a file as a stream of its bytes, for a ``with`` block; a dormant file is waited for.

        Args:
            wait: Seconds that one request waits for a file that is being decompressed.
        """
        opened = self._sender.send(_file(file_id, wait))
        try:
            yield opened.iter_bytes()
        finally:
            opened.close()

    def save_file(self, file_id: UUID, path: Path) -> int:
        """Write a file's bytes to a new local file and return how many they are.

        Raises:
            FileExistsError: There is such a local file.
        """
        with self.file(file_id) as content, path.open("xb") as target:
            return sum(target.write(part) for part in content)


class AsyncMemory(_Daily[Asyncio]):
    """``Memory`` for asyncio: its methods are awaited, and its lists are asynchronous iterators."""

    def __init__(
        self, url: str | None = None, api_key: str | None = None, *, timeout: float = 60.0, retries: int = 4
    ) -> None:
        super().__init__(Asyncio(connection(url, api_key, timeout), retries))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close the connections."""
        await self._sender.http.aclose()

    @asynccontextmanager
    async def file(self, file_id: UUID, *, wait: float = 30.0) -> AsyncIterator[AsyncIterator[bytes]]:
        """Open a file as a stream of its bytes, as ``Memory.file`` does."""
        opened = await self._sender.send(_file(file_id, wait))
        try:
            yield opened.aiter_bytes()
        finally:
            await opened.aclose()

    async def save_file(self, file_id: UUID, path: Path) -> int:
        """Write a file's bytes to a new local file and return how many they are.

        Raises:
            FileExistsError: There is such a local file.
        """
        async with self.file(file_id) as content:
            with path.open("xb") as target:
                return sum([target.write(part) async for part in content])


def _post(path: str, view: str, body: dict[str, Any]) -> Steps[Any]:
    response = yield Call("POST", path, given(**body), is_change=True)
    return read(response, view)


def _opened(fields: dict[str, Any]) -> Steps[UUID]:
    response = yield Call("POST", "/v1/conversations", given(**fields), is_change=True)
    return UUID(response.json()["conversation_id"])


def _appended(conversation_id: UUID, messages: Sequence[Given]) -> Steps[Appended]:
    total: Appended = named("inbox.NOTHING")
    made = messages_of(messages)
    for first in range(0, len(made), MESSAGES_AT_ONCE):
        body = {"messages": made[first : first + MESSAGES_AT_ONCE]}
        total += yield from _post(f"/v1/conversations/{conversation_id}/messages", "inbox.Appended", body)
    return total


def _ended(conversation_id: UUID, ended_at: datetime | None) -> Steps[None]:
    body = given(ended_at=ended_at) or None
    yield Call("POST", f"/v1/conversations/{conversation_id}/end", body, is_change=True)


def _source(kind: Kind, source_id: UUID, wait: float) -> Steps[Source]:
    query = {"wait": min(wait, WAIT_SECONDS)} if wait > 0 else {}
    response = yield Call("GET", f"/v1/{kind}s/{source_id}", query=query)
    found: Source = read(response, _SOURCE)
    return found


def _stored(kind: Kind, source_id: UUID, seconds: float) -> Steps[Source]:
    until = time.monotonic() + seconds
    while True:
        found = yield from _source(kind, source_id, max(0.1, until - time.monotonic()))
        if found.state in ("stored", "failed"):
            return found
        if time.monotonic() >= until:
            raise TimeoutError(f"the {kind} is {found.state} after {seconds:g} s")


def _file(file_id: UUID, wait: float) -> Call:
    return Call("POST", f"/v1/files/{file_id}/open", query={"wait": wait}, is_streamed=True)
