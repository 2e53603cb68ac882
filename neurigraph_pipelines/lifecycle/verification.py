"""Verification of stored data, as in ``neurigraph admin verify``: finds inconsistencies, and repairs some on request.

Compares rows with objects, checksums, byte ranges of passages, registries, counters and the state log. Only faults with
one possible repair are repaired. ``orphans`` finds objects without a row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from uuid import UUID

from psycopg import sql
from psycopg.rows import DictRow

from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.graph.provisioning import require_node
from neurigraph_pipelines.lifecycle import transitions
from neurigraph_pipelines.lifecycle.object_keys import active_key
from neurigraph_pipelines.lifecycle.stored_bytes import (
    Manifest,
    VerifiedBytes,
    durable_content,
    has_working_copy,
    make_working_copy,
    missing,
    remake_durable,
    working_content,
)
from neurigraph_pipelines.lifecycle.transitions import FileLocation
from neurigraph_pipelines.model import CompressionCause, CompressionState
from neurigraph_pipelines.model.context import Context
from neurigraph_pipelines.model.errors import LostObjectError, NotFoundError, StorageError
from neurigraph_pipelines.text.stored_text import passage_text

_QUERIES = statements("lifecycle")
_EVIDENCE = statements("evidence")
_CHAINS = statements("chains")
_FACTS = statements("facts")
_LINKS = statements("links")
_FACT_CHECKS = {
    "every_fact_cites_its_record": _FACTS["unproven_facts"],
    "one_latest_per_chain": _CHAINS["broken_chains"],
    "no_forked_chains": _CHAINS["forked_chains"],
    "fact_share_is_bounded": _FACTS["too_many_facts"],
}
_PROFILES = statements("profiles")
_DIGESTS = statements("digests")
_SNAPSHOT = statements("portability")["snapshot"]
_FILES_AT_ONCE = 100
_SMALLEST_ID = UUID(int=0)


class Fault(StrEnum):
    """Kinds of inconsistencies."""

    OBJECT = "object"
    """The durable object is missing or damaged."""

    MANIFEST = "manifest"
    """The content is intact and differs from its manifest."""

    WORKING_COPY = "working_copy"
    """The working copy of an active file is missing or damaged. Readers are served from the durable object."""

    LEFT_OVER_COPY = "left_over_copy"
    """A dormant file has a working copy."""

    PASSAGE = "passage"
    """The search segment of a record is damaged, or a byte range in it contains no text of the transcript."""

    REGISTRY = "registry"
    """A node and the shared registries disagree, or a record has no file."""

    EVIDENCE = "evidence"
    """An edge, a name or a candidate does not follow from its evidence."""

    FACT = "fact"
    """A fact cites messages that its record does not have, versions have gaps or forks, or a record has too many."""

    LINK = "link"
    """A link is a part of a cycle, names a cause that begins after its effect, or another record than its fact."""

    PROFILE = "profile"
    """A profile that is not stale differs from the records that it is made of."""

    DIGEST = "digest"
    """A digest covers records that are not current, or more private than it is."""

    COUNTER = "counter"
    """A count in the shell differs from the node's contents."""

    SHELL_STATE = "shell_state"
    """The shell's state or due time differs from that of the node's files."""

    LOG = "log"
    """The state log of a file does not end in its current state."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One inconsistency.

    Attributes:
        subject: The file, record or node with the fault.
        detail: One sentence that describes it.
        repaired: Whether it was repaired.
    """

    fault: Fault
    node_id: UUID
    subject: UUID
    detail: str
    repaired: bool = False


@dataclass(slots=True)
class Verification:
    """The result of a verification: counts of checked rows and objects, and the findings."""

    nodes: int = 0
    files: int = 0
    passages: int = 0
    bytes_read: int = 0
    findings: list[Finding] = field(default_factory=list)

    @property
    def left(self) -> int:
        """Number of findings that were not repaired."""
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
    """Verify all nodes, or those of one user, or one node. Unreadable files are logged as ``failed``.

    Args:
        user_id: Only this user's nodes.
        node_id: Only this node.
        read: Read and check contents; otherwise only check that objects exist.
        repair: Repair working copies, durable objects that a working copy can reproduce, and counters and states of
            shells.
        on_node: Called with the result so far after each node.

    Raises:
        StorageError: The object store rejected a request. No file is at fault, and the verification stops.
        TransientError: The object store did not answer.
    """
    verifier = _Verifier(context, read, repair)
    with context.database.pipeline() as tx:
        nodes = tx.execute(_QUERIES["nodes_to_verify"], {"user_id": user_id, "node_id": node_id}).fetchall()
    for node in nodes:
        with suppress(NotFoundError):  # the node was removed meanwhile
            verifier.verify_node(node["node_id"], node["schema_name"])
        if on_node is not None:
            on_node(verifier.done)
    return verifier.done


def faulty_facts(context: Context, check: str) -> list[str]:
    """Return the ids of facts or records that a check of facts, such as ``one_latest_per_chain``, finds fault with."""
    found: list[str] = []
    with context.database.pipeline() as tx:
        nodes = tx.execute(_FACTS["nodes_with_facts"]).fetchall()
    for node in nodes:
        with context.database.pipeline() as tx:
            composed = _FACT_CHECKS[check].format(schema=sql.Identifier(node["schema_name"]))
            found += [str(row["id"]) for row in tx.execute(composed, {"node_id": node["node_id"]})]
    return found


def verify_sample(context: Context, count: int = 100) -> Verification:
    """Verify a random sample of files, and repair nothing."""
    verifier = _Verifier(context, read=True, repair=False)
    with context.database.pipeline() as tx:
        locations = [FileLocation(**row) for row in tx.execute(_QUERIES["sample_files"], {"count": count})]
    for location in locations:
        with suppress(NotFoundError):
            verifier.verify_file(location)
    return verifier.done


class _Verifier:
    """Verifies nodes and files one by one, and collects findings."""

    def __init__(self, context: Context, read: bool, repair: bool) -> None:
        self.done = Verification()
        self._database = context.database
        self._objects = context.objects
        self._read = read
        self._repair = repair

    def verify_node(self, node_id: UUID, schema_name: str) -> None:
        """Verify one node and its files."""
        schema = sql.Identifier(schema_name)
        with self._database.pipeline() as tx:
            require_node(tx, node_id)
            registries = tx.execute(_QUERIES["verify_registries"].format(schema=schema), {"node_id": node_id})
            self._add_findings(Fault.REGISTRY, node_id, registries.fetchall())
            wrong_sums = tx.execute(_EVIDENCE["wrong_sums"], {"node_id": node_id})
            self._add_findings(Fault.EVIDENCE, node_id, wrong_sums.fetchall())
            wrong_links = tx.execute(_LINKS["wrong_links"], {"node_id": node_id})
            self._add_findings(Fault.LINK, node_id, wrong_links.fetchall())
            wrong_digests = tx.execute(_DIGESTS["faulty"], {"node_id": node_id})
            self._add_findings(Fault.DIGEST, node_id, wrong_digests.fetchall())
            for check in _FACT_CHECKS.values():
                faults = tx.execute(check.format(schema=schema), {"node_id": node_id})
                self._add_findings(Fault.FACT, node_id, faults.fetchall())
            self._add_findings(Fault.LOG, node_id, tx.execute(_QUERIES["verify_log"].format(schema=schema)).fetchall())
        after = _SMALLEST_ID
        while True:
            with self._database.pipeline() as tx:
                query = _QUERIES["files_after"].format(schema=schema)
                rows = tx.execute(query, {"after": after, "limit": _FILES_AT_ONCE}).fetchall()
            if not rows:
                break
            for row in rows:
                self.verify_file(FileLocation(row["file_id"], node_id, schema_name))
            after = rows[-1]["file_id"]
        self._verify_shell(node_id, schema_name)
        self._verify_profiles(node_id, schema_name)
        self.done.nodes += 1

    def verify_file(self, location: FileLocation) -> None:
        """Verify one file. Faults count only if its state and object did not change during the check."""
        self.done.files += 1
        while True:
            manifest = self._manifest(location)
            found = list(self._faults(location, manifest)) if manifest is not None else []
            if manifest is None or not found:
                return
            now = self._manifest(location)
            if now is not None and (now.compression_state, now.storage_path) == (
                manifest.compression_state,
                manifest.storage_path,
            ):
                break
        for fault, detail in found:
            if fault is Fault.OBJECT:
                with self._database.pipeline() as tx:
                    cause = CompressionCause.SCHEDULER
                    transitions.note_failure(tx, location.schema, location.file_id, detail, cause)
            repaired = self._repair and self._repair_file(fault, location)
            self.done.findings.append(Finding(fault, location.node_id, location.file_id, detail, repaired))

    def _manifest(self, location: FileLocation) -> Manifest | None:
        """Return the current row; None if the file was erased."""
        with suppress(NotFoundError), self._database.pipeline() as tx:
            return transitions.manifest_of(tx, location)
        return None

    def _faults(self, location: FileLocation, manifest: Manifest) -> Iterator[tuple[Fault, str]]:
        if self._read:
            yield from self._content_faults(location, manifest)
        elif not self._objects.exists(manifest.storage_path):
            yield Fault.OBJECT, str(missing(location.file_id))
        if not has_working_copy(manifest):
            return
        if manifest.compression_state == CompressionState.ACTIVE:
            if not self._has_good_copy(manifest):
                yield Fault.WORKING_COPY, "the working copy of an active file is missing or damaged"
        elif manifest.compression_state == CompressionState.DORMANT and self._objects.exists(_copy(manifest)):
            yield Fault.LEFT_OVER_COPY, "a dormant file has a working copy"

    def _content_faults(self, location: FileLocation, manifest: Manifest) -> Iterator[tuple[Fault, str]]:
        try:
            content = durable_content(self._objects, manifest)
        except LostObjectError as error:
            yield Fault.OBJECT, str(error)
            return
        self.done.bytes_read += content.size_bytes
        expected = (manifest.size_bytes, manifest.content_sha256 or content.sha256)
        if (content.size_bytes, content.sha256) != expected:
            yield Fault.MANIFEST, f"the content of file {location.file_id} is intact and differs from its manifest"
        elif manifest.file_type == "transcript":
            yield from self._passage_faults(location, manifest, content)

    def _passage_faults(
        self, location: FileLocation, manifest: Manifest, content: VerifiedBytes
    ) -> Iterator[tuple[Fault, str]]:
        from neurigraph_pipelines.text.search_segments import DamagedSegmentError, SearchSegment, read_vectors

        text = content.content
        with self._database.pipeline() as tx:
            row = tx.execute(_QUERIES["segment_of_record"], {"record_id": manifest.record_id}).fetchone()
        if row is None:
            return
        try:
            segment = SearchSegment.read(row["content"])
            for packed in (row["vectors"], row["next_vectors"]):
                if packed is not None:
                    read_vectors(packed, len(segment.rows))
        except DamagedSegmentError as error:
            yield Fault.PASSAGE, str(error)
            return
        if (row["passages"], row["words"]) != (len(segment.rows), len(segment.keys)):
            yield Fault.PASSAGE, "the columns of the search segment count other passages or words than it has"
        self.done.passages += len(segment.rows)
        for seq, start, length in segment.rows[["seq", "byte_offset", "byte_length"]].tolist():
            end = start + length
            try:
                fits = end <= len(text) and passage_text(text[start:end]) is not None
            except ValueError:
                fits = False
            if not fits:
                yield Fault.PASSAGE, f"passage {seq} is not at bytes {start} to {end} of the transcript"

    def _has_good_copy(self, manifest: Manifest) -> bool:
        if not self._read:
            return self._objects.exists(_copy(manifest))
        return working_content(self._objects, manifest) is not None

    def _repair_file(self, fault: Fault, location: FileLocation) -> bool:
        """Repair a fault of a file, whose row is locked meanwhile. Return whether it was repaired."""
        with self._database.pipeline() as tx:
            try:
                manifest = transitions.lock(tx, location)
                active = manifest.compression_state == CompressionState.ACTIVE
                if fault is Fault.OBJECT and remake_durable(self._objects, manifest):
                    tx.execute(_QUERIES["clear_failure"].format(schema=location.schema), {"file_id": location.file_id})
                    return True
                if fault is Fault.WORKING_COPY and active:
                    make_working_copy(self._objects, manifest, lambda: None)
                    return True
                if fault is Fault.LEFT_OVER_COPY and manifest.compression_state == CompressionState.DORMANT:
                    durable_content(self._objects, manifest)  # else the copy may be all that is left
                    self._objects.delete(_copy(manifest))
                    return True
            except (StorageError, NotFoundError):  # such as a full disk: the others may be repaired
                pass
        return False

    def _verify_shell(self, node_id: UUID, schema_name: str) -> None:
        schema = sql.Identifier(schema_name)
        with self._database.pipeline() as tx:
            shell = tx.execute(_QUERIES["verify_shell"].format(schema=schema), {"node_id": node_id}).fetchone()
        if shell is None:
            return
        found: list[tuple[Fault, str, bool]] = []
        if shell["record_count"] != shell["records"]:
            detail = f"the shell counts {shell['record_count']} records, and the node has {shell['records']}"
            found.append((Fault.COUNTER, detail, True))
        if shell["embedded_count"] != shell["embedded"] and not shell["moving"]:
            detail = (
                f"the centroid counts {shell['embedded_count']} records, and the node has {shell['embedded']} vectors"
            )
            found.append((Fault.COUNTER, detail, False))
        # Opening a file again postpones its due time but not that of its node, which may be early and never late.
        late = shell["due"] is not None and (
            shell["next_recompress_at"] is None or shell["next_recompress_at"] > shell["due"]
        )
        if shell["compression_state"] != shell["state"] or late:
            detail = f"the shell is {shell['compression_state']}, and its files are {shell['state']}"
            found.append((Fault.SHELL_STATE, f"{detail}, due {shell['due']}" if late else detail, True))
        if self._repair and found:
            with self._database.pipeline() as tx:
                tx.execute(_QUERIES["sum_file_states"], {"node_id": node_id, "schema_name": schema_name})
                # The previous statement locked the node, so this counts all committed records.
                tx.execute(_QUERIES["set_record_count"].format(schema=schema), {"node_id": node_id})
        self.done.findings += [
            Finding(fault, node_id, node_id, detail, self._repair and repairable) for fault, detail, repairable in found
        ]

    def _verify_profiles(self, node_id: UUID, schema_name: str) -> None:
        from neurigraph_pipelines.graph.profile_building import find_wrong_profiles  # loads numpy

        with self._database.pipeline() as tx:
            tx.execute(_SNAPSHOT)
            wrong = find_wrong_profiles(tx, node_id, schema_name)
        if wrong and self._repair:
            with self._database.pipeline() as tx:
                tx.execute(_PROFILES["outdate"], {"node_id": node_id})
        self.done.findings += [Finding(Fault.PROFILE, node_id, node_id, fault, self._repair) for fault in wrong]

    def _add_findings(self, fault: Fault, node_id: UUID, rows: list[DictRow]) -> None:
        self.done.findings += [Finding(fault, node_id, row["id"], row["fault"]) for row in rows]


def _copy(manifest: Manifest) -> str:
    return active_key(manifest.storage_path)
