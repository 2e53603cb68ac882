"""Traces and structured logs: what they hold, and that they hold nothing of what users wrote."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from datetime import datetime

import httpx
import pytest

from neurigraph_pipelines.access.authentication import issue_api_key
from neurigraph_pipelines.model.errors import InvalidInputError
from neurigraph_pipelines.retrieval.ask import ask
from neurigraph_pipelines.retrieval.query.question import Question
from neurigraph_pipelines.wiring.installation import Installation
from resources.tracing import trace_process
from tests.support.command_line import PROGRAM, environment
from tests.support.memories import PlainModel, converse, ingest, new_user, plain_context
from tests.support.trace_collector import TraceCollector

WORDS = ("Orrin", "trout", "zanzibar", "boat")


def test_served_requests_are_traced_and_logged(here: Installation) -> None:
    """A real process: its log is JSON and its spans arrive, both without what was asked."""
    user, claims = new_user(here, "zanzibar")
    key = issue_api_key(here.database, user.user_id)
    converse(here, claims, "#Orrin The boat leaks at Lake Orrin.", "A trout took the oar.")
    ingest(plain_context(here), user)
    parent = f"00-{'ab' * 16}-{'cd' * 8}-01"
    with TraceCollector() as collector:
        variables = environment(
            here.settings,
            NEURIGRAPH_LOG_FORMAT="json",
            OTEL_EXPORTER_OTLP_ENDPOINT=collector.url,
            OTEL_EXPORTER_OTLP_HEADERS="x-key=abc",
            OTEL_SERVICE_NAME="memory",
        )
        command = [str(PROGRAM), "admin", "serve", "--port", "0", "--json"]
        with subprocess.Popen(
            command, env=variables, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
        ) as process:
            try:
                assert process.stdout is not None
                url = json.loads(process.stdout.readline())["url"]
                headers = {"Authorization": f"Bearer {key}", "X-Request-Id": "r-17", "traceparent": parent}
                with httpx.Client(base_url=url, headers=headers, timeout=60) as client:
                    answer = client.post("/v1/search", json={"query": "Who saw the trout at Lake Orrin?"})
                    assert answer.status_code == 200, answer.text
                    node = answer.json()["hits"][0]["node_id"]
                    assert client.get(f"/v1/nodes/{node}").status_code == 200
                    assert client.get("/v1/zanzibar?boat=trout").status_code == 404
                process.send_signal(signal.SIGINT)
                _, log = process.communicate(timeout=60)
            finally:
                process.kill()
    assert_logs_requests(log)
    assert collector.services == {"memory"}
    assert collector.keys == {"abc"}
    (search,) = collector.named("POST /v1/search")
    assert search.trace_id.hex() == "ab" * 16
    assert search.parent_span_id.hex() == "cd" * 8
    (rank,) = collector.named("search.rank")
    assert collector.parents_of(rank) == ["search", "POST /v1/search"]
    assert collector.named("GET /v1/nodes/{node_id}")
    assert collector.named("model.embed")
    assert {"search.parse", "search.gather", "search.select", "search.load", "search.view"} <= {
        span.name for span in collector.spans
    }
    assert collector.named("postgres search.search_gate")
    assert_says_nothing(b"".join(collector.raw), log.encode(), str(node).encode(), key.encode())


def assert_logs_requests(log: str) -> None:
    lines = [json.loads(line) for line in log.splitlines()]
    assert all(datetime.fromisoformat(line["time"]).tzinfo for line in lines)
    requests = [line for line in lines if line["logger"] == "neurigraph.requests"]
    assert [(line["method"], line["route"], line["status"]) for line in requests] == [
        ("POST", "/v1/search", 200),
        ("GET", "/v1/nodes/{node_id}", 200),
        ("GET", "unmatched", 404),
    ]
    assert {line["request_id"] for line in requests} == {"r-17"}
    assert all(line["milliseconds"] > 0 and line["level"] == "info" for line in requests)


def assert_says_nothing(traces: bytes, log: bytes, *ids: bytes) -> None:
    for text in (traces, log):
        for word in (*(word.encode() for word in WORDS), *ids, b"127.0.0.1:"):
            assert word.lower() not in text.lower().replace(b"http://127.0.0.1:", b""), word


def test_steps_of_the_pipeline_are_traced(here: Installation) -> None:
    user, claims = new_user(here)
    with TraceCollector() as collector:
        stop = trace_process(collector.url, None, "neurigraph", "1")
        try:
            converse(here, claims, "#Orrin The boat leaks at Lake Orrin.", "A trout took the oar.")
            converse(here, claims, "#Orrin This boat is POISON for the trout.")
            ingest(plain_context(here).using(language_model=PlainModel(concurrency=2)), user)
            context = here.acting_for(claims)
            assert ask(context, Question("What did the trout take?")).found
            with pytest.raises(InvalidInputError):
                ask(context, Question(""))
        finally:
            stop()
        assert trace_process.cache_info().currsize == 0
        converse(here, claims, "#Orrin Nobody traces the boat.")
    (batch, *_) = collector.named("ingestion.batch")
    for step in ("assign_nodes", "summarize", "extract_keywords", "embed", "commit"):
        span = next(one for one in collector.named(f"ingestion.{step}") if one.parent_span_id == batch.span_id)
        assert span.end_time_unix_nano > span.start_time_unix_nano
    loads = [span for span in collector.spans if "ingestion.summarize" in collector.parents_of(span)]
    assert loads, "the threads of a step belong to its span"
    failed = next(one for one in collector.named("ask") if one.status.code == 2)
    (kind,) = [attribute.value.string_value for attribute in failed.attributes if attribute.key == "error.type"]
    assert (kind, failed.status.message, len(failed.events)) == ("InvalidInputError", "", 0)
    assert collector.named("model.answer")
    assert_says_nothing(b"".join(collector.raw), b"", str(user.user_id).encode(), user.slug.encode())


def test_nothing_is_loaded_without_a_collector(here: Installation) -> None:
    """OpenTelemetry costs start-up time and memory, and most installations have no collector."""
    program = """
import os, sys
from neurigraph_pipelines.faces.api.app import create_app
from neurigraph_pipelines.wiring.installation import Installation

create_app(Installation())
print("opentelemetry.sdk" in sys.modules)
os.environ |= {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9", "OTEL_SDK_DISABLED": "true"}
create_app(Installation())
print("opentelemetry.sdk" in sys.modules)
os.environ["OTEL_SDK_DISABLED"] = "false"
create_app(Installation())
print("opentelemetry.sdk" in sys.modules)
"""
    env = environment(here.settings)
    done = subprocess.run([sys.executable, "-c", program], env=env, capture_output=True, text=True, timeout=60)
    assert done.stdout.split() == ["False", "False", "True"], done.stderr
