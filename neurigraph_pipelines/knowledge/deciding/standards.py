"""Setting the standard of a node. ``graph.governance.standards`` resolves the standard in force."""

from __future__ import annotations

from uuid import UUID

import psycopg

from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.graph.changes import require_owner_of
from neurigraph_pipelines.graph.governance.standards import standard_of
from neurigraph_pipelines.inbox.notes import IncomingNote, OnConflict, write_note
from neurigraph_pipelines.model.context import Context
from neurigraph_pipelines.model.errors import InvalidInputError, NotFoundError
from neurigraph_pipelines.model.ports import Transaction
from neurigraph_pipelines.views.actions import NewStandard, Standard

TITLE = "Standard"
"""The title of the note that has the text of a node's standard."""

_QUERIES = statements("actions")
_ACCESS = statements("access")


def set_standard(context: Context, node_id: UUID, new: NewStandard) -> Standard:
    """Set the standard of a node, which replaces its earlier one, and return the standard in force there now.

    Raises:
        NotFoundError: There is no such node or persona, or the caller does not see it.
        ForbiddenError: The caller does not own the graph.
        InvalidInputError: A field is not acceptable.
    """
    require_owner_of(context.database, context.claims, node_id)
    kind, persona, approvals = _approver(new.approver)
    values: dict[str, object] = new.model_dump(exclude={"text"})
    values |= {"approver": kind, "approver_persona": persona, "approvals": approvals, "node_id": node_id}
    with context.database.agent(context.claims) as tx:
        if persona is not None and tx.execute(_ACCESS["find_persona"], {"node_id": persona}).fetchone() is None:
            raise NotFoundError("there is no such persona")
        _set(tx, {**values, "user_id": context.claims.user_id, "note_id": None})
    if new.text is not None:
        # Afterwards: a standard whose text is not acceptable is in force without it.
        note = IncomingNote(new.text, title=TITLE, node_id=node_id, on_conflict=OnConflict.VERSION)
        written = write_note(context, note)
        with context.database.agent(context.claims) as tx:
            _set(tx, {**values, "user_id": context.claims.user_id, "note_id": written.note_id})
    return standard_of(context.database, context.claims, node_id)


def _set(tx: Transaction, values: dict[str, object]) -> None:
    try:
        with tx.transaction():
            tx.execute(_QUERIES["set_standard"], values)
    except psycopg.errors.CheckViolation as error:
        raise InvalidInputError(
            "a standard has a tier of short, mid or long, a ttl of a minute to ten years, and 2 to 20 approvals"
        ) from error


def _approver(text: str | None) -> tuple[str | None, UUID | None, int | None]:
    """Return the approver as it is stored: its kind, the persona, and how many approvals are needed."""
    kind, _, rest = (text or "").partition(":")
    try:
        if kind == "persona":
            return kind, UUID(rest), None
        if kind == "consensus":
            return kind, None, int(rest)
    except ValueError:
        kind = "unknown"
    if kind not in ("", "human") or rest:
        raise InvalidInputError("an approver is human, persona:ID or consensus:N")
    return kind or None, None, None
