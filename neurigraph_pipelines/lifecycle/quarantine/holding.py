"""Quarantine and release: each is one transaction, which hides or shows everything at once.

Hiding touches the records, what is counted from their words, and what follows from them: edges, candidates and names
by their evidence, shells and nodes. Shells are remembered as they were, and a release puts them back.
"""

from __future__ import annotations

from dataclasses import asdict
from uuid import UUID

from psycopg import sql

from neurigraph_pipelines.access.authentication import require_owner
from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.graph.locks import lock_graph_exclusive, lock_rows
from neurigraph_pipelines.graph.shell import rebuild_followers, rebuild_shell
from neurigraph_pipelines.graph.witnesses import followers_of
from neurigraph_pipelines.lifecycle.quarantine.revisions import hide_revisions, show_revisions
from neurigraph_pipelines.lifecycle.quarantine.rules import (
    MAX_REASON,
    QuarantineRule,
    as_row,
    checked,
    get_quarantine,
    records_met,
)
from neurigraph_pipelines.model import MAX_LAYER_DEPTH, Claims
from neurigraph_pipelines.model.context import Context
from neurigraph_pipelines.model.errors import InvalidInputError, require_found
from neurigraph_pipelines.model.ports import Transaction
from neurigraph_pipelines.text.hygiene import clean_text
from neurigraph_pipelines.views.quarantines import Quarantine

_QUERIES = statements("quarantine")
_GRAPH = statements("graph")


def quarantine(context: Context, rule: QuarantineRule, reason: str) -> Quarantine:
    """Hide the messages and records that a rule meets from every retrieval. Idempotent: a rule is in force once.

    What is stored later and meets the rule is hidden from the start.

    Args:
        reason: For the log.

    Raises:
        ForbiddenError: The caller does not own the graph.
        InvalidInputError: The rule has no condition, or the reason is empty or too long.
        NotFoundError: The owner has no such source, key or persona.
        TransientError: Others keep writing to these nodes; nothing was changed.
    """
    claims = context.claims
    require_owner(claims)
    reason = clean_text(reason, "repair")[0].strip()
    if not 1 <= len(reason) <= MAX_REASON:
        raise InvalidInputError(f"the reason of a quarantine has 1 to {MAX_REASON} characters")
    with context.database.owner() as tx:
        slug = lock_graph_exclusive(tx, claims.user_id)
        values = {"user_id": claims.user_id, **asdict(checked(tx, claims, rule))}
        known = tx.execute(_QUERIES["in_force"], values).fetchone()
        if known is None:
            known = tx.execute(
                _QUERIES["insert"], {**values, "reason": reason, "requested_by": _requester(claims)}
            ).fetchone()
            assert known is not None
            _hold(tx, claims.user_id, slug, known["quarantine_id"], rule)
        quarantine_id: UUID = known["quarantine_id"]
    return get_quarantine(context.database, claims, quarantine_id)


def release(context: Context, quarantine_id: UUID) -> Quarantine:
    """End a quarantine: records that no other quarantine holds are found again. Idempotent.

    Raises:
        ForbiddenError: The caller does not own the graph.
        NotFoundError: There is no such quarantine.
        TransientError: Others keep writing to these nodes; nothing was changed.
    """
    claims = context.claims
    require_owner(claims)
    with context.database.owner() as tx:
        slug = lock_graph_exclusive(tx, claims.user_id)
        values = {"quarantine_id": quarantine_id, "user_id": claims.user_id}
        row = require_found(tx.execute(_QUERIES["lock"], values).fetchone(), f"there is no quarantine {quarantine_id}")
        if row["released_at"] is None:
            tx.execute(_QUERIES["release"], {**values, "released_by": _requester(claims)})
            _let_go(tx, claims.user_id, slug, quarantine_id)
    return get_quarantine(context.database, claims, quarantine_id)


def _requester(claims: Claims) -> str:
    how = f"key {claims.key_id}" if claims.key_id is not None else claims.received_through.value
    return f"user:{claims.user_id} ({how})"


def _hold(tx: Transaction, user_id: UUID, slug: str, quarantine_id: UUID, rule: QuarantineRule) -> None:
    values: dict[str, object] = {"user_id": user_id, "quarantine_id": quarantine_id}
    tx.execute(_QUERIES["remember_graph"], values)
    revised = hide_revisions(tx, user_id, quarantine_id, as_row(rule, user_id))
    met = records_met(tx, user_id, rule)
    tx.execute(_QUERIES["hold"], {**values, "record_ids": [one.record_id for one in met]})
    fresh = [one for one in met if not one.quarantined]
    if not fresh and not revised:
        return
    # Files need no lock: hiding a record changes none, and waits for nobody who reads one.
    lock_rows(tx, {}, {one.node_id for one in fresh})
    record_ids = [one.record_id for one in fresh]
    followers = followers_of(tx, record_ids)
    tx.execute(_QUERIES["set_quarantined"], {"record_ids": record_ids, "hidden": True})
    for layer in range(MAX_LAYER_DEPTH, 0, -1):
        tx.execute(_QUERIES["hide_nodes"], {**values, "record_ids": record_ids, "layer": layer})
    rebuild_followers(tx, followers.with_nodes(revised), slug, keep_defined=True)
    tx.execute(_QUERIES["note_changes"], values)


def _is_complete(tx: Transaction, node_id: UUID) -> bool:
    """Return whether the shell of a node counts all its records: not if some were stored or embedded while hidden."""
    (shell,) = tx.execute(_GRAPH["lock_shells"], {"node_ids": [node_id]})
    schema = sql.Identifier(shell["schema_name"])
    (counted,) = tx.execute(_GRAPH["content_of_shell"].format(schema=schema), {"node_id": node_id})
    return all(counted[name] == shell[name] for name in ("record_count", "embedded_count"))


def _let_go(tx: Transaction, user_id: UUID, slug: str, quarantine_id: UUID) -> None:
    values: dict[str, object] = {"quarantine_id": quarantine_id}
    revised = show_revisions(tx, user_id, quarantine_id)
    successor = tx.execute(_QUERIES["successor"], values).fetchone()
    freed = tx.execute(_QUERIES["let_go"], values).fetchall()
    lock_rows(tx, {}, {row["node_id"] for row in freed})
    tx.execute(_QUERIES["set_quarantined"], {"record_ids": [row["record_id"] for row in freed], "hidden": False})
    nodes = {row["node_id"] for row in freed} | revised
    if successor is not None:
        tx.execute(_QUERIES["hand_on"], {**values, "successor": successor["quarantine_id"]})
        stale = nodes
    else:
        tx.execute(_QUERIES["restore_shells"], values)
        stale = {row["node_id"] for row in tx.execute(_QUERIES["changed_shells"], values)}
        stale |= {node_id for node_id in nodes if not _is_complete(tx, node_id)}
    tx.execute(_QUERIES["show_nodes"], {"node_ids": list(nodes | stale)})
    for node_id in sorted(stale):
        rebuild_shell(tx, node_id, slug)
    tx.execute(_QUERIES["forget_changes"], values)
