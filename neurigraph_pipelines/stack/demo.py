"""The demonstration: sample conversations through a real Dagster, and three questions.

Everything it shows goes the way that everything goes: the import, the sensor, the job, the search. Told as plain
lines; how they look is for the command line.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from neurigraph_pipelines.graph import navigation
from neurigraph_pipelines.graph.provisioning import ensure_user
from neurigraph_pipelines.ingestion import triggers
from neurigraph_pipelines.ingestion.importing import import_file
from neurigraph_pipelines.model import Claims
from neurigraph_pipelines.retrieval.query.phase_one import phase_one
from neurigraph_pipelines.retrieval.query.question import Answer, Question
from neurigraph_pipelines.stack.processes import PROJECT_ROOT, LocalStack, StackError
from neurigraph_pipelines.wiring import Installation

USER = "bob"
SAMPLES = PROJECT_ROOT / "samples"
QUESTIONS_ASKED = 3
PATIENCE_SECONDS = 300.0
"""How long the demonstration waits without any segment being stored before it gives up."""


@dataclass(frozen=True, slots=True)
class Listener:
    """Who is shown what happens.

    Attributes:
        say: A line of text.
        progress: How many segments are stored, of how many.
        show_tree: The graph once all is stored.
        show_answer: A question and what phase one found.
    """

    say: Callable[[str], None]
    progress: Callable[[int, int], None]
    show_tree: Callable[[navigation.TreeNode], None]
    show_answer: Callable[[str, Answer], None]


def run(installation: Installation, listener: Listener) -> None:
    """Migrate, import, let Dagster ingest until nothing is pending, and ask.

    Raises:
        StackError: A process ended, or nothing moves any more.
        NeurigraphError: Something else did not work.
    """
    report = installation.migrate()
    listener.say(f"The database is at version {report.version}.")
    user, _ = ensure_user(installation.database, USER, opaque_schema_names=installation.settings.opaque_schema_names)
    claims = Claims.of_user(user.user_id)
    _import(installation, claims, SAMPLES / "bob.jsonl", listener)
    with LocalStack(installation, with_api=False) as stack:
        listener.say(f"Dagster's UI runs at {stack.ui.url} while this goes on.")
        _await_ingestion(installation, stack, listener)
        with installation.database.agent(claims) as tx:
            listener.show_tree(navigation.tree(tx, claims.user_id))
        questions = json.loads((SAMPLES / "questions.json").read_text(encoding="utf-8"))[:QUESTIONS_ASKED]
        for asked in questions:
            question = Question(asked["question"], limit=6, message_limit=3)
            answer = phase_one(installation.database, installation.embedder, installation.settings, claims, question)
            listener.show_answer(asked["question"], answer)
    settings = installation.settings
    listener.say(
        "All is stopped again. `make up` keeps it running: "
        f"Dagster's UI at http://{settings.ui_host}:{settings.ui_port}, the API at http://{settings.api_host}:{settings.api_port}/docs."
    )


def _import(installation: Installation, claims: Claims, path: Path, listener: Listener) -> None:
    report = import_file(installation.acting_for(claims), path, "jsonl")
    if report.messages_added:
        counter = installation.tokens
        listener.say(
            f"Imported {report.conversations_added} conversations of {USER}: {report.messages_added} messages, "
            f"{report.tokens_added:,} tokens" + ("" if counter.exact else f" (counted by {counter.name})") + "."
        )
    else:
        listener.say(f"{USER}'s {report.conversations_seen} conversations are here already.")


def _await_ingestion(installation: Installation, stack: LocalStack, listener: Listener) -> None:
    """Wait until the sensor has found everything and the job has stored it."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    stored = -1
    while True:
        stack.check()
        queue = triggers.queue(installation.database)
        undetected = triggers.count_undetected(installation.database)
        waiting = queue.pending + queue.claimed + undetected
        listener.progress(queue.stored, queue.stored + waiting)
        if waiting == 0:
            break
        if queue.stored > stored:
            stored, deadline = queue.stored, time.monotonic() + PATIENCE_SECONDS
        if time.monotonic() > deadline:
            raise StackError(f"nothing was stored for {PATIENCE_SECONDS:.0f} s; see {installation.home / 'logs'}")
        time.sleep(0.25)
    if queue.failed:
        listener.say(f"{queue.failed} segments could not be stored.")
