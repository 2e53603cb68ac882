"""Operations on one file for the API and the command line, with the caller's claims: state, touch and compress.

Also the state of a node's files. ``retrieval.open`` opens files, and ``dormancy`` sweeps them automatically.
"""

from __future__ import annotations

from dataclasses import asdict
from uuid import UUID

from neurigraph_pipelines.access.authentication import require_write
from neurigraph_pipelines.database.asking import views_of
from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.graph.locks import retry_not_found
from neurigraph_pipelines.lifecycle import dormancy, transitions
from neurigraph_pipelines.lifecycle.storage_report import totals_of
from neurigraph_pipelines.model import Claims, CompressionState
from neurigraph_pipelines.model.context import Context
from neurigraph_pipelines.model.errors import require_found
from neurigraph_pipelines.model.ports import Database
from neurigraph_pipelines.views.files import HISTORY_SHOWN, File, NodeFiles, StateChange

_QUERIES = statements("lifecycle")


@retry_not_found
def file_state(database: Database, claims: Claims, file_id: UUID) -> File:
    """Return the state of a file. This does not count as an access.

    Raises:
        NotFoundError: There is no such file, or the caller may not see it; so everywhere below.
    """
    with database.agent(claims) as tx:
        location = transitions.locate(tx, file_id)
        manifest = transitions.manifest_of(tx, location)
        history = views_of(tx, _QUERIES["history"], StateChange, {"file_id": file_id, "limit": HISTORY_SHOWN})
    return File(
        file_id=file_id,
        record_id=manifest.record_id,
        node_id=location.node_id,
        name=manifest.file_name,
        type=manifest.file_type,
        state=CompressionState(manifest.compression_state),
        compression=manifest.compression_format,
        size_bytes=manifest.size_bytes,
        stored_bytes=manifest.stored_bytes,
        last_accessed_at=manifest.last_accessed_at,
        recompress_at=manifest.recompress_after,
        last_failure=manifest.last_failure,
        history=history,
    )


def node_state(database: Database, claims: Claims, node_id: UUID) -> NodeFiles:
    """Return the states of a node's files, and the bytes that they occupy."""
    with database.agent(claims) as tx:
        shell = require_found(tx.execute(_QUERIES["node_shell"], {"node_id": node_id}).fetchone())
        totals = totals_of(tx, [(node_id, shell["schema_name"])])[node_id]
    return NodeFiles(
        node_id=node_id,
        state=CompressionState(shell["compression_state"]),
        last_accessed_at=shell["last_accessed_at"],
        next_recompress_at=shell["next_recompress_at"],
        **asdict(totals),
        saved_bytes=totals.saved_bytes,
    )


@retry_not_found
def touch(context: Context, file_id: UUID) -> File:
    """Reset the dormancy clock of a file, as opening it does. A dormant file stays dormant.

    Read access is enough, since opening does the same.
    """
    with context.database.agent(context.claims) as tx:
        location = transitions.locate(tx, file_id)
    with context.database.pipeline() as tx:
        transitions.touch(tx, context.settings, location)
    return file_state(context.database, context.claims, file_id)


@retry_not_found
def compress(context: Context, file_id: UUID) -> File:
    """Make a file dormant now. Nothing happens if it is dormant already.

    Raises:
        ForbiddenError: The caller may only read the node; a dormant file makes other readers wait.
        RehydratingError: The file is being decompressed.
        LostObjectError: Its durable object is missing or damaged: logged as ``failed``, and the file stays active.
        StorageError: The object store rejected the request: the file stays active.
        TransientError: The object store did not answer.
    """
    with context.database.agent(context.claims) as tx:
        location = transitions.locate(tx, file_id)
        require_write(tx, location.node_id)
    dormancy.compress(context, location)
    return file_state(context.database, context.claims, file_id)
