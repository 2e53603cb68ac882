"""The five steps of a batch in order, for Dagster's ops and the command line.

Each step is one op and exchanges the values of ``records``. Apart from ``assign_nodes``, each has its own module.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from itertools import count
from uuid import UUID

from psycopg import OperationalError

from neurigraph_pipelines.graph.navigation import outline
from neurigraph_pipelines.inbox import triggers
from neurigraph_pipelines.ingestion.assign import STEP, assign_batch
from neurigraph_pipelines.ingestion.commit import commit
from neurigraph_pipelines.ingestion.detection import detect
from neurigraph_pipelines.ingestion.embed import embed
from neurigraph_pipelines.ingestion.keywords import extract_keywords
from neurigraph_pipelines.ingestion.note_records import pinned_filing
from neurigraph_pipelines.ingestion.persona_filing import WritableNodes, assign_for_persona, writable_nodes
from neurigraph_pipelines.ingestion.records import Assigned, BatchResult, Progress, RecordPlan
from neurigraph_pipelines.ingestion.summarize import summarize
from neurigraph_pipelines.ingestion.time_limits import StepClock
from neurigraph_pipelines.model import Filing, ItemFailure, Outline, Segment
from neurigraph_pipelines.model.context import Context
from neurigraph_pipelines.model.enriching import enriched
from neurigraph_pipelines.model.errors import NeurigraphError
from neurigraph_pipelines.model.measuring import measured

__all__ = ["assign_nodes", "commit", "embed", "extract_keywords", "run_batch", "run_due", "summarize"]

STEPS = 5


@measured("ingestion.assign_nodes")
def assign_nodes(context: Context, batch_id: UUID, on_done: Progress | None = None) -> Assigned:
    """The first step: assign each segment of a batch to one or more nodes.

    A batch whose lease expired and was taken over gives no plans.
    """
    clock = StepClock(context.settings, STEP)
    with triggers.keep_lease(context, batch_id):
        leased = triggers.segments_of(context.database, batch_id)
        segments = [one for load in triggers.load_each(context.database, leased) if (one := load()).messages]
        found = _assign_each(context, segments, clock, on_done)
    refs = [segment.ref for segment in segments]
    answers = [found[ref.trigger_id] for ref in refs]
    return Assigned(
        batch_id,
        tuple(
            RecordPlan(ref, part, filing)
            for ref, answer in zip(refs, answers, strict=True)
            if not isinstance(answer, ItemFailure)
            for part, filing in enumerate(answer)
        ),
        tuple(answer for answer in answers if isinstance(answer, ItemFailure)),
        clock.seconds,
    )


def _assign_each(
    context: Context, segments: Sequence[Segment], clock: StepClock, on_done: Progress | None
) -> dict[UUID, list[Filing] | ItemFailure]:
    """Return where each segment belongs, by its trigger: a note to its own node, others as the model says."""
    refs = [segment.ref for segment in segments]
    with context.database.pipeline() as tx:
        model = context.embedder.model
        left_out: dict[UUID, list[str]] = {ref.user_id: [] for ref in refs}
        outlines = {
            user_id: enriched("filing", partial(outline, tx, user_id, model), Outline, marks)
            for user_id, marks in left_out.items()
        }
        personas = {ref.persona_id: writable_nodes(tx, ref.persona_id) for ref in refs if ref.persona_id is not None}
        found = {
            one.ref.trigger_id: pinned_filing(tx, one)
            for one in segments
            if one.ref.note is not None and one.ref.note.pinned
        }
    found |= _at_root([one for one in segments if one.ref.trigger_id not in found], left_out, personas)
    left = [segment for segment in segments if segment.ref.trigger_id not in found]
    own = [segment for segment in left if segment.ref.persona_id is None]
    filed = assign_batch(
        own,
        {user_id: one.without_personas() for user_id, one in outlines.items()},
        context.language_model,
        context.settings.ingestion.node_creation_confidence,
        None if on_done is None else lambda _: on_done(1),
        clock.of,
    )
    found |= {segment.ref.trigger_id: answer for segment, answer in zip(own, filed, strict=True)}
    for segment in left:
        ref = segment.ref
        if ref.persona_id is not None:
            found[ref.trigger_id] = assign_for_persona(
                segment, outlines[ref.user_id], personas[ref.persona_id], context.language_model, clock.of
            )
            if on_done is not None:
                on_done(1)
    return found


def _at_root(
    segments: Sequence[Segment], left_out: Mapping[UUID, Sequence[str]], personas: Mapping[UUID, WritableNodes]
) -> dict[UUID, list[Filing] | ItemFailure]:
    """File the segments of users whose outline has a defect where their sender may write: at the root, or a persona."""
    found: dict[UUID, list[Filing] | ItemFailure] = {}
    for one in segments:
        nodes = personas.get(one.ref.persona_id) if one.ref.persona_id is not None else None
        if (nodes is None or nodes.paths) and (marks := left_out[one.ref.user_id]):
            filing = Filing((), one.messages[0].seq, one.messages[-1].seq, left_out=marks[0])
            found[one.ref.trigger_id] = [filing if nodes is None else nodes.restrict(filing)]
    return found


@measured("ingestion.batch")
def run_batch(context: Context, batch_id: UUID, on_done: Progress | None = None) -> BatchResult:
    """Run all five steps in this process.

    Args:
        on_done: Called for each item that a step finished; a batch of n records counts to about ``STEPS * n``.
    """
    assigned = assign_nodes(context, batch_id, on_done)
    # One after the other, as in Dagster's worker: each uses the model's full concurrency and loads its own text.
    summarized = summarize(context, assigned, on_done)
    described = extract_keywords(context, assigned, summarized, on_done)
    embedded = embed(context, assigned, summarized, on_done)
    return commit(context, assigned, summarized, described, embedded, on_done)


def run_due(
    context: Context,
    worker: str,
    user_id: UUID | None = None,
    *,
    on_batch: Callable[[triggers.Batch], None] | None = None,
    on_done: Progress | None = None,
) -> Iterator[BatchResult]:
    """Store all due segments, batch after batch in this process.

    A batch that is interrupted by a person or an error goes back to the queue at once. The first batch is leased even
    if the queue is held: who asks for it wants it tried.

    Args:
        worker: A name for this process.
        user_id: Only this user's segments; None for all users.
        on_batch: Called before each batch.
        on_done: As for ``run_batch``.
    """
    for number in count():
        detect(context)
        with triggers.leased_while_alive(context, worker, user_id, insist=number == 0) as batch:
            if batch is None:
                return
            if on_batch is not None:
                on_batch(batch)
            try:
                result = run_batch(context, batch.batch_id, on_done)
            except BaseException:
                with suppress(NeurigraphError, OperationalError):  # report the first error
                    triggers.release(context.database, batch.batch_id)
                raise
        yield result
