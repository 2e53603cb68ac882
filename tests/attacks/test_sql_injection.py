"""SQL in every text field over HTTP and in node names; none of it is run."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import quote
from uuid import uuid4

import httpx
import pytest

from neurigraph_pipelines.access.authentication import issue_api_key
from neurigraph_pipelines.graph import provisioning
from neurigraph_pipelines.model.errors import InvalidInputError
from tests.conftest import ADMIN_KEY
from tests.support.api_server import serving
from tests.support.memories import converse, ingest, new_user, plain_context, rows, schemas_of
from tests.support.two_users import World

pytestmark = pytest.mark.attack

# Each would leave its mark if it were run: the role of the faces may change titles, that of the pipeline much more.
MARK = "UPDATE neurigraph.sources SET title = 'pwned'"
PAYLOADS = [
    f"'; {MARK}; --",
    f"' || (SELECT set_config('x.y', 'z', false)); {MARK}; --",
    f'"; {MARK}; --',
    f"$$; {MARK}; --",
    f"\\'; {MARK}; --",
    f"\u02bc; {MARK}; -- \uff07; {MARK}; --",
    f"*/; {MARK}; /*",
    f"%s %(user_id)s %% {{schema}} {{}} ${{1}} $1 :name ?; {MARK}",
    "' OR '1'='1",
    "' UNION SELECT key_hash FROM neurigraph.api_keys --",
    "1; SELECT pg_sleep(600)",
]


@pytest.fixture(scope="module")
def client(world: World) -> Iterator[httpx.Client]:
    key = issue_api_key(world.installation.database, world.alice.user_id)
    with (
        serving(world.installation) as address,
        httpx.Client(base_url=address, timeout=60.0, headers={"Authorization": f"Bearer {key}"}) as made,
    ):
        yield made


@pytest.fixture(autouse=True)
def nothing_ran(world: World) -> Iterator[None]:
    """Assert after each test that no injected statement ran."""
    yield
    assert rows(world.installation, "SELECT FROM neurigraph.sources WHERE title = 'pwned'") == []
    assert rows(world.installation, "SELECT count(*) AS n FROM neurigraph.users WHERE slug IN ('alice', 'bob')") == [
        {"n": 2}
    ]


Send = Callable[[httpx.Client, str], httpx.Response]


def field(path: str, name: str, **others: Any) -> Send:
    """Sends a text as one field of a body."""
    return lambda client, text: client.post(path, json={**others, name: text})


def message(name: str) -> Send:
    """Sends a text as one field of a message."""

    def send(client: httpx.Client, text: str) -> httpx.Response:
        opened = client.post("/v1/conversations", json={}).json()["conversation_id"]
        sent = {"tool_calls": [{text: text}]} if name == "tool calls" else {name: text}
        one = {"role": "user", "content": "x", **sent}
        return client.post(f"/v1/conversations/{opened}/messages", json={"messages": [one]})

    return send


def upload(name: str) -> Send:
    """Sends a text as one field of a form, beside a new file."""

    def send(client: httpx.Client, text: str) -> httpx.Response:
        file = (text if name == "file name" else "f", uuid4().bytes)
        return client.post("/v1/files", files={"file": file}, data={} if name == "file name" else {name: text})

    return send


def address(path: str) -> Send:
    return lambda client, text: client.get(path.format(quote(text, safe="")))


def alias(client: httpx.Client, text: str) -> httpx.Response:
    """Gives a node another name, and takes it back."""
    path = f"/v1/nodes/{client.get('/v1/nodes', params={'limit': 1}).json()['nodes'][0]['node_id']}/aliases"
    assert client.post(path, json={"value": text, "type": "external"}).status_code < 500
    return client.delete(path, params={"value": text})


LINK = {"from_fact_id": str(uuid4()), "relation": "supports", "to_fact_id": str(uuid4())}
FIELDS: dict[str, Send] = {
    **{
        f"{name} of a conversation": field("/v1/conversations", name) for name in ("title", "external_id", "started_at")
    },
    **{
        f"{name} of an event": field("/v1/events", name, kind="meeting", title="t") for name in ("title", "external_id")
    },
    **{
        f"{name} of a note": field("/v1/notes", name, content="t")
        for name in ("title", "path", "node_id", "on_conflict")
    },
    "content of a note": field("/v1/notes", "content"),
    **{
        f"{name} of what is handed in": field("/v1/conversations", name)
        for name in ("origin", "document_type", "url", "channel", "author", "updated_at", "replaces")
    },
    "metadata of what is handed in": lambda client, text: client.post(
        "/v1/events", json={"kind": "call", "title": "t", "metadata": {text[:100]: text}}
    ),
    "metadata of an upload": upload("metadata"),
    "title of a note that is looked up": lambda client, text: client.post(
        "/v1/notes", json={"content": "t", "title": text, "path": "Harbour"}
    ),
    "tag of a note": lambda client, text: client.post("/v1/notes", json={"content": "t", "tags": [text]}),
    **{f"{name} of a fact": field("/v1/facts", name, statement="t") for name in ("where", "kind", "occurred_from")},
    "words of a fact": lambda client, text: client.post(
        "/v1/facts", json={"statement": text, "tags": [text], "who": [text], "metadata": {text: text}}
    ),
    "people and tag of facts": lambda client, text: client.get("/v1/facts", params={"who": text, "tags": [text, text]}),
    **{
        f"{name} of a link": field("/v1/links", name, **LINK)
        for name in ("relation", "reason", "from_fact_id", "to_record_id", "valid_from")
    },
    "signature of a link": lambda client, text: client.post(
        "/v1/links", json=LINK | {"signature": {"signing_key_id": str(uuid4()), "value": text}}
    ),
    "relation of links": lambda client, text: client.get(f"/v1/facts/{uuid4()}/links", params={"relation": text}),
    **{
        f"{name} of a signing key": field(
            "/v1/signing-keys", name, public_key="QSBrZXkgb2YgdGhlIGluamVjdGlvbiB0ZXN0cyE="
        )
        for name in ("public_key", "peer")
    },
    "kind of an event": field("/v1/events", "kind", title="t"),
    **{f"{name} of a message": message(name) for name in ("role", "content", "author", "external_id", "tool calls")},
    **{f"{name} of an upload": upload(name) for name in ("file name", "title", "external_id", "occurred_at")},
    **{f"{name} of a question": field("/v1/search", name, query="q") for name in ("node_id", "speaker", "at")},
    "question": field("/v1/search", "query"),
    "text of duplicates": field("/v1/duplicates", "text"),
    **{
        f"{name} of a graph query": field("/v1/facts/query", name, query="q")
        for name in ("query", "kind", "fact_id", "at", "valid_at")
    },
    "name of a graph query": field("/v1/facts/query", "query", kind="about"),
    "lists of a graph query": lambda client, text: client.post(
        "/v1/facts/query", json={"query": "q", "who": [text], "relations": [text]}
    ),
    "people of a graph query": lambda client, text: client.post("/v1/facts/query", json={"query": "q", "who": [text]}),
    "question to be answered": field("/v1/ask", "query"),
    "speaker of a question to be answered": field("/v1/ask", "speaker", query="Whom did I meet?"),
    "source kinds": lambda client, text: client.post("/v1/search", json={"query": "q", "source_kinds": [text]}),
    "name of a field": lambda client, text: client.post("/v1/search", json={"query": "q", text: 1}),
    "node in an address": address("/v1/nodes/{}"),
    "file in an address": address("/v1/files/{}"),
    "alias": alias,
    "alias that is looked up": lambda client, text: client.get("/v1/aliases", params={"value": text, "type": "name"}),
    "upload in an address": address("/v1/uploads/{}"),
    "page": lambda client, text: client.get("/v1/uploads", params={"limit": text, "cursor": text}),
    "API key": lambda client, text: client.get("/v1/tree", headers=[(b"Authorization", b"Bearer " + text.encode())]),
    "slug": lambda client, text: client.post(
        "/v1/users", json={"slug": text}, headers={"Authorization": f"Bearer {ADMIN_KEY}"}
    ),
}


@pytest.mark.parametrize("place", FIELDS)
def test_sql_in_a_field(client: httpx.Client, place: str) -> None:
    for text in PAYLOADS:
        answer = FIELDS[place](client, text)
        assert answer.status_code < 500, (text, answer.text)
        assert "syntax error" not in answer.text
        assert "neurigraph_" not in answer.text.replace(json.dumps(text)[1:-1], ""), "no name of a role"


def test_stored_sql_is_read_as_text(world: World) -> None:
    """Stored text stays text when it is filed, embedded, indexed and searched."""
    user, claims = new_user(world.installation)
    for payload in PAYLOADS:
        converse(world.installation, claims, payload, f"And then? {payload}", external_id=payload)
    results = ingest(plain_context(world.installation), user)
    assert sum(len(result.stored) for result in results) == len(PAYLOADS)
    stored = rows(world.installation, "SELECT external_id FROM neurigraph.sources WHERE user_id = %s", user.user_id)
    assert {row["external_id"] for row in stored} == set(PAYLOADS)


@pytest.mark.parametrize(
    "name",
    [
        'x"; DROP SCHEMA neurigraph CASCADE; --',
        "x'; DROP SCHEMA neurigraph CASCADE; --",
        "neurigraph",
        "neurigraph.users",
        "pg_catalog",
        "{schema}",
        "%s",
        "'''\"\"\"$$",
        "\u0000neurigraph",
    ],
)
def test_sql_as_node_name(world: World, name: str) -> None:
    """A model may propose any node name; the schema name is always the user's own, in plain letters."""
    database = world.installation.database
    user, claims = new_user(world.installation)
    tag = name.replace(" ", "_").replace("/", "_")
    converse(world.installation, claims, f"#{tag} I wrote this down.")
    ingest(plain_context(world.installation), user)
    schemas = schemas_of(world.installation, user).values()
    assert all(schema.replace("_", "").isalnum() and schema.isascii() for schema in schemas)
    assert not {"neurigraph", "pg_catalog", "public"} & set(schemas)
    with database.agent(claims) as tx:
        assert provisioning.find_user(database, user.slug).user_id == user.user_id
        found = tx.execute("SELECT sum(record_count)::int AS n FROM neurigraph.graph_index").fetchone()
    assert found == {"n": 1}


@pytest.mark.parametrize("slug", ["pg_toast", "neurigraph", "public", "x'; --", 'x"', "a.b", "%s", "{schema}", "$1"])
def test_sql_as_user_slug(world: World, slug: str) -> None:
    """The slug begins the names of all their schemas."""
    try:
        user, _ = provisioning.create_user(world.installation.database, slug)
    except InvalidInputError:
        return
    (schema,) = schemas_of(world.installation, user).values()
    assert schema.startswith("u_"), "it is stepped around"
