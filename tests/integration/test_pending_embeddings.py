"""An unavailable embedding provider: records are stored, found by words, and healed later."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator

import numpy as np
import pytest
from numpy.typing import NDArray

from neurigraph_pipelines.graph.provisioning import User, create_user
from neurigraph_pipelines.ingestion import healing
from neurigraph_pipelines.model.context import Context
from neurigraph_pipelines.settings import Settings
from neurigraph_pipelines.wiring.installation import Installation
from resources.providers.embedder import OpenAiEmbedder
from tests.conftest import ROOT
from tests.support.command_line import environment, run_cli
from tests.support.memories import explained
from tests.support.model_clients import make_client, make_embedder
from tests.support.model_provider import Fault, ModelProvider
from tests.support.segments import segments_of
from tests.support.vectors import (
    ask,
    end_conversation,
    one,
    records_of,
    store,
    with_embedder,
)
from tests.support.waiting import wait_for_process, wait_until

DOWN = Fault("status", 503)
LEASE_SECONDS = 5


@pytest.fixture
def embedder(provider: ModelProvider) -> Iterator[OpenAiEmbedder]:
    client = make_client(provider, max_retries=0, timeout=20.0)
    yield make_embedder(client)
    client.close()


@pytest.fixture
def context(installation: Installation, embedder: OpenAiEmbedder) -> Context:
    return with_embedder(installation, embedder)


@pytest.fixture
def user(installation: Installation) -> User:
    return create_user(installation.database, "bob")[0]


@pytest.fixture
def settings(settings: Settings) -> Settings:
    return settings.changed(claim_lease_seconds=5, retry_base_seconds=0.5)


def store_without_provider(
    installation: Installation, context: Context, provider: ModelProvider, user: User, count: int = 1
) -> None:
    for number in range(count):
        end_conversation(
            installation, user, f"c{number}", f"The walnut tree number {number} fell onto the barn.", "What a pity."
        )
    provider.fail_next(*[DOWN] * (count + 1))
    stored = store(installation, context)
    assert len(stored) == count
    assert all(record.pending_embedding for record in stored)
    provider.reset()


def pending(installation: Installation) -> int:
    return int(one(installation, "SELECT count(*) FROM neurigraph.pending_embeddings"))


def make_due(installation: Installation) -> None:
    with installation.database.pipeline() as tx:
        tx.execute("UPDATE neurigraph.pending_embeddings SET next_attempt_at = now()")


def due(installation: Installation) -> int:
    """Count the pending records whose next attempt is due."""
    count: int = one(installation, "SELECT count(*) FROM neurigraph.pending_embeddings WHERE next_attempt_at <= now()")
    return count


def assert_healed(installation: Installation, user: User, count: int) -> None:
    """Every record has its vectors, and the centroids count each once."""
    rows = records_of(installation, user)
    assert len(rows) == count
    for row in rows:
        assert not row["embedding_pending"]
        assert row["embedding_model"] == "text-embedding-3-small"
        assert np.linalg.norm(row["embedding"].to_numpy()) == pytest.approx(1, abs=1e-4)
        assert np.linalg.norm(row["passage"]) == pytest.approx(1, abs=1e-2)
    assert pending(installation) == 0
    assert one(installation, "SELECT sum(embedded_count) FROM neurigraph.graph_index") == count


def test_outage_then_healing(
    installation: Installation, context: Context, embedder: OpenAiEmbedder, provider: ModelProvider, user: User
) -> None:
    store_without_provider(installation, context, provider, user)
    assert pending(installation) == 1
    provider.fail_next(DOWN)
    found = ask(installation, embedder, user, "What fell onto the barn?")
    assert [hit.source_external_id for hit in found.hits] == ["c0"]
    assert found.messages[0].seq == 1
    assert "could not be reached" in found.notes[0]
    found = ask(installation, embedder, user, "What fell onto the barn?")
    assert explained(found.hits[0])["summary_dense"] is None
    assert found.notes == [], "the embedder is up again; the record's turn comes"

    assert healing.has_due(context)
    done = healing.heal_pending(context)
    assert (done.records, done.passages, done.failed, done.waiting.records) == (1, 2, [], 0)
    assert_healed(installation, user, 1)
    assert not healing.has_due(context)
    found = ask(installation, embedder, user, "What fell onto the barn?")
    assert explained(found.hits[0])["summary_dense"] > 0


def test_healed_vectors_equal_committed_ones(
    installation: Installation, context: Context, provider: ModelProvider, user: User
) -> None:
    """The text that comes back from the object is cut and framed as it was on its way in."""
    long = "She said the bell is rusty. " * 120
    texts = ('汉字和 emoji 🌰 "quoted"\\ \u2028 \x85 tab\t', "", long, "\r\nlast\n")
    for name in ("a", "b"):
        end_conversation(installation, user, name, *texts)
    provider.fail_next(DOWN, DOWN)
    assert all(record.pending_embedding for record in store(installation, context))
    provider.reset()
    expected, _ = create_user(installation.database, "eve")
    end_conversation(installation, expected, "a", *texts)
    store(installation, context)
    assert healing.heal_pending(context).records == 2
    (wanted,), healed_records = _all_vectors(installation, expected), _all_vectors(installation, user)
    assert len(healed_records) == 2
    for healed in healed_records:
        assert healed.keys() == wanted.keys()
        for seq, vectors in wanted.items():
            np.testing.assert_allclose(healed[seq], vectors, atol=1e-3)


def _all_vectors(installation: Installation, user: User) -> list[dict[int, NDArray[np.float32]]]:
    return [
        dict(zip(stored.segment.rows["seq"].tolist(), stored.vectors, strict=True))
        for stored in segments_of(installation, user).values()
        if stored.vectors is not None
    ]


def test_unavailable_provider_is_retried_later(
    installation: Installation, context: Context, provider: ModelProvider, user: User
) -> None:
    store_without_provider(installation, context, provider, user, count=3)
    provider.fail_next(*[DOWN] * 5)
    done = healing.heal_pending(context)
    assert (done.records, len(done.failed), done.waiting.records) == (0, 3, 3)
    assert len(provider.requests) == 1
    assert not healing.has_due(context), "not before its time"
    assert one(installation, "SELECT min(attempts) FROM neurigraph.pending_embeddings") == 1
    assert "503" in one(installation, "SELECT min(last_error) FROM neurigraph.pending_embeddings")
    provider.reset()
    wait_until(lambda: due(installation) == 3, "the records are due again")
    assert healing.heal_pending(context).records == 3
    assert_healed(installation, user, 3)


def test_refused_text_fails_alone(
    installation: Installation, context: Context, provider: ModelProvider, user: User
) -> None:
    store_without_provider(installation, context, provider, user, count=3)
    provider.fail_next(Fault("status", 400), Fault("status", 400))  # all together, then the first alone
    done = healing.heal_pending(context)
    assert (done.records, len(done.failed), done.waiting.records) == (2, 1, 1)
    assert "rejected" in done.failed[0][1]


def test_missing_object_fails_alone(
    installation: Installation, context: Context, provider: ModelProvider, user: User
) -> None:
    store_without_provider(installation, context, provider, user, count=2)
    installation.objects.delete(next(iter(installation.objects.keys("durable/"))))
    done = healing.heal_pending(context)
    assert (done.records, len(done.failed), done.waiting.records) == (1, 1, 1)


def test_run_is_bounded(installation: Installation, context: Context, provider: ModelProvider, user: User) -> None:
    store_without_provider(installation, context, provider, user, count=5)
    done = healing.heal_pending(context, limit=2)
    assert (done.records, done.waiting.records) == (2, 3)


def test_healing_one_user(installation: Installation, context: Context, provider: ModelProvider, user: User) -> None:
    store_without_provider(installation, context, provider, user, count=2)
    other, _ = create_user(installation.database, "eve")
    done = healing.heal_pending(context, user_id=other.user_id)
    assert (done.records, done.waiting.records) == (0, 0)
    done = healing.heal_pending(context, user_id=user.user_id)
    assert (done.records, done.waiting.records) == (2, 0)


def test_manual_ingest_heals_pending(
    installation: Installation, settings: Settings, context: Context, provider: ModelProvider, user: User
) -> None:
    store_without_provider(installation, context, provider, user, count=2)
    made_up = {"OPENAI_API_KEY": "sk-test", "OPENAI_BASE_URL": provider.base_url, "NEURIGRAPH_EMBEDDER": "openai"}
    provider.fail_next(Fault("status", 400), Fault("status", 400))  # all together, then the first alone
    done = json.loads(run_cli(settings, "ingest", "--json", more=made_up).stdout)
    assert (done["stored"], done["healed"], done["pending_embedding"]) == (0, 1, 1)
    make_due(installation)
    said = run_cli(settings, "ingest", more=made_up).stdout
    assert "1 waiting record embedded." in said
    assert_healed(installation, user, 2)


def test_ingest_with_other_model_reports_users(
    installation: Installation, settings: Settings, context: Context, provider: ModelProvider, user: User
) -> None:
    end_conversation(installation, user, "first", "The walnut tree stood.")
    store(installation, context)
    store_without_provider(installation, context, provider, user)
    said = run_cli(settings, "ingest").stdout
    assert (
        "Waiting because their users' searches use another model than neurigraph-minilm-1: 1 record. "
        "`neurigraph admin reembed`" in said
    )
    assert pending(installation) == 1


def test_concurrent_healing_is_exclusive(
    installation: Installation, context: Context, provider: ModelProvider, user: User
) -> None:
    store_without_provider(installation, context, provider, user, count=12)
    provider.slow_down(0.2)
    results: list[healing.Healed] = []

    def heal() -> None:
        results.append(healing.heal_pending(context))

    threads = [threading.Thread(target=heal) for _ in range(3)]
    for thread in threads:
        thread.start()
    wait_until(lambda: provider.requests, "a thread has leased records")
    make_due(installation)  # as if the leases had run out: the same records are taken up twice
    for thread in threads:
        thread.join(60)
    assert len(results) == 3
    healing.heal_pending(context)
    assert_healed(installation, user, 12)


def test_long_embedding_keeps_its_lease(
    installation: Installation, context: Context, provider: ModelProvider, user: User
) -> None:
    store_without_provider(installation, context, provider, user)
    make_due(installation)
    short = context.using(settings=context.settings.changed(claim_lease_seconds=LEASE_SECONDS))
    provider.slow_down(LEASE_SECONDS + 3)
    results: list[healing.Healed] = []
    thread = threading.Thread(target=lambda: results.append(healing.heal_pending(short)))
    thread.start()
    wait_until(lambda: provider.requests, "the thread embeds the record")
    leased_until = one(installation, "SELECT next_attempt_at FROM neurigraph.pending_embeddings")
    wait_until(
        lambda: one(installation, "SELECT clock_timestamp()") > leased_until,
        "the first lease would have run out",
    )
    assert thread.is_alive(), "the first run still embeds the record"
    assert healing.heal_pending(short).records == 0, "another run does not take it"
    thread.join(60)
    assert [done.records for done in results] == [1]
    assert_healed(installation, user, 1)


@pytest.mark.slow
def test_killed_process_is_repeated(
    installation: Installation, context: Context, provider: ModelProvider, user: User
) -> None:
    """kill -9 while the provider answers, and again while records are written."""
    count = 40
    store_without_provider(installation, context, provider, user, count=count)
    process_environment = environment(
        installation.settings,
        NEURIGRAPH_EMBEDDER="openai",
        NEURIGRAPH_CLAIM_LEASE_SECONDS=str(installation.settings.ingestion.claim_lease_seconds),
        OPENAI_API_KEY="sk-test",
        OPENAI_BASE_URL=provider.base_url,
    )

    def start() -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [sys.executable, "-m", "tests.support.embedding_process", "heal"], env=process_environment, cwd=ROOT
        )

    def kill(process: subprocess.Popen[bytes]) -> None:
        process.send_signal(signal.SIGKILL)
        assert process.wait(30) == -signal.SIGKILL

    provider.slow_down(20)
    process = start()
    wait_for_process(lambda: provider.requests, process)
    kill(process)
    provider.reset()
    assert pending(installation) == count

    make_due(installation)
    process = start()
    wait_for_process(lambda: pending(installation) < count, process)
    kill(process)
    left = pending(installation)
    assert one(installation, "SELECT sum(embedded_count) FROM neurigraph.graph_index") == count - left

    wait_until(lambda: due(installation) == left, "the leases of the dead process have expired")
    done = healing.heal_pending(context)
    assert done.records == left
    assert_healed(installation, user, count)
