"""The client for asyncio. The synchronous one is generated from this file."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from uuid import UUID

import httpx

from neurigraph_client.digests_asynchronous import AsyncDigests
from neurigraph_client.evidence_asynchronous import AsyncEvidence
from neurigraph_client.facts_asynchronous import AsyncFacts
from neurigraph_client.models import Kind, Node, Privacy, Record, Source
from neurigraph_client.organizations_asynchronous import AsyncOrganizations
from neurigraph_client.retention_asynchronous import AsyncRetention
from neurigraph_client.transport import (
    MESSAGES_AT_ONCE,
    WAIT_SECONDS,
    Call,
    Given,
    condition,
    connection,
    form_of,
    given,
    listed,
    messages_of,
    tagged,
)
from neurigraph_client.webhooks_asynchronous import AsyncWebhooks
from neurigraph_pipelines.views.answers import Reply
from neurigraph_pipelines.views.erasures import ErasurePreview, ErasureWithObjects, Forgotten
from neurigraph_pipelines.views.graph import ListedNode
from neurigraph_pipelines.views.inbox import NOTHING, Added, Appended, Note
from neurigraph_pipelines.views.records import ListedRecord
from neurigraph_pipelines.views.search import Found


class AsyncMemory(AsyncDigests, AsyncEvidence, AsyncFacts, AsyncOrganizations, AsyncRetention, AsyncWebhooks):
    """A user's memory, or the part of it that a key may see. Use it as a context manager, or close it.

    Every method raises ``ApiError`` or one of its subclasses where the server refuses, and ``httpx.TransportError``
    where it cannot be reached. Calls are repeated after temporary faults; changes happen only once.

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
        self._http = httpx.AsyncClient(**connection(url, api_key, timeout))
        self._retries = retries

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    # Storing

    async def add(self, what: str | Sequence[Given], *, wait: float | None = None, **fields: Any) -> Added:
        """Add a text, or the messages of a conversation that is over; either can be found at once.

        Args:
            what: A text, or messages as in ``store_conversation``, at most 1,000.
            wait: Seconds to wait until it is stored; None does not wait.
            fields: As the API takes them, such as ``title``, ``container_tags``, ``node_id`` and ``metadata``.
        """
        said = {"content": what} if isinstance(what, str) else {"messages": messages_of(what)}
        call = Call("POST", "/v1/memories", given(**said, **fields), is_change=True)
        added = Added.model_validate((await self._send(call)).json())
        if wait is None:
            return added
        kind: Kind = "note" if isinstance(what, str) else "conversation"
        found = await self.stored(kind, added.source_id, wait)
        return added.model_copy(update={"state": found.state, "record_ids": found.record_ids})

    async def remember(
        self,
        text: str,
        *,
        title: str | None = None,
        path: str | None = None,
        node_id: UUID | None = None,
        importance: float | None = None,
        tags: Sequence[str] = (),
        on_conflict: str | None = None,
        privacy: Privacy | None = None,
        wait: float | None = None,
        **source: Any,
    ) -> Note:
        """Store a note.

        Args:
            path: Path of the node that it belongs to; ``node_id`` is the same by id. By default a model decides.
            importance: 0 to 1.
            on_conflict: ``error``, ``version`` or ``supersede``, for a note of that title at that node.
            privacy: ``private`` hides it from personas and third parties.
            wait: Seconds to wait until it is stored; None does not wait.
            source: Where it comes from, as the API takes it, such as ``origin``, ``url`` and ``metadata``.
        """
        body = given(
            text=text,
            title=title,
            path=path,
            node_id=node_id,
            importance=importance,
            tags=list(tags) or None,
            on_conflict=on_conflict,
            privacy=privacy,
            **source,
        )
        note = Note.model_validate((await self._send(Call("POST", "/v1/notes", body, is_change=True))).json())
        if wait is not None:
            await self.stored("note", note.note_id, wait)
        return note

    async def store_conversation(
        self,
        messages: Sequence[Given],
        *,
        title: str | None = None,
        external_id: str | None = None,
        started_at: datetime | None = None,
        privacy: Privacy | None = None,
        wait: float | None = None,
        **source: Any,
    ) -> UUID:
        """Store a whole conversation and return its id.

        Args:
            messages: Texts of the user, mappings or ``Message`` objects, in their order.
            external_id: Your id of it: a known one is continued, not stored twice.
            wait: Seconds to wait until it is stored; None does not wait.
            source: Where it comes from, as for ``remember``, and ``replaces``.
        """
        conversation_id = await self.open_conversation(
            title=title, external_id=external_id, started_at=started_at, privacy=privacy, **source
        )
        await self.add_messages(conversation_id, messages)
        await self.end_conversation(conversation_id)
        if wait is not None:
            await self.stored("conversation", conversation_id, wait)
        return conversation_id

    async def open_conversation(
        self,
        *,
        title: str | None = None,
        external_id: str | None = None,
        started_at: datetime | None = None,
        privacy: Privacy | None = None,
        **source: Any,
    ) -> UUID:
        """Open a conversation, to which messages are added while it goes on; return its id."""
        body = given(title=title, external_id=external_id, started_at=started_at, privacy=privacy, **source)
        answer = await self._send(Call("POST", "/v1/conversations", body, is_change=True))
        return UUID(answer.json()["conversation_id"])

    async def add_messages(self, conversation_id: UUID, messages: Sequence[Given]) -> Appended:
        """Add messages to a conversation; give them external ids if they may be sent again."""
        total = NOTHING
        made = messages_of(messages)
        for first in range(0, len(made), MESSAGES_AT_ONCE):
            body = {"messages": made[first : first + MESSAGES_AT_ONCE]}
            path = f"/v1/conversations/{conversation_id}/messages"
            answer = await self._send(Call("POST", path, body, is_change=True))
            total += Appended.model_validate(answer.json())
        return total

    async def end_conversation(self, conversation_id: UUID, ended_at: datetime | None = None) -> None:
        """End a conversation, so that it is stored."""
        body = given(ended_at=ended_at) or None
        await self._send(Call("POST", f"/v1/conversations/{conversation_id}/end", body, is_change=True))

    async def upload(self, path: Path, *, wait: float | None = None, **fields: Any) -> UUID:
        """Send a file and return the id of the upload; its bytes are streamed from the disk.

        Args:
            wait: Seconds to wait until its text is stored; None does not wait.
            fields: ``title``, ``external_id`` and where it comes from, as for ``store_conversation``.
        """
        form = form_of(fields)

        async def send() -> httpx.Response:
            with path.open("rb") as content:
                return await self._http.post("/v1/files", data=form, files={"file": (path.name, content)})

        answer = await self._repeated(send)
        upload_id = UUID(answer.json()["upload_id"])
        if wait is not None:
            await self.stored("upload", upload_id, wait)
        return upload_id

    async def source(self, kind: Kind, source_id: UUID, *, wait: float = 0.0) -> Source:
        """Return a source with its state and memories; its ``etag`` makes a later change safe.

        Args:
            wait: Seconds, at most 20, to wait for it to be stored or to fail.
        """
        query = {"wait": min(wait, WAIT_SECONDS)} if wait > 0 else {}
        answer = await self._send(Call("GET", f"/v1/{listed(kind)}/{source_id}", query=query))
        return tagged(answer, Source)

    async def stored(self, kind: Kind, source_id: UUID, seconds: float = 300.0) -> Source:
        """Wait until something is stored, or has failed, and return it.

        Raises:
            TimeoutError: Neither happened in time.
        """
        until = time.monotonic() + seconds
        while True:
            found = await self.source(kind, source_id, wait=max(0.1, until - time.monotonic()))
            if found.state in ("stored", "failed"):
                return found
            if time.monotonic() >= until:
                raise TimeoutError(f"the {kind} is {found.state} after {seconds:g} s")

    def sources(self, kind: Kind, **filters: Any) -> AsyncIterator[Source]:
        """Yield sources, newest first; filters are the API's, such as ``state`` and ``received_after``."""
        return self._pages(f"/v1/{listed(kind)}", listed(kind), Source, filters)

    # Finding

    async def search(self, query: str, *, limit: int = 10, **filters: Any) -> Found:
        """Find memories and messages; no file is opened.

        Args:
            filters: As the API takes them, such as ``node_id``, ``occurred_after`` and ``speaker``.
        """
        body = given(query=query, limit=limit, **filters)
        return Found.model_validate((await self._send(Call("POST", "/v1/search", body))).json())

    async def ask(self, query: str, **filters: Any) -> Reply:
        """Answer a question in words, with citations. ``filters`` are as in ``search``."""
        return Reply.model_validate((await self._send(Call("POST", "/v1/ask", given(query=query, **filters)))).json())

    def records(self, **filters: Any) -> AsyncIterator[ListedRecord]:
        """Yield memories, newest first; the API's filters, such as ``node_id``, ``entity`` and ``created_after``."""
        return self._pages("/v1/records", "records", ListedRecord, filters)

    async def record(self, record_id: UUID, *, at: datetime | None = None) -> Record:
        """Return a memory, now or as it was; its ``etag`` makes a later change safe."""
        answer = await self._send(Call("GET", f"/v1/records/{record_id}", query=given(at=at)))
        return tagged(answer, Record)

    async def node(self, node_id: UUID) -> Node:
        """Return a node of the graph."""
        return tagged(await self._send(Call("GET", f"/v1/nodes/{node_id}")), Node)

    def nodes(self, **filters: Any) -> AsyncIterator[ListedNode]:
        """Yield nodes, page after page; ``path``, ``name`` and ``parent_node_id`` are filters."""
        return self._pages("/v1/nodes", "nodes", ListedNode, filters)

    # Reading files

    @asynccontextmanager
    async def file(self, file_id: UUID, *, wait: float = 30.0) -> AsyncIterator[AsyncIterator[bytes]]:
        """Open a file as a stream of its bytes, for a ``with`` block; a dormant file is waited for.

        Args:
            wait: Seconds that one request waits for a file that is being decompressed.
        """
        request = self._http.build_request("POST", f"/v1/files/{file_id}/open", params={"wait": wait})

        async def send() -> httpx.Response:
            answer = await self._http.send(request, stream=True)
            if answer.status_code == 202:
                answer.status_code = 503  # not ready yet: to be repeated like a busy server
            if answer.status_code >= 400:
                await answer.aread()
                await answer.aclose()
            return answer

        answer = await self._repeated(send)
        try:
            yield answer.aiter_bytes()
        finally:
            await answer.aclose()

    async def save_file(self, file_id: UUID, path: Path) -> int:
        """Write a file's bytes to a new local file and return how many they are.

        Raises:
            FileExistsError: There is such a local file.
        """
        size = 0
        async with self.file(file_id) as content:
            with path.open("xb") as target:
                async for part in content:
                    size += target.write(part)
        return size

    # Changing

    async def revise(self, record_id: UUID, *, etag: str | None = None, **fields: Any) -> Record:
        """Change a memory's ``title``, ``summary``, ``entities``, ``topics``, ``dates`` or ``relationships``.

        Args:
            etag: Change it only if it is as it was read.
        """
        call = Call("PATCH", f"/v1/records/{record_id}", fields, headers=condition(etag), is_change=True)
        return Record.model_validate((await self._send(call)).json())

    async def supersede(self, record_id: UUID, by: UUID | None, *, etag: str | None = None) -> Record:
        """Mark a memory as replaced by another; None takes that back."""
        path = f"/v1/records/{record_id}/supersede"
        call = Call("POST", path, {"by": by}, headers=condition(etag), is_change=True)
        return Record.model_validate((await self._send(call)).json())

    async def forget_record(self, record_id: UUID, *, dry_run: bool = True, etag: str | None = None) -> Forgotten:
        """Erase a memory for good, or count with a dry run what belongs to it.

        Args:
            dry_run: Pass False to erase.
        """
        query = {"dry_run": str(dry_run).lower()}
        call = Call("DELETE", f"/v1/records/{record_id}", None, query, condition(etag), is_change=not dry_run)
        answer = (await self._send(call)).json()
        return ErasurePreview.model_validate(answer) if dry_run else ErasureWithObjects.model_validate(answer)

    async def set_privacy(self, kind: Kind, source_id: UUID, privacy: Privacy, *, etag: str | None = None) -> None:
        """Make something that was handed in and all memories from it ``private``, or ``shared`` again.

        Args:
            etag: Change it only if it is as it was read.
        """
        path = f"/v1/{listed(kind)}/{source_id}"
        await self._send(Call("PATCH", path, {"privacy": privacy}, headers=condition(etag), is_change=True))
