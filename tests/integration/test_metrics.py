"""Metrics over HTTP: what is counted, who may read it, and that no label says anything about a user."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from fastapi.routing import iter_route_contexts
from psycopg import sql

from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.faces.api.app import create_app
from neurigraph_pipelines.faces.api.metrics import collectors, process
from neurigraph_pipelines.faces.mcp.http import METADATA_PATH, PATH
from neurigraph_pipelines.faces.mcp.server import TOOLS
from neurigraph_pipelines.ingestion.batch import run_due
from neurigraph_pipelines.ingestion.figures import Figures
from neurigraph_pipelines.ingestion.readiness import beat
from neurigraph_pipelines.lifecycle.erasure.forget import forget
from neurigraph_pipelines.lifecycle.erasure.receipts import ErasureSubject, SubjectKind
from neurigraph_pipelines.lifecycle.storage_report import StorageTotals, note_totals, storage_report
from neurigraph_pipelines.model import Claims
from neurigraph_pipelines.wiring.installation import Installation
from tests.conftest import ROOT
from tests.support.api_calls import TALK, admin, assert_problem, new_user, remember, store
from tests.support.api_server import serving
from tests.support.memories import converse, ingest, plain_context, rows
from tests.support.memories import new_user as new_owner
from tests.support.metrics_page import names_of, samples_of, scrape, value_of
from tests.support.model_provider import Fault, ModelProvider

SLUG = "quixotine"
QUESTION = "Who fell into the water at Lake Orrin?"
SECRET_WORDS = (SLUG, "Dave", "Orrin", "trout", "fishing", "m1", "regatta", "ferry")
DASHBOARD = ROOT / "deploy" / "grafana" / "neurigraph.json"


@pytest.fixture(scope="module")
def provider() -> Iterator[ModelProvider]:
    with ModelProvider() as running:
        yield running


@pytest.fixture(scope="module")
def installed(shared_installation: Installation, provider: ModelProvider) -> Iterator[Installation]:
    """The installation with a reranker, and impatient."""
    settings = shared_installation.settings.changed(
        reranker="compatible",
        reranker_base_url=provider.base_url,
        reranker_model="rerank-test",
        statement_timeout_seconds=0.5,
    )
    with Installation(settings) as installation:
        installation.embedder = shared_installation.embedder
        yield installation


@pytest.fixture(scope="module")
def loaded(installed: Installation, provider: ModelProvider) -> tuple[str, str]:
    """The page before and after a varied load. Figures are cached, so two applications give them."""
    with serving(installed) as address, httpx.Client(base_url=address, timeout=60) as client:
        before = scrape(address, installed)
        _load(client, installed, provider)
    database = installed.database
    note_totals(database, sum((one.totals for one in storage_report(database)), StorageTotals()))
    beat(database, "storage_report")
    with database.pipeline() as tx:  # what a later version may count
        tx.execute("INSERT INTO neurigraph.pipeline_totals VALUES ('failed_segments', 'regatta', 2)")
    with serving(installed) as address:
        return before, scrape(address, installed)


def _load(client: httpx.Client, installation: Installation, provider: ModelProvider) -> None:
    headers = new_user(client, SLUG)
    remember(client, headers, TALK, external_id="regatta")
    files = {"file": ("ferry.txt", b"The ferry leaves at nine.", "text/plain")}
    assert client.post("/v1/files", files=files, headers=headers).status_code in (200, 201, 202)
    installation.uploads.read_due(installation.text_extractor)
    assert store(installation) == 2
    installation.ensure_dagster_database()
    user, claims = new_owner(installation)
    converse(installation, claims, "#Notes The regatta POISON was cancelled.")
    ingest(plain_context(installation).using(settings=installation.settings.changed(max_attempts=1)), user)
    for fault in (None, None, Fault("status", status=401)):
        if fault is not None:
            provider.fail_next(fault)
        found = client.post("/v1/search", json={"query": QUESTION, "limit": 3}, headers=headers)
        assert found.status_code == 200, found.text
    file_id = found.json()["hits"][0]["file_id"]
    assert client.post(f"/v1/files/{file_id}/open", headers=headers).status_code == 200
    assert client.post("/v1/ask", json={"query": QUESTION}, headers=headers).status_code == 200
    assert client.get("/v1/tree", headers=headers).status_code == 200
    call = {"name": "search_memory", "arguments": {"query": QUESTION}}
    accepted = {"Accept": "application/json, text/event-stream"}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
    called = client.post("/mcp", json=message, headers=headers | accepted)
    assert called.status_code == 200, called.text
    assert not called.json()["result"].get("isError"), called.text
    assert client.get(f"/v1/nodes/{SLUG}/nothing", headers=headers).status_code in (404, 422)
    assert client.get("/v1/tree", headers={"Authorization": "Bearer ng_wrong"}).status_code == 401
    assert client.get(f"/{SLUG}/Dave").status_code == 404
    assert client.request("TROUT", "/v1/tree", headers=headers).status_code == 405
    assert client.post("/v1/search", json={"query": ""}, headers=headers).status_code == 422


def test_load_is_counted(loaded: tuple[str, str]) -> None:
    before, after = loaded

    def more(name: str, /, **labels: str) -> float:
        return value_of(after, name, **labels) - value_of(before, name, **labels)

    assert more("neurigraph_http_requests_total", route="/v1/search", method="POST", status="2xx") == 3
    assert more("neurigraph_http_requests_total", route="/v1/search", status="4xx") == 1
    assert more("neurigraph_http_requests_total", method="_OTHER", status="4xx") == 1
    assert more("neurigraph_http_requests_total", route=process.UNMATCHED, status="4xx") >= 1
    assert more("neurigraph_http_request_seconds_count", route="/v1/tree") == 3
    assert more("neurigraph_retrieval_seconds_count", operation="search") == 6, (
        "an answer holds one, and one was refused"
    )
    assert more("neurigraph_retrieval_seconds_count", operation="ask") == 1
    assert more("neurigraph_retrieval_seconds_count", operation="open") == 1
    assert more("neurigraph_search_step_seconds_count", step="view") >= 4
    assert more("neurigraph_search_step_seconds_count", step="gather") >= 1
    assert more("neurigraph_search_results_count", kind="records") == 5
    assert more("neurigraph_search_results_sum", kind="records") >= 4
    assert more("neurigraph_reranks_total") == 5
    assert more("neurigraph_reranks_total", effect="failed") == 1
    assert more("neurigraph_rerank_swapped_share_count") == 4
    assert more("neurigraph_model_call_seconds_count", call="rerank") == 5
    assert more("neurigraph_model_call_seconds_count", call="embed") >= 1
    assert more("neurigraph_tool_seconds_count", tool="search_memory") == 1
    assert more("neurigraph_http_requests_total", route="/mcp", status="2xx") == 1
    assert more("neurigraph_errors_total", where="model_rerank") == 1
    assert more("neurigraph_errors_total") == 1, "what a caller does wrong is no error of ours"
    assert more("neurigraph_search_cache_lookups_total", cache="answers", result="hit") >= 1
    assert more("neurigraph_search_cache_lookups_total", cache="nodes", result="miss") >= 1
    for kind in ("conversation", "upload"):
        assert value_of(after, "neurigraph_stored_segments_total", kind=kind) == 1
        assert value_of(after, "neurigraph_stored_passages_total", kind=kind) >= 1
    for step in ("assign_nodes", "summarize", "extract_keywords", "embed", "commit"):
        assert value_of(after, "neurigraph_ingestion_step_seconds_count", step=step) >= 2
        assert value_of(after, "neurigraph_ingestion_step_seconds_sum", step=step) > 0
    assert value_of(after, "neurigraph_failed_segments_total", step="summarize") == 1
    assert value_of(after, "neurigraph_failed_segments_total", step="other") == 2
    assert value_of(after, "neurigraph_failures_open", kind="conversation", step="summarize") == 1
    assert value_of(after, "neurigraph_users") == 2
    assert value_of(after, "neurigraph_active_users") == 1
    assert value_of(after, "neurigraph_records") == 2
    assert value_of(after, "neurigraph_files", state="active") == 3
    assert value_of(after, "neurigraph_object_bytes", state="active") > 100
    assert value_of(after, "neurigraph_database_bytes") > 1_000_000
    assert value_of(after, "neurigraph_relation_bytes", part="dagster") > 1_000_000
    assert value_of(after, "neurigraph_figures_up") == 1
    assert value_of(after, "neurigraph_build_info") == 1
    assert value_of(after, "process_resident_memory_bytes") > 10_000_000
    assert 0 <= value_of(after, "neurigraph_heartbeat_age_seconds", name="storage_report") < 60


def test_labels_are_closed_vocabularies(loaded: tuple[str, str], installed: Installation) -> None:
    routes = {route.path for route in iter_route_contexts(create_app(installed).routes)}
    vocabularies: dict[str, set[str]] = {
        "method": {*process.METHODS, process.OTHER_METHOD},
        "route": {*(path for path in routes if path), PATH, METADATA_PATH, process.UNMATCHED},
        "status": {"2xx", "3xx", "4xx", "5xx"},
        "operation": {*process.RETRIEVALS},
        "step": {*process.STEPS, *collectors.STEPS, collectors.OTHER},
        "call": {*process.CALLS},
        "where": {*process.RETRIEVALS, *(f"model_{call}" for call in process.CALLS), "tool"},
        "effect": {"kept", "changed", "changed_first", "failed"},
        "kind": {*collectors.KINDS, "records", "messages"},
        "state": {*collectors.STATES, *collectors.QUEUE},
        "cache": {*collectors.CACHES},
        "result": {"hit", "miss"},
        "part": {*collectors.PARTS},
        "name": {*collectors.BEATS},
        "tool": {tool.name for tool in TOOLS},
        "direction": {"sent", "received"},
        "generation": {"0", "1", "2"},
        "version": {"0.1.0"},
    }
    after = loaded[1]
    assert len(samples_of(after)) > 300
    for sample in samples_of(after):
        for label, value in sample.labels.items():
            if label == "le":
                assert re.fullmatch(r"[0-9.]+|\+Inf", value)
            else:
                assert value in vocabularies[label], sample
    for word in SECRET_WORDS:
        assert not re.search(rf"\b{word}\b", after), word
    assert not re.search(r"[0-9a-f]{8}-[0-9a-f]{4}-", after), "no id"


def test_every_call_of_a_model_has_a_label() -> None:
    sources = [path.read_text(encoding="utf-8") for path in (ROOT / "resources").rglob("*.py")]
    measured = {name for text in sources for name in re.findall(r'@measured\("model\.(\w+)"\)', text)}
    assert measured - {"read", "judge_answer"} <= {*process.CALLS}, "these two are of an examiner, whom no API asks"


def test_dashboard_shows_what_exists(loaded: tuple[str, str]) -> None:
    dashboard = json.loads(DASHBOARD.read_text())
    queries = [target["expr"] for panel in dashboard["panels"] for target in panel.get("targets", [])]
    assert len(queries) >= 20
    used = {name for query in queries for name in re.findall(r"\b(?:neurigraph|process)_\w+", query)}
    assert used - names_of(loaded[1]) == set()
    assert [panel["id"] for panel in dashboard["panels"]] == list(range(1, len(dashboard["panels"]) + 1))


def test_page_opens_with_its_token_only(installed: Installation) -> None:
    with serving(installed) as address, httpx.Client(base_url=address, timeout=60) as client:
        user = new_user(client, "reads-no-metrics")
        for headers in ({}, user, admin(), {"Authorization": "Bearer wrong"}, {"Authorization": "Basic abc"}):
            assert_problem(client.get("/metrics", headers=headers), 401)
        token = installed.secrets.metrics_token()
        assert (installed.home / "metrics_token").stat().st_mode & 0o777 == 0o600
        bearer = {"Authorization": f"Bearer {token}"}
        assert client.get("/metrics", headers=bearer).headers["content-type"].startswith("text/plain; version=0.0.4")
        assert_problem(client.get("/v1/tree", headers=bearer), 401)
        assert_problem(client.post("/v1/users", json={"slug": "mallory"}, headers=bearer), 401)
        assert_problem(client.get(f"/metrics?token={token}"), 400)


@pytest.mark.attack
def test_only_the_operator_gets_figures(here: Installation) -> None:
    owner, claims = new_owner(here)
    others = [Claims(str(owner.user_id), role, owner.user_id) for role in ("persona", "third_party", "admin", "")]
    for part in ("work", "sizes"):
        query = statements("figures")[part]
        operator = Claims("operator", "operator", owner.user_id)
        assert len(here.database.ask(operator, query, {})) >= 5
        for caller in (None, claims, *others):
            assert here.database.ask(caller, query, {}) == []
    with here.database.agent(Claims("operator", "operator", owner.user_id)) as tx:
        for table in ("graph_index", "sources", "record_index", "storage_triggers", "pipeline_failures"):
            seen = tx.execute(sql.SQL("SELECT FROM neurigraph.{}").format(sql.Identifier(table))).fetchall()
            assert seen == [], "figures are all that it sees"


def test_page_without_the_database(installed: Installation) -> None:
    """A locked table: the figures are left out, the process is still seen, and nobody waits long."""
    with serving(installed) as address, installed.database.owner() as tx:
        tx.execute("LOCK TABLE neurigraph.pipeline_totals, neurigraph.node_statistics")
        page = scrape(address, installed)
        assert value_of(page, "neurigraph_figures_up") == 0
        assert value_of(page, "neurigraph_users") == 0
        assert value_of(page, "process_resident_memory_bytes") > 0


def test_totals_outlive_a_forgotten_user(here: Installation) -> None:
    def stored() -> dict[Any, float]:
        return {(one.name, one.label): one.value for one in Figures(here.context).newest()}

    before = stored()
    user, claims = new_owner(here)
    converse(here, claims, "#Notes The boat leaks.", "It does.")
    ingest(plain_context(here), user)
    key = ("stored_segments", "conversation")
    assert stored()[key] == before.get(key, 0) + 1
    forget(here.acting_for(claims), ErasureSubject(SubjectKind.USER, user.user_id), through="tests")
    after = stored()
    assert after[key] == before.get(key, 0) + 1
    assert after["records", ""] == before["records", ""]


def test_dying_batch_has_counted_what_it_stored(here: Installation) -> None:
    query = "SELECT name, label, total FROM neurigraph.pipeline_totals"

    def totals() -> dict[tuple[str, str], float]:
        return {(row["name"], row["label"]): row["total"] for row in rows(here, query)}

    def die(_: int) -> None:
        if rows(here, "SELECT FROM neurigraph.record_index WHERE user_id = %s", user.user_id):
            raise KeyboardInterrupt

    user, claims = new_owner(here)
    converse(here, claims, "#Boats The keel needs bolts.")
    before = totals()
    with pytest.raises(KeyboardInterrupt):
        list(run_due(plain_context(here), "tests", user.user_id, on_done=die))
    after = totals()
    more = {key: after[key] - before.get(key, 0) for key in after if after[key] != before.get(key)}
    assert more.pop(("stored_tokens", "conversation")) > 0
    counted = ("stored_segments", "stored_records", "stored_passages")
    assert more == {(name, "conversation"): 1 for name in counted}
