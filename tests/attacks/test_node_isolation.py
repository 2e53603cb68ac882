"""Access to denied nodes through every HTTP operation, the Python module and raw SQL.

What is denied and what is absent must be the same answer, byte for byte, and cost the same work.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any
from uuid import UUID, uuid4

import httpx
import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from pydantic import SecretStr

from neurigraph_pipelines import history, sharing
from neurigraph_pipelines.access import Secret
from neurigraph_pipelines.erasure import forget
from neurigraph_pipelines.erasure.receipts import Subject, SubjectKind
from neurigraph_pipelines.errors import ForbiddenError, NotFoundError
from neurigraph_pipelines.graph import navigation, reshaping
from neurigraph_pipelines.ingestion import revision
from neurigraph_pipelines.lifecycle import control
from neurigraph_pipelines.model import Claims, SubjectType
from neurigraph_pipelines.retrieval.open import file_of_record, open_file, open_message
from neurigraph_pipelines.retrieval.query.phase_one import phase_one
from neurigraph_pipelines.retrieval.query.question import Question
from neurigraph_pipelines.wiring import Installation
from tests.conftest import SECRET
from tests.support.api_server import serving
from tests.support.callers import CallerGraph, Ids, share
from tests.support.counting_relay import counting_relay
from tests.support.memories import rows
from tests.support.two_users import World

pytestmark = pytest.mark.attack

# Who asks for what that is closed to them.
ATTEMPTS = {
    "a persona for its sibling": ("persona", "Family/Ana"),
    "a persona for what lies beside it": ("persona", "Family"),
    "a persona for another user's": ("persona", "bob"),
    "a third party with nothing": ("nothing", "Family/Ana"),
    "a third party whose grant was revoked": ("revoked", "Family/Ana"),
    "a third party whose grant has expired": ("expired", "Family/Ana"),
    "a third party with a grant above it": ("above", "Family/Ana"),
    "a third party with a grant below it": ("granted", "Family"),
    "another user": ("bob", "Family/Ana"),
}
# What is asked, with which body; the names of ids stand for themselves.
OPERATIONS: dict[str, Any] = {
    "GET /v1/nodes/{node}": None,
    "GET /v1/nodes/{node}/state": None,
    "GET /v1/nodes/{node}/records": None,
    "DELETE /v1/nodes/{node}": None,
    "DELETE /v1/nodes/{node}?dry_run=true": None,
    "POST /v1/nodes": {"parent_node_id": "{node}", "name": "Planted"},
    "POST /v1/search": {"query": "Whom did I meet?", "node_id": "{node}"},
    "POST /v1/ask": {"query": "Whom did I meet?", "node_id": "{node}"},
    "POST /v1/grants": {"third_party": "mallory", "node_id": "{node}"},
    "GET /v1/grants?node_id={node}": None,
    "GET /v1/records/{record}": None,
    "GET /v1/records/{record}?at=2999-01-01T00:00:00Z": None,
    "GET /v1/records/{record}/history": None,
    "GET /v1/records/{record}/diff?w1=2001-01-01T00:00:00Z": None,
    "PATCH /v1/records/{record}": {"title": "Mine"},
    "POST /v1/records/{record}/supersede": {"by": None},
    "DELETE /v1/records/{record}": None,
    "GET /v1/files/{file}": None,
    "POST /v1/files/{file}/touch": None,
    "POST /v1/files/{file}/compress": None,
    "POST /v1/files/{file}/open": None,
    "POST /v1/files/{file}/open?message=1": None,
    "POST /v1/conversations/{source}/messages": {"messages": [{"role": "user", "content": "Mine now."}]},
    "POST /v1/conversations/{source}/end": None,
    "PATCH /v1/conversations/{source}": {"privacy": "shared"},
    "PATCH /v1/events/{source}": {"privacy": "shared"},
    "GET /v1/uploads/{source}": None,
    "PATCH /v1/uploads/{source}": {"privacy": "shared"},
    "PATCH /v1/nodes/{node}": {"name": "Mine"},
    "POST /v1/nodes/{node}/split": {"name": "Mine", "keyword": "Ana"},
    "POST /v1/nodes/{node}/merge": {"into_node_id": "{record}"},
    "POST /v1/records/{record}/move": {"node_id": "{file}"},
    "POST /v1/failures/{source}/replay": None,
}


@pytest.fixture(scope="module")
def graph(world: World) -> CallerGraph:
    return share(world)


@pytest.fixture(scope="module")
def client(graph: CallerGraph) -> Iterator[httpx.Client]:
    with serving(graph.installation) as address, httpx.Client(base_url=address, timeout=60.0) as made:
        yield made


def request(
    client: httpx.Client, graph: CallerGraph, asker: str, operation: str, body: Any, names: dict[str, str]
) -> httpx.Response:
    """Send an operation with its placeholders replaced by ids."""
    method, path = operation.split()
    sent = {field: value.format(**names) if isinstance(value, str) else value for field, value in (body or {}).items()}
    headers = {"Authorization": f"Bearer {graph.askers[asker].key}"}
    return client.request(method, path.format(**names), json=sent if body is not None else None, headers=headers)


def call(client: httpx.Client, graph: CallerGraph, asker: str, operation: str, ids: Ids) -> httpx.Response:
    return request(client, graph, asker, operation, OPERATIONS[operation], ids.texts())


def masked(text: str, ids: Ids) -> str:
    """Return a response text with the caller's own ids removed."""
    for value in ids.texts().values():
        text = text.replace(value, "ID")
    return text


@pytest.mark.parametrize("attempt", ATTEMPTS)
@pytest.mark.parametrize("operation", OPERATIONS)
def test_access_over_http(client: httpx.Client, graph: CallerGraph, attempt: str, operation: str) -> None:
    asker, target = ATTEMPTS[attempt]
    hidden = graph.nodes[target]
    nowhere = hidden.elsewhere()
    denied = call(client, graph, asker, operation, hidden)
    absent = call(client, graph, asker, operation, nowhere)
    assert denied.status_code in (403, 404) or (
        operation.startswith("GET /v1/grants") and denied.json()["grants"] == []
    )
    assert (denied.status_code, masked(denied.text, hidden)) == (
        absent.status_code,
        masked(absent.text, nowhere),
    )
    assert set(denied.headers) == set(absent.headers)


@pytest.mark.parametrize(
    ("operation", "body"),
    [
        ("POST /v1/records/{own_record}/move", {"node_id": "{node}"}),
        ("POST /v1/records/{own_record}/supersede", {"by": "{record}"}),
        ("PATCH /v1/nodes/{own_node}", {"parent_node_id": "{node}"}),
        ("POST /v1/nodes/{own_node}/merge", {"into_node_id": "{node}"}),
    ],
)
def test_join_with_foreign_rows(client: httpx.Client, graph: CallerGraph, operation: str, body: dict[str, str]) -> None:
    own = {f"own_{name}": value for name, value in graph.nodes["bob"].texts().items()}
    hidden = graph.nodes["Family/Ana"]
    nowhere = hidden.elsewhere()
    denied, absent = (request(client, graph, "bob", operation, body, own | ids.texts()) for ids in (hidden, nowhere))
    assert denied.status_code == 404
    assert masked(denied.text, hidden) == masked(absent.text, nowhere)


def test_same_calls_work_when_granted(client: httpx.Client, graph: CallerGraph) -> None:
    """The control for the tests above. Third parties read only the current state of records."""
    for asker, target in (("alice", "Family/Ana"), ("granted", "Family/Ana"), ("persona", "Assistant/Notes")):
        for operation in OPERATIONS:
            if operation.startswith(("GET /v1/nodes", "GET /v1/records", "GET /v1/files", "POST /v1/search")):
                answer = call(client, graph, asker, operation, graph.nodes[target])
                past = operation.startswith("GET /v1/records/{record}") and operation != "GET /v1/records/{record}"
                assert answer.status_code == (404 if asker == "granted" and past else 200), (asker, operation)


@pytest.mark.parametrize("asker", ["persona", "granted", "above", "revoked", "expired", "nothing", "bob"])
def test_answers_hide_denied_nodes(client: httpx.Client, graph: CallerGraph, asker: str) -> None:
    """Covers trees, shells, hits, anchors, suggestions, counts and statistics of allowed answers."""
    opened = {"persona": ("Assistant",), "granted": ("Family/Ana",), "above": ("Family",), "bob": ("bob",)}.get(
        asker, ()
    )
    hidden = {path: ids for path, ids in graph.nodes.items() if path not in opened and path != "Assistant/Notes"}
    headers = {"Authorization": f"Bearer {graph.askers[asker].key}"}
    answers = [client.get("/v1/tree", headers=headers), client.get("/v1/uploads", headers=headers)]
    for query in ("I met Ana", "harbour", "Who is Ana's sister?", "Dave", "Family", "zeppelin and marigolds"):
        for body in ({"query": query, "explain": True, "limit": 200}, {"query": query, "speaker": "Ana"}):
            answers.append(client.post("/v1/search", json=body, headers=headers))
        answers.append(client.post("/v1/ask", json={"query": query}, headers=headers))
    for path in opened:
        for operation in ("GET /v1/nodes/{node}", "GET /v1/nodes/{node}/state", "GET /v1/nodes/{node}/records"):
            answers.append(call(client, graph, asker, operation, graph.nodes[path]))
    everything = "".join(answer.text for answer in answers if answer.status_code == 200)
    for path, ids in hidden.items():
        if not any(path.startswith(f"{above}/") for above in opened if asker == "persona"):
            assert not [value for value in ids.texts().values() if value in everything], path
    if asker in ("persona", "revoked", "expired", "nothing"):
        assert "harbour" not in everything
        assert "Family" not in everything.replace('"Family"', "")


# The Python module


def ways(graph: CallerGraph, claims: Claims, ids: Ids) -> dict[str, Callable[[], Any]]:
    here = graph.installation
    database = here.database

    def asked(read: Callable[..., Any], value: UUID) -> Any:
        with database.agent(claims) as tx:
            return read(tx, value)

    return {
        "shell": lambda: asked(navigation.shell, ids.node),
        "records": lambda: asked(navigation.records, ids.node),
        "node state": lambda: control.node_state(database, claims, ids.node),
        "file state": lambda: control.file_state(database, claims, ids.file),
        "touch": lambda: control.touch(here.acting_for(claims), ids.file),
        "compress": lambda: control.compress(here.acting_for(claims), ids.file),
        "open": lambda: open_file(here.acting_for(claims), ids.file),
        "open a message": lambda: open_message(here.acting_for(claims), ids.file, 1),
        "file of a record": lambda: file_of_record(database, claims, ids.record),
        "record": lambda: history.record_at(database, claims, ids.record),
        "history": lambda: history.history(database, claims, ids.record),
        "search": lambda: phase_one(here.acting_for(claims), Question("Ana", node_id=ids.node)),
        "revise": lambda: revision.revise(here.acting_for(claims), ids.record, revision.Revision(title="Mine")),
        "supersede": lambda: revision.supersede(database, claims, ids.record, None),
        "rename": lambda: reshaping.rename_node(database, claims, ids.node, "Mine"),
        "merge": lambda: reshaping.merge_nodes(database, claims, ids.node, uuid4()),
        "move": lambda: reshaping.move_node(database, claims, uuid4(), ids.node),
        "forget": lambda: forget.forget(here.acting_for(claims), Subject(SubjectKind.NODE, ids.node), through="x"),
        "provision": lambda: sharing.add_node(database, claims, ids.node, "Planted"),
        "grant": lambda: sharing.grant(database, claims, sharing.Subject(SubjectType.THIRD_PARTY, "m"), ids.node),
    }


@pytest.mark.parametrize("attempt", ATTEMPTS)
def test_access_through_python(graph: CallerGraph, attempt: str) -> None:
    asker, target = ATTEMPTS[attempt]
    claims, hidden = graph.askers[asker].claims, graph.nodes[target]
    for name in ways(graph, claims, hidden):
        answers = []
        for ids in (hidden, hidden.elsewhere()):
            with pytest.raises((NotFoundError, ForbiddenError)) as refused:
                ways(graph, claims, ids)[name]()
            answers.append((type(refused.value), masked(str(refused.value), ids)))
        assert answers[0] == answers[1], name


# Raw SQL

SHARED = {
    "graph_index": "node_id = %(node)s",
    "node_edges": "%(node)s IN (from_node_id, to_node_id)",
    "record_index": "record_id = %(record)s",
    "file_index": "file_id = %(file)s",
    "delta_log": "record_id = %(record)s",
    "compression_state_log": "file_id = %(file)s",
    "sources": "source_id = %(source)s",
    "messages": "source_id = %(source)s",
    "storage_triggers": "source_id = %(source)s",
    "warm_nodes": "node_id = %(node)s",
    "permission_grants": "target_node_id = %(node)s",
}


@pytest.mark.parametrize("attempt", ATTEMPTS)
def test_access_with_raw_sql(world: World, graph: CallerGraph, attempt: str) -> None:
    asker, target = ATTEMPTS[attempt]
    ids = graph.nodes[target]
    (node,) = rows(graph.installation, "SELECT schema_name FROM neurigraph.graph_index WHERE node_id = %s", ids.node)
    values = {"node": ids.node, "record": ids.record, "file": ids.file, "source": ids.source}
    statements = [
        sql.SQL("SELECT FROM neurigraph.{} WHERE " + condition).format(sql.Identifier(table))
        for table, condition in SHARED.items()
    ] + [
        sql.SQL("SELECT FROM {}").format(sql.Identifier(node["schema_name"], table))
        for table in ("metadata_records", "file_manifest", "passages")
    ]
    with world.agent(*Secret(SECRET).sign(graph.askers[asker].claims)) as connection:
        for statement in statements:
            with suppress(psycopg.errors.InsufficientPrivilege), connection.transaction():
                assert connection.execute(statement, values).fetchall() == [], statement
        (may,) = connection.execute("SELECT neurigraph.may_read_node(%s) AS may", [ids.node]).fetchall()
        assert may == {"may": False}


@pytest.mark.parametrize("asker", ["persona", "granted", "above", "nothing"])
@pytest.mark.parametrize(
    "statement",
    [
        "SELECT * FROM neurigraph.permission_grants",
        "SELECT * FROM neurigraph.api_keys",
        "SELECT * FROM neurigraph.messages",
        "SELECT * FROM neurigraph.storage_triggers",
        "SELECT * FROM neurigraph.pipeline_failures",
        "SELECT * FROM neurigraph.user_lexemes",
        "SELECT * FROM neurigraph.user_statistics",
        "SELECT * FROM neurigraph.node_lexemes",
        "INSERT INTO neurigraph.permission_grants SELECT * FROM neurigraph.permission_grants",
        "UPDATE neurigraph.permission_grants SET revoked_at = NULL RETURNING 1",
        "UPDATE neurigraph.graph_index SET last_accessed_at = now() RETURNING 1",
    ],
)
def test_owner_tables_are_closed(world: World, graph: CallerGraph, asker: str, statement: str) -> None:
    with (
        world.agent(*Secret(SECRET).sign(graph.askers[asker].claims)) as connection,
        suppress(psycopg.errors.InsufficientPrivilege),
    ):
        done = connection.execute(sql.SQL(statement))
        assert done.rowcount == 0


def test_grant_revoked_during_a_transaction(world: World, graph: CallerGraph) -> None:
    """The node is closed from the next statement on."""
    alice, database = graph.askers["alice"].claims, graph.installation.database
    subject = sharing.Subject(SubjectType.THIRD_PARTY, "for a moment")
    made, _ = sharing.grant(database, alice, subject, graph.nodes["Family/Ana"].node)
    claims = Claims("for a moment", "third_party", world.alice.user_id)
    with world.agent(*Secret(SECRET).sign(claims)) as connection:
        count = "SELECT count(*) AS n FROM neurigraph.graph_index"
        assert connection.execute(count).fetchone() == {"n": 1}
        sharing.revoke(database, alice, made.grant_id)
        assert connection.execute(count).fetchone() == {"n": 0}


@pytest.mark.parametrize("asker", ["persona", "granted", "above", "nothing"])
@pytest.mark.parametrize(
    ("operation", "body"),
    [
        ("POST /v1/keys", {}),
        ("POST /v1/keys", {"third_party": "granted"}),
        ("GET /v1/keys", None),
        ("DELETE /v1/keys/{source}", None),
        ("POST /v1/grants", {"third_party": "nothing", "node_id": "{node}"}),
        ("GET /v1/grants", None),
        ("GET /v1/export", None),
        ("POST /v1/conversations", {"title": "planted"}),
        ("POST /v1/nodes", {"parent_node_id": "{node}", "name": "Planted"}),
        ("PATCH /v1/records/{record}", {"title": "Mine"}),
        ("POST /v1/files/{file}/compress", None),
        ("DELETE /v1/nodes/{node}", None),
        ("DELETE /v1/records/{record}", None),
        ("DELETE /v1/users/{user}", None),
    ],
)
def test_owner_operations_are_refused(
    client: httpx.Client, world: World, graph: CallerGraph, asker: str, operation: str, body: Any
) -> None:
    """Holds for readable nodes too."""
    own = {"persona": "Assistant/Notes", "granted": "Family/Ana", "above": "Family", "nothing": "Family"}[asker]
    names = {**graph.nodes[own].texts(), "user": str(world.alice.user_id)}
    answer = request(client, graph, asker, operation, body, names)
    assert answer.status_code in (403, 404), answer.text
    assert rows(graph.installation, "SELECT FROM neurigraph.graph_index WHERE node_name = 'Planted'") == []


# The work that is done


@pytest.mark.parametrize("attempt", ["a persona for its sibling", "another user"])
def test_denied_and_absent_cost_the_same(world: World, graph: CallerGraph, attempt: str) -> None:
    """Compare the number of database requests and their response bytes; no clock is used."""
    asker, target = ATTEMPTS[attempt]
    url = graph.installation.administrator_url
    parts = conninfo_to_dict(url)
    with counting_relay(str(parts["host"]), int(parts["port"] or 5432)) as relay:
        address = make_conninfo("", **{**parts, "host": "127.0.0.1", "port": relay.server_address[1]})
        changes = {"database_url": SecretStr(address), "database_pool_size": 1, "warming_nodes": 0}
        settings = graph.installation.settings.changed(**changes)
        with Installation(settings) as other, serving(other) as base, httpx.Client(base_url=base) as client:
            for operation in OPERATIONS:
                # Statements are prepared once they came often enough: before that, one costs less than the one before.
                for _ in range(6):
                    call(client, graph, asker, operation, graph.nodes[target])
                costs = set()
                for ids in (graph.nodes[target], graph.nodes[target].elsewhere()):
                    relay.answered = 0
                    call(client, graph, asker, operation, ids)
                    costs.add(relay.answered)
                assert len(costs) == 1, operation
