"""The longest possible segment passes through a real worker in less than a gigabyte of memory."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from neurigraph_pipelines.inbox import triggers
from neurigraph_pipelines.inbox.conversations import Inbox
from neurigraph_pipelines.ingestion.detection import detect_conversation_ends
from neurigraph_pipelines.model import ImportedConversation, IncomingMessage, Role
from neurigraph_pipelines.wiring.installation import Installation
from tests.conftest import ROOT
from tests.support.command_line import environment
from tests.support.memories import converse, new_user
from tests.support.model_provider import ModelProvider

pytestmark = pytest.mark.slow

LIMIT_MB = 1_000
WORDS = ("the doctor of Caroline said that running is good for her knee and the guitar waits in the garden").split()
WORDS_OF_A_MESSAGE = 120


def longest_conversation(installation: Installation) -> ImportedConversation:
    """Return a conversation with as many messages as one segment may hold, each with its own words."""
    chance = random.Random(0)
    said: list[IncomingMessage] = []
    tokens = 0
    while True:
        content = f"Message {len(said)}: {' '.join(chance.choices(WORDS, k=WORDS_OF_A_MESSAGE))}."
        tokens += installation.tokens.count(content)
        if tokens > installation.settings.ingestion.chunk_limit_tokens:
            return ImportedConversation("longest", tuple(said), ended_at=datetime.now(UTC))
        said.append(
            IncomingMessage(Role.ASSISTANT if len(said) % 2 else Role.USER, content, external_id=str(len(said)))
        )


def test_longest_segment_memory(installation: Installation, provider: ModelProvider, tmp_path: Path) -> None:
    user, claims = new_user(installation)
    with installation.database.agent(claims) as tx:
        inbox = Inbox(installation.context)
        inbox.add_conversations(tx, user.user_id, [longest_conversation(installation)])
    detect_conversation_ends(installation.context)
    batch = triggers.lease_due(installation.context, "test", user.user_id)
    assert batch is not None
    assert batch.segments == 1
    assert batch.tokens > 0.99 * installation.settings.ingestion.chunk_limit_tokens
    (tmp_path / "dagster").mkdir()
    worker = subprocess.run(
        [sys.executable, "-m", "tests.support.measured_run", str(batch.batch_id), str(tmp_path / "dagster")],
        cwd=ROOT,
        env=environment(
            installation.settings,
            NEURIGRAPH_LANGUAGE_MODEL="openai",
            NEURIGRAPH_EMBEDDER="openai",
            OPENAI_API_KEY="test",
            OPENAI_BASE_URL=provider.base_url,
        ),
        capture_output=True,
        text=True,
    )
    assert worker.returncode == 0, worker.stderr[-4_000:]
    memory = json.loads(worker.stdout)
    print(f"before the run {memory['before']:.0f} MB, at most {memory['peak']:.0f} MB")
    assert memory["before"] < memory["peak"] < LIMIT_MB
    assert triggers.queue(installation.database).stored == 1


def test_part_is_loaded_alone(installation: Installation) -> None:
    user, claims = new_user(installation)
    converse(installation, claims, "one", "two", "three", "four")
    detect_conversation_ends(installation.context)
    batch = triggers.lease_due(installation.context, "test", user.user_id)
    assert batch is not None
    (ref,) = triggers.segments_of(installation.database, batch.batch_id)
    part = triggers.load(installation.database, ref, (2, 3))
    assert [message.content for message in part.messages] == ["two", "three"]
    assert part.is_part
    assert part == triggers.load(installation.database, ref).within(2, 3)
