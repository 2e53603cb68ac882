"""Messages that are not stored yet: how soon a question finds one, and what they cost the others."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from itertools import count, cycle
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray

from benchmarks.bench import Bench, in_turns
from benchmarks.report import Section, number, spread, table
from benchmarks.retrieval.synthetic import DIMENSIONS, Graph, SyntheticEmbedder, make_graph
from neurigraph_client import Memory
from neurigraph_pipelines.access.authentication import issue_api_key
from neurigraph_pipelines.graph.provisioning import create_user
from neurigraph_pipelines.inbox.conversations import Inbox
from neurigraph_pipelines.model import Claims, NewConversation, NewMessage, Role
from neurigraph_pipelines.model.context import Context
from neurigraph_pipelines.retrieval.query.question import Question
from neurigraph_pipelines.retrieval.query.search import search
from neurigraph_pipelines.wiring.installation import Installation
from tests.support.api_server import serving

MEMORIES, QUICK_MEMORIES = 1_000, 100
NODES = 20
WAITING, QUICK_WAITING = 10_000, 200
MESSAGES_OF_CONVERSATION = 20
REPEATS, QUICK_REPEATS = 1_000, 5
FOUND, QUICK_FOUND = 100, 3

_METHOD = f"""*Found*: over HTTP, with MiniLM, {FOUND} times: a client adds a message with a word of its own to an open
conversation, and asks for it as soon as the call returns; the time is that of the search, which must have the message
first. *Waiting*: a synthetic graph of {MEMORIES:,} memories in {NODES} nodes, without cached answers and with looked-up
embeddings; questions in turns that search unstored messages and that do not (`NEURIGRAPH_UNSTORED_MESSAGES=0`), when
nothing waits and when {WAITING:,} messages wait in conversations of {MESSAGES_OF_CONVERSATION}. *The first* question
has to index the newest of them; *after one more* means that a message arrives before each question."""


class _Embedder(SyntheticEmbedder):
    """Knows the vectors of questions; those of documents are random."""

    def embed(self, texts: Sequence[str], kind: str = "document") -> NDArray[np.float32]:
        """Return the vectors of questions, or as many random ones."""
        if kind == "query":
            return super().embed(texts, kind)
        vectors = np.random.default_rng(0).standard_normal((len(texts), DIMENSIONS), dtype=np.float32)
        directions: NDArray[np.float32] = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
        return directions


def run(bench: Bench) -> Section:
    """Measure both."""
    with bench.installation() as installation:
        rows = [["found over HTTP", spread(_found(installation, QUICK_FOUND if bench.quick else FOUND)), "", ""]]
    with bench.installation() as installation:
        rows += _waiting(bench, installation)
    header = ("a question", "ms", "ms without unstored messages", "÷")
    return Section("Messages that are not stored yet", _METHOD, table(header, rows))


def _found(installation: Installation, times: int) -> list[float]:
    """Return the milliseconds from the return of the call that adds a message to the answer that has it."""
    user, _ = create_user(installation.database, "asker")
    key, taken = issue_api_key(installation.database, user.user_id), []
    with serving(installation) as address, Memory(address, key) as memory:
        conversation_id = memory.open_conversation()
        for turn in range(times):
            word = f"harbour{turn}"
            memory.add_messages(conversation_id, [f"The boat with the mark {word} lies at the outer mooring today."])
            started = time.perf_counter()
            found = memory.search(f"Where is the boat with the mark {word}?")
            taken.append(1_000 * (time.perf_counter() - started))
            if word not in (found.messages[0].content or ""):
                raise RuntimeError("the message was not found first")
    return taken


def _waiting(bench: Bench, installation: Installation) -> list[list[str]]:
    memories, waiting = (QUICK_MEMORIES, QUICK_WAITING) if bench.quick else (MEMORIES, WAITING)
    repeats = QUICK_REPEATS if bench.quick else REPEATS
    graph = make_graph(installation, "measured", memories, NODES, questions=50)
    context = installation.acting_for(graph.claims).using(
        embedder=_Embedder(graph.questions), settings=installation.settings.changed(answer_cache_entries=0)
    )
    without = context.using(settings=context.settings.changed(unstored_messages=0))
    ask, ask_without = (_asker(one, graph) for one in (context, without))
    rows = [_row("nothing waits", *in_turns([ask, ask_without], repeats))]
    bench.say(f"{waiting:,} messages wait")
    numbers = count()
    for _ in range(waiting // MESSAGES_OF_CONVERSATION):
        _hand_in(installation, graph.claims, graph.texts, numbers, MESSAGES_OF_CONVERSATION)
    started = time.perf_counter()
    ask()
    first = 1_000 * (time.perf_counter() - started)
    rows.append([f"the first with {waiting:,} waiting", number(first), "", ""])
    rows.append(_row(f"{waiting:,} wait", *in_turns([ask, ask_without], repeats)))

    def after_one_more() -> float:
        _hand_in(installation, graph.claims, graph.texts, numbers, 1)
        started = time.perf_counter()
        ask()
        return 1_000 * (time.perf_counter() - started)

    after = [after_one_more() for _ in range(max(3, repeats // 20))]
    return [*rows, [f"{waiting:,} wait, after one more", spread(after), "", ""]]


def _asker(context: Context, graph: Graph) -> Callable[[], object]:
    questions = cycle(graph.questions)
    return lambda: search(context, Question(next(questions).text))


def _row(name: str, taken: Sequence[float], without: Sequence[float]) -> list[str]:
    ratio = statistics.median(taken) / statistics.median(without)
    return [name, *(spread([1_000 * seconds for seconds in each]) for each in (taken, without)), f"{ratio:.2f}"]


def _hand_in(installation: Installation, claims: Claims, texts: Sequence[str], numbers: count[int], size: int) -> None:
    """Add a conversation of so many messages."""
    said = tuple(NewMessage(Role.USER, texts[next(numbers) % len(texts)]) for _ in range(size))
    with installation.database.agent(claims) as tx:
        Inbox(installation.context).add_conversations(tx, claims.user_id, [NewConversation(uuid4().hex, said)])
