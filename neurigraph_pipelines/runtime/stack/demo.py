"""The demo: sample conversations through a real Dagster, three questions, a block for a prompt, and three walks.

It uses the ordinary path: import, sensor, job, answer. It reports plain lines; the command line formats them.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from neurigraph_pipelines.access.accounts import change_account
from neurigraph_pipelines.graph import navigation
from neurigraph_pipelines.graph.provisioning import ensure_user
from neurigraph_pipelines.inbox import triggers
from neurigraph_pipelines.inbox.conversations import Inbox
from neurigraph_pipelines.inbox.importing import import_file
from neurigraph_pipelines.knowledge.fact_queries import QueryFacts, QueryKind, query_facts
from neurigraph_pipelines.knowledge.reading import read_waiting
from neurigraph_pipelines.knowledge.reconciling import reconcile_waiting
from neurigraph_pipelines.model import Claims, ImportedConversation, IncomingMessage, Role
from neurigraph_pipelines.model.chat import Turn
from neurigraph_pipelines.retrieval.ask import ask
from neurigraph_pipelines.retrieval.prompt import PromptRequest, prompt_context
from neurigraph_pipelines.retrieval.query.question import Question
from neurigraph_pipelines.runtime.stack.processes import LocalStack
from neurigraph_pipelines.runtime.stack.supervisor import StackError
from neurigraph_pipelines.settings.shipped import shipped
from neurigraph_pipelines.views.answers import Reply
from neurigraph_pipelines.views.fact_queries import QueriedFacts
from neurigraph_pipelines.views.graph import TreeNode
from neurigraph_pipelines.views.scalars import WireObject
from neurigraph_pipelines.wiring.installation import Installation

USER = "bob"
SAMPLES = shipped("samples")
QUESTIONS_ASKED = 3
STORY = "radio-mast"
"""The sample story that is told as a user of this name."""
WALKS = (
    (QueryKind.WHY, "Why did we build a second mast?"),
    (QueryKind.CHANGED, "What changed about the licence?"),
    (QueryKind.ABOUT, "What do we know about Ola Berg?"),
)
BLOCK = "Who is Dave?"
_BLOCK_TOKENS = 250
PATIENCE_SECONDS = 300.0
"""Seconds without a stored segment after which the demo fails."""


@dataclass(frozen=True, slots=True)
class DemoListener:
    """Functions that show the progress of the demo.

    Attributes:
        say: Shows a line of text.
        progress: Shows how many segments are stored, of how many.
        show_tree: Shows the graph once all is stored.
        show_reply: Shows a question and its answer.
        show_block: Shows a message, and the block for the prompt that answers it.
        show_walk: Shows a question about reasons or changes, and the facts with the paths between them.
    """

    say: Callable[[str], None]
    progress: Callable[[int, int], None]
    show_tree: Callable[[TreeNode], None]
    show_reply: Callable[[str, Reply], None]
    show_block: Callable[[str, str], None]
    show_walk: Callable[[str, QueriedFacts], None]


def run(installation: Installation, listener: DemoListener) -> None:
    """Migrate, import, wait until Dagster has stored everything, and ask the questions.

    Raises:
        StackError: A process ended, or nothing is stored any more.
        NeurigraphError: Another step failed.
    """
    report = installation.migrate()
    listener.say(f"The database is at version {report.version}.")
    user, _ = ensure_user(installation.database, USER, opaque_schema_names=installation.settings.opaque_schema_names)
    claims = Claims.of_user(user.user_id)
    _import(installation, claims, SAMPLES / "bob.jsonl", listener)
    teller = tell_story(installation, json.loads((SAMPLES / "stories" / f"{STORY}.json").read_text("utf-8")), STORY)
    with LocalStack(installation, with_api=False) as stack:
        listener.say(f"Dagster's UI runs at {stack.ui_url} during the demo.")
        _wait_for_ingestion(installation, stack, listener)
        with installation.database.agent(claims) as tx:
            listener.show_tree(navigation.tree(tx, claims.user_id))
        questions = json.loads((SAMPLES / "questions.json").read_text(encoding="utf-8"))[:QUESTIONS_ASKED]
        for asked in questions:
            reply = ask(installation.acting_for(claims), Question(asked["question"]))
            listener.show_reply(asked["question"], reply)
    read_waiting(installation.context)
    reconcile_waiting(installation.context)
    block = prompt_context(installation.acting_for(claims), PromptRequest([Turn("user", BLOCK)], budget=_BLOCK_TOKENS))
    listener.show_block(BLOCK, block.text or "")
    for kind, question in WALKS:
        found = query_facts(installation.acting_for(teller), QueryFacts(query=question, kind=kind))
        listener.show_walk(question, found)
    api = installation.settings.api
    listener.say(
        "The demo has stopped its processes. `neurigraph up`, in the checkout `make up`, starts them to stay: "
        f"Dagster's UI, whose link it prints, and the page at http://{api.host}:{api.port}/ with the API."
    )


def tell_story(installation: Installation, story: WireObject, slug: str) -> Claims:
    """Hand in the conversations of a sample story as a user, none twice, and return the user's claims."""
    user, _ = ensure_user(installation.database, slug, opaque_schema_names=installation.settings.opaque_schema_names)
    claims = Claims.of_user(user.user_id)
    change_account(installation.database, claims, {"display_name": story["account"]})
    with installation.database.agent(claims) as tx:
        Inbox(installation.context).add_conversations(tx, user.user_id, list(_conversations(story)))
    return claims


def _conversations(story: WireObject) -> Iterator[ImportedConversation]:
    for number, one in enumerate(story["conversations"]):
        begin = datetime.fromisoformat(f"{one['date']}T12:00").replace(tzinfo=UTC)
        said = [(one["role"], one["content"]) if isinstance(one, dict) else one for one in one["messages"]]
        messages = tuple(
            IncomingMessage(Role(role), text, None, f"m{place}", begin + timedelta(minutes=place))
            for place, (role, text) in enumerate(said)
        )
        yield ImportedConversation(f"c{number}", messages, one["title"] or None, begin, messages[-1].occurred_at)


def _import(installation: Installation, claims: Claims, path: Path, listener: DemoListener) -> None:
    report = import_file(installation.acting_for(claims), path, "jsonl")
    if report.messages_added:
        counter = installation.tokens
        listener.say(
            f"Imported {report.conversations_added} conversations of {USER}: {report.messages_added} messages, "
            f"{report.tokens_added:,} tokens" + ("" if counter.exact else f" (counted by {counter.name})") + "."
        )
    else:
        listener.say(f"{USER}'s {report.conversations_seen} conversations are already imported.")


def _wait_for_ingestion(installation: Installation, stack: LocalStack, listener: DemoListener) -> None:
    """Wait until the sensors have detected everything and the job has stored it."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    stored = -1
    while True:
        stack.check()
        undetected = triggers.count_undetected(installation.database)  # first: what is detected meanwhile is queued
        queue = triggers.queue(installation.database)
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
