"""``who_am_i``: the user for whom an agent acts, and its rights."""

from __future__ import annotations

from collections.abc import Iterator

import neurigraph_pipelines
from neurigraph_pipelines.access.authentication import require_writer
from neurigraph_pipelines.faces.mcp.calls import AgentCall
from neurigraph_pipelines.faces.mcp.framing import inline, path_of
from neurigraph_pipelines.faces.mcp.tools.answer import Result
from neurigraph_pipelines.faces.mcp.tools.tool import Arguments, Tool
from neurigraph_pipelines.graph import navigation
from neurigraph_pipelines.model.errors import ForbiddenError, NotFoundError

_ROLES = {
    "user": "the owner of this memory: all of it",
    "bound": "the owner of this memory within some spaces: nothing else exists",
    "persona": "a persona: its own node, what lies below it, and what it was granted",
    "member": "a member of an organization: what is shared, and what you wrote",
    "third_party": "a reader: the nodes that were granted, and nothing else",
}


class NoArguments(Arguments):
    """No arguments."""


class Identity(Result):
    """Who calls, and what the caller may do."""

    role: str
    subject_id: str
    user_id: str
    key_id: str | None
    may_write: bool
    may_forget: bool
    top_node_id: str | None
    top_node_path: str | None
    nodes: int
    records: int
    version: str

    def lines(self) -> Iterator[str]:
        """Yield the caller, and the caller's rights."""
        yield f"You act as {_ROLES.get(self.role, inline(self.role))}."
        yield f"role {self.role}, subject_id {inline(self.subject_id)}, user_id {self.user_id}, key_id {self.key_id}"
        if self.top_node_id is not None:
            yield f"You see {self.nodes} nodes with {self.records} records, from {path_of(self.top_node_path)} down."
        else:
            yield "You see nothing yet."
        yield f"You may {'write' if self.may_write else 'only read'}" + (" and forget." if self.may_forget else ".")


def who_am_i(call: AgentCall, _: NoArguments) -> Identity:
    """Return the rights that the caller's claims give."""
    claims, database = call.claims, call.installation.database
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
        user_id=str(claims.user_id),
        key_id=None if claims.key_id is None else str(claims.key_id),
        may_write=may_write,
        may_forget=claims.role == "user",
        top_node_id=None if top_id is None else str(top_id),
        top_node_path=top_path,
        nodes=nodes,
        records=records,
        version=neurigraph_pipelines.__version__,
    )


WHO_AM_I = Tool(
    "who_am_i",
    "Say for whom you act, what you see and what you may change.",
    NoArguments,
    Identity,
    who_am_i,
)
