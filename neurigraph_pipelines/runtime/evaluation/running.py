"""Evaluations: of a user's graph by the user's own questions, and of published histories that are stored for it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime

from neurigraph_pipelines.database.paging import Cursors
from neurigraph_pipelines.graph.provisioning import create_user
from neurigraph_pipelines.inbox.conversations import Inbox
from neurigraph_pipelines.ingestion.batch import run_due
from neurigraph_pipelines.knowledge.reading import read_waiting
from neurigraph_pipelines.knowledge.reconciling import reconcile_waiting
from neurigraph_pipelines.model import Claims
from neurigraph_pipelines.model.context import Context
from neurigraph_pipelines.model.errors import InvalidInputError, TransientError
from neurigraph_pipelines.runtime.evaluation.asking import Asking, Readers, Result
from neurigraph_pipelines.runtime.evaluation.history import History
from neurigraph_pipelines.runtime.evaluation.samples import LabelledQuestion, Sample

Say = Callable[[str], None]


def ask_all(
    context: Context,
    cursors: Cursors,
    questions: Sequence[LabelledQuestion],
    readers: Readers,
    *,
    sample: str = "",
    ended_at: datetime | None = None,
) -> Iterator[Result]:
    """Ask questions of the caller's graph, and leave no trace in it.

    Raises:
        InvalidInputError: Nothing is stored in the graph.
        AccountError: A model's provider refuses the account.
    """
    unnoted = context.unnoted()
    history = History(unnoted, cursors)
    if not history.lines:
        raise InvalidInputError("nothing is stored in this graph: `neurigraph ingest` stores what was handed in")
    asking = Asking(unnoted, history, readers, ended_at)
    for asked in questions:
        yield asking.ask(sample, asked)


def ask_samples(
    context: Context, cursors: Cursors, samples: Iterable[Sample], readers: Readers, limit: int | None, say: Say
) -> Iterator[Result]:
    """Store the history of each sample as a user, and ask its questions; with a limit, only the first of all.

    Args:
        context: Of an installation that is there for this alone, and holds no user.
        say: Shows what is being done.

    Raises:
        TransientError: A conversation cannot be stored.
        AccountError: A model's provider refuses the account.
    """
    left = limit
    for number, sample in enumerate(samples, 1):
        questions = sample.questions[:left]
        if questions:
            say(f"{sample.name}: storing {len(sample.messages):,} messages")
            claims = _stored(context, sample, f"sample-{number}")
            say(f"{sample.name}: asking {len(questions):,} questions")
            acting = context.acting_for(claims)
            yield from ask_all(acting, cursors, questions, readers, sample=sample.name, ended_at=sample.ended_at)
        if left is not None:
            left -= len(questions)
            if left == 0:
                return


def _stored(context: Context, sample: Sample, slug: str) -> Claims:
    """Store a history with its facts as a new user's."""
    user, _ = create_user(context.database, slug)
    claims = Claims.of_user(user.user_id)
    with context.database.agent(claims) as tx:
        Inbox(context).add_conversations(tx, user.user_id, sample.conversations)
    for result in run_due(context, "evaluation", user.user_id):
        for failure, _ in result.returned:
            raise TransientError(f"{sample.name} was not stored: {failure.step}: {failure.error}")
    read_waiting(context, user_id=user.user_id)
    reconcile_waiting(context, user_id=user.user_id)
    return claims
