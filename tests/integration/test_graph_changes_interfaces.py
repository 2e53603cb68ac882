"""Graph changes on the command line and over HTTP, and who may make them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from string import Template
from typing import Any
from uuid import uuid4

import httpx
import pytest

from neurigraph_pipelines.access.authentication import issue_api_key
from neurigraph_pipelines.exchange.sharing import Subject, add_node, grant
from neurigraph_pipelines.faces.cli import entry
from neurigraph_pipelines.graph.moving import Split, move_records, split_node
from neurigraph_pipelines.graph.reshaping import merge_nodes, move_node, rename_node
from neurigraph_pipelines.model import Claims, GrantType, NodeType, SubjectType
from neurigraph_pipelines.model.errors import ConflictError, ForbiddenError, NotFoundError
from neurigraph_pipelines.wiring.installation import Installation
from tests.support.api_calls import SAME_ID, assert_problem
from tests.support.api_server import serving
from tests.support.command_line import describe
from tests.support.graphs import Graph, new_graph

Ask = Callable[..., Any]


@pytest.fixture
def graph(shared_installation: Installation) -> Graph:
    return new_graph(shared_installation)


@pytest.fixture(scope="module")
def base(shared_installation: Installation) -> Iterator[str]:
    with serving(shared_installation) as address:
        yield address


@pytest.fixture
def client(base: str, graph: Graph) -> Iterator[httpx.Client]:
    """Speaks for the owner of the graph."""
    key = issue_api_key(graph.here.database, graph.user.user_id, "tests")
    headers = {"Authorization": f"Bearer {key}", **SAME_ID}
    with httpx.Client(base_url=f"{base}/v1", headers=headers, timeout=60.0) as made:
        yield made


@pytest.fixture
def ask(graph: Graph, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Ask:
    """Runs a command as the graph's owner, with ``--json``; gives the one value that it printed."""
    describe(graph.here.settings, monkeypatch)

    def run(*arguments: object, code: int = 0) -> Any:
        assert entry.run([*map(str, arguments), "--user", graph.user.slug, "--json"]) == code
        out, err = capsys.readouterr()
        return json.loads(out or err)

    return run


def test_graph_changes_over_http(client: httpx.Client, graph: Graph) -> None:
    walnut, boat = graph.remember("#Family/Dave The walnut tree fell.", "#Work The Boat leaks.")
    dave, work = graph.node("Family/Dave"), graph.node("Work")
    slug = graph.user.slug

    def changed(method: str, path: str, **body: object) -> dict[str, Any]:
        answer = client.request(method, path, json=body)
        assert answer.status_code == 200, answer.text
        return dict(answer.json())

    assert changed("POST", f"/records/{walnut}/move", node_id=str(work), dry_run=True)["record_count"] == 1
    assert graph.records[walnut] == "Family/Dave"
    assert changed("POST", f"/records/{walnut}/move", node_id=str(work))["node_path"] == f"{slug}/Work"
    assert changed("PATCH", f"/nodes/{work}", name="Office")["node_path"] == f"{slug}/Office"
    assert changed("PATCH", f"/nodes/{dave}", parent_node_id=str(work))["nodes_moved"] == 1
    split = changed("POST", f"/nodes/{work}/split", name="Boats", keyword="boat", beside=True)
    assert (split["record_count"], split["node_path"]) == (1, f"{slug}/Boats")
    assert client.get(f"/nodes/{split['node_id']}").json()["record_count"] == 1
    merged = changed("POST", f"/nodes/{split['node_id']}/merge", into_node_id=str(dave))
    assert merged["nodes_removed"] == 1
    gone, absent = (client.get(f"/nodes/{node_id}") for node_id in (split["node_id"], uuid4()))
    assert (gone.status_code, gone.content) == (404, absent.content)
    assert graph.records == {walnut: "Office", boat: "Office/Dave"}
    graph.check()


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("PATCH", "/nodes/$root", {"name": "Me"}, 409),
        ("PATCH", "/nodes/$dave", {"name": " "}, 422),
        ("PATCH", "/nodes/$dave", {}, 422),
        ("PATCH", "/nodes/$dave", {"name": "David", "parent_node_id": "$root"}, 422),
        ("PATCH", "/nodes/$absent", {"name": "David"}, 404),
        ("PATCH", "/nodes/$family", {"parent_node_id": "$dave"}, 409),
        ("POST", "/nodes/$dave/merge", {"into_node_id": "$absent"}, 404),
        ("POST", "/nodes/$family/merge", {"into_node_id": "$dave"}, 409),
        ("POST", "/nodes/$dave/split", {"name": "x"}, 422),
        ("POST", "/nodes/$dave/split", {"name": "x", "kind": "user", "keyword": "testing"}, 422),
        ("POST", "/nodes/$dave/split", {"name": "x", "keyword": "no such'; --"}, 422),
        ("POST", "/nodes/$dave/split", {"name": "x", "record_ids": ["$absent"]}, 404),
        ("POST", "/nodes/$dave/split", {"name": "x", "record_ids": []}, 422),
        ("POST", "/records/$absent/move", {"node_id": "$dave"}, 404),
        ("POST", "/records/$record/move", {"node_id": "$absent"}, 404),
        ("POST", "/records/$record/move", {"node_id": "not an id"}, 422),
    ],
)
def test_impossible_changes_are_problems(
    client: httpx.Client, graph: Graph, method: str, path: str, body: dict[str, object], status: int
) -> None:
    (record,) = graph.remember("#Family/Dave The walnut tree fell.")
    places = {
        "root": graph.user.root_node_id,
        "family": graph.node("Family"),
        "dave": graph.node("Family/Dave"),
        "absent": uuid4(),
        "record": record,
    }
    sent = Template(json.dumps(body)).substitute(places)
    answer = client.request(
        method, Template(path).substitute(places), content=sent, headers={"Content-Type": "application/json"}
    )
    assert_problem(answer, status)
    graph.check()


@pytest.mark.parametrize("dry_run", [True, False])
def test_merge_opens_nothing_to_a_persona_that_nobody_named(client: httpx.Client, graph: Graph, dry_run: bool) -> None:
    (record,) = graph.remember("#Home/Agent My hidden account is in Vaduz.")
    body = {"parent_node_id": str(graph.user.root_node_id), "name": "Work"}
    work = client.post("/nodes", json=body).json()["node_id"]
    body = {"parent_node_id": work, "name": "agent", "node_type": "persona"}
    persona = client.post("/nodes", json=body).json()["node_id"]
    home, agent = graph.node("Home"), graph.node("Home/Agent")
    refused = client.post(f"/nodes/{home}/merge", json={"into_node_id": work, "dry_run": dry_run})
    assert "Work/agent is a persona" in assert_problem(refused, 409)["detail"]
    key = client.post("/keys", json={"persona_id": persona}).json()["api_key"]
    found = client.post("/search", json={"query": "account"}, headers={"Authorization": f"Bearer {key}"})
    assert found.json()["hits"] == []
    for merged, into in ((agent, persona), (home, work)):
        answer = client.post(f"/nodes/{merged}/merge", json={"into_node_id": str(into), "dry_run": dry_run})
        assert answer.status_code == (409 if dry_run and merged == home else 200)
    assert graph.records[record] == ("Home/Agent" if dry_run else "Work/agent")
    graph.check()


def test_graph_changes_by_cli(ask: Ask, graph: Graph) -> None:
    walnut, boat = graph.remember("#Family/Dave The walnut tree fell.", "#Work The Boat leaks.")
    assert ask("memory", "move", walnut, boat, "--to", "Work", "--dry-run")["record_count"] == 1
    assert ask("memory", "move", walnut, boat, "--to", "Work") == ask("memory", "move", walnut, "--to", "Work") | {
        "record_count": 1
    }
    assert ask("node", "edit", "Work", "--name", "Either/Or")["node_path"].endswith("/Either/Or")
    assert ask("node", "edit", "Family/Dave", "--under", "either/or")["nodes_moved"] == 1
    assert ask("node", "split", "Either/Or", "Boats", "--record", boat, "--beside")["record_count"] == 1
    assert ask("node", "merge", "Boats", "--into", "Family", "--dry-run")["nodes_removed"] == 1
    assert ask("node", "merge", "Boats", "--into", "Family")["record_count"] == 1
    assert graph.records == {walnut: "Either/Or", boat: "Family"}
    assert ask("node", "merge", "Boats", "--into", "Family", code=3)["error"] == "NotFoundError"
    assert ask("node", "edit", "Family", "--name", "either/or", code=1)["error"] == "ConflictError"
    assert ask("memory", "move", "nonsense", "--to", "Family", code=2)["error"] == "InvalidInputError"
    assert ask("node", "split", "Family", "All", code=2)["error"] == "InvalidInputError"
    graph.check()


# Who may not


def test_only_owner_changes_graph(graph: Graph) -> None:
    here, owner = graph.here, graph.claims
    (record,) = graph.remember("#Family/Dave The walnut tree fell.")
    graph.remember("#Work Numbers of May.")
    persona_id = add_node(here.database, owner, graph.node("Work"), "Helper", node_type=NodeType.PERSONA)
    persona = Claims(str(persona_id), "persona", graph.user.user_id)
    helper = Subject(SubjectType.PERSONA, str(persona_id))
    family, dave, work = graph.node("Family"), graph.node("Family/Dave"), graph.node("Work")
    changes: list[Callable[[], object]] = [
        lambda: rename_node(here.database, persona, dave, "David"),
        lambda: move_node(here.database, persona, dave, work),
        lambda: merge_nodes(here.database, persona, dave, work),
        lambda: split_node(here.database, persona, dave, Split(name="Trees", record_ids=[record])),
        lambda: move_records(here.database, persona, [record], work),
    ]
    for change in changes:
        with pytest.raises(NotFoundError):
            change()
    for node_id in (dave, work):
        grant(here.database, owner, helper, node_id)
    for change in changes:
        with pytest.raises(ForbiddenError):
            change()
    grant(here.database, owner, helper, dave, GrantType.READ_WRITE)
    with pytest.raises(ForbiddenError):
        changes[-1]()
    grant(here.database, owner, helper, work, GrantType.READ_WRITE)
    move_records(here.database, persona, [record], work)
    assert graph.records[record] == "Work"
    with pytest.raises(ConflictError, match="persona"):
        merge_nodes(here.database, owner, persona_id, family)
    assert merge_nodes(here.database, owner, dave, family, dry_run=True).grants_ended == 2
    graph.check()
