"""The command ``eval``: on a graph, which it leaves as it is, with a model over HTTP, and on published formats."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg import sql

from neurigraph_pipelines.wiring.installation import Installation
from resources.minilm.embedder import OwnEmbedder
from tests.conftest import ROOT
from tests.support import published_files
from tests.support.command_line import PROGRAM, environment, run_cli
from tests.support.model_provider import Fault, ModelProvider

LOGGED = {"NEURIGRAPH_RETRIEVAL_LOG_DAYS": "30"}
TALK: dict[str, Any] = {
    "external_id": "boats",
    "title": "The boat",
    "ended_at": "2025-05-04T18:00:00Z",
    "messages": [
        {"role": "user", "content": "The tarpaulin lies behind the shed.", "external_id": "m1"},
        {"role": "assistant", "content": "Good to know.", "external_id": "m2"},
        {"role": "user", "content": "Dave painted the boat FICKLE green in spring.", "external_id": "m3"},
    ],
}
QUESTIONS = (
    {"question": "Where is the tarpaulin?", "answer": "behind the shed", "sources": ["m1"]},
    {"question": "Who painted the boat?", "answer": "Dave", "sources": ["painted the  BOAT fickle", "no such words"]},
    {"question": "What does the violin cost?", "answer": None},
)


@pytest.fixture(scope="module")
def stored(shared_installation: Installation, tmp_path_factory: pytest.TempPathFactory) -> Installation:
    """An installation with one user, whose graph was last read the day before."""
    talk = tmp_path_factory.mktemp("talk") / "talk.jsonl"
    talk.write_text(json.dumps(TALK) + "\n", encoding="utf-8")
    for arguments in (["import", str(talk), "--user", "ida"], ["ingest"]):
        done = run_cli(shared_installation.settings, *arguments)
        assert done.returncode == 0, done.stderr
    with psycopg.connect(shared_installation.administrator_url) as connection:
        for schema, table in tables(connection):
            if "last_accessed_at" in columns(connection, schema, table):
                made = sql.Identifier(schema, table)
                connection.execute(sql.SQL("UPDATE {} SET last_accessed_at = now() - interval '1 day'").format(made))
    return shared_installation


def tables(connection: psycopg.Connection) -> list[tuple[str, str]]:
    return connection.execute(
        "SELECT schemaname, tablename FROM pg_tables WHERE schemaname !~ '^(pg_|information_schema)'"
    ).fetchall()


def columns(connection: psycopg.Connection, schema: str, table: str) -> set[str]:
    query = "SELECT column_name FROM information_schema.columns WHERE table_schema = %s AND table_name = %s"
    return {name for (name,) in connection.execute(query, [schema, table])}


def content(here: Installation) -> dict[str, str]:
    """Return a digest of the rows of every table of the database."""
    digest = "SELECT coalesce(md5(string_agg(t::text, '' ORDER BY t::text)), '') FROM {} AS t"
    with psycopg.connect(here.administrator_url) as connection:
        return {
            f"{schema}.{table}": row[0]
            for schema, table in tables(connection)
            if (row := connection.execute(sql.SQL(digest).format(sql.Identifier(schema, table))).fetchone())
        }


@pytest.fixture
def questions(tmp_path: Path) -> Path:
    path = tmp_path / "questions.jsonl"
    path.write_text("".join(f"{json.dumps(one)}\n" for one in QUESTIONS), encoding="utf-8")
    return path


def evaluated(here: Installation, *arguments: str | Path, more: dict[str, str] | None = None, code: int = 0) -> Any:
    done = run_cli(here.settings, "eval", *map(str, arguments), "--json", more=more)
    assert done.returncode == code, done.stderr
    return json.loads(done.stdout if code == 0 else done.stderr)


def test_own_questions_leave_no_trace(stored: Installation, questions: Path, tmp_path: Path) -> None:
    before = content(stored)
    figures = evaluated(stored, questions, "--output", tmp_path / "out", more=LOGGED)
    assert content(stored) == before
    assert (figures["questions"], figures["questions_with_sources"], figures["sources_not_found"]) == (3, 2, 1)
    within = figures["sources_within_tokens"]
    assert within["context"] == within["oracle"] == {"500": 1.0, "1000": 1.0, "1500": 1.0}
    assert set(within["nothing"].values()) == {0.0}
    assert figures["sources_among_first"]["search"]["10"] == 1.0
    assert (figures["answers"]["context"]["right"], figures["answers"]["nothing"]["right"]) == (1.0, 0.3333)
    assert (figures["reader"], figures["judge"], figures["cost"]) == ("offline", None, {})
    assert "No language model has read" in figures["not_run"][0]
    assert figures["latency_ms"].keys() == {"context", "search", "answer"}
    assert "<h1>Evaluation</h1>" in (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert (tmp_path / "out" / "report.md").read_text(encoding="utf-8").startswith("# Evaluation\n")
    evaluated(stored, tmp_path / "absent.jsonl", "--output", tmp_path / "out", code=2)
    assert (tmp_path / "out" / "report.md").read_text(encoding="utf-8").startswith("# Evaluation\n"), "it stays"
    run_cli(stored.settings, "ask", "Where is the tarpaulin?", "--user", "ida", more=LOGGED)
    assert content(stored) != before, "the control: a question leaves traces"


def training(here: Installation, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """Run ``python -m training`` with no other talks."""
    (none := here.home / "talks").mkdir(exist_ok=True)
    command = [sys.executable, "-m", "training", "--talks", str(none), "--public", "absent", *map(str, arguments)]
    return subprocess.run(
        command, env=environment(here.settings), cwd=ROOT, capture_output=True, text=True, check=False
    )


def test_own_questions_train_and_measure_an_encoder(stored: Installation, questions: Path, tmp_path: Path) -> None:
    before, graph = content(stored), tmp_path / "own.onnx"
    own = ("--questions", questions, "--user", "ida", "--graph", graph)
    assert "| own | en | 1 | 3 | 3 | 2 | 0 |" in training(stored, *own, "check").stdout
    done = training(stored, *own)
    if find_spec("torch") is None:
        assert (done.returncode, "pip install -e '.[training]'" in done.stderr) == (1, True), done.stderr
    else:
        assert done.returncode == 0, done.stderr
        assert OwnEmbedder(graph).embed(["Where?"]).shape == (1, 384)
        card = graph.with_suffix(".md").read_text(encoding="utf-8")
        assert ("# Model card: own-" in card, "| own en questions |" in card) == (True, True)
    found = training(stored, "--questions", questions, "evaluate")
    assert "| own en questions | each message alone |" in found.stdout, found.stderr
    assert content(stored) == before
    questions.write_text('{"question": "Who sails?", "sources": ["no such words"]}\n', encoding="utf-8")
    refused = training(stored, *own, "train")
    assert (refused.returncode, "no question has sources that name a message of ida" in refused.stderr) == (1, True)


def test_report_on_a_terminal_is_no_markdown(stored: Installation, questions: Path) -> None:
    done = run_cli(stored.settings, "eval", str(questions))
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("Evaluation\n")
    for text in ("Sources within tokens", "oracle", "Latency"):
        assert text in done.stdout
    assert not any(line.startswith(("#", "|")) for line in done.stdout.splitlines())
    refused = evaluated(stored, questions, "--format", "locomo", code=2)["message"]
    assert "say with --format which one it has" in refused


@pytest.fixture
def provider() -> Iterator[ModelProvider]:
    with ModelProvider() as running:
        yield running


def served(provider: ModelProvider) -> dict[str, str]:
    address = {"NEURIGRAPH_LANGUAGE_MODEL_URL": provider.base_url, "NEURIGRAPH_LANGUAGE_MODEL_NAME": "gpt-test"}
    return {**address, "NEURIGRAPH_LANGUAGE_MODEL": "auto", "NEURIGRAPH_MODEL_MAX_RETRIES": "0"}


def test_model_reads_and_is_judged_twice(stored: Installation, questions: Path, provider: ModelProvider) -> None:
    figures = evaluated(
        stored, questions, "--judge", "judge-test", "--price-in", "2", "--price-out", "8", more=served(provider)
    )
    assert (figures["reader"], figures["judge"]) == ("openai:gpt-test", "openai:judge-test")
    counts = figures["answers"]["context"]
    assert (counts["judged"], counts["declined"], counts["disputed"]) == (2, 1, 1)
    assert counts["right"] == 0.6667, "what is disputed does not count as right"
    assert [one["question"] for one in figures["worst"]] == ["Who painted the boat?"]
    models = [one.body["model"] for one in provider.requests]
    cost = figures["cost"]
    assert (models.count("gpt-test"), models.count("judge-test")) == (cost["reader"]["calls"], cost["judge"]["calls"])
    assert cost["judge"]["price"] == pytest.approx(
        (2 * cost["judge"]["tokens_sent"] + 8 * cost["judge"]["tokens_received"]) / 1e6, abs=1e-4
    )


def test_model_that_fails_is_not_wrong(stored: Installation, questions: Path, provider: ModelProvider) -> None:
    provider.fail_when("Where is the tarpaulin?", Fault("status", status=400), "ReadingAnswer")
    counts = evaluated(stored, questions, "--limit", "2", more=served(provider))["answers"]["context"]
    assert (counts["failed"], counts["scored"]) == (1, 1)
    provider.fail_when("Who painted the boat?", Fault("status", status=401), "ReadingAnswer")
    assert evaluated(stored, questions, more=served(provider), code=5)["error"] == "AccountError"


def test_options_that_do_not_fit_are_refused(stored: Installation, questions: Path) -> None:
    refused = evaluated(stored, questions, "--reader", "gpt-test", code=4)
    assert "set NEURIGRAPH_LANGUAGE_MODEL" in refused["message"]
    assert "give both" in evaluated(stored, questions, "--price-in", "2", code=2)["message"]
    assert "leave --user out" in evaluated(stored, questions, "-u", "ida", "--format", "beam", code=2)["message"]
    assert "cannot write a report" in evaluated(stored, questions, "--output", questions, code=2)["message"]


def test_empty_graph_is_refused(stored: Installation, questions: Path, tmp_path: Path) -> None:
    talk = tmp_path / "talk.jsonl"
    talk.write_text(json.dumps(TALK) + "\n", encoding="utf-8")
    run_cli(stored.settings, "import", str(talk), "--user", "tom")
    assert "`neurigraph ingest`" in evaluated(stored, questions, "--user", "tom", code=2)["message"]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "sources", "answered"), [
    ("locomo", 3, 3), ("longmemeval", 1, 2), ("beam", 1, 2), ("personamem", 0, 2),
])  # fmt: skip
def test_published_format_is_stored_apart(
    name: str, sources: int, answered: int, stored: Installation, tmp_path: Path, provider: ModelProvider
) -> None:
    before, path = content(stored), getattr(published_files, name)(tmp_path)
    more = served(provider) if name == "personamem" else {}
    figures = evaluated(stored, path, "--format", name, more={**more, "TMPDIR": str(tmp_path)})
    assert (figures["questions_with_sources"], figures["answers"]["context"]["scored"]) == (sources, answered)
    if sources:
        assert figures["sources_within_tokens"]["context"]["500"] == 1.0
    else:
        assert figures["answers"]["context"]["right"] == 1.0, "the letter of the right option"
    assert content(stored) == before
    assert list(tmp_path.glob("neurigraph-scratch-*")) == []


@pytest.mark.slow
def test_interrupted_evaluation_leaves_nothing(stored: Installation, tmp_path: Path) -> None:
    path = published_files.locomo(tmp_path)
    env = environment(stored.settings, TMPDIR=str(tmp_path))
    with subprocess.Popen(
        [PROGRAM, "eval", path, "--format", "locomo"], env=env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    ) as process:
        assert process.stderr is not None
        while b"storing" not in (line := process.stderr.readline()):
            assert line, "it ended before it stored anything"
        (home,) = tmp_path.glob("neurigraph-scratch-*")
        assert (home / "postgres").exists()
        time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 130
    assert not home.exists()
