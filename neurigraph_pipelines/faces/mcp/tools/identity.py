"""``who_am_i``: the user for whom an agent acts, and its rights."""

from __future__ import annotations

from collections.abc import Iterator

from neurigraph_pipelines.faces.mcp.framing import inline, path_of
from neurigraph_pipelines.faces.mcp.tools.answer import Shown
from neurigraph_pipelines.faces.mcp.tools.tool import Arguments, Tool, does, takes
from neurigraph_pipelines.faces.operations.accounts import get_identity
from neurigraph_pipelines.views import access as views

_ROLES = {
    "user": "the owner of this memory: all of it",
    "bound": "the owner of this memory within some spaces: nothing else exists",
    "persona": "a persona: its own node, what lies below it, and what it was granted",
    "member": "a member of an organization: what is shared, and what you wrote",
    "third_party": "a reader: the nodes that were granted, and nothing else",
}


class Identity(Shown[views.Identity]):
    """The caller, and the caller's rights."""

    SHOWS = tuple(views.Identity.model_fields)

    def lines(self) -> Iterator[str]:
        """Yield the caller, and the caller's rights."""
        me = self.view
        yield f"You act as {_ROLES.get(me.role, inline(me.role))}."
        yield f"role {me.role}, subject_id {inline(me.subject_id)}, user_id {me.user_id}, key_id {me.key_id}"
        if me.top_node_id is not None:
            seen = f"{me.node_count} nodes with {me.record_count} records"
            yield f"You see {seen}, from {path_of(me.top_node_path)} down."
        else:
            yield "You see nothing yet."
        yield f"You may {'write' if me.may_write else 'only read'}" + (" and forget." if me.may_forget else ".")


WHO_AM_I = Tool(
    "who_am_i",
    "Say for whom you act, what you see and what you may change.",
    takes(get_identity)(Arguments),
    Identity,
    does(get_identity, Identity),
)
