"""Access to denied nodes through every HTTP operation, the Python module and raw SQL.

What is denied and what is absent must be the same answer, byte for byte, and cost the same work.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any
from uuid import UUID

import httpx
import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from pydantic import SecretStr

from neurigraph_pipelines.exchange import sharing
from neurigraph_pipelines.graph import history, navigation, reshaping
from neurigraph_pipelines.ingestion import revision
from neurigraph_pipelines.lifecycle import control
from neurigraph_pipelines.lifecycle.erasure import forget
from neurigraph_pipelines.lifecycle.erasure.receipts import ErasureSubject, SubjectKind
from neurigraph_pipelines.model import Claims, SubjectType
from neurigraph_pipelines.model.errors import ForbiddenError, NotFoundError
from neurigraph_pipelines.retrieval.open import file_of_record, open_file, open_message
from neurigraph_pipelines.retrieval.query.question import Question
from neurigraph_pipelines.retrieval.query.search import search
from neurigraph_pipelines.wiring.installation import Installation
from tests.conftest import ROOT
from tests.support.api_calls import SAME_ID
from tests.support.api_server import serving
from tests.support.callers import ATTEMPTS, Caller, CallerGraph, Ids, new_owner, share
from tests.support.counting_relay import counting_relay
from tests.support.memories import rows
from tests.support.node_operations import ELSEWHERE, JOINS, OPERATIONS
from tests.support.two_users import World

pytestmark = pytest.mark.attack


@pytest.fixture(scope="module")
def owner(graph: CallerGraph) -> tuple[Caller, dict[str, Ids]]:
    """Another user with many nodes, since some operations remove what they are called with."""
    names = [*nodes_of(OPERATIONS), *(f"join{number}" for number in range(len(JOINS)))]
    return new_owner(
        graph.installation, [*dict.fromkeys(names), *(way.replace(" ", "-") for way in WAYS), "home0", "home1"]
    )


@pytest.fixture(scope="module")
def graph(world: World) -> CallerGraph:
    return share(world)


@pytest.fixture(scope="module")
def client(graph: CallerGraph) -> Iterator[httpx.Client]:
    with serving(graph.installation) as address, httpx.Client(base_url=address, timeout=60.0, headers=SAME_ID) as made:
        yield made


def nodes_of(operations: Iterable[str]) -> list[str]:
    """Return the node that each operation is called with: all that read share one."""
    return ["read" if name.startswith("GET ") else f"call{number}" for number, name in enumerate(operations)]


# A node of the caller's own, which must not receive anything.
OWN_NODES = {"persona": "Assistant/Notes", "granted": "Family/Ana", "above": "Family", "bob": "bob"}


def filled_in(value: Any, names: dict[str, str]) -> Any:
    """Return a field of a body with its placeholders replaced by ids."""
    if isinstance(value, list):
        return [filled_in(one, names) for one in value]
    return value.format(**names) if isinstance(value, str) else value


def request(client: httpx.Client, key: str, operation: str, body: Any, names: dict[str, str]) -> httpx.Response:
    """Send an operation with its placeholders replaced by ids."""
    method, path, *_ = operation.split()
    sent = {field: filled_in(value, names) for field, value in (body or {}).items()}
    headers = {"Authorization": f"Bearer {key}"}
    return client.request(method, path.format(**names), json=sent if body is not None else None, headers=headers)


def call(client: httpx.Client, graph: CallerGraph, asker: str, operation: str, ids: Ids) -> httpx.Response:
    own = graph.nodes[OWN_NODES.get(asker, "Family")].node
    names = ids.texts() | {"own_node": str(own)}
    return request(client, graph.askers[asker].key, operation, OPERATIONS[operation], names)


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
    assert denied.status_code in (403, 404)
    assert (denied.status_code, masked(denied.text, hidden)) == (
        absent.status_code,
        masked(absent.text, nowhere),
    )
    assert set(denied.headers) == set(absent.headers)


@pytest.mark.parametrize(("operation", "body"), JOINS)
def test_join_with_foreign_rows(client: httpx.Client, graph: CallerGraph, operation: str, body: dict[str, str]) -> None:
    own = {f"own_{name}": value for name, value in graph.nodes["bob"].texts().items()}
    hidden = graph.nodes["Family/Ana"]
    nowhere = hidden.elsewhere()
    denied, absent = (
        request(client, graph.askers["bob"].key, operation, body, own | ids.texts()) for ids in (hidden, nowhere)
    )
    assert denied.status_code == 404
    assert masked(denied.text, hidden) == masked(absent.text, nowhere)


def test_same_calls_work_for_the_owner(client: httpx.Client, owner: tuple[Caller, dict[str, Ids]]) -> None:
    """The control for the tests above: each succeeds, on a node of its own; but owners ask nobody for an action."""
    caller, nodes = owner
    for number, (node, (operation, body)) in enumerate(zip(nodes_of(OPERATIONS), OPERATIONS.items(), strict=True)):
        names = nodes[node].texts() | {"own_node": str(nodes[f"home{number % 2}"].node)}
        answer = request(client, caller.key, operation, body, names)
        assert answer.is_success or (operation, answer.status_code) == ("POST /v1/actions", 409), (
            operation,
            answer.text,
        )


def test_every_operation_with_an_id_is_tried(client: httpx.Client) -> None:
    """A new one fails until it is in the list above, or is tried by a test of its own."""
    described = client.get("/openapi.json").json()["paths"]
    operations = (*OPERATIONS, *(operation for operation, _ in OWNERS_OPERATIONS))
    tried = {re.sub(r"\{\w+\}", "{}", operation.partition("?")[0]) for operation in operations}
    for path, methods in described.items():
        if "{" in path and not path.startswith(tuple(ELSEWHERE)):
            for method in methods:
                assert f"{method.upper()} {re.sub(r'{[^}]*}', '{}', path)}" in tried
    for start, test in ELSEWHERE.items():
        assert any(path.startswith(start) for path in described), start
        file, _, name = test.partition("::")
        assert f"def {name}(" in (ROOT / file).read_text(), test


def test_joins_work_for_the_owner(client: httpx.Client, owner: tuple[Caller, dict[str, Ids]]) -> None:
    """The control for the joins above."""
    caller, nodes = owner
    for number, (operation, body) in enumerate(JOINS):
        own = {f"own_{name}": value for name, value in nodes[f"join{number}"].texts().items()}
        answer = request(client, caller.key, operation, body, own | nodes["home0"].texts())
        assert answer.is_success, (operation, answer.text)


def test_same_calls_work_when_granted(client: httpx.Client, graph: CallerGraph) -> None:
    """The control for readers. Third parties read only the current state of records."""
    for asker, target in (("alice", "Family/Ana"), ("granted", "Family/Ana"), ("persona", "Assistant/Notes")):
        for operation in OPERATIONS:
            if operation.startswith(
                ("GET /v1/nodes", "GET /v1/records", "GET /v1/facts", "GET /v1/files", "POST /v1/search")
            ):
                answer = call(client, graph, asker, operation, graph.nodes[target])
                now = tuple(f"GET /v1/records/{{record}}{part}" for part in ("", "/facts", "/links", "/retention"))
                past = operation.startswith(now[0]) and operation not in now
                assert answer.status_code == (404 if asker == "granted" and past else 200), (asker, operation)


@pytest.mark.parametrize("asker", ["persona", "granted", "above", "revoked", "expired", "nothing", "bob"])
def test_answers_hide_denied_nodes(client: httpx.Client, graph: CallerGraph, asker: str) -> None:
    """Covers trees, shells, hits, anchors, suggestions, counts and statistics of allowed answers."""
    opened = {"persona": ("Assistant",), "granted": ("Family/Ana",), "above": ("Family",), "bob": ("bob",)}.get(
        asker, ()
    )
    hidden = {path: ids for path, ids in graph.nodes.items() if path not in opened and path != "Assistant/Notes"}
    headers = {"Authorization": f"Bearer {graph.askers[asker].key}"}
    lists = ("tree", "nodes", "records", "records?entity=Ana", "conversations", "events", "uploads", "notes", "facts")
    answers = [client.get(f"/v1/{name}", headers=headers) for name in lists]
    for query in ("I met Ana", "harbour", "Who is Ana's sister?", "Dave", "Family", "zeppelin and marigolds"):
        for body in ({"query": query, "explain": True, "limit": 200}, {"query": query, "speaker": "Ana"}):
            answers.append(client.post("/v1/search", json=body, headers=headers))
        answers.append(client.post("/v1/ask", json={"query": query}, headers=headers))
    for path in opened:
        for operation in ("GET /v1/nodes/{node}", "GET /v1/nodes/{node}/state", "GET /v1/records?node_id={node}"):
            answers.append(call(client, graph, asker, operation, graph.nodes[path]))
    everything = "".join(answer.text for answer in answers if answer.status_code == 200)
    for path, ids in hidden.items():
        if not any(path.startswith(f"{above}/") for above in opened if asker == "persona"):
            assert not [value for value in ids.texts().values() if value in everything], path
    if asker in ("persona", "revoked", "expired", "nothing"):
        assert "harbour" not in everything
        assert "Family" not in everything.replace('"Family"', "")


# The Python module


WAYS = (
    "shell", "node state", "file state", "touch", "compress", "open", "open a message", "file of a record",
    "record", "history", "search", "revise", "supersede", "rename", "merge", "merge own", "move", "move own", "forget",
    "provision", "grant",
)  # fmt: skip


def ways(here: Installation, claims: Claims, ids: Ids, own: Ids) -> dict[str, Callable[[], Any]]:
    database = here.database

    def asked(read: Callable[..., Any], value: UUID) -> Any:
        with database.agent(claims) as tx:
            return read(tx, value)

    return {
        "shell": lambda: asked(navigation.shell, ids.node),
        "node state": lambda: control.node_state(database, claims, ids.node),
        "file state": lambda: control.file_state(database, claims, ids.file),
        "touch": lambda: control.touch(here.acting_for(claims), ids.file),
        "compress": lambda: control.compress(here.acting_for(claims), ids.file),
        "open": lambda: open_file(here.acting_for(claims), ids.file),
        "open a message": lambda: open_message(here.acting_for(claims), ids.file, 1),
        "file of a record": lambda: file_of_record(database, claims, ids.record),
        "record": lambda: history.record_at(database, claims, ids.record),
        "history": lambda: history.history(database, claims, ids.record),
        "search": lambda: search(here.acting_for(claims), Question("Ana", node_id=ids.node)),
        "revise": lambda: revision.revise(here.acting_for(claims), ids.record, revision.Revision(title="Mine")),
        "supersede": lambda: revision.supersede(database, claims, ids.record, None),
        "rename": lambda: reshaping.rename_node(database, claims, ids.node, "Renamed"),
        "merge": lambda: reshaping.merge_nodes(database, claims, ids.node, own.node),
        "merge own": lambda: reshaping.merge_nodes(database, claims, own.node, ids.node),
        "move": lambda: reshaping.move_node(database, claims, ids.node, own.node),
        "move own": lambda: reshaping.move_node(database, claims, own.node, ids.node),
        "forget": lambda: forget.forget(
            here.acting_for(claims), ErasureSubject(SubjectKind.NODE, ids.node), through="x"
        ),
        "provision": lambda: sharing.add_node(database, claims, ids.node, "Planted"),
        "grant": lambda: sharing.grant(database, claims, sharing.Subject(SubjectType.THIRD_PARTY, "m"), ids.node),
    }


@pytest.mark.parametrize("attempt", ATTEMPTS)
def test_access_through_python(graph: CallerGraph, attempt: str) -> None:
    asker, target = ATTEMPTS[attempt]
    claims, hidden = graph.askers[asker].claims, graph.nodes[target]
    own = graph.nodes[OWN_NODES.get(asker, "Family")]
    for name in WAYS:
        answers = []
        for ids in (hidden, hidden.elsewhere()):
            with pytest.raises((NotFoundError, ForbiddenError)) as refused:
                ways(graph.installation, claims, ids, own)[name]()
            answers.append((type(refused.value), masked(str(refused.value), ids)))
        assert answers[0] == answers[1], name


def test_python_works_for_the_owner(graph: CallerGraph, owner: tuple[Caller, dict[str, Ids]]) -> None:
    """The control for the test above."""
    caller, nodes = owner
    done = dict[str, Any]()
    for name in WAYS:
        own = nodes[{"merge own": "open", "move own": "record"}.get(name, "home1")]
        done[name] = ways(graph.installation, caller.claims, nodes[name.replace(" ", "-")], own)[name]()
    assert done["record"].record_id == nodes["record"].record


OWNERS_OPERATIONS: list[tuple[str, Any]] = [
    ("POST /v1/keys", {}),
    ("POST /v1/keys", {"third_party": "granted"}),
    ("GET /v1/keys", None),
    ("DELETE /v1/keys/{key}", None),
    ("POST /v1/grants", {"third_party": "nothing", "node_id": "{node}"}),
    ("GET /v1/grants", None),
    ("GET /v1/personas", None),
    ("GET /v1/grants/preview?node_id={node}", None),
    ("GET /v1/export", None),
    ("GET /v1/quarantines", None),
    ("POST /v1/quarantines", {"source_id": "{conversation}", "reason": "Mine."}),
    ("POST /v1/quarantines/preview", {"source_id": "{conversation}", "reason": "Mine."}),
    ("POST /v1/conversations", {"title": "planted"}),
    ("POST /v1/nodes", {"parent_node_id": "{node}", "name": "Planted"}),
    ("PATCH /v1/records/{record}", {"title": "Mine"}),
    ("POST /v1/files/{file}/compress", None),
    ("POST /v1/edges/{edge}/evidence", {"stance": "denies"}),
    ("DELETE /v1/edges/{edge}/evidence/{evidence}", None),
    ("DELETE /v1/nodes/{node}", None),
    ("DELETE /v1/records/{record}", None),
    ("DELETE /v1/users/{user}", None),
]


@pytest.mark.parametrize("asker", ["persona", "granted", "above", "nothing"])
@pytest.mark.parametrize(("operation", "body"), OWNERS_OPERATIONS)
def test_owner_operations_are_refused(
    client: httpx.Client, world: World, graph: CallerGraph, asker: str, operation: str, body: Any
) -> None:
    """Holds for readable nodes too."""
    own = {"persona": "Assistant/Notes", "granted": "Family/Ana", "above": "Family", "nothing": "Family"}[asker]
    names = {**graph.nodes[own].texts(), "user": str(world.alice.user_id)}
    answer = request(client, graph.askers[asker].key, operation, body, names)
    assert answer.status_code in (403, 404), answer.text
    planted = "SELECT FROM neurigraph.graph_index WHERE node_name = 'Planted' AND user_id = %s"
    assert rows(graph.installation, planted, world.alice.user_id) == []


def test_owner_operations_work_for_the_owner(client: httpx.Client, graph: CallerGraph) -> None:
    """The control for the test above, by a user who is gone at its end."""
    called = nodes_of(operation for operation, _ in OWNERS_OPERATIONS)
    caller, nodes = new_owner(graph.installation, list(dict.fromkeys(called)))
    for node, (operation, body) in zip(called, OWNERS_OPERATIONS, strict=True):
        names = nodes[node].texts() | {"user": str(caller.claims.user_id)}
        answer = request(client, caller.key, operation, body, names)
        assert answer.is_success, (operation, answer.text)


# The work that is done

LOOK = 2
"""Statements until an id is refused: who the caller is, and whether the caller sees it."""

FORGOTTEN = 3
"""Statements of the transaction that looks, after a refused write, whether the caller was forgotten meanwhile."""


@pytest.mark.parametrize("attempt", ["a persona for its sibling", "another user"])
def test_denied_and_absent_cost_the_same(
    world: World, graph: CallerGraph, attempt: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Compare the number of statements and the bytes that the database answers with; no clock is used."""
    # The server reads the directory of databases again after a second, for all callers: here only once.
    monkeypatch.setattr("neurigraph_pipelines.faces.dispatching.CACHE_SECONDS", 1e9)
    asker, target = ATTEMPTS[attempt]
    url = graph.installation.administrator_url
    parts = conninfo_to_dict(url)
    with counting_relay(str(parts["host"]), int(parts["port"] or 5432)) as relay:
        address = make_conninfo("", **{**parts, "host": "127.0.0.1", "port": relay.server_address[1]})
        changes = {"database_url": SecretStr(address), "database_pool_size": 1, "warming_nodes": 0}
        settings = graph.installation.settings.changed(**changes)
        with Installation(settings) as other, serving(other) as base, httpx.Client(base_url=base, timeout=60) as client:
            for operation in OPERATIONS:
                # Statements are prepared once they came often enough: before that, one costs less than the one before.
                for _ in range(6):
                    call(client, graph, asker, operation, graph.nodes[target])
                costs = set()
                for ids in (graph.nodes[target], graph.nodes[target].elsewhere()):
                    relay.answered = relay.completed = 0
                    answer = call(client, graph, asker, operation, ids)
                    costs.add((relay.completed, relay.answered))
                    if answer.status_code == 404:
                        look = LOOK if operation.startswith("GET ") else LOOK + FORGOTTEN
                        assert relay.completed == look, f"{operation} looks further than whether the caller sees the id"
                assert len(costs) == 1, operation
