"""Filing again: stored memories go where today's rules, or another model, would file them.

A memory is moved as a person moves one: its id, history, links and facts stay, and so do grants. One of several
subjects is split. What people moved, revised, pinned or put into quarantine stays as it is, where it is. ``refiling``
files what a defect had left at the root.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import groupby
from typing import NamedTuple
from uuid import UUID

from psycopg import OperationalError

from neurigraph_pipelines.database.asking import rows_of
from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.graph.changes import GraphNode, node_and_below
from neurigraph_pipelines.graph.edges import Places
from neurigraph_pipelines.graph.history import append_delta, pipeline_author
from neurigraph_pipelines.graph.locks import lock_graph_exclusive, lock_rows
from neurigraph_pipelines.graph.moving import transfer_records
from neurigraph_pipelines.graph.naming import name_key
from neurigraph_pipelines.graph.navigation import outline
from neurigraph_pipelines.graph.shell import rebuild_shell
from neurigraph_pipelines.graph.witnesses import Witness, messages_with
from neurigraph_pipelines.ingestion.assign import assign_batch
from neurigraph_pipelines.ingestion.conditions import conditions_of
from neurigraph_pipelines.ingestion.graph_updates import update_graph
from neurigraph_pipelines.ingestion.record_locations import RecordLocation, locate, pages_of_days
from neurigraph_pipelines.ingestion.records import OFFLINE, Progress
from neurigraph_pipelines.ingestion.splitting import REFILED, PlannedSplit, Split, plan_split, split
from neurigraph_pipelines.ingestion.stored_segments import read_segment
from neurigraph_pipelines.model import Detector, Filing, ItemFailure, Segment
from neurigraph_pipelines.model.context import Context
from neurigraph_pipelines.model.errors import ConflictError, NeurigraphError, NotFoundError, TransientError
from neurigraph_pipelines.model.ports import Transaction

_AT_ONCE = 25
"""Memories of a user that are filed with one outline; those after them see what these changed."""

_QUERIES = statements("refiling")


class Move(NamedTuple):
    """A memory that moves, or would."""

    record_id: UUID
    from_path: str
    to_path: str


@dataclass(slots=True)
class FiledAgain:
    """The result of a run; of a dry run the result that it would have.

    Attributes:
        model: The language model that filed.
        moved: Memories that moved to another node.
        split: Memories of several subjects that became several.
        whole: Memories of several subjects that stay whole, with the reason.
        stayed: Memories that are filed where they were.
        by_hand: Memories that stay because a person decided about them.
        complete: Memories that this model has filed again before.
        gone: Memories that were erased meanwhile.
        failed: Memories that stay because of an error, with the reason.
    """

    model: str
    moved: list[Move] = field(default_factory=list)
    split: list[Split] = field(default_factory=list)
    whole: list[tuple[UUID, str]] = field(default_factory=list)
    stayed: int = 0
    by_hand: int = 0
    complete: int = 0
    gone: int = 0
    failed: list[tuple[UUID, str]] = field(default_factory=list)


class _State(NamedTuple):
    record_id: UUID
    by_hand: bool
    refiled_by: str | None


def file_again(
    context: Context,
    since: datetime | None,
    until: datetime,
    user_id: UUID | None = None,
    *,
    again: bool = False,
    dry_run: bool = False,
    on_done: Progress | None = None,
) -> FiledAgain:
    """File the memories of a period again; each is moved or split, and marked, in a transaction of its own.

    Args:
        context: With the language model that files.
        since: Start of the period; None for the beginning.
        until: End of the period, exclusive.
        user_id: Only this user's memories.
        again: Include memories that this model has filed again before.
        dry_run: Only say what would be moved and split.
        on_done: Called with the number of memories that were looked at.

    Raises:
        TransientError: The provider is down. What was moved stays, and the next run continues.
    """
    done = FiledAgain(context.language_model.name)
    for found in pages_of_days(context.database, since, until, user_id):
        made = {part.record_id for one in done.split for part in one.parts}  # by this run, and on the next page
        page = [row for row in found if row.record_id not in made]
        chosen = _chosen(context, page, done, again=again)
        if on_done is not None:
            on_done(len(page) - len(chosen))
        for _, rows in groupby(sorted(chosen, key=lambda row: row.user_id), key=lambda row: row.user_id):
            of_user = list(rows)
            for first in range(0, len(of_user), _AT_ONCE):
                part = of_user[first : first + _AT_ONCE]
                for segment, row, answer in _filed(context, part, done):
                    _settle(context, done, row, segment, answer, dry_run=dry_run)
                if on_done is not None:
                    on_done(len(part))
    return done


def _chosen(context: Context, page: Sequence[RecordLocation], done: FiledAgain, *, again: bool) -> list[RecordLocation]:
    """Return the records of a page to file, and count the others."""
    with context.database.pipeline() as tx:
        states = _states(tx, [row.record_id for row in page])
    chosen = []
    for row in page:
        state = states.get(row.record_id)
        if state is None:
            done.gone += 1
        elif state.by_hand:
            done.by_hand += 1
        elif state.refiled_by == pipeline_author(done.model) and not again:
            done.complete += 1
        else:
            chosen.append(row)
    return chosen


def _states(tx: Transaction, record_ids: Sequence[UUID]) -> dict[UUID, _State]:
    values = {"record_ids": list(record_ids), "operation": REFILED}
    return {row.record_id: row for row in rows_of(tx, _QUERIES["states"], _State, values)}


def _filed(
    context: Context, rows: Sequence[RecordLocation], done: FiledAgain
) -> Iterator[tuple[Segment, RecordLocation, list[Filing]]]:
    """Yield memories of one user with their filings, as new ones would be filed; count those that are not filed."""
    read: list[tuple[RecordLocation, Segment]] = []
    for row in rows:
        try:
            segment = read_segment(context, row.user_id, row.record_id)
        except NotFoundError:
            done.gone += 1
        except NeurigraphError as error:
            done.failed.append((row.record_id, str(error)))
        else:
            if segment.ref.persona_id is not None or (segment.ref.note is not None and segment.ref.note.pinned):
                done.by_hand += 1
            else:
                read.append((row, segment))
    if not read:
        return
    user_id = rows[0].user_id
    with context.database.pipeline() as tx:
        known = outline(tx, user_id, context.embedder.model).without_personas()
    threshold = context.settings.ingestion.node_creation_confidence
    answers = assign_batch([segment for _, segment in read], {user_id: known}, context.language_model, threshold)
    for (row, segment), answer in zip(read, answers, strict=True):
        if isinstance(answer, ItemFailure):
            if answer.transient:
                raise TransientError(answer.error)
            done.failed.append((row.record_id, answer.error))
        elif answer[0].left_out is not None:
            done.failed.append((row.record_id, f"left out because of a defect: {answer[0].left_out}"))
        else:
            yield segment, row, answer


def _settle(
    context: Context,
    done: FiledAgain,
    row: RecordLocation,
    segment: Segment,
    filings: Sequence[Filing],
    *,
    dry_run: bool,
) -> None:
    """Move or split one memory, or leave it, and count it."""
    try:
        planned = plan_split(context, row.record_id, segment, filings)
        if len(planned.subjects) > 1:
            _split(context, done, planned, dry_run=dry_run)
            return
        with context.database.owner() as tx, tx.transaction(force_rollback=dry_run):
            count = _placed(tx, context, row, segment, planned.subjects[0])
    except OperationalError:
        raise
    except NotFoundError:
        done.gone += 1
    except NeurigraphError as error:
        done.failed.append((row.record_id, str(error)))
    else:
        count(done)


def _split(context: Context, done: FiledAgain, planned: PlannedSplit, *, dry_run: bool) -> None:
    """Split one memory, unless something keeps it whole. That is looked at again by the next run."""
    if planned.obstacle is not None:
        done.whole.append((planned.record_id, planned.obstacle))
        return
    if not dry_run:
        split(context, planned)
    done.split.append(planned.result)


class _Outcome(NamedTuple):
    """The outcome for one memory: a move, or the name of a count."""

    counted: str
    move: Move | None = None

    def __call__(self, done: FiledAgain) -> None:
        """Count it."""
        if self.move is not None:
            done.moved.append(self.move)
        else:
            setattr(done, self.counted, getattr(done, self.counted) + 1)


def _placed(tx: Transaction, context: Context, row: RecordLocation, segment: Segment, filing: Filing) -> _Outcome:
    slug = lock_graph_exclusive(tx, row.user_id)
    location = locate(tx, row.record_id)
    if location is None:
        return _Outcome("gone")
    if (state := _states(tx, [row.record_id])[row.record_id]).by_hand:
        return _Outcome("by_hand")
    source = node_and_below(tx, row.user_id, location.node_id)[0]
    author = pipeline_author(context.language_model.name)
    target = _moved(tx, context, segment, filing, source, Places(tx, row.user_id, slug), row.record_id)
    if state.refiled_by != author:
        append_delta(tx, row.record_id, before={}, after={}, author=author, operation=REFILED)
    if target is None:
        return _Outcome("stayed")
    return _Outcome("moved", Move(row.record_id, source.path, target.path))


def _moved(
    tx: Transaction,
    context: Context,
    segment: Segment,
    filing: Filing,
    source: GraphNode,
    places: Places,
    record_id: UUID,
) -> GraphNode | None:
    """Move a memory to the node of its filing; None if it is there, or below it."""
    part = (segment.ref.source_id, filing.first_message, filing.last_message, None)
    conditions = conditions_of(tx, segment.ref.user_id, [part])()[0]
    planned = () if conditions.private or conditions.quarantines else filing.new_nodes
    node = places.reach(filing.path, planned)
    stands = [name_key(name) for name in source.names[1:]]
    if stands[: node.layer_depth] == [name_key(name) for name in filing.path[: node.layer_depth]]:
        return None
    target = node_and_below(tx, places.user_id, node.node_id)[0]
    lock_rows(tx, {source.schema_name: [record_id]}, [source.node_id, target.node_id])
    transfer_records(tx, [record_id], source, target, pipeline_author(context.language_model.name))
    detector = Detector.RULE if context.language_model.name == OFFLINE else Detector.MODEL
    made = Filing(filing.path, filing.first_message, filing.last_message, new_nodes=planned)
    left_out = update_graph(
        tx, places, [(Witness(record_id, detector, messages_with(segment.messages)), made)], list, ()
    )
    if left_out:
        raise ConflictError(f"its node could not be described: {', '.join(left_out)}")
    for node_id in sorted({source.node_id, target.node_id}):
        rebuild_shell(tx, node_id, places.user_slug)
    return target
