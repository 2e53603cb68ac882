"""What the owner states about edges by hand: what counts, who sees it, what undoes it, and what goes with what."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid4

import httpx
import pytest

from neurigraph_client import Memory, NotFound
from neurigraph_pipelines.access.authentication import issue_api_key
from neurigraph_pipelines.exchange import sharing
from neurigraph_pipelines.faces.cli import entry
from neurigraph_pipelines.graph import edge_statements
from neurigraph_pipelines.graph.edge_statements import EdgeStatement, state_evidence, take_back_evidence
from neurigraph_pipelines.graph.mention_lists import edge_of, page_of_evidence
from neurigraph_pipelines.graph.navigation import shell
from neurigraph_pipelines.model import Claims, Stance, SubjectType
from neurigraph_pipelines.model.errors import ConflictError, ForbiddenError, InvalidInputError, NotFoundError
from neurigraph_pipelines.views.evidence import StatedEvidence
from neurigraph_pipelines.wiring.installation import Installation
from tests.support.api_calls import assert_problem
from tests.support.api_server import serving
from tests.support.command_line import describe
from tests.support.erasures import RECORD, USER, erase
from tests.support.evidence_sums import stored_sums, sums_of_rows
from tests.support.exported_user import export, restore
from tests.support.graphs import Graph, new_graph
from tests.support.memories import rows

JUNE, JULY = datetime(2026, 6, 1, tzinfo=UTC), datetime(2026, 7, 1, tzinfo=UTC)


@pytest.fixture
def graph(shared_installation: Installation) -> Graph:
    made = new_graph(shared_installation)
    made.remember("#Family/Ana Ana sings.")
    made.remember("#Work/Dave Dave works. @Ana:zweitschwester")
    return made


def edge_id_of(graph: Graph) -> UUID:
    query = "SELECT edge_id FROM neurigraph.node_edges WHERE user_id = %s AND relation = 'zweitschwester'"
    (row,) = rows(graph.here, query, graph.user.user_id)
    edge_id: UUID = row["edge_id"]
    return edge_id


def valid(graph: Graph, claims: Claims | None = None) -> Any:
    return edge_of(graph.here.database, claims or graph.claims, edge_id_of(graph)).valid


def test_owner_ends_denies_and_takes_back(graph: Graph) -> None:
    here, claims, edge = graph.here, graph.claims, edge_id_of(graph)

    def say(stance: Stance, *times: datetime | None) -> StatedEvidence:
        return state_evidence(here.database, claims, edge, EdgeStatement(stance, *times))

    ended = say(Stance.ENDS, None, JULY)
    assert valid(graph) == '{(,"2026-07-01 00:00:00+00")}'
    again = say(Stance.ENDS, None, JULY)
    assert (ended.created, again.created, again.evidence_id) == (True, False, ended.evidence_id)
    denied = say(Stance.DENIES)
    assert valid(graph) == "{}"
    with here.database.agent(claims) as tx:
        (shown,) = shell(tx, graph.node("Family/Ana")).edges
    assert (shown.valid, shown.evidence_count) == ("{}", 1)
    take_back_evidence(here.database, claims, edge, denied.evidence_id)
    asserted = say(Stance.ASSERTS, JUNE, None)
    assert edge_of(here.database, claims, edge).strength == 1
    take_back_evidence(here.database, claims, edge, asserted.evidence_id)
    take_back_evidence(here.database, claims, edge, ended.evidence_id)
    assert valid(graph) == "{(,)}"
    with pytest.raises(NotFoundError):
        take_back_evidence(here.database, claims, edge, ended.evidence_id)
    (of_memory,) = page_of_evidence(here.listing(claims), edge).items
    with pytest.raises(NotFoundError, match="goes with the memory"):
        take_back_evidence(here.database, claims, edge, of_memory.evidence_id)
    for wrong in (EdgeStatement(Stance.ENDS, JUNE), EdgeStatement(Stance.DENIES, JULY, JUNE)):
        with pytest.raises(InvalidInputError):
            state_evidence(here.database, claims, edge, wrong)
    assert sums_of_rows(here, graph.user.user_id) == stored_sums(here, graph.user.user_id)
    graph.check()


def test_statements_of_an_edge_are_bounded(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(edge_statements, "MAX_STATEMENTS", 1)
    database, claims, edge = graph.here.database, graph.claims, edge_id_of(graph)
    state_evidence(database, claims, edge, EdgeStatement(Stance.DENIES))
    with pytest.raises(ConflictError, match="take one back"):
        state_evidence(database, claims, edge, EdgeStatement(Stance.ASSERTS))


def test_only_the_owner_states_and_sees_it(graph: Graph) -> None:
    here, edge = graph.here, edge_id_of(graph)
    for path in ("Family/Ana", "Work/Dave"):
        guest_of = sharing.Subject(SubjectType.THIRD_PARTY, "guest")
        sharing.grant(here.database, graph.claims, guest_of, graph.node(path))
    guest = Claims("guest", "third_party", graph.user.user_id)
    stated = state_evidence(here.database, graph.claims, edge, EdgeStatement(Stance.DENIES))
    assert (valid(graph), valid(graph, guest)) == ("{}", "{(,)}")
    shown = page_of_evidence(here.listing(guest), edge).items
    assert [one.observed_by for one in shown] == [None]
    with pytest.raises(ForbiddenError):
        state_evidence(here.database, guest, edge, EdgeStatement(Stance.DENIES))
    with pytest.raises(ForbiddenError):
        take_back_evidence(here.database, guest, edge, stated.evidence_id)
    other = new_graph(here)
    with pytest.raises(NotFoundError):
        state_evidence(here.database, other.claims, edge, EdgeStatement(Stance.DENIES))
    with pytest.raises(NotFoundError):
        take_back_evidence(here.database, other.claims, edge, stated.evidence_id)
    assert valid(graph) == "{}"


def test_end_goes_with_the_last_memory_of_an_edge(graph: Graph) -> None:
    here, edge = graph.here, edge_id_of(graph)
    (second,) = graph.remember("#Work/Dave Again. @Ana:zweitschwester")
    stated = state_evidence(here.database, graph.claims, edge, EdgeStatement(Stance.ENDS, None, JULY))
    first = next(record for record, path in graph.records.items() if path == "Work/Dave" and record != second)
    erase(here, graph.claims, RECORD, first)
    assert valid(graph) == '{(,"2026-07-01 00:00:00+00")}'
    erase(here, graph.claims, RECORD, second)
    left = rows(here, "SELECT FROM neurigraph.edge_evidence WHERE evidence_id = %s", stated.evidence_id)
    assert (left, graph.edges) == ([], set()), "no word of the relation is left"
    graph.check()


def test_statement_is_exported_and_restored(graph: Graph, tmp_path_factory: pytest.TempPathFactory) -> None:
    here, folder = graph.here, tmp_path_factory.mktemp("export") / "export"
    state_evidence(here.database, graph.claims, edge_id_of(graph), EdgeStatement(Stance.DENIES, JUNE, JULY))
    before = stored_sums(here, graph.user.user_id)
    export(here, graph.user, folder)
    erase(here, graph.claims, USER, graph.user.user_id)
    restore(here, folder, graph.user.slug)
    assert stored_sums(here, graph.user.user_id) == before
    query = "SELECT stance, detected_by, observed_by FROM neurigraph.edge_evidence WHERE observed_by IS NOT NULL"
    (row,) = rows(here, f"{query} AND user_id = %s", graph.user.user_id)
    assert (row["stance"], row["detected_by"]) == ("denies", "person")
    assert row["observed_by"] == f"user:{graph.user.user_id}"


@pytest.fixture(scope="module")
def base(shared_installation: Installation) -> Iterator[str]:
    with serving(shared_installation) as address:
        yield address


def test_over_http_and_on_the_command_line(
    base: str, graph: Graph, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    edge = edge_id_of(graph)
    path = f"/v1/edges/{edge}/evidence"
    headers = {"Authorization": f"Bearer {issue_api_key(graph.here.database, graph.user.user_id, 'tests')}"}
    with httpx.Client(base_url=base, headers=headers, timeout=60.0) as client:
        once = {"Idempotency-Key": uuid4().hex}
        first, repeated = (client.post(path, json={"stance": "ends"}, headers=once) for _ in range(2))
        assert (first.status_code, first.json()) == (201, repeated.json())
        assert first.json()["valid_until"] is not None, "now"
        said = client.get(path).json()["evidence"]
        assert [one["stance"] for one in said] == ["ends", "asserts"]
        assert said[0]["evidence_id"] == first.json()["evidence_id"]
        assert client.post(path, json={"stance": "denies"}).status_code == 201
        same = client.post(path, json={"stance": "denies"})
        assert (same.status_code, same.json()["created"]) == (200, False)
        assert_problem(client.post(path, json={"stance": "perhaps"}), 422)
        assert_problem(client.post(path, json={"stance": "ends", "valid_from": "2026-06-01T00:00:00Z"}), 422)
        gone = f"{path}/{first.json()['evidence_id']}"
        assert (client.delete(gone).status_code, client.delete(gone).status_code) == (204, 404)
    with Memory(base, headers["Authorization"].split()[1]) as memory:
        until = datetime(2026, 5, 1, tzinfo=UTC)
        ended = memory.graph.state_evidence(edge, "ends", valid_until=until)
        assert (ended.created, ended.valid_until) == (True, until)
        assert ended.evidence_id in [one.evidence_id for one in memory.graph.evidence(edge)]
        memory.graph.take_back_evidence(edge, ended.evidence_id)
        with pytest.raises(NotFound):
            memory.graph.take_back_evidence(edge, ended.evidence_id)

    describe(graph.here.settings, monkeypatch)

    def run(*arguments: object, code: int = 0) -> Any:
        assert entry.run(["node", *map(str, arguments), "--user", graph.user.slug, "--json"]) == code
        out, err = capsys.readouterr()
        return json.loads(out or err)

    run("evidence", "remove", edge, same.json()["evidence_id"])
    run("evidence", "add", edge, "ends", "--valid-until", "2026-07-01T00:00+00:00")
    found = run("evidence", "list", edge)
    assert found["edge"]["valid"] == '{(,"2026-07-01 00:00:00+00")}'
    assert [one["stance"] for one in found["evidence"]] == ["ends", "asserts"]
    run("evidence", "add", edge, "often", code=2)
    assert entry.run(["node", "show", "Family/Ana", "--user", graph.user.slug]) == 0
    assert "holds" in capsys.readouterr().out
