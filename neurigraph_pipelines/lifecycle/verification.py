"""``neurigraph verify``: everything is looked at once, and whatever does not fit is named.

Rows against objects, checksums, byte ranges of passages, registries, counters and the log. What can be made good
without a guess is, when asked for; the rest is for a person. Objects without a row are found by ``orphans``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any
from uuid import UUID

from psycopg import sql

from neurigraph_pipelines.context import Context
from neurigraph_pipelines.errors import LostObjectError, NotFoundError
from neurigraph_pipelines.graph.provisioning import upgrade_node
from neurigraph_pipelines.lifecycle import transitions
from neurigraph_pipelines.lifecycle.object_keys import active_key
from neurigraph_pipelines.lifecycle.stored_bytes import (
    VerifiedBytes,
    durable_content,
    has_working_copy,
    make_working_copy,
    remake_durable,
    working_content,
)
from neurigraph_pipelines.lifecycle.transitions import FilePlace, Manifest
from neurigraph_pipelines.model import CompressionCause, CompressionState
from neurigraph_pipelines.statements import statements
from neurigraph_pipelines.text.stored_text import passage_text

_QUERIES = statements("lifecycle")
_FILES_AT_ONCE = 100
_BEFORE_ALL = UUID(int=0)


class Fault(StrEnum):
    """What can be found wrong."""

    OBJECT = "object"
    """The durable object is gone or damaged."""

    MANIFEST = "manifest"
    """The content is whole, and not what the manifest says of it."""

    WORKING_COPY = "working_copy"
    """The working copy of an active file is gone or damaged; its next reader is served all the same."""

    LEFT_OVER_COPY = "left_over_copy"
    """A dormant file has a working copy."""

    PASSAGE = "passage"
    """A passage's byte range holds no text of the transcript."""

    REGISTRY = "registry"
    """A node and the registries at the root disagree, or a record points at no file."""

    COUNTER = "counter"
    """A count in the shell is not what the node holds."""

    SHELL_STATE = "shell_state"
    """The shell's state, or the time it is due, is not that of the node's files."""

    LOG = "log"
    """The log of a file does not lead to the state it is in."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One inconsistency.

    Attributes:
        subject: The file or record that it is about; the node where it is the node itself.
        detail: One sentence for a person.
        repaired: Whether it was made good.
    """

    fault: Fault
    node_id: UUID
    subject: UUID
    detail: str
    repaired: bool = False


@dataclass(slots=True)
class Verification:
    """What was looked at and what was found."""

    nodes: int = 0
    files: int = 0
    passages: int = 0
    bytes_read: int = 0
    findings: list[Finding] = field(default_factory=list)

    @property
    def left(self) -> int:
        """Findings that were not made good."""
        return sum(not finding.repaired for finding in self.findings)


def verify(
    context: Context,
    *,
    user_id: UUID | None = None,
    node_id: UUID | None = None,
    read: bool = True,
    repair: bool = False,
    on_node: Callable[[Verification], None] | None = None,
) -> Verification:
    """Look at everything, or at all of one user or node. What proves unreadable is logged as ``failed``.

    Args:
        user_id: Only this user's nodes.
        node_id: Only this node.
        read: Whether contents are read and checked; else objects only have to be there.
        repair: Make good what can be: working copies, durable objects that a working copy still holds, counters and
            states of shells.
        on_node: Told how far it is, after each node.

    Raises:
        StorageError: The object store refused: that says nothing of any file, and nothing more is looked at.
        TransientError: It did not answer.
    """
    walk = _Walk(context, read, repair)
    with context.database.pipeline() as tx:
        nodes = tx.execute(_QUERIES["nodes_to_verify"], {"user_id": user_id, "node_id": node_id}).fetchall()
    for node in nodes:
        with suppress(NotFoundError):  # of a node that was removed meanwhile there is nothing to say
            walk.node(node["node_id"], node["schema_name"])
        if on_node is not None:
            on_node(walk.done)
    return walk.done


def verify_sample(context: Context, count: int = 100) -> Verification:
    """Read some files, chosen by lot, as ``verify`` does; repairs nothing."""
    walk = _Walk(context, read=True, repair=False)
    with context.database.pipeline() as tx:
        places = [FilePlace(**row) for row in tx.execute(_QUERIES["sample_files"], {"count": count})]
    for place in places:
        with suppress(NotFoundError):
            walk.file(place)
    return walk.done


class _Walk:
    """Goes from node to node and from file to file, and keeps what it finds."""

    def __init__(self, context: Context, read: bool, repair: bool) -> None:
        self.done = Verification()
        self._database = context.database
        self._objects = context.objects
        self._read = read
        self._repair = repair

    def node(self, node_id: UUID, schema_name: str) -> None:
        """Everything of one node."""
        schema = sql.Identifier(schema_name)
        with self._database.pipeline() as tx:
            upgrade_node(tx, node_id, schema_name)
            registries = tx.execute(_QUERIES["verify_registries"].format(schema=schema), {"node_id": node_id})
            self._keep(Fault.REGISTRY, node_id, registries.fetchall())
            self._keep(Fault.LOG, node_id, tx.execute(_QUERIES["verify_log"].format(schema=schema)).fetchall())
        after = _BEFORE_ALL
        while True:
            with self._database.pipeline() as tx:
                query = _QUERIES["files_after"].format(schema=schema)
                rows = tx.execute(query, {"after": after, "limit": _FILES_AT_ONCE}).fetchall()
            if not rows:
                break
            for row in rows:
                self.file(FilePlace(row["file_id"], node_id, schema_name))
            after = rows[-1]["file_id"]
        self._shell(node_id, schema_name)
        self.done.nodes += 1

    def file(self, place: FilePlace) -> None:
        """One file: a fault counts only when the file has not moved on while it was looked at."""
        self.done.files += 1
        while True:
            manifest = self._manifest(place)
            found = list(self._faults(place, manifest)) if manifest is not None else []
            if manifest is None or not found:
                return
            now = self._manifest(place)
            if now is not None and now["compression_state"] == manifest["compression_state"]:
                break
        for fault, detail in found:
            if fault is Fault.OBJECT:
                with self._database.pipeline() as tx:
                    cause = CompressionCause.SCHEDULER
                    transitions.note_failure(tx, place.schema, place.file_id, detail, cause)
            repaired = self._repair and self._mend(fault, place)
            self.done.findings.append(Finding(fault, place.node_id, place.file_id, detail, repaired))

    def _manifest(self, place: FilePlace) -> Manifest | None:
        """The row as it is now; None once the file is erased."""
        with self._database.pipeline() as tx:
            return tx.execute(_QUERIES["manifest"].format(schema=place.schema), {"file_id": place.file_id}).fetchone()

    def _faults(self, place: FilePlace, manifest: Manifest) -> Iterator[tuple[Fault, str]]:
        if self._read:
            yield from self._content_faults(place, manifest)
        elif not self._objects.exists(manifest["storage_path"]):
            yield Fault.OBJECT, f"there is no object {manifest['storage_path']}"
        if not has_working_copy(manifest):
            return
        if manifest["compression_state"] == CompressionState.ACTIVE:
            if not self._has_good_copy(manifest):
                yield Fault.WORKING_COPY, "the working copy of an active file is gone or damaged"
        elif manifest["compression_state"] == CompressionState.DORMANT and self._objects.exists(_copy(manifest)):
            yield Fault.LEFT_OVER_COPY, "a dormant file has a working copy"

    def _content_faults(self, place: FilePlace, manifest: Manifest) -> Iterator[tuple[Fault, str]]:
        try:
            content = durable_content(self._objects, manifest)
        except LostObjectError as error:
            yield Fault.OBJECT, str(error)
            return
        self.done.bytes_read += content.size_bytes
        wanted = (manifest["size_bytes"], manifest["content_sha256"] or content.sha256)
        if (content.size_bytes, content.sha256) != wanted:
            yield Fault.MANIFEST, f"the content of file {place.file_id} is whole and not the one on record"
        elif manifest["file_type"] == "transcript":
            yield from self._passage_faults(place, manifest, content)

    def _passage_faults(
        self, place: FilePlace, manifest: Manifest, content: VerifiedBytes
    ) -> Iterator[tuple[Fault, str]]:
        text = content.content
        with self._database.pipeline() as tx:
            passages = tx.execute(
                _QUERIES["passage_ranges"].format(schema=place.schema), {"record_id": manifest["record_id"]}
            ).fetchall()
        self.done.passages += len(passages)
        for passage in passages:
            start, end = passage["byte_offset"], passage["byte_offset"] + passage["byte_length"]
            try:
                fits = end <= len(text) and passage_text(text[start:end]) is not None
            except ValueError:
                fits = False
            if not fits:
                yield Fault.PASSAGE, f"passage {passage['seq']} is not at bytes {start} to {end} of the transcript"

    def _has_good_copy(self, manifest: Manifest) -> bool:
        if not self._read:
            return self._objects.exists(_copy(manifest))
        return working_content(self._objects, manifest) is not None

    def _mend(self, fault: Fault, place: FilePlace) -> bool:
        """Make a fault of a file good, while the file stays in the state it is in."""
        with self._database.pipeline() as tx:
            try:
                manifest = transitions.lock(tx, place)
                awake = manifest["compression_state"] == CompressionState.ACTIVE
                if fault is Fault.OBJECT and awake and remake_durable(self._objects, manifest):
                    tx.execute(_QUERIES["clear_failure"].format(schema=place.schema), {"file_id": place.file_id})
                    return True
                if fault is Fault.WORKING_COPY and awake:
                    make_working_copy(self._objects, manifest, lambda: None)
                    return True
                if fault is Fault.LEFT_OVER_COPY and manifest["compression_state"] == CompressionState.DORMANT:
                    self._objects.delete(_copy(manifest))
                    return True
            except (LostObjectError, NotFoundError):
                pass
        return False

    def _shell(self, node_id: UUID, schema_name: str) -> None:
        schema = sql.Identifier(schema_name)
        with self._database.pipeline() as tx:
            shell = tx.execute(_QUERIES["verify_shell"].format(schema=schema), {"node_id": node_id}).fetchone()
        if shell is None:
            return
        found: list[tuple[Fault, str, bool]] = []
        if shell["record_count"] != shell["records"]:
            detail = f"the shell counts {shell['record_count']} records, the node holds {shell['records']}"
            found.append((Fault.COUNTER, detail, True))
        if shell["embedded_count"] != shell["embedded"] and not shell["moving"]:
            detail = f"the centroid is of {shell['embedded_count']} records, the node holds {shell['embedded']} vectors"
            found.append((Fault.COUNTER, detail, False))
        # Opening a file again puts off its time and not that of its node, which may be early and never late.
        late = shell["due"] is not None and (
            shell["next_recompress_at"] is None or shell["next_recompress_at"] > shell["due"]
        )
        if shell["compression_state"] != shell["state"] or late:
            detail = f"the shell is {shell['compression_state']}, its files amount to {shell['state']}"
            found.append((Fault.SHELL_STATE, f"{detail}, due {shell['due']}" if late else detail, True))
        if self._repair and found:
            with self._database.pipeline() as tx:
                tx.execute(_QUERIES["sum_file_states"], {"node_id": node_id, "schema_name": schema_name})
                # The node is locked by now, so this counts what all others have committed.
                tx.execute(_QUERIES["set_record_count"].format(schema=schema), {"node_id": node_id})
        self.done.findings += [
            Finding(fault, node_id, node_id, detail, self._repair and mendable) for fault, detail, mendable in found
        ]

    def _keep(self, fault: Fault, node_id: UUID, rows: list[dict[str, Any]]) -> None:
        self.done.findings += [Finding(fault, node_id, row["id"], row["fault"]) for row in rows]


def _copy(manifest: Manifest) -> str:
    return active_key(manifest["storage_path"])
