"""Windows of a long memory that a model has read: none is read twice after a crash, and nobody sees them before."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import psycopg
import pytest

from neurigraph_pipelines.knowledge.reading import read_again, read_waiting
from neurigraph_pipelines.lifecycle.erasure.forget import forget
from neurigraph_pipelines.lifecycle.erasure.receipts import ErasureSubject, SubjectKind
from neurigraph_pipelines.model.context import Context
from neurigraph_pipelines.wiring.installation import Installation
from resources.providers.retries import ProviderClient
from tests.conftest import ROOT, SECRET
from tests.support.memories import converse, ingest, new_user, plain_context, rows, stored
from tests.support.model_provider import Fault, ModelProvider
from tests.support.reading_process import patient_client, small_windows
from tests.support.waiting import wait_until

MESSAGES = [
    text
    for number in range(1, 13)
    for text in (f"Box {number} of the Porto harbour has {number * 7} ropes.", f"Ropes {'of hemp ' * 100}?")
]
"""Statements, and questions that make them long: the stand-in reads each message that is no question as a fact."""

LATE = "Box 9 of the"


@dataclass(frozen=True, slots=True)
class Waiting:
    """A memory of several windows that waits to be read."""

    here: Installation
    context: Context
    user_id: UUID
    record_id: UUID

    def kept(self) -> list[dict[str, Any]]:
        query = "SELECT facts FROM neurigraph.read_windows WHERE record_id = %s"
        return [fact for row in rows(self.here, query, self.record_id) for fact in row["facts"]]

    def windows(self) -> int:
        return len(rows(self.here, "SELECT FROM neurigraph.read_windows WHERE record_id = %s", self.record_id))

    def statements(self) -> list[str]:
        query = "SELECT statement FROM neurigraph.facts WHERE record_id = %s ORDER BY seq"
        return [row["statement"] for row in rows(self.here, query, self.record_id)]

    def read(self) -> Any:
        def is_free() -> bool:
            query = "SELECT FROM neurigraph.pending_facts WHERE record_id = %s AND next_attempt_at > clock_timestamp()"
            return not rows(self.here, query, self.record_id)

        wait_until(is_free, "the lease expires")
        return read_waiting(self.context, user_id=self.user_id)


def waiting(here: Installation, client: ProviderClient) -> Waiting:
    user, claims = new_user(here)
    converse(here, claims, *MESSAGES)
    plain = plain_context(here)
    (record,) = stored(ingest(plain, user))
    context = plain.using(language_model=small_windows(client))
    return Waiting(here, context.acting_for(claims), user.user_id, record.record_id)


@pytest.fixture
def client(provider: ModelProvider) -> Iterator[ProviderClient]:
    opened = patient_client(provider.base_url)
    yield opened
    opened.close()


@pytest.fixture
def partly(here: Installation, provider: ModelProvider, client: ProviderClient) -> Waiting:
    """A memory of which a part is read, because the provider failed at a later window."""
    memory = waiting(here, client)
    provider.fail_when(LATE, Fault("status", status=503, retry_after="0"))
    assert [record_id for record_id, _ in memory.read().failed] == [memory.record_id]
    provider.mend()
    assert memory.windows() > 1
    return memory


@pytest.mark.slow
def test_killed_reader_leaves_only_what_it_did_not_read(
    here: Installation, provider: ModelProvider, client: ProviderClient
) -> None:
    whole, killed = waiting(here, client), waiting(here, client)
    assert whole.read().facts == len(whole.statements()) > 0
    calls = len(provider.requests)
    assert calls > 4
    assert whole.windows() == 0, "what was kept goes with the wait"

    provider.reset()
    provider.fail_when(LATE, Fault("stall", seconds=60))
    places = [here.administrator_url, SECRET, str(here.home / "objects"), str(killed.user_id), provider.base_url]
    process = subprocess.Popen([sys.executable, "-m", "tests.support.reading_process", *places], cwd=ROOT)
    wait_until(lambda: provider.held(LATE) == 1, "the window is being read")
    process.kill()
    process.wait()
    provider.mend()
    done = len(provider.requests) - 1  # the last one was not answered
    assert (killed.windows(), killed.statements()) == (done, []), "kept, and not shown"

    provider.reset()
    assert killed.read().facts == len(whole.statements())
    assert len(provider.requests) == calls - done
    assert killed.statements() == whole.statements()
    assert killed.windows() == 0


def test_kept_windows_hold_facts_and_no_transcript(partly: Waiting) -> None:
    kept = partly.kept()
    assert kept
    words = sum(len(fact["statement"].split()) for fact in kept)
    assert words <= sum(len(text.split()) for text in MESSAGES) / 5
    with pytest.raises(psycopg.errors.InsufficientPrivilege), partly.here.database.agent(partly.context.claims) as tx:
        tx.execute("SELECT FROM neurigraph.read_windows")


def test_kept_windows_go_with_the_record(partly: Waiting) -> None:
    forget(partly.context, ErasureSubject(SubjectKind.RECORD, partly.record_id), through="tests")
    assert partly.windows() == 0


@pytest.mark.slow
def test_forgotten_statement_is_not_kept(here: Installation, provider: ModelProvider, client: ProviderClient) -> None:
    memory = waiting(here, client)
    memory.read()
    query = "SELECT fact_id, statement FROM neurigraph.facts WHERE record_id = %s ORDER BY seq LIMIT 1"
    (fact,) = rows(here, query, memory.record_id)

    def read_partly() -> str:
        provider.fail_when(LATE, Fault("status", status=503, retry_after="0"))
        assert read_again(memory.context, [memory.record_id]).failed
        provider.mend()
        return json.dumps(memory.kept())

    assert fact["statement"] in read_partly()
    forget(memory.context, ErasureSubject(SubjectKind.FACT, fact["fact_id"]), through="tests")
    assert fact["statement"] not in json.dumps(memory.kept())
    assert fact["statement"] not in read_partly(), "nor when the window is read again"
    memory.read()
    assert fact["statement"] not in memory.statements()
    assert memory.statements()
