"""Other names of nodes, which records use or people give.

The aliases in a node's shell follow from these rows by trigger.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from uuid import UUID

from neurigraph_pipelines.access.guards import FREE, Guard
from neurigraph_pipelines.database.asking import value_of
from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.graph.changes import node_and_below, require_owner_of
from neurigraph_pipelines.graph.history import author_of
from neurigraph_pipelines.graph.locks import lock_graph_exclusive
from neurigraph_pipelines.graph.naming import MAX_NAME_LENGTH, checked_name, name_key
from neurigraph_pipelines.graph.witnesses import Witness
from neurigraph_pipelines.model import AliasType, Claims
from neurigraph_pipelines.model.errors import ConflictError, InvalidInputError, NotFoundError
from neurigraph_pipelines.model.ports import Database, Transaction
from neurigraph_pipelines.text.hygiene import clean_text
from neurigraph_pipelines.views.evidence import NodeAlias

MAX_ALIASES = 16
"""Most names of a node that records add."""

MAX_GIVEN = 100
"""Most names and ids of a node that people give."""

MAX_VALUE = 500

_FORMS = {
    AliasType.EMAIL: (re.compile(r"[^\s@]+@[^\s@]+"), "an e-mail address such as ana@example.org"),
    AliasType.PHONE: (re.compile(r"\+?(?=.*\d)[\d\s()./-]+(?:(?:x|ext\.?)\s?\d+)?", re.I), "a telephone number"),
    AliasType.URL: (re.compile(r"https?://\S+", re.I), "an address that begins with http:// or https://"),
}
"""The form of the ids of a type, and its name."""

_QUERIES = statements("evidence")
_GRAPH = statements("graph")

LearnedName = tuple[Witness, str]


def learn_aliases(
    tx: Transaction, user_id: UUID, node_id: UUID, node_name: str, learned: Sequence[LearnedName]
) -> list[str]:
    """Add the names that records use for a node, except those that another node of the user has.

    Args:
        tx: A transaction that has locked the node.
        user_id: The user.
        node_id: The node.
        node_name: Its name.
        learned: The names, each with the record that uses it.

    Returns:
        All names of the node.
    """
    rows = tx.execute(_QUERIES["aliases_of_node"], {"node_id": node_id}).fetchall() if learned else []
    known = {row["value_key"]: row["alias_id"] for row in rows}
    values = [row["value"] for row in rows]
    for witness, name in learned:
        value = name[:MAX_NAME_LENGTH]
        key = name_key(value)
        if not key or key == name_key(node_name):
            continue
        if key not in known:
            if len(known) >= MAX_ALIASES or _is_used(tx, user_id, node_id, key):
                continue
            known[key] = _insert(tx, user_id, node_id, AliasType.NAME, value, given_by=None)
            values.append(value)
        mention = {"user_id": user_id, "record_id": witness.record_id, "node_id": node_id, "alias_id": known[key]}
        found = {"messages": witness.messages_with(value), "detected_by": witness.detected_by.value}
        tx.execute(_QUERIES["mention_alias"], mention | found)
    return values


def give_former_name(tx: Transaction, user_id: UUID, node_id: UUID, name: str, former: str, author: str) -> None:
    """Keep the former name of a renamed node as an alias; one that equals the new name stops being shown."""
    if name_key(name) != name_key(former):
        values = {"node_id": node_id, "value_key": name_key(former)}
        if tx.execute(_QUERIES["has_alias"], values).fetchone() is None:
            _insert(tx, user_id, node_id, AliasType.FORMER_NAME, former, given_by=author)
    tx.execute(_QUERIES["project_aliases"], {"node_ids": [node_id]})


def give_alias(
    database: Database,
    claims: Claims,
    node_id: UUID,
    alias_type: AliasType,
    value: str,
    *,
    verified: bool = False,
    guard: Guard = FREE,
) -> NodeAlias:
    """Give a node another name or a typed id, which stands until somebody removes it. Idempotent.

    Raises:
        InvalidInputError: The value is empty or too long, or is not a valid name.
        NotFoundError: The node does not exist, or is not visible to the caller; also in the function below.
        ForbiddenError: The caller does not own the graph; also in the function below.
        ConflictError: Another node has the id, or the node has too many names.
    """
    shown = _checked(alias_type, value)
    require_owner_of(database, claims, node_id)
    author = author_of(claims)
    values = {
        "user_id": claims.user_id,
        "node_id": node_id,
        "alias_type": alias_type.value,
        "value": shown,
        "value_key": name_key(shown),
        "verified": verified,
        "verified_by": author if verified else None,
        "given_by": author,
    }
    with database.owner() as tx:
        lock_graph_exclusive(tx, claims.user_id)
        guard.admit(tx)
        node_and_below(tx, claims.user_id, node_id)  # it may be gone by now
        bearer = tx.execute(_QUERIES["bearer_of"], values).fetchone()
        if bearer is not None and bearer["node_id"] != node_id:
            raise ConflictError(f"another node has this {alias_type.value}: remove it there first")
        given = tx.execute(_QUERIES["count_given"], values).fetchone()
        if given is not None and given["given"] >= MAX_GIVEN:
            raise ConflictError(f"the node has {MAX_GIVEN} names and ids that were given to it: remove one first")
        (made,) = tx.execute(_QUERIES["give_alias"], values)
        alias = NodeAlias(**made, node_id=node_id, type=alias_type, value=shown, verified=verified)
        guard.note_result(tx, alias.model_dump())
    return alias


def remove_alias(
    database: Database, claims: Claims, node_id: UUID, value: str, alias_type: AliasType | None = None
) -> int:
    """Remove names and ids of a node with a value, and return how many. Records that use a name may add it again."""
    require_owner_of(database, claims, node_id)
    values = {"node_id": node_id, "value_key": name_key(clean_text(value, "repair")[0]), "alias_type": alias_type}
    with database.owner() as tx:
        lock_graph_exclusive(tx, claims.user_id)
        removed = tx.execute(_QUERIES["remove_alias"], values).fetchall()
    if not removed:
        raise NotFoundError("the node has no such alias")
    return len(removed)


def _checked(alias_type: AliasType, value: str) -> str:
    if alias_type in (AliasType.NAME, AliasType.FORMER_NAME):
        return checked_name(value)
    shown = clean_text(value, "repair")[0].strip()
    if not name_key(shown) or len(shown) > MAX_VALUE:
        raise InvalidInputError(f"an id of a node has 1 to {MAX_VALUE} visible characters")
    if alias_type in _FORMS:
        form, expected = _FORMS[alias_type]
        if form.fullmatch(shown) is None:
            raise InvalidInputError(f"{shown!r} is not {expected}: correct it, or give it as `external`")
    return shown


def _is_used(tx: Transaction, user_id: UUID, node_id: UUID, key: str) -> bool:
    values = {"user_id": user_id, "node_id": node_id, "name_key": key}
    return value_of(bool, tx.execute(_GRAPH["name_is_used"], values))


def _insert(
    tx: Transaction, user_id: UUID, node_id: UUID, alias_type: AliasType, value: str, given_by: str | None
) -> UUID:
    (row,) = tx.execute(
        _QUERIES["insert_alias"],
        {
            "user_id": user_id,
            "node_id": node_id,
            "alias_type": alias_type.value,
            "value": value,
            "value_key": name_key(value),
            "verified": False,
            "verified_by": None,
            "given_by": given_by,
        },
    )
    alias_id: UUID = row["alias_id"]
    return alias_id
