"""A real Dagster daemon and webserver: sensors find ended sources, the job stores them, a search finds them."""

from __future__ import annotations

import shutil
import subprocess
import urllib.request
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from neurigraph_pipelines.graph.provisioning import User, create_user
from neurigraph_pipelines.inbox import triggers
from neurigraph_pipelines.inbox.conversations import Inbox
from neurigraph_pipelines.model import Claims, EventKind, ImportedConversation, IncomingMessage, Role, SourceKind
from neurigraph_pipelines.retrieval.query.question import Question
from neurigraph_pipelines.retrieval.query.search import search
from neurigraph_pipelines.runtime.stack.processes import LocalStack
from neurigraph_pipelines.wiring.installation import Installation
from tests.support.dagster_stack import graphql
from tests.support.embedded_server import new_home
from tests.support.waiting import PATIENCE_SECONDS, wait_until

pytestmark = pytest.mark.end_to_end

MESSAGES = (
    "We chose the copper gutters for the boathouse, not the zinc ones.",
    "Noted: copper gutters for the boathouse.",
    "The roofer Ilse comes on Friday to measure.",
)


@pytest.fixture
def embedded(monkeypatch: pytest.MonkeyPatch, session_home: Path, tmp_path: Path) -> Iterator[Installation]:
    """A default installation on its own embedded server, set by environment variables for child processes."""
    with new_home(tmp_path) as home:
        home.mkdir()
        (home / "models").symlink_to(session_home / "models")
        monkeypatch.setenv("NEURIGRAPH_HOME", str(home))
        monkeypatch.setenv("NEURIGRAPH_LANGUAGE_MODEL", "offline")
        monkeypatch.setenv("NEURIGRAPH_EMBEDDER", "neurigraph")
        monkeypatch.setenv("NEURIGRAPH_UI_PORT", "0")
        monkeypatch.setenv("NEURIGRAPH_API_PORT", "0")
        with Installation() as installation:
            installation.migrate()
            yield installation


def end_conversation(installation: Installation, user: User, external_id: str) -> None:
    """Put a conversation into the inbox and end it, as an application would."""
    inbox = Inbox(installation.context)
    roles = (Role.USER, Role.ASSISTANT, Role.USER)
    conversation = ImportedConversation(
        external_id,
        tuple(
            IncomingMessage(role, text, external_id=str(number))
            for number, (role, text) in enumerate(zip(roles, MESSAGES, strict=True))
        ),
    )
    claims = Claims.of_user(user.user_id)
    with installation.database.agent(claims) as tx:
        inbox.add_conversations(tx, user.user_id, [conversation])
        source_id, _ = inbox.open_source(tx, user.user_id, SourceKind.CONVERSATION, external_id=external_id)
        inbox.end(tx, SourceKind.CONVERSATION, source_id)


def end_meeting(installation: Installation, user: User, external_id: str) -> None:
    """Put a whole meeting into the inbox, as an importer would."""
    said = (
        IncomingMessage(Role.USER, "The crane comes on Monday.", "Ilse"),
        IncomingMessage(Role.USER, "Good.", "Omar"),
    )
    meeting = ImportedConversation(external_id, said, ended_at=datetime.now(UTC), event_kind=EventKind.MEETING)
    with installation.database.agent(Claims.of_user(user.user_id)) as tx:
        Inbox(installation.context).add_conversations(tx, user.user_id, [meeting])


def await_stored(installation: Installation, stack: LocalStack, count: int) -> None:
    """Wait until ``count`` segments are stored, watching that the stack lives."""

    def stored() -> bool:
        stack.check()
        return triggers.queue(installation.database).stored >= count

    wait_until(stored, "the segments are stored", PATIENCE_SECONDS, interval=0.25)


def test_daemon_stores_ended_sources(embedded: Installation, tmp_path: Path) -> None:
    user, _ = create_user(embedded.database, "ada")
    with LocalStack(embedded, with_api=True) as stack:
        assert stack.api is not None
        end_conversation(embedded, user, "boathouse")
        await_stored(embedded, stack, 1)
        answer = search(
            embedded.acting_for(Claims.of_user(user.user_id)),
            Question("Which gutters does the boathouse get?"),
        )
        assert answer.hits[0].source_external_id == "boathouse"
        assert answer.messages[0].external_id in {"0", "1"}
        run_id = _assert_the_ui_tells(stack)
        _assert_a_person_sees(stack, run_id, tmp_path)
        with urllib.request.urlopen(f"{stack.api.url}/healthz", timeout=10) as response:
            assert response.status == 200
        end_meeting(embedded, user, "site-meeting")
        await_stored(embedded, stack, 2)


def _assert_the_ui_tells(stack: LocalStack) -> str:
    """Assert one successful run of five steps with counts, tokens, seconds and items; return its id."""

    def look() -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = graphql(stack, _RUNS)["runsOrError"]["results"]
        return found

    wait_until(
        lambda: [run["status"] for run in look()][:1] == ["SUCCESS"], "the run succeeds", PATIENCE_SECONDS, interval=0.5
    )
    runs = look()
    assert len(runs) == 1
    found = {
        event["stepKey"]: {entry["label"] for entry in event["metadataEntries"]}
        for event in runs[0]["eventConnection"]["events"]
        if event.get("__typename") == "ExecutionStepOutputEvent"
    }
    assert set(found) == {
        f"memories.{step}" for step in ("assign_nodes", "summarize", "extract_keywords", "embed", "commit")
    }
    for step, labels in found.items():
        assert {"tokens", "seconds", "items", "failed"} <= labels, step
    run_id: str = runs[0]["runId"]
    return run_id


def _assert_a_person_sees(stack: LocalStack, run_id: str, profile: Path) -> None:
    """Check the run's page in a real browser, if one is installed."""
    chromium = shutil.which("chromium")
    if chromium is None:
        return
    page = subprocess.run(
        [
            chromium,
            *("--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"),
            *("--disable-component-update", "--no-first-run", f"--user-data-dir={profile / 'chromium'}"),
            *("--window-size=1500,1100", "--virtual-time-budget=30000", "--dump-dom"),
            stack.dagster.ui_url(stack.ui.url, f"/runs/{run_id}"),
        ],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    ).stdout
    for shown in ("ingestion_job", "Success", "records stored", "RUN_SUCCESS"):
        assert shown in page, f"{shown!r} is not on the page of the run"


_RUNS = """{ runsOrError(filter: {pipelineName: "ingestion_job"}) { ... on Runs { results { runId status
    eventConnection(limit: 1000) { events { __typename
        ... on ExecutionStepOutputEvent { stepKey metadataEntries { label } } } } } } } }"""
