"""Facts of one graph, as a caller states, reads and changes them over HTTP."""

from __future__ import annotations

from typing import Any

import httpx

from neurigraph_pipelines.knowledge import reading
from tests.support.graphs import Graph
from tests.support.memories import ingest, plain_context


class Facts:
    """The facts of one graph, as a caller reads and changes them over HTTP."""

    def __init__(self, client: httpx.Client, graph: Graph, key: str) -> None:
        self.client, self.graph, self.headers = client, graph, {"Authorization": f"Bearer {key}"}

    def call(self, method: str, path: str, status: int = 200, **options: Any) -> Any:
        answer = self.client.request(method, f"/facts{path}", headers=self.headers, **options)
        assert answer.status_code == status, answer.text
        return answer.json() if answer.content else None

    def read(self) -> None:
        """Store what was handed in, and read it for facts."""
        context = plain_context(self.graph.here)
        ingest(context, self.graph.user)
        reading.read_waiting(context, user_id=self.graph.user.user_id)

    def state(self, statement: str, **fields: Any) -> str:
        stated = self.call("POST", "", 202, json={"statement": statement, **fields})
        self.read()
        return str(stated["fact_id"])

    def change(self, fact_id: str, **fields: Any) -> str:
        changed = self.call("PATCH", f"/{fact_id}", 202, json=fields)
        self.read()
        return str(changed["fact_id"])

    def get(self, fact_id: str) -> Any:
        return self.call("GET", f"/{fact_id}")

    def listed(self, **filters: Any) -> list[str]:
        return sorted(one["statement"] for one in self.call("GET", "", params=filters)["facts"])

    def current_memories(self) -> list[str]:
        """Return the summaries of the memories that no other one supersedes."""
        answer = self.client.get("/records", headers=self.headers, params={"superseded": False})
        return sorted(one["summary"] for one in answer.json()["records"])

    def chain(self, fact_id: str) -> list[tuple[str, int, str]]:
        versions = self.call("GET", f"/{fact_id}/history")["versions"]
        return [(one["statement"].split()[-1], one["version"], one["status"]) for one in versions]
