"""Erasure of rows: a record, some nodes, an inbox or a user, each in one transaction of the database owner.

Each method erases its rows and records their objects in the journal, or changes nothing. ``forget`` decides which
methods run, and in which order.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from psycopg import sql

from neurigraph_pipelines.database.asking import rows_of
from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.graph.history import authored
from neurigraph_pipelines.graph.locks import lock_graph_exclusive, lock_rows, wait_briefly
from neurigraph_pipelines.graph.naming import name_key
from neurigraph_pipelines.graph.shell import rebuild_followers
from neurigraph_pipelines.graph.witnesses import Followers, followers_of
from neurigraph_pipelines.lifecycle.erasure.journal import JournalEntry, entries_of_file, files_of, note_objects
from neurigraph_pipelines.lifecycle.erasure.origins import erase_traces
from neurigraph_pipelines.lifecycle.erasure.receipts import ErasureState, SubjectKind, add_to_receipt
from neurigraph_pipelines.lifecycle.note_memories import settle_memories
from neurigraph_pipelines.lifecycle.object_keys import active_key
from neurigraph_pipelines.model import SourceKind
from neurigraph_pipelines.model.ports import Transaction

_QUERIES = statements("erasure")
_EVIDENCE = statements("evidence")
_NOTES = statements("notes")
_PERSONAS = statements("erasure_of_personas")
_TRIGGERS = statements("triggers")


@dataclass(frozen=True, slots=True)
class NodeToErase:
    """A node that will be erased; ``names`` run from the root down."""

    node_id: UUID
    schema_name: str
    names: tuple[str, ...]


def nodes_below(tx: Transaction, user_id: UUID, node_id: UUID | None, limit: int | None = None) -> list[NodeToErase]:
    """Return a node and all nodes below it, or all nodes of a user; children before their parents."""
    rows = tx.execute(_QUERIES["nodes_below"], {"user_id": user_id, "node_id": node_id, "limit": limit})
    return [NodeToErase(**{**row, "names": tuple(row["names"])}) for row in rows]


class RowsEraser:
    """Erases rows for one erasure in one transaction of the owner, and adds them to its receipt.

    Args:
        strays: Keys of all objects of the records, including those without a row.
        gives_way: ``give_way`` runs the transaction, which waits in a queue for the lock of the graph only.
    """

    def __init__(
        self,
        tx: Transaction,
        erasure: ErasureState,
        strays: Mapping[UUID, Sequence[str]] | None = None,
        *,
        gives_way: bool = False,
    ) -> None:
        self._tx = tx
        self._gives_way = gives_way
        self._erasure = erasure
        self._user_id = erasure.user_id
        self._strays = strays or {}
        self._erased: Counter[str] = Counter()
        self._kept: dict[str, list[UUID]] = {"sources": [], "originals": []}
        self._handed_over: set[str] = set()
        tx.execute(_QUERIES["begin_erasing"])

    def record(self, record_id: UUID) -> None:
        """Erase one record. Nothing happens if it is erased already.

        Raises:
            RehydratingError: One of its files is being decompressed.
            TransientError: Others kept reading or writing its node.
        """
        slug = self._lock_graph()
        location = self._tx.execute(
            _QUERIES["node_of_record"], {"record_id": record_id, "user_id": self._user_id}
        ).fetchone()
        if location is None:
            return
        self._lock_rows({location["schema_name"]: [record_id]}, [location["node_id"]])
        schema = sql.Identifier(location["schema_name"])
        of_record = {"record_id": record_id}
        self._count(_QUERIES["count_of_records"], record_ids=[record_id])
        parts = rows_of(self._tx, _QUERIES["parts_of_sources"].format(schema=schema), _Part, of_record)
        derived = self._derived_of([record_id])
        chains = self._chains_of([record_id])
        self._hand_over_originals(parts, [record_id])
        self._note_files(schema, [record_id], record_id)
        self._note(erase_traces(self._tx, self._user_id, [record_id], self._strays))
        self._count(_QUERIES["count_of_segment"], record_id=record_id)
        self._tx.execute(_QUERIES["erase_files"].format(schema=schema), of_record)
        records = self._tx.execute(_QUERIES["erase_record"].format(schema=schema), of_record).rowcount
        self._erased["records"] += records
        self._tx.execute(_QUERIES["erase_retrievals"], {"user_id": self._user_id, "record_ids": [record_id]})
        self._erase_request_keys([record_id], parts)
        self._erase_parts(parts)
        self._restore_superseded([record_id], chains)
        self._tx.execute(_QUERIES["erase_quarantine_changes"], {"user_id": self._user_id})
        self._rebuild_graph(derived, slug)
        self._write_receipt()

    def fact(self, fact_id: UUID) -> None:
        """Erase one fact of a record that stays. Nothing happens if it is erased already."""
        self._lock_graph()
        self._count(_QUERIES["erase_fact"], user_id=self._user_id, fact_id=fact_id)
        self._erase_request_keys([fact_id], [])
        self._write_receipt()

    def nodes(self, top: UUID | None, limit: int) -> int:
        """Erase up to ``limit`` nodes at and below ``top``, or of all nodes, with their schemas; children first.

        Returns:
            The number of erased nodes; 0 if none was left.

        Raises:
            RehydratingError, TransientError: As for ``record``.
        """
        slug = self._lock_graph()
        nodes = nodes_below(self._tx, self._user_id, top, limit)
        if not nodes:
            return 0
        node_ids = [node.node_id for node in nodes]
        self._tx.execute(_PERSONAS["hold_inbox_of_personas"], {"node_ids": node_ids})
        self._lock_rows({}, [], to_drop={node.node_id: node.schema_name for node in nodes})
        rows = self._tx.execute(_QUERIES["records_of_nodes"], {"node_ids": node_ids})
        record_ids = [row["record_id"] for row in rows]
        self._count(_QUERIES["count_of_records"], record_ids=record_ids)
        self._count(_QUERIES["count_of_nodes"], node_ids=node_ids)
        erases_user = self._erasure.subject.kind is SubjectKind.USER
        # When a whole user is erased, no record remains to take over originals, and nothing to clean up.
        cleanup = None if erases_user else self._prepare_cleanup(nodes, node_ids, record_ids)
        before = self._counts_of_graph()
        for node in nodes:
            self._note_files(sql.Identifier(node.schema_name), record_ids, None)
        if not erases_user:
            self._note(erase_traces(self._tx, self._user_id, record_ids, self._strays))
        self._count(
            _QUERIES["erase_persona_rights"], user_id=self._user_id, node_ids=[str(node_id) for node_id in node_ids]
        )
        self._tx.execute(_QUERIES["erase_evidence"], {"record_ids": record_ids})
        self._erased["records"] += len(record_ids)
        of_user = {"node_ids": node_ids, "user_id": self._user_id}
        self._erased["nodes"] += self._tx.execute(_QUERIES["erase_nodes"], of_user).rowcount
        for node in nodes:
            self._tx.execute(_QUERIES["drop_schema"].format(schema=sql.Identifier(node.schema_name)))
        if cleanup is None:
            self._erased.update(before - self._counts_of_graph())
        else:
            self._clean_up(cleanup, node_ids, record_ids)
            self._erase_candidates_below([node.names[1:] for node in nodes])
            self._rebuild_graph(replace(cleanup.derived, followers=cleanup.derived.followers.without(node_ids)), slug)
        self._write_receipt()
        return len(nodes)

    def inbox(self) -> None:
        """Erase a user's inbox and keys: running steps of the pipeline cannot store anything after this."""
        self._lock_graph()
        self._count(_QUERIES["count_of_inbox"], user_id=self._user_id)
        self._note_staged()
        self._count(_QUERIES["erase_inbox"], user_id=self._user_id)
        self._write_receipt()

    def user(self, strays: Iterable[str]) -> None:
        """Erase a user whose nodes are erased, and record the remaining objects in the journal."""
        self._wait_briefly()
        self._tx.execute(_QUERIES["lock_user"], {"user_id": self._user_id})
        self._note_staged()
        self._note(map(JournalEntry, strays))
        self._count(_QUERIES["count_of_sources"], user_id=self._user_id)
        self._erased["users"] += self._tx.execute(_QUERIES["erase_user"], {"user_id": self._user_id}).rowcount
        self._write_receipt()

    def _lock_graph(self) -> str:
        """Lock the graph before anything else, and return the user's slug."""
        slug = lock_graph_exclusive(self._tx, self._user_id)
        self._wait_briefly()
        return slug

    def _lock_rows(
        self,
        records: Mapping[str, Collection[UUID]],
        nodes: Collection[UUID],
        to_drop: Mapping[UUID, str] | None = None,
    ) -> None:
        lock_rows(self._tx, records, nodes, to_drop)
        self._wait_briefly()

    def _wait_briefly(self) -> None:
        if self._gives_way:
            wait_briefly(self._tx)

    def _erase_request_keys(self, ids: Sequence[UUID], parts: Iterable[_Part]) -> None:
        """Erase kept answers to requests about erased records and nodes, and about the sources of records."""
        object_ids = [*ids, *(part.source_id for part in parts)]
        self._tx.execute(_QUERIES["erase_request_keys"], {"user_id": self._user_id, "object_ids": object_ids})

    def _prepare_cleanup(
        self, nodes: Sequence[NodeToErase], node_ids: Sequence[UUID], record_ids: Sequence[UUID]
    ) -> _Cleanup:
        """Read from nodes, before they are erased, the values that the clean-up needs afterwards."""
        parts: list[_Part] = []
        for node in nodes:
            schema = sql.Identifier(node.schema_name)
            parts += rows_of(self._tx, _QUERIES["parts_of_sources"].format(schema=schema), _Part, {"record_id": None})
        self._hand_over_originals(parts, record_ids)
        neighbours = [row["node_id"] for row in self._tx.execute(_QUERIES["neighbours"], {"node_ids": node_ids})]
        derived = self._derived_of(record_ids)
        derived = replace(derived, followers=derived.followers.with_nodes(neighbours))
        return _Cleanup(parts, derived, self._chains_of(record_ids))

    def _clean_up(self, cleanup: _Cleanup, node_ids: Sequence[UUID], record_ids: Sequence[UUID]) -> None:
        self._tx.execute(_QUERIES["erase_retrievals"], {"user_id": self._user_id, "record_ids": record_ids})
        self._erase_request_keys([*record_ids, *node_ids], cleanup.parts)
        self._erase_parts(cleanup.parts)
        self._erase_waiting(node_ids)
        self._restore_superseded(record_ids, cleanup.chains)
        self._tx.execute(_QUERIES["erase_quarantine_changes"], {"user_id": self._user_id})

    def _derived_of(self, record_ids: Sequence[UUID]) -> _Derived:
        """Read, before records are erased, the rows that follow from them."""
        moments = self._tx.execute(_EVIDENCE["moments_of_records"], {"record_ids": list(record_ids)})
        return _Derived(
            followers_of(self._tx, record_ids), [row["created_at"] for row in moments], self._counts_of_graph()
        )

    def _rebuild_graph(self, derived: _Derived, slug: str) -> None:
        """Rebuild shells that followed from erased records; edges, candidates and names went with their evidence."""
        self._tx.execute(_EVIDENCE["forget_unproven"], {"user_id": self._user_id, "moments": derived.moments})
        rebuild_followers(self._tx, derived.followers, slug)
        self._erased.update(derived.counts - self._counts_of_graph())

    def _counts_of_graph(self) -> Counter[str]:
        (row,) = self._tx.execute(_QUERIES["counts_of_graph"], {"user_id": self._user_id})
        return Counter(row)

    def _erase_candidates_below(self, paths: Sequence[Sequence[str]]) -> None:
        """Erase candidates for nodes below erased ones, given by names from layer 1 down."""
        erased = [tuple(map(name_key, path)) for path in paths]
        found = self._tx.execute(_QUERIES["candidates"], {"user_id": self._user_id}).fetchall()
        below = [
            row["candidate_id"]
            for row in found
            if any(tuple(map(name_key, row["parent_path"][: len(path)])) == path for path in erased)
        ]
        self._tx.execute(_QUERIES["erase_candidates"], {"candidate_ids": below})

    def _hand_over_originals(self, parts: Iterable[_Part], record_ids: Sequence[UUID]) -> None:
        """Hand the originals of uploads over to other records of the same uploads, if any remain."""
        for source_id in {part.source_id for part in parts if part.source_kind == SourceKind.UPLOAD}:
            values = {"user_id": self._user_id, "source_id": source_id, "record_ids": record_ids}
            successor = self._tx.execute(_QUERIES["successor_of_records"], values).fetchone()
            original = self._tx.execute(_QUERIES["original_of_upload"], {"source_id": source_id}).fetchone()
            if successor is None or original is None:
                continue
            self._kept["originals"].append(original["file_id"])
            if original["record_id"] in record_ids:
                self._lock_rows({successor["schema_name"]: [successor["record_id"]]}, [successor["node_id"]])
                file = self._tx.execute(
                    _QUERIES["hand_over_file"], {"file_id": original["file_id"], "record_id": successor["record_id"]}
                ).fetchone()
                assert file is not None
                self._handed_over |= {file["storage_path"], active_key(file["storage_path"])}

    def _note_files(self, schema: sql.Identifier, record_ids: Iterable[UUID], record_id: UUID | None) -> None:
        """Record in the journal the objects of a node's or a record's files, and stray objects of these records."""
        files = files_of(self._tx, schema, record_id)
        entries = [entry for file in files for entry in entries_of_file(file)]
        known = self._handed_over | {entry.key for entry in entries}
        owners = {file.record_id for file in files}.intersection(record_ids)
        strays = {key for owner in owners for key in self._strays.get(owner, ())} - known
        self._erased["files"] += len(files)
        self._note([*entries, *map(JournalEntry, sorted(strays))])

    def _note_staged(self) -> None:
        """Record in the journal the staged objects of uploads that no record stores yet."""
        staged = self._tx.execute(_QUERIES["staged"], {"user_id": self._user_id}).fetchall()
        self._note(JournalEntry(row["staging_key"], row["sha256"], row["size_bytes"]) for row in staged)

    def _note(self, entries: Iterable[JournalEntry]) -> None:
        self._erased.update(note_objects(self._tx, self._erasure.erasure_id, self._user_id, entries))

    def _erase_parts(self, parts: Sequence[_Part]) -> None:
        """Erase the messages of erased records, and the sources of which nothing remains."""
        sources = sorted({part.source_id for part in parts})
        values = {"user_id": self._user_id, "source_ids": sources}
        self._erased["messages"] += self._tx.execute(
            _QUERIES["erase_messages"],
            {
                "user_id": self._user_id,
                "source_ids": [part.source_id for part in parts],
                "first_messages": [part.first_message for part in parts],
                "last_messages": [part.last_message for part in parts],
            },
        ).rowcount
        finished = self._tx.execute(_QUERIES["finished_sources"], values).fetchall()
        ids = {"user_id": self._user_id, "source_ids": [row["source_id"] for row in finished]}
        finished += self._tx.execute(_QUERIES["emptied_exports"], ids).fetchall()
        self._note(
            JournalEntry(row["staging_key"], row["sha256"], row["size_bytes"])
            for row in finished
            if row["staging_key"] is not None
        )
        erased = [row["source_id"] for row in finished]
        self._erased["sources"] += self._tx.execute(
            _QUERIES["erase_sources"], {"user_id": self._user_id, "source_ids": erased}
        ).rowcount
        self._tx.execute(_QUERIES["clear_titles"], values)
        self._kept["sources"] += [source_id for source_id in sources if source_id not in set(erased)]

    def _erase_waiting(self, node_ids: Sequence[UUID]) -> None:
        """Erase unstored messages that personas among these nodes handed in, and end their conversations."""
        values = {"user_id": self._user_id, "node_ids": node_ids}
        sources = [row["source_id"] for row in self._tx.execute(_PERSONAS["lock_sources_of_personas"], values)]
        if not sources:
            return
        self._erased["messages"] += self._tx.execute(_PERSONAS["erase_waiting_messages"], values).rowcount
        of_sources = {"source_ids": sources}
        self._erased["segments"] += self._tx.execute(_PERSONAS["erase_waiting_segments"], of_sources).rowcount
        self._tx.execute(_PERSONAS["settle_sources_of_personas"], of_sources)
        for source_id in sources:
            self._tx.execute(_TRIGGERS["advance_stored"], {"source_id": source_id})
        self._erased["sources"] += self._tx.execute(_PERSONAS["erase_empty_sources"], of_sources).rowcount
        self._tx.execute(_QUERIES["erase_request_keys"], {"user_id": self._user_id, "object_ids": sources})

    def _chains_of(self, record_ids: Sequence[UUID]) -> list[UUID]:
        """Return a fact that stays of each chain of versions that loses one with these records."""
        rows = self._tx.execute(_NOTES["chains_of_records"], {"record_ids": record_ids})
        return [row["fact_id"] for row in rows]

    def _restore_superseded(self, record_ids: Sequence[UUID], chains: Sequence[UUID]) -> None:
        """Undo the replacement of records that one of these records had superseded.

        Args:
            chains: A version of each chain from which one went: the next one supersedes the memory of the one before.
        """
        values = {
            "user_id": self._user_id,
            "record_ids": record_ids,
            "superseding": list(map(str, record_ids)),
        }
        for row in self._tx.execute(_QUERIES["superseded_records"], values).fetchall():
            schema = sql.Identifier(row["schema_name"])
            self._lock_rows({row["schema_name"]: [row["record_id"]]}, [])
            authored(self._tx, f"user:{self._user_id}")
            self._tx.execute(
                _QUERIES["clear_supersession"].format(schema=schema),
                {"record_id": row["record_id"], "superseding": record_ids},
            )
        for fact_id in chains:
            authored(self._tx, f"user:{self._user_id}")
            settle_memories(self._tx, fact_id)

    def _count(self, query: sql.SQL, **values: object) -> None:
        (row,) = self._tx.execute(query, values)
        self._erased.update(row)

    def _write_receipt(self) -> None:
        add_to_receipt(self._tx, self._erasure.erasure_id, self._erased, self._kept)


@dataclass(frozen=True, slots=True)
class _Derived:
    """The consequences of erased records: shells, and when the records were stored; with the counts before."""

    followers: Followers
    moments: list[datetime]
    counts: Counter[str]


class _Part(NamedTuple):
    """The messages of a source that a record contains."""

    source_id: UUID
    source_kind: SourceKind
    first_message: int
    last_message: int


@dataclass(frozen=True, slots=True)
class _Cleanup:
    """Facts about nodes that will be erased: parts of sources in their records, derived facts, chains of versions."""

    parts: list[_Part]
    derived: _Derived
    chains: list[UUID]
