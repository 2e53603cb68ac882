"""The way up: whole files are opened here, and what sleeps is woken for it by exactly one worker.

Who may open what is decided by whoever locates the file; the way down is in ``dormancy``.
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

from neurigraph_pipelines.context import Context
from neurigraph_pipelines.errors import (
    LostObjectError,
    NeurigraphError,
    NotFoundError,
    RehydratingError,
    StorageError,
    TransientError,
)
from neurigraph_pipelines.graph.provisioning import upgrade_node
from neurigraph_pipelines.lifecycle import transitions
from neurigraph_pipelines.lifecycle.object_keys import active_key
from neurigraph_pipelines.lifecycle.stored_bytes import (
    VerifiedBytes,
    durable_content,
    has_working_copy,
    make_working_copy,
    working_content,
)
from neurigraph_pipelines.lifecycle.transitions import FilePlace, Manifest
from neurigraph_pipelines.model import CompressionCause, CompressionState
from neurigraph_pipelines.ports import Database
from neurigraph_pipelines.settings import Settings
from neurigraph_pipelines.statements import statements

_QUERIES = statements("lifecycle")
_FIRST_LOOK_SECONDS = 0.02
_LONGEST_PAUSE_SECONDS = 0.5
_BYTES_A_SECOND = 50_000_000  # what a slow disk unpacks; only for saying when to come again
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class StuckFile:
    """A rehydration that nobody goes on with."""

    file_id: UUID
    node_id: UUID
    file_name: str
    since: datetime


def open_whole(context: Context, place: FilePlace, wait: float = 0.0) -> tuple[Manifest, VerifiedBytes]:
    """The content of a file; resets its clocks, and rehydrates it when it sleeps.

    Args:
        wait: Seconds to wait while somebody else rehydrates it.

    Returns:
        The row of its manifest, and its bytes, whose checksum holds.

    Raises:
        RehydratingError: Somebody else was still at it when ``wait`` was over.
        NotFoundError: The file is gone.
        LostObjectError: The bytes are gone or damaged: logged as ``failed``, and not served.
        StorageError: The object store refused: that says nothing of the file, and changes nothing.
    """
    patience = _Patience(wait)
    while True:
        with context.database.pipeline() as tx:
            manifest = transitions.touch(tx, context.settings, place)
        if manifest["compression_state"] == CompressionState.ACTIVE:
            return manifest, _read(context, place, manifest)
        woken = rehydrate(context, place, CompressionCause.RETRIEVAL)
        if woken is not None:
            return woken, _read(context, place, woken)
        patience.pause(place.file_id, manifest["size_bytes"])


def rehydrate(context: Context, place: FilePlace, cause: CompressionCause) -> Manifest | None:
    """Take a file from dormant to active, if nobody else is at it.

    Returns:
        Its row once it is active; None where it was not ours to wake.

    Raises:
        LostObjectError: The durable object is gone or damaged: logged as ``failed``.
        StorageError: The object store refused, or has no room for the working copy.
        TransientError: The object store did not answer.
    """
    database, objects, settings = context.database, context.objects, context.settings
    holder = uuid4()
    with database.pipeline() as tx:
        claimed = transitions.claim(tx, settings, place, holder, cause)
        if claimed is None:
            return None
        # A store that refuses, or does not answer, is found out while the claim can still be taken back.
        objects.exists(claimed["storage_path"])
    try:
        digest = make_working_copy(objects, claimed, _sign_of_life(database, settings, place, holder))
    except BaseException as error:
        reason = str(error) if isinstance(error, NeurigraphError) else type(error).__name__
        with database.pipeline() as tx:
            transitions.give_up(tx, place, holder, reason, cause)
        raise
    with database.pipeline() as tx:
        return transitions.activate(tx, settings, place, holder, digest, cause)


def revert_stuck(
    database: Database,
    *,
    limit: int = 1_000,
    user_id: UUID | None = None,
    dry_run: bool = False,
) -> list[StuckFile]:
    """Send back to dormant what was being rehydrated by a worker that gives no sign of life.

    Args:
        limit: Most files of one run; the next goes on.
        user_id: Only this user's files.
        dry_run: Say which, and change nothing.
    """
    with database.pipeline() as tx:
        nodes = tx.execute(_QUERIES["rehydrating_nodes"], {"user_id": user_id}).fetchall()
    found: list[StuckFile] = []
    for node in nodes:
        schema = sql.Identifier(node["schema_name"])
        with suppress(NotFoundError), database.pipeline() as tx:  # a node that was removed meanwhile has no files
            stuck = tx.execute(_QUERIES["stuck_files"].format(schema=schema), {"limit": limit - len(found)})
            for row in stuck.fetchall():
                place = FilePlace(row["file_id"], node["node_id"], node["schema_name"])
                reason = "whoever rehydrated it gave no sign of life any more"
                if dry_run or transitions.give_up(tx, place, row["lease_holder"], reason, CompressionCause.SCHEDULER):
                    found.append(StuckFile(place.file_id, place.node_id, row["file_name"], row["since"]))
        if len(found) >= limit:
            break
    return found


def read_failed(database: Database, place: FilePlace, error: LostObjectError) -> None:
    """Put on record that a file could not be read."""
    with database.pipeline() as tx:
        upgrade_node(tx, place.node_id, place.schema_name)
        transitions.note_failure(tx, place.schema, place.file_id, str(error), CompressionCause.RETRIEVAL)


def _read(context: Context, place: FilePlace, manifest: Manifest) -> VerifiedBytes:
    """An active file: from its working copy, else from the durable object, which makes the copy good again."""
    if has_working_copy(manifest):
        content = working_content(context.objects, manifest)
        if content is not None:
            return content
    try:
        content = durable_content(context.objects, manifest)
    except LostObjectError as error:
        read_failed(context.database, place, error)
        raise
    if has_working_copy(manifest):
        _heal(context, place, content)
    return content


def _heal(context: Context, place: FilePlace, content: VerifiedBytes) -> None:
    """Write the working copy again, unless the file has gone to sleep meanwhile; the reader is served either way."""
    with context.database.pipeline() as tx:
        manifest = transitions.lock(tx, place)
        if manifest["compression_state"] != CompressionState.ACTIVE:
            return
        try:
            context.objects.put(active_key(manifest["storage_path"]), content.chunks())
        except (StorageError, TransientError) as error:
            _log.warning("the working copy of file %s could not be made good: %s", place.file_id, error)


def _sign_of_life(database: Database, settings: Settings, place: FilePlace, holder: UUID) -> Callable[[], None]:
    """Renews the lease, now and then, when called."""
    last = time.monotonic()

    def give() -> None:
        nonlocal last
        if time.monotonic() - last > settings.lifecycle.rehydration_lease_seconds / 3:
            last = time.monotonic()
            with database.pipeline() as tx:
                transitions.renew(tx, settings, place, holder)

    return give


class _Patience:
    """Looks again after ever longer pauses, until the time is over."""

    def __init__(self, wait: float) -> None:
        self._until = time.monotonic() + wait
        self._pause = _FIRST_LOOK_SECONDS

    def pause(self, file_id: UUID, size_bytes: int) -> None:
        left = self._until - time.monotonic()
        if left <= 0:
            raise RehydratingError(
                f"file {file_id} is being decompressed: ask again in a moment",
                retry_after_seconds=1.0 + size_bytes / _BYTES_A_SECOND,
            )
        time.sleep(min(self._pause, left))
        self._pause = min(2 * self._pause, _LONGEST_PAUSE_SECONDS)
