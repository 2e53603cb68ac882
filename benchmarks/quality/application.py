"""An application that sends conversations and questions over HTTP to a server process on loopback.

The caller runs the pipeline that stores the conversations.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import httpx

from neurigraph_pipelines.faces.operations.requests import MAX_MESSAGES
from neurigraph_pipelines.model import ImportedConversation, IncomingMessage

_ADMIN_KEY = "who makes the users of a benchmark"
_SECONDS = 60.0


class Found(NamedTuple):
    """What a ranking finds: ids of messages, and of conversations or events, best first."""

    messages: list[str]
    sessions: list[str]


class Application:
    """A program with the API key of one user.

    Raises:
        httpx.HTTPStatusError: From every method, when the server refuses.
    """

    def __init__(self, client: httpx.Client, user: str) -> None:
        self._client = client
        made = self._post("users", {"slug": user}, _ADMIN_KEY)
        self._key: str = made["api_key"]

    def remember(self, conversation: ImportedConversation) -> None:
        """Send a whole conversation or event and end it."""
        about = {"title": conversation.title, "external_id": conversation.external_id}
        if conversation.started_at is not None:
            about["started_at"] = conversation.started_at.isoformat()
        if conversation.event_kind is None:
            kind, source_id = "conversations", self._post("conversations", about)["conversation_id"]
        else:
            about |= {"kind": conversation.event_kind.value, "title": conversation.title or conversation.external_id}
            kind, source_id = "events", self._post("events", about)["event_id"]
        for start in range(0, len(conversation.messages), MAX_MESSAGES):
            messages = [_as_json(message) for message in conversation.messages[start : start + MAX_MESSAGES]]
            self._post(f"{kind}/{source_id}/messages", {"messages": messages})
        self._post(f"{kind}/{source_id}/end", {})

    def search(self, query: str, messages: int) -> Found:
        """Return external ids of the best messages, and of the sources of the best records, best first."""
        answer = self._post("search", {"query": query, "message_limit": messages})
        return Found(
            [message["external_id"] for message in answer["messages"]],
            list(dict.fromkeys(hit["source_external_id"] for hit in answer["hits"])),
        )

    def _post(self, path: str, body: Mapping[str, Any], key: str | None = None) -> dict[str, Any]:
        headers = {"Authorization": f"Bearer {key or self._key}"}
        response = self._client.post(f"/v1/{path}", json=body, headers=headers)
        response.raise_for_status()
        answer: dict[str, Any] = response.json()
        return answer


@contextmanager
def server(environment: Mapping[str, str], log: Path) -> Iterator[httpx.Client]:
    """Run the HTTP API in a separate process on a free port until the context ends.

    Args:
        environment: Selects the installation that it serves.
        log: The server's log file.
    """
    program = str(Path(sys.executable).with_name("neurigraph"))
    with (
        log.open("wb") as errors,
        subprocess.Popen(
            [program, "admin", "serve", "--host", "127.0.0.1", "--port", "0", "--json"],
            env={**environment, "NEURIGRAPH_ADMIN_KEY": _ADMIN_KEY},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=errors,
        ) as process,
    ):
        try:
            assert process.stdout is not None
            started = process.stdout.readline()
            assert started, log.read_text(encoding="utf-8", errors="replace")
            with httpx.Client(base_url=json.loads(started)["url"], timeout=_SECONDS) as client:
                yield client
        finally:
            process.terminate()


def _as_json(message: IncomingMessage) -> dict[str, Any]:
    body: dict[str, Any] = {
        "role": message.role.value,
        "content": message.content,
        "author": message.author,
        "external_id": message.external_id,
    }
    if message.occurred_at is not None:
        body["occurred_at"] = message.occurred_at.isoformat()
    return body
