"""Opening of whole files, and rehydration of dormant ones by exactly one worker.

The caller checks access when it locates the file. ``dormancy`` makes files dormant again.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID, uuid4

from psycopg import sql

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
    remake_durable,
    working_content,
)
from neurigraph_pipelines.lifecycle.transitions import FileLocation
from neurigraph_pipelines.model import CompressionCause, CompressionState
from neurigraph_pipelines.model.context import Context
from neurigraph_pipelines.model.errors import (
    LostObjectError,
    NeurigraphError,
    NotFoundError,
    RehydratingError,
    StorageError,
    TransientError,
)
from neurigraph_pipelines.model.ports import Database
from neurigraph_pipelines.settings import Settings

_QUERIES = statements("lifecycle")
_FIRST_PAUSE_SECONDS = 0.02
_LONGEST_PAUSE_SECONDS = 0.5
_BYTES_A_SECOND = 50_000_000  # decompression on a slow disk; used only to estimate Retry-After
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class StuckFile:
    """A file in rehydration whose worker let its lease expire."""

    file_id: UUID
    node_id: UUID
    file_name: str
    since: datetime


def open_whole(context: Context, location: FileLocation, wait: float = 0.0) -> tuple[Manifest, VerifiedBytes]:
    """Return the content of a file. Resets the file's clocks, and rehydrates a dormant file.

    Args:
        wait: Seconds to wait while another worker rehydrates it.

    Returns:
        The row of its manifest, and its verified bytes.

    Raises:
        RehydratingError: Another worker was still rehydrating it after ``wait`` seconds.
        NotFoundError: The file is gone.
        LostObjectError: The bytes are missing or damaged: logged as ``failed``, and not served.
        StorageError: The object store rejected the request. The file is not at fault, and nothing changes.
    """
    backoff = _Backoff(wait)
    while True:
        with context.database.pipeline() as tx:
            manifest = transitions.touch(tx, context.settings, location)
        if manifest.compression_state == CompressionState.ACTIVE:
            return manifest, _read(context, location, manifest)
        rehydrated = rehydrate(context, location, CompressionCause.RETRIEVAL)
        if rehydrated is not None:
            return rehydrated, _read(context, location, rehydrated)
        backoff.pause(location.file_id, manifest.size_bytes)


def rehydrate(context: Context, location: FileLocation, cause: CompressionCause) -> Manifest | None:
    """Change a file from dormant to active, unless another worker is rehydrating it.

    Returns:
        The file's row once it is active; None if the file was not dormant, or the lease was lost.

    Raises:
        LostObjectError: The durable object is missing or damaged: logged as ``failed``.
        StorageError: The object store rejected a request, or has no room for the working copy.
        TransientError: The object store did not answer.
    """
    database, objects, settings = context.database, context.objects, context.settings
    holder = uuid4()
    with database.pipeline() as tx:
        manifest = transitions.begin_rehydration(tx, settings, location, holder, cause)
        if manifest is None:
            return None
        # If the store rejects this request or does not answer, the transaction rolls back and the lease with it.
        objects.exists(manifest.storage_path)
    try:
        digest = make_working_copy(objects, manifest, _lease_renewer(database, settings, location, holder))
    except BaseException as error:
        reason = str(error) if isinstance(error, NeurigraphError) else type(error).__name__
        with database.pipeline() as tx:
            transitions.give_up(tx, location, holder, reason, cause)
        raise
    with database.pipeline() as tx:
        return transitions.activate(tx, settings, location, holder, digest, cause)


def revert_stuck(
    database: Database,
    *,
    limit: int = 1_000,
    user_id: UUID | None = None,
    dry_run: bool = False,
) -> list[StuckFile]:
    """Change files back to dormant whose rehydrating worker let its lease expire.

    Args:
        limit: Most files of one run; the next run continues.
        user_id: Only this user's files.
        dry_run: Return the files, and change nothing.
    """
    with database.pipeline() as tx:
        nodes = tx.execute(_QUERIES["rehydrating_nodes"], {"user_id": user_id}).fetchall()
    found: list[StuckFile] = []
    for node in nodes:
        schema = sql.Identifier(node["schema_name"])
        with suppress(NotFoundError), database.pipeline() as tx:  # the node was removed meanwhile
            stuck = tx.execute(_QUERIES["stuck_files"].format(schema=schema), {"limit": limit - len(found)})
            for row in stuck.fetchall():
                location = FileLocation(row["file_id"], node["node_id"], node["schema_name"])
                reason = "the worker that rehydrated it stopped renewing its lease"
                if dry_run or transitions.give_up(
                    tx, location, row["lease_holder"], reason, CompressionCause.SCHEDULER
                ):
                    found.append(StuckFile(location.file_id, location.node_id, row["file_name"], row["since"]))
        if len(found) >= limit:
            break
    return found


def _read_failed(database: Database, location: FileLocation, storage_path: str, error: LostObjectError) -> None:
    """Record that a file could not be read."""
    with database.pipeline() as tx:
        require_node(tx, location.node_id)
        _require_object(transitions.manifest_of(tx, location), storage_path)
        transitions.note_failure(tx, location.schema, location.file_id, str(error), CompressionCause.RETRIEVAL)


def _require_object(manifest: Manifest, storage_path: str) -> None:
    """Require that a file still has the object that was read.

    Raises:
        TransientError: It has another one, because its record was split meanwhile.
    """
    if manifest.storage_path != storage_path:
        raise TransientError("the file was rewritten while it was read: read it again", retry_after=1.0)


def read_from_copy(context: Context, location: FileLocation, storage_path: str, error: LostObjectError) -> bytes | None:
    """Return the content of a file whose durable object is lost from its working copy, and write the object again.

    Args:
        storage_path: The durable object.
        error: Why it cannot be read; it is recorded unless the object is whole afterwards.

    Returns:
        None if there is no intact working copy.
    """
    content, is_repaired = None, False
    with context.database.pipeline() as tx:
        require_node(tx, location.node_id)
        manifest = transitions.lock(tx, location)
        _require_object(manifest, storage_path)
        if manifest.compression_state == CompressionState.ACTIVE and has_working_copy(manifest):
            content = working_content(context.objects, manifest)
        if content is not None:
            try:
                is_repaired = remake_durable(context.objects, manifest)
            except (StorageError, TransientError) as failure:
                _log.warning("the object of file %s could not be rewritten: %s", location.file_id, failure)
        if is_repaired:
            tx.execute(_QUERIES["clear_failure"].format(schema=location.schema), {"file_id": location.file_id})
    if not is_repaired:
        _read_failed(context.database, location, storage_path, error)
    return content.content if content is not None else None


def _read(context: Context, location: FileLocation, manifest: Manifest) -> VerifiedBytes:
    """Return the content of an active file, from its working copy or else from the durable object.

    In the second case the working copy is written again.
    """
    if has_working_copy(manifest):
        content = working_content(context.objects, manifest)
        if content is not None:
            return content
    try:
        content = durable_content(context.objects, manifest)
    except LostObjectError as error:
        _read_failed(context.database, location, manifest.storage_path, error)
        raise
    if has_working_copy(manifest):
        _rewrite_working_copy(context, location, content)
    return content


def _rewrite_working_copy(context: Context, location: FileLocation, content: VerifiedBytes) -> None:
    """Write the working copy again, unless the file is no longer active or has another text. Errors are only logged."""
    with context.database.pipeline() as tx:
        manifest = transitions.lock(tx, location)
        is_other = manifest.content_sha256 not in (None, content.sha256)
        if is_other or manifest.compression_state != CompressionState.ACTIVE:
            return
        try:
            context.objects.put(active_key(manifest.storage_path), content.chunks())
        except (StorageError, TransientError) as error:
            _log.warning("the working copy of file %s could not be rewritten: %s", location.file_id, error)


def _lease_renewer(database: Database, settings: Settings, location: FileLocation, holder: UUID) -> Callable[[], None]:
    """Return a function that renews the lease if a third of it has passed since the last renewal."""
    last = time.monotonic()

    def renew() -> None:
        nonlocal last
        if time.monotonic() - last > settings.lifecycle.rehydration_lease_seconds / 3:
            last = time.monotonic()
            with database.pipeline() as tx:
                transitions.renew_lease(tx, settings, location, holder)

    return renew


class _Backoff:
    """Growing pauses between attempts, until the waiting time is over."""

    def __init__(self, wait: float) -> None:
        self._until = time.monotonic() + wait
        self._pause = _FIRST_PAUSE_SECONDS

    def pause(self, file_id: UUID, size_bytes: int) -> None:
        left = self._until - time.monotonic()
        if left <= 0:
            raise RehydratingError(
                f"file {file_id} is being decompressed: try again in a moment",
                retry_after_seconds=1.0 + size_bytes / _BYTES_A_SECOND,
            )
        time.sleep(min(self._pause, left))
        self._pause = min(2 * self._pause, _LONGEST_PAUSE_SECONDS)
