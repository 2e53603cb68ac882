"""A graph with something for every view of the page, whose texts a test chooses."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

import httpx

from neurigraph_pipelines.exchange import sharing
from neurigraph_pipelines.model.context import Context
from neurigraph_pipelines.wiring.installation import Installation
from tests.support.failed_segments import fail
from tests.support.memories import ingest
from tests.support.told_people import People
from tests.support.uploads import store

TALK = [
    {
        "role": "user",
        "content": "#Harbour The keel of the boat needs new bolts before April. {text}",
        "author": "{name}",
    },
    {"role": "assistant", "content": "I will remember the bolts of the keel. {text}"},
    {"role": "user", "content": "Ana said that the crane is booked for Tuesday.", "author": "{name}"},
]


@dataclass(frozen=True, slots=True)
class Words:
    """What strangers might have written: a name without slashes, and a text."""

    name: str
    text: str


@dataclass(frozen=True, slots=True)
class World:
    """One graph.

    Attributes:
        key: An API key of its owner.
        record_id: A memory with versions, facts, messages and a file that sleeps.
        persona_id: A persona who was granted one node.
        failure_id: A conversation that could not be stored.
    """

    people: People
    key: str
    record_id: UUID
    file_id: UUID
    node_id: UUID
    persona_id: UUID
    failure_id: UUID


def make_world(installation: Installation, address: str, words: Words, context: Context | None = None) -> World:
    """Store memories with the given words in every place that takes them, through the API where it has one.

    Args:
        context: With other models than the plain ones of tests.
    """
    people = People(installation, "flag")
    people.context = context or people.context
    _, key = sharing.issue_key(installation.database, people.claims)
    with httpx.Client(base_url=f"{address}/v1", headers={"Authorization": f"Bearer {key}"}, timeout=60.0) as client:
        (failure,) = fail(installation, people.user, words.name)
        record = _memory(client, people, words)
        for statement in (f"Ana lives in Porto. {words.text}", f"Ana lives in Lisbon. {words.text}"):
            people.tell(UUID(record["record_id"]), statement, 0)
        people.tell(UUID(record["record_id"]), "Ana lives in Porto.", 1, confidence=0.9)
        people.tell(UUID(record["record_id"]), "Ana lives in Lisbon.", 1, confidence=0.9)
        people.reconcile()
        persona_id = _persona(client, record, words)
        _post(client, "/spaces", container_tag="harbour", name=words.name, entity_context=words.text)
        form = {"title": words.text[:300], "container_tags": "harbour"}
        sent = client.post("/files", files={"file": (f"{words.name}.txt", words.text.encode())}, data=form)
        assert sent.status_code == 202, sent.text
        store(installation)
        assert client.post(f"/files/{record['file_id']}/compress").status_code == 200
    return World(
        people, key, UUID(record["record_id"]), UUID(record["file_id"]), UUID(record["node_id"]), persona_id,
        failure.failure_id,
    )  # fmt: skip


def _memory(client: httpx.Client, people: People, words: Words) -> dict[str, str]:
    """Store a conversation, and revise it: its memory has three versions."""
    opened = _post(client, "/conversations", title=words.name, external_id=words.name[:200] + " again")
    said = [{name: text.format(name=words.name, text=words.text) for name, text in one.items()} for one in TALK]
    _post(client, f"/conversations/{opened['conversation_id']}/messages", messages=said)
    _post(client, f"/conversations/{opened['conversation_id']}/end")
    ingest(people.context, people.user)
    (record,) = client.get("/records").json()["records"]
    for summary in (f"Bolts for the keel. {words.text}", f"Bolts for the keel, before April. {words.text}"):
        body = {"title": f"The keel {words.name}", "summary": summary, "entities": ["Ana", words.name]}
        assert client.patch(f"/records/{record['record_id']}", json=body).status_code == 200
    found: dict[str, str] = client.get(f"/records/{record['record_id']}").json()
    return found


def _persona(client: httpx.Client, record: dict[str, str], words: Words) -> UUID:
    """Add nodes of these names, and grant one to a persona."""
    (root,) = client.get("/nodes", params={"limit": 1}).json()["nodes"]
    made = _post(client, "/nodes", parent_node_id=root["node_id"], name="Lawyer", node_type="persona")
    below = _post(client, "/nodes", parent_node_id=record["node_id"], name=words.name, summary=words.text)
    _post(client, "/nodes", parent_node_id=below["node_id"], name="Crane")
    _post(client, f"/nodes/{record['node_id']}/aliases", value=words.name)
    _post(client, "/grants", persona_id=made["node_id"], node_id=record["node_id"])
    _post(client, "/grants", third_party=words.name[:100], node_id=record["node_id"])
    return UUID(made["node_id"])


def _post(client: httpx.Client, path: str, **body: object) -> dict[str, str]:
    answer = client.post(path, json=body or None)
    assert answer.status_code in (200, 201, 202), f"{path}: {answer.text}"
    made: dict[str, str] = answer.json()
    return made
