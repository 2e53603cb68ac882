"""Splitting: a stored memory of several subjects becomes one memory for each.

It keeps its id, its history and its links, with the messages of its main subject. The others become new memories, filed
as ingestion files them; facts, evidence and the life of the memory follow the messages. Objects are written first; one
transaction makes everything visible; then the object of before is removed. ``subjects`` says what belongs together.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import NamedTuple
from uuid import UUID, uuid4, uuid5

from psycopg import sql

from neurigraph_pipelines.database.asking import row_of
from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.graph.changes import GraphNode, node_and_below
from neurigraph_pipelines.graph.edges import Places, show_nodes
from neurigraph_pipelines.graph.history import append_delta, authored, pipeline_author
from neurigraph_pipelines.graph.locks import lock_graph_exclusive, lock_rows
from neurigraph_pipelines.graph.moving import transfer_records
from neurigraph_pipelines.graph.naming import name_key
from neurigraph_pipelines.graph.navigation import path_view
from neurigraph_pipelines.graph.provisioning import NodeRef
from neurigraph_pipelines.graph.shell import rebuild_shell
from neurigraph_pipelines.graph.voices import voices_of
from neurigraph_pipelines.graph.witnesses import followers_of
from neurigraph_pipelines.inbox.stored_files import remove, write_transcript
from neurigraph_pipelines.ingestion.conditions import conditions_of
from neurigraph_pipelines.ingestion.embed import TextsToEmbed, embed_texts
from neurigraph_pipelines.ingestion.embedding_models import lock_models
from neurigraph_pipelines.ingestion.graph_updates import update_graph
from neurigraph_pipelines.ingestion.keywords import keywords_of
from neurigraph_pipelines.ingestion.passage_words import made_segment
from neurigraph_pipelines.ingestion.record_locations import locate, lock_record
from neurigraph_pipelines.ingestion.record_rows import RecordRows
from neurigraph_pipelines.ingestion.records import Described, Embedded, RecordPlan, Summarized, Vectors
from neurigraph_pipelines.ingestion.stored_segments import with_origins
from neurigraph_pipelines.ingestion.subjects import main_of, only_existing, subjects_of
from neurigraph_pipelines.ingestion.summarize import summary_of
from neurigraph_pipelines.ingestion.written_records import Inserted, WrittenRecord
from neurigraph_pipelines.lifecycle.object_keys import durable_key
from neurigraph_pipelines.lifecycle.orphans import guard_objects
from neurigraph_pipelines.lifecycle.uncommitted import removed_unless_committing
from neurigraph_pipelines.model import Filing, Segment, Voice
from neurigraph_pipelines.model.context import Context
from neurigraph_pipelines.model.errors import ConflictError, NotFoundError, StorageError, TransientError
from neurigraph_pipelines.model.ports import Transaction
from neurigraph_pipelines.text.search_segments import VOICES, SearchSegment
from neurigraph_pipelines.text.transcript import transcript_writer

SPLIT = "split"
"""The operation of the delta that says which memories a memory was split into."""

REFILED = "refile"
"""The operation of the delta that says that a memory was filed again, whether it moved or not."""

_FIRST_WORDS = 60
"""Characters of a part that a report shows."""

_CHANGED = "the record was changed meanwhile: run it again"
_EMBEDDINGS = statements("embeddings")
_FACTS = statements("facts")
_ACTIONS = statements("actions")
_QUERIES = statements("splitting")
_STATES = statements("refiling")["states"]
_log = logging.getLogger(__name__)


class Part(NamedTuple):
    """A part of a memory that is split: its messages, how it begins, and its node."""

    record_id: UUID
    first_message: int
    last_message: int
    words: str
    to_path: str


class Split(NamedTuple):
    """A memory that is split, or would be. The part with its id is the one that it keeps."""

    record_id: UUID
    from_path: str
    parts: tuple[Part, ...]


class _Stored(NamedTuple):
    first_message: int
    last_message: int
    created_at: datetime
    storage_path: str
    obstacle: str | None


@dataclass(frozen=True, slots=True)
class PlannedSplit:
    """A split before anything is written.

    Attributes:
        segment: The messages of the memory.
        subjects: The filing of each part, in the order of the messages.
        main: The place of the part that the memory keeps.
        obstacle: Why the memory is not split; None if it may be.
    """

    record_id: UUID
    segment: Segment
    node: GraphNode
    stored: _Stored
    subjects: list[Filing]
    main: int
    obstacle: str | None

    @property
    def plans(self) -> list[RecordPlan]:
        """The parts as records. The ids of new ones follow from their messages."""
        ids = [uuid5(self.record_id, f"{one.first_message}-{one.last_message}") for one in self.subjects]
        ids[self.main] = self.record_id
        return [
            RecordPlan(self.segment.ref, place, one, record_id)
            for place, (one, record_id) in enumerate(zip(self.subjects, ids, strict=True))
        ]

    @property
    def result(self) -> Split:
        """The split as a report shows it."""
        parts = tuple(
            Part(
                plan.record_id,
                *plan.messages,
                " ".join(self.segment.within(*plan.messages).messages[0].content.split())[:_FIRST_WORDS],
                path_view([self.segment.ref.user_slug, *plan.filing.path]),
            )
            for plan in self.plans
        )
        return Split(self.record_id, self.node.path, parts)


def plan_split(context: Context, record_id: UUID, segment: Segment, filings: Sequence[Filing]) -> PlannedSplit:
    """Return the subjects of a stored memory; a single one if it is not to be split.

    Args:
        segment: Its messages.
        filings: Where today's filing puts them.

    Raises:
        NotFoundError: The memory no longer exists.
    """
    ref = segment.ref
    with context.database.pipeline() as tx:
        location = lock_record(tx, ref.user_id, record_id)
        stored = _stored(tx, location.schema, record_id) if location is not None else None
        if location is None or stored is None:
            raise NotFoundError
        node = node_and_below(tx, ref.user_id, location.node_id)[0]
        part = (ref.source_id, segment.messages[0].seq, segment.messages[-1].seq, None)
        (found,) = conditions_of(tx, ref.user_id, [part])()
    hidden = found.private or bool(found.quarantines)
    subjects = subjects_of([only_existing(one) if hidden else one for one in filings], node.names[1:])
    main = main_of(subjects, node.names[1:], segment)
    return PlannedSplit(record_id, segment, node, stored, subjects, main, stored.obstacle)


def split(context: Context, planned: PlannedSplit) -> None:
    """Split a memory as planned.

    Raises:
        TransientError: The provider, or the object store, is down.
        NeurigraphError: The memory was changed meanwhile, or a part cannot be made: it stays as it is.
    """
    whole = with_origins(context, planned.segment)
    rows, embedded = _described(context, planned, whole)
    attempt, writer, objects = uuid4(), transcript_writer(context), context.objects
    keys = [durable_key(whole.ref.user_slug, plan.filing.path, plan.record_id, attempt) for plan in planned.plans]

    def remove_all() -> None:
        for key in keys:
            remove(objects, key)

    with removed_unless_committing(remove_all) as opened:
        written = [
            WrittenRecord(plan, part, (write_transcript(objects, writer, part, key),), created_at=moment)
            for plan, key, moment in zip(planned.plans, keys, _moments(planned), strict=True)
            for part in (whole.within(*plan.messages),)
        ]
        with opened(context.database.owner()) as tx:
            _Splitting(context, tx, planned, rows, embedded).store(written)
    try:
        remove(objects, planned.stored.storage_path)
    except (StorageError, TransientError) as error:  # a sweep removes it
        _log.warning("the former object of record %s stays for now (%s)", planned.record_id, type(error).__name__)


def _stored(tx: Transaction, schema: sql.Identifier, record_id: UUID) -> _Stored | None:
    return row_of(tx, _QUERIES["stored_part"].format(schema=schema), _Stored, {"record_id": record_id})


def _voices(context: Context, planned: PlannedSplit, whole: Segment) -> dict[int, Voice]:
    """Return who speaks in each message, as the memory has it."""
    voices = voices_of(whole.messages, whole.ref.source_kind, whole.ref.user_slug)
    with context.database.pipeline() as tx:
        found = tx.execute(_EMBEDDINGS["segment_to_embed"], {"record_id": planned.record_id}).fetchone()
    if found is not None:
        rows = SearchSegment.read(found["content"]).rows
        for message, number in rows[["message", "voice"]].tolist():
            voices[message] = VOICES[number] or voices[message]
    return voices


def _moments(planned: PlannedSplit) -> Iterator[datetime]:
    """Yield when each part was stored: all with the memory, and in the order of their messages."""
    for place in range(len(planned.subjects)):
        later = place + 1 if place < planned.main else place
        yield planned.stored.created_at + timedelta(microseconds=0 if place == planned.main else later)


def _described(context: Context, planned: PlannedSplit, whole: Segment) -> tuple[RecordRows, Embedded]:
    """Let the models describe the parts, as ingestion does."""
    model, settings, writer = context.language_model, context.settings.ingestion, transcript_writer(context)
    parts = {plan.record_id: whole.within(*plan.messages) for plan in planned.plans}
    summaries = {one: summary_of(model, part, settings.summary_words) for one, part in parts.items()}
    keywords = {one: keywords_of(model, part) for one, part in parts.items()}
    voices = _voices(context, planned, whole)
    passages = {one: list(writer.passages(part)) if settings.passages else [] for one, part in parts.items()}
    usual = context.settings.language
    segments = {one: made_segment(part, passages[one], voices, usual) for one, part in parts.items()}
    found = embed_texts(context.embedder, [TextsToEmbed(one, summaries[one].text, passages[one]) for one in parts])
    vectors = {one: made for group in found for one, made in group if isinstance(made, Vectors)}
    embedded = Embedded(context.embedder.model, segments, vectors)
    return RecordRows(context, Summarized(summaries), Described(keywords), embedded), embedded


class _Splitting:
    """Writes the rows of one split, in a transaction of the owner."""

    def __init__(
        self, context: Context, tx: Transaction, planned: PlannedSplit, rows: RecordRows, embedded: Embedded
    ) -> None:
        self._context, self._tx, self._planned, self._rows, self._embedded = context, tx, planned, rows, embedded
        self._author = pipeline_author(context.language_model.name)
        self._user_id = planned.segment.ref.user_id

    def store(self, written: Sequence[WrittenRecord]) -> None:
        """Write everything."""
        tx, planned = self._tx, self._planned
        slug = lock_graph_exclusive(tx, self._user_id)
        written = self._allowed(written)
        places = Places(tx, self._user_id, slug)
        node_ids = self._reach(places, written)
        guard_objects(tx, self._context.objects, {one.plan.record_id: [one.main_file.durable.key] for one in written})
        aside = tx.execute(_QUERIES["set_aside"], {"record_id": planned.record_id}).fetchone()
        followers = followers_of(tx, [planned.record_id])
        inserted = self._insert(places, written)
        self._follow(inserted)
        show_nodes(tx, node_ids)
        said = [said for one in inserted for said in self._rows.said(one)]
        filed = [(one.witness, one.written.plan.filing) for one in inserted if one.witness is not None]
        if left_out := update_graph(tx, places, filed, lambda: said, ()):
            raise ConflictError(f"a part could not be linked: {', '.join(left_out)}")
        tx.execute(_QUERIES["delete_set_aside"], aside)
        self._tell()
        ids = [plan.record_id for plan in planned.plans]
        tx.execute(_QUERIES["move_definitions"], {"record_id": planned.record_id, "record_ids": ids})
        followers = followers.with_nodes(followers_of(tx, ids).node_ids | node_ids)
        for node_id in sorted(followers.node_ids):
            rebuild_shell(tx, node_id, slug)
        self._require_few_facts(node_ids, ids)

    def _allowed(self, written: Sequence[WrittenRecord]) -> list[WrittenRecord]:
        """Return the parts as they may be stored.

        Raises:
            ConflictError: The memory was changed, or a part of it is stored already.
        """
        planned, location = self._planned, locate(self._tx, self._planned.record_id)
        if location is None or location.node_id != planned.node.node_id:
            raise ConflictError(_CHANGED)
        now = _stored(self._tx, location.schema, planned.record_id)
        if now != planned.stored:
            raise ConflictError(_CHANGED)
        state = self._tx.execute(_STATES, {"record_ids": [planned.record_id], "operation": REFILED}).fetchone()
        if state is None or state["by_hand"]:
            raise ConflictError("somebody decided about the record meanwhile")
        asked = [(one.plan.ref.source_id, *one.plan.messages, one.content_hash) for one in written]
        found = conditions_of(self._tx, self._user_id, asked)()
        if any(one.quarantines for one in found):
            raise ConflictError("a part would be in quarantine: release it first")
        if any(one.record_id is not None for one in found):
            raise ConflictError("another memory of this source has the text of a part")
        return [one.under(under) for one, under in zip(written, found, strict=True)]

    def _reach(self, places: Places, written: Sequence[WrittenRecord]) -> set[UUID]:
        """Make the nodes that the parts need, in the common order, and lock all that change."""
        planned = self._planned
        filings = [one.plan.filing for one in written]
        new = [node for filing in filings for node in (*filing.new_nodes, *filing.beside)]
        paths = {filing.path for filing in filings} | {node.path for filing in filings for node in filing.beside}
        for path in sorted(paths, key=lambda path: tuple(map(name_key, path))):
            places.reach(path, new)
        node_ids = {planned.node.node_id, *(places.reach(filing.path).node_id for filing in filings)}
        lock_rows(self._tx, {planned.node.schema_name: [planned.record_id]}, node_ids)
        return node_ids

    def _insert(self, places: Places, written: Sequence[WrittenRecord]) -> list[Inserted]:
        """Write the rows of all parts; the part that stays is moved if its subject has a node of its own."""
        tx, planned, main = self._tx, self._planned, self._planned.main
        models = lock_models(tx, self._user_id, self._embedded.model) if self._embedded.vectors else None
        authored(tx, self._author)
        source = planned.node
        at = NodeRef(source.node_id, source.schema_name, source.layer_depth, tuple(source.names[1:]))
        self._rows.choose_titles(tx, written)
        kept = self._rows.replace(tx, written[main], models, at)
        tx.execute(_ACTIONS["withdraw_moves"], {"record_ids": [planned.record_id]})
        target = places.reach(written[main].plan.filing.path)
        if target.node_id != source.node_id:
            node = node_and_below(tx, self._user_id, target.node_id)[0]
            transfer_records(tx, [planned.record_id], source, node, self._author)
            kept = replace(kept, node_id=target.node_id)
        return [
            kept if place == main else self._rows.insert(tx, _split_off(one), models, places)
            for place, one in enumerate(written)
        ]

    def _follow(self, inserted: Sequence[Inserted]) -> None:
        """Let rows that depend on messages follow these."""
        plans = [one.written.plan for one in inserted]
        if any(one.committed.left_out for one in inserted):
            raise ConflictError("a part could not be made because of a defect")
        first_messages, last_messages = zip(*(plan.messages for plan in plans), strict=True)
        values = {
            "record_id": self._planned.record_id,
            "user_id": self._user_id,
            "record_ids": [plan.record_id for plan in plans],
            "new_ids": [plan.record_id for plan in plans if plan.record_id != self._planned.record_id],
            "first_messages": list(first_messages),
            "last_messages": list(last_messages),
        }
        self._drop_shared_facts(plans)
        for query in (
            *(_QUERIES["move_facts"], _QUERIES["move_links"], _QUERIES["move_links_of_records"]),
            *(_QUERIES["move_statements_of_facts"], _QUERIES["copy_retention"], _QUERIES["copy_forgotten"]),
            *(_QUERIES["copy_retrievals"], _QUERIES["wait_on"]),
        ):
            self._tx.execute(query, values)

    def _drop_shared_facts(self, plans: Sequence[RecordPlan]) -> None:
        """Delete the facts that rest on messages of several parts, and let the parts be read for others.

        Raises:
            ConflictError: Somebody decided about one of them.
        """
        of_record = {"record_id": self._planned.record_id, "user_id": self._user_id}
        starts = {plan.filing.first_message for plan in plans}
        known = self._tx.execute(_FACTS["known_facts"], of_record).fetchall()
        shared = [one for one in known if starts & {*range(one["first_message"] + 1, one["last_message"] + 1)}]
        if any(fact["is_kept"] for fact in shared):
            raise ConflictError("somebody decided about a fact that rests on messages of several parts")
        if shared:
            kept = [fact["fact_id"] for fact in known if fact not in shared]
            self._tx.execute(_FACTS["delete_facts"], {**of_record, "kept": kept})
            self._tx.execute(_QUERIES["read_parts"], of_record)

    def _tell(self) -> None:
        """Write into the history of the memory which messages have left it, and that all parts were filed again."""
        parts = self._planned.result.parts
        append_delta(
            self._tx,
            self._planned.record_id,
            before={},
            after={"parts": [str(one.record_id) for one in parts if one.record_id != self._planned.record_id]},
            author=self._author,
            operation=SPLIT,
            notes=[
                f"messages {one.first_message} to {one.last_message} are "
                f"{'this memory' if one.record_id == self._planned.record_id else one.record_id} at {one.to_path}"
                for one in parts
            ],
        )
        for one in parts:
            append_delta(self._tx, one.record_id, before={}, after={}, author=self._author, operation=REFILED)

    def _require_few_facts(self, node_ids: set[UUID], record_ids: Sequence[UUID]) -> None:
        for node_id in sorted(node_ids):
            node = node_and_below(self._tx, self._user_id, node_id)[0]
            wordy = _FACTS["too_many_facts"].format(schema=sql.Identifier(node.schema_name))
            query = _QUERIES["among_records"].format(found=wordy)
            if self._tx.execute(query, {"node_id": node_id, "record_ids": record_ids}).fetchone() is not None:
                raise ConflictError("its facts would have too many words for the messages of one part")


def _split_off(written: WrittenRecord) -> WrittenRecord:
    """Return a part whose history says that it was split off, and from no named memory: its readers may not see it."""
    plan = written.plan
    filing = replace(plan.filing, notes=(*plan.filing.notes, "split from another memory"))
    return replace(written, plan=replace(plan, filing=filing))
