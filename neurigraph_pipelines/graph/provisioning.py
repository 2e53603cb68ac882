"""Creation of users and nodes: registry row and node schema in one transaction.

``ingestion.assign`` decides which nodes to create; ``navigation`` reads the graph.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import accumulate
from typing import NamedTuple
from uuid import UUID, uuid4

from neurigraph_pipelines.access.authentication import api_key_hash, key_of, new_api_key, require_owner
from neurigraph_pipelines.access.guards import FREE, Guard
from neurigraph_pipelines.database.asking import rows_of, typed
from neurigraph_pipelines.database.schema import SHIPPED, node_statement
from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.graph import naming
from neurigraph_pipelines.graph.locks import lock_graph_exclusive, lock_graph_shared
from neurigraph_pipelines.graph.naming import display_name, name_key, require_slug
from neurigraph_pipelines.model import MAX_LAYER_DEPTH, Claims, ConceptKind, NodeType, PlannedNode
from neurigraph_pipelines.model.errors import ConflictError, InvalidInputError, NotFoundError, require_found
from neurigraph_pipelines.model.ports import Database, Transaction

_QUERIES = statements("graph")
_ACCESS = statements("access")


@dataclass(frozen=True, slots=True)
class User:
    """The owner of one graph."""

    user_id: UUID
    slug: str
    root_node_id: UUID


@dataclass(frozen=True, slots=True)
class NodeRef:
    """The properties of a node that writers use. ``names`` run from layer 1 down, as in a filing's path."""

    node_id: UUID
    schema_name: str
    layer_depth: int
    names: tuple[str, ...]


def create_user(database: Database, slug: str, *, opaque_schema_names: bool = False) -> tuple[User, str]:
    """Create a user, the root of the user's graph and a first API key, in one transaction.

    Args:
        database: Used as the owner.
        slug: The user's slug.
        opaque_schema_names: Never derive this user's schema names from node names.

    Returns:
        The user, and the key, which cannot be shown again.

    Raises:
        InvalidInputError: The slug is not 1 to 63 of ``a-z 0-9 _ -`` with a letter or digit at both ends.
        ConflictError: The slug is taken.
    """
    with database.owner() as tx:
        return create_user_within(tx, slug, opaque_schema_names=opaque_schema_names)


def create_user_within(
    tx: Transaction, slug: str, *, opaque_schema_names: bool = False, user_id: UUID | None = None
) -> tuple[User, str]:
    """Create a user as ``create_user`` does, in a transaction of the owner, and with a chosen id if one is given."""
    key = new_api_key()
    user = create_graph(tx, slug, opaque_schema_names=opaque_schema_names, user_id=user_id)
    values = {"user_id": user.user_id, "key_hash": api_key_hash(key), "label": "first key"}
    tx.execute(_ACCESS["insert_api_key"], values)
    return user, key_of(key, user.user_id)


def create_graph(tx: Transaction, slug: str, *, opaque_schema_names: bool = False, user_id: UUID | None = None) -> User:
    """Create a graph with its root, of a user or an organization, without a key.

    Args:
        tx: A transaction of the owner.

    Raises:
        InvalidInputError: The slug is not acceptable.
        ConflictError: The slug is taken.
    """
    require_slug(slug)
    user_id = user_id or uuid4()
    values = {"user_id": user_id, "slug": slug, "opaque_schema_names": opaque_schema_names}
    if tx.execute(_QUERIES["insert_user"], values).fetchone() is None:
        raise ConflictError(f"a user {slug!r} exists already")
    root = PlannedNode(path=(slug,), kind=ConceptKind.USER, confidence=1.0, summary=f"Everything about {slug}.")
    return User(user_id, slug, _provision(tx, user_id, slug, None, root).node_id)


def find_user(database: Database, slug: str) -> User:
    """Return the user with a slug.

    Raises:
        NotFoundError: No user has it.
    """
    with database.pipeline() as tx:
        row = tx.execute(_QUERIES["find_user"], {"slug": slug}).fetchone()
    if row is None or row["root_node_id"] is None:
        raise NotFoundError(f"there is no user {slug!r}: `neurigraph user list` lists them, and `import` makes one")
    return User(row["user_id"], row["slug"], row["root_node_id"])


def find_root(database: Database, user_id: UUID) -> UUID:
    """Return the root of a user's graph.

    Raises:
        NotFoundError: The user has no graph.
    """
    with database.pipeline() as tx:
        row = tx.execute(_QUERIES["root_of_user"], {"user_id": user_id}).fetchone()
    if row is None:
        raise NotFoundError("the user has no graph")
    root: UUID = row["node_id"]
    return root


def list_users(database: Database, after: str = "", limit: int | None = None) -> list[User]:
    """Return the users behind a slug, by slug: all of them, or at most ``limit``."""
    with database.pipeline() as tx:
        return [User(**row) for row in tx.execute(_QUERIES["list_users"], {"after": after, "limit": limit})]


def ensure_user(database: Database, slug: str, *, opaque_schema_names: bool = False) -> tuple[User, bool]:
    """Find the user with a slug, or create it; return the user, and whether it was created."""
    try:
        return find_user(database, slug), False
    except NotFoundError:
        pass
    try:
        return create_user(database, slug, opaque_schema_names=opaque_schema_names)[0], True
    except ConflictError:  # created concurrently
        return find_user(database, slug), False


def provision_node(
    database: Database,
    claims: Claims,
    parent_id: UUID,
    name: str,
    *,
    node_type: NodeType = NodeType.CONCEPT,
    kind: ConceptKind = ConceptKind.TOPIC,
    summary: str = "",
    guard: Guard = FREE,
) -> NodeRef:
    """Create a node by hand, below an existing one. The guard gets its ``node_id``.

    Raises:
        ForbiddenError: The caller does not own the graph.
        NotFoundError: The parent does not exist, or is not visible to the caller.
        ConflictError: The parent has a child with that name.
        InvalidInputError: The name is invalid, or the parent is in the deepest layer.
    """
    shown = naming.checked_name(name)
    with database.agent(claims) as tx:
        require_found(tx.execute(_QUERIES["node_by_id"], {"node_id": parent_id}).fetchone())
    require_owner(claims)
    with database.owner() as tx:
        slug = lock_graph_exclusive(tx, claims.user_id)
        guard.admit(tx)
        row = require_found(tx.execute(_QUERIES["node_by_id"], {"node_id": parent_id}).fetchone())
        if row["layer_depth"] >= MAX_LAYER_DEPTH:
            raise InvalidInputError(f"layer {MAX_LAYER_DEPTH} is the deepest: a node in it has no children")
        parent = NodeRef(row["node_id"], row["schema_name"], row["layer_depth"], tuple(row["names"][1:]))
        key = {"user_id": claims.user_id, "parent_node_id": parent_id, "name_key": name_key(shown)}
        if tx.execute(_QUERIES["child_by_key"], key).fetchone() is not None:
            raise ConflictError(f"the parent has a node {shown!r} already: choose another name")
        plan = PlannedNode((*parent.names, shown), kind, 1.0, summary)
        node = _provision(tx, claims.user_id, slug, parent, plan, node_type)
        guard.note_result(tx, {"node_id": node.node_id})
        return node


def resolve_path(
    tx: Transaction,
    user_id: UUID,
    user_slug: str,
    path: Sequence[str],
    planned: Sequence[PlannedNode] = (),
    *,
    personas: bool = False,
) -> NodeRef:
    """Walk from the root along ``path`` and create the planned nodes that are missing.

    Two transactions that plan one name get one node: the second waits for the first. The aliases of a missing step that
    is not planned are tried: it may have been renamed.

    Args:
        tx: A transaction of the pipeline or the owner; a rollback undoes the creation.
        user_id: Owner of the graph.
        user_slug: First part of new schema names.
        path: Node names from layer 1 down; empty for the root.
        planned: Nodes that may be created.
        personas: Whether the walk enters personas, whose keys read what lies there.

    Returns:
        The deepest node reached.

    Raises:
        NotFoundError: The user has no graph.
    """
    return walk_path(tx, user_id, user_slug, path, planned, personas=personas)[-1]


def walk_path(
    tx: Transaction,
    user_id: UUID,
    user_slug: str,
    path: Sequence[str],
    planned: Sequence[PlannedNode] = (),
    *,
    personas: bool = False,
) -> list[NodeRef]:
    """Walk as ``resolve_path`` does, and return the nodes on the way, from the root down."""
    keys = list(map(name_key, path[:MAX_LAYER_DEPTH]))
    values = {"user_id": user_id, "personas": personas}
    walked = rows_of(tx, _QUERIES["walk_by_keys"], _Walked, values | {"name_keys": keys})
    if not walked:
        raise NotFoundError("the user has no graph")
    root = walked[0]
    nodes = list(accumulate(walked[1:], _child, initial=NodeRef(root.node_id, root.schema_name, 0, ())))
    plans = {tuple(map(name_key, plan.path)): plan for plan in planned}
    for depth in range(len(walked), len(keys) + 1):  # from the first step that is missing, or a mirror
        node = nodes[-1]
        step = values | {"parent_node_id": node.node_id, "name_key": keys[depth - 1], "name": path[depth - 1]}
        plan = plans.get(tuple(map(name_key, path[:depth])))
        planned_step = partial(_provision, tx, user_id, user_slug, node, plan) if plan is not None else None
        reached = _step(tx, node, step, planned_step)
        if reached is None:
            break
        nodes.append(reached)
    return nodes


class _Walked(NamedTuple):
    """A node on a walk."""

    node_id: UUID
    node_name: str
    schema_name: str


def _step(
    tx: Transaction, node: NodeRef, step: Mapping[str, object], provision: Callable[[], NodeRef] | None
) -> NodeRef | None:
    """Return the child that a step leads to; None if the walk ends above it.

    Nothing is filed in a mirror, nor in a persona that the walk does not enter.
    """
    row = tx.execute(_QUERIES["child_by_key"], step).fetchone()
    if row is not None and (row["is_mount"] or (row["is_persona"] and not step["personas"])):
        return None
    if row is None and provision is not None:
        return provision()
    row = row or tx.execute(_QUERIES["child_by_alias"], step).fetchone()
    return _child(node, typed([row], _Walked)[0]) if row is not None else None


def add_child(tx: Transaction, user_id: UUID, user_slug: str, parent: NodeRef, name: str, kind: ConceptKind) -> NodeRef:
    """Create a node below another one, whose name is free there.

    Args:
        tx: A transaction of the pipeline or the owner; a rollback undoes the creation.
    """
    return _provision(tx, user_id, user_slug, parent, PlannedNode((*parent.names, name), kind, 1.0))


def _child(parent: NodeRef, row: _Walked) -> NodeRef:
    return NodeRef(row.node_id, row.schema_name, parent.layer_depth + 1, (*parent.names, row.node_name))


def resolve_node(tx: Transaction, node_id: UUID) -> NodeRef | None:
    """Return a node by its id; None if it does not exist (any more).

    Args:
        tx: A transaction of the pipeline or the owner.
    """
    row = tx.execute(_QUERIES["node_by_id"], {"node_id": node_id}).fetchone()
    if row is None:
        return None
    return NodeRef(node_id, row["schema_name"], row["layer_depth"], tuple(row["names"][1:]))


def require_node(tx: Transaction, node_id: UUID) -> None:
    """Check that a node exists.

    Raises:
        NotFoundError: It no longer does.
    """
    require_found(tx.execute(_QUERIES["node_is_there"], {"node_id": node_id}).fetchone())


def _provision(
    tx: Transaction,
    user_id: UUID,
    user_slug: str,
    parent: NodeRef | None,
    plan: PlannedNode,
    node_type: NodeType = NodeType.CONCEPT,
) -> NodeRef:
    lock_graph_shared(tx, user_id)
    node_id = uuid4()
    name = display_name(plan.path[-1])
    if not name_key(name):
        raise InvalidInputError("the name of a node has no visible character: give it one")
    names = (*parent.names, name) if parent is not None else ()
    depth = parent.layer_depth + 1 if parent is not None else 0
    schema = free_schema_name(tx, user_slug, names, node_id)
    inserted = tx.execute(
        _QUERIES["insert_node"],
        {
            "node_id": node_id,
            "user_id": user_id,
            "node_name": name,
            "name_key": name_key(name),
            "node_type": node_type.value,
            "concept_kind": plan.kind.value,
            "layer_depth": depth,
            "parent_node_id": parent.node_id if parent is not None else None,
            "schema_name": schema,
            "node_keywords": list(plan.keywords) or None,
            "node_summary": plan.summary or None,
            "node_ddl_version": SHIPPED.newest,
        },
    ).fetchone()
    if inserted is None:
        assert parent is not None, "a user is inserted once, and its root with it"
        row = tx.execute(
            _QUERIES["child_by_key"],
            {"user_id": user_id, "parent_node_id": parent.node_id, "name_key": name_key(name)},
        ).fetchone()
        assert row is not None
        return NodeRef(row["node_id"], row["schema_name"], depth, (*parent.names, row["node_name"]))
    make_tables(tx, schema, node_id, user_id)
    return NodeRef(node_id, schema, depth, names)


def free_schema_name(tx: Transaction, user_slug: str, names: Sequence[str], node_id: UUID) -> str:
    """Return an unused schema name for a node at a path."""
    schema = naming.schema_name(user_slug, names)
    row = tx.execute(_QUERIES["schema_name_taken"], {"schema_name": schema, "user_slug": user_slug}).fetchone()
    if row is not None and row["opaque"]:
        return f"n_{node_id.hex}"
    if row is not None and row["taken"]:  # by a node that had this path before it was renamed or moved
        return naming.schema_name(user_slug, (*names, str(node_id)))
    return schema


def make_tables(tx: Transaction, schema: str, node_id: UUID, user_id: UUID) -> None:
    """Create the schema and empty tables of a registered node.

    Args:
        tx: A transaction of the pipeline or the owner.
    """
    script = node_statement(SHIPPED.node, schema, node_id, user_id)
    tx.execute(_QUERIES["run_script"].format(script=script))
