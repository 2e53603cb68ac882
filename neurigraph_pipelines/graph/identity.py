"""The caller, and the caller's view and rights."""

from __future__ import annotations

import neurigraph_pipelines
from neurigraph_pipelines.access.authentication import require_writer
from neurigraph_pipelines.graph import navigation
from neurigraph_pipelines.model import Claims
from neurigraph_pipelines.model.errors import ForbiddenError, NotFoundError
from neurigraph_pipelines.model.ports import Database
from neurigraph_pipelines.views.access import Identity


def identity_of(database: Database, claims: Claims) -> Identity:
    """Return the rights that the caller's claims give."""
    nodes = records = 0
    top_id = top_path = None
    with database.agent(claims) as tx:
        try:
            top = navigation.tree(tx, claims.user_id)
            top_id, top_path = top.node_id, navigation.shell(tx, top.node_id).path
            below = [top, *top.others]
            while below:
                node = below.pop()
                nodes, records = nodes + 1, records + node.record_count
                below += node.children
        except NotFoundError:
            pass
    try:
        require_writer(database, claims)
        may_write = True
    except ForbiddenError:
        may_write = False
    return Identity(
        role=claims.role,
        subject_id=claims.sub,
        user_id=claims.user_id,
        key_id=claims.key_id,
        may_write=may_write,
        may_forget=claims.role == "user",
        top_node_id=top_id,
        top_node_path=top_path,
        node_count=nodes,
        record_count=records,
        version=neurigraph_pipelines.__version__,
    )
