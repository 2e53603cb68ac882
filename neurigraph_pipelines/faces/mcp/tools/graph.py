"""``browse_graph`` and ``memory_history``: the places of memories, and the versions of one memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Annotated, Any, TypeVar

from pydantic import Field

from neurigraph_pipelines.faces.mcp.budget import DEFAULT_TOKENS, Budget
from neurigraph_pipelines.faces.mcp.calls import AgentCall
from neurigraph_pipelines.faces.mcp.framing import described, inline, kept_until, listed, path_of
from neurigraph_pipelines.faces.mcp.graph_app import VIEW
from neurigraph_pipelines.faces.mcp.tools.answer import Only, Result, Shown, as_json, fitting, plain, shown
from neurigraph_pipelines.faces.mcp.tools.tool import Arguments, MaxTokens, Tool, takes
from neurigraph_pipelines.faces.operations import memories, nodes
from neurigraph_pipelines.faces.operations.accounts import get_identity
from neurigraph_pipelines.model import KEYWORD_COLUMNS
from neurigraph_pipelines.model.errors import NotFoundError
from neurigraph_pipelines.text.hygiene import utc
from neurigraph_pipelines.views.base import View
from neurigraph_pipelines.views.graph import Child, Edge, Shell
from neurigraph_pipelines.views.memories import Delta, Memory
from neurigraph_pipelines.views.records import ListedRecord

MAX_PAGE = 100

_BEGINNING, _FEW = 200, 3  # of a change that does not fit
_BELOW = ("node_id", "name", "node_type", "kind", "state", "record_count")
_EDGE = ("relation", "direction", "node_id", "node_name", "strength", "valid")
_RECORD = ("record_id", "title", "summary", "occurred_at", "expires_at", "file_id")
_VERSION = (
    "title", "summary", "entities", "topics", "dates", "relationships", "occurred_at", "changed_at", "node_id",
    "node_path", "file_id", "superseded_by", "source_kind", "source_id", "source", "received_through", "received_at",
)  # fmt: skip
_DELTA = ("delta_id", "operation", "changed_at", "authored_by", "before", "after", "notes")
_View = TypeVar("_View", bound=View)


@takes(memories.list_records, node_id=("node", ""), limit="", cursor="")
class BrowseArguments(Arguments):
    """Arguments of ``browse_graph``."""

    node: str = Field(default="", max_length=2_000, description="Path such as Family/Dave, or id; default: the top.")
    limit: int = Field(default=10, ge=0, le=MAX_PAGE, description="Records to list.")
    max_tokens: MaxTokens = DEFAULT_TOKENS


class NodeWithContent(Shown[Shell]):
    """A node with its children, edges and records."""

    SHOWS = ("node_id", "name", "path", "kind", "summary", "record_count")
    UNLISTED = ("node_type", "state", "depth", "parent_node_id")

    children: list[Annotated[Child, Only(*_BELOW)]]
    edges: list[Annotated[Edge, Only(*_EDGE)]]
    records: list[Annotated[ListedRecord, Only(*_RECORD)]]
    next_cursor: str | None = None
    notes: list[str] = Field(default_factory=list)

    def lines(self) -> Iterator[str]:
        """Yield the node, the nodes below and beside it, and its records."""
        node = self.view
        yield f"node {path_of(node.path)}: node_id {node.node_id}, {node.kind}, {node.record_count} records"
        yield from described(None, node.summary)
        if self.children:
            yield "Below it:"
        for child in self.children:
            yield f"  {inline(child.name)}: node_id {child.node_id}, {child.kind}, {child.record_count} records"
        if self.edges:
            yield "Beside it:"
        for edge in self.edges:
            to = f"{edge.arrow} {inline(edge.node_name)}: node_id {edge.node_id}{edge.held}"
            yield f"  {inline(edge.relation)} {to}"
        if self.records:
            yield "Its records, newest first:"
        for record in self.records:
            yield f"record_id {record.record_id}, {record.occurred_at.isoformat()}"
            yield from kept_until(record.expires_at)
            yield from described(record.title, record.summary)
        yield from self.notes
        if self.next_cursor is not None:
            yield f"There are more records: call again with cursor={self.next_cursor}."


def browse_graph(call: AgentCall, given: BrowseArguments) -> NodeWithContent:
    """Show one node: as much of it as fits, its records last."""
    place = {"node_id": given.node or call.do(get_identity, {}).top_node_id}
    if place["node_id"] is None:
        raise NotFoundError
    node = call.do(nodes.shell, place)
    budget, notes = call.budget(given.max_tokens), list[str]()
    node = node.model_copy(update={"summary": budget.cut(plain(node.summary or ""))})
    budget.fits(as_json(shown(node, ("node_id", "path", "kind", "parent_node_id"))))
    children = _fitting(node.children, _BELOW, "nodes below it", budget, notes)
    edges = _fitting(node.edges, _EDGE, "edges", budget, notes)

    def shortened(record: ListedRecord) -> ListedRecord:
        return record.model_copy(update={"summary": f"{budget.cut(record.summary)}…"})

    # Without records there is no next page.
    of_node = place | {"below": False, "order": "occurred_at", "limit": max(given.limit, 1)}
    fit = fitting(budget, _RECORD, shortened)
    wanted = given.of(memories.list_records) | of_node
    page = call.do(memories.list_records, wanted, lambda records: fit(records[: given.limit]))
    return NodeWithContent(
        view=node, children=children, edges=edges, records=page.records, next_cursor=page.next_cursor, notes=notes
    )


def _fitting(items: list[_View], names: tuple[str, ...], what: str, budget: Budget, notes: list[str]) -> list[_View]:
    """Return the first items that fit, and note how many do not."""
    beginning: Callable[[list[_View]], list[_View]] = fitting(budget, names)
    fit = beginning(items)
    if len(fit) < len(items):
        notes.append(f"{len(items) - len(fit)} {what} are left out: call again with a larger max_tokens.")
    return fit


@takes(memories.memory, record_id="", at="")
@takes(memories.deltas, record_id="", limit="", cursor="")
class HistoryArguments(Arguments):
    """Arguments of ``memory_history``."""

    at: datetime | None = Field(default=None, description="Instead: the memory as it was then.")
    limit: int = Field(default=10, ge=1, le=MAX_PAGE)
    max_tokens: MaxTokens = DEFAULT_TOKENS


class MemoryHistory(Result):
    """The changes of a memory, or one version of it."""

    record_id: str
    version: Annotated[Memory, Only(*_VERSION)] | None = None
    deltas: list[Annotated[Delta, Only(*_DELTA)]] = Field(default_factory=list)
    next_cursor: str | None = None

    def lines(self) -> Iterator[str]:
        """Yield the changes, newest first, or the version."""
        if self.version is not None:
            found, since = self.version, self.version.changed_at
            yield f"record_id {self.record_id} as it was, in {path_of(found.node_path)}"
            yield f"last changed {since and since.isoformat()}; replaced by: {found.superseded_by}"
            yield from described(found.title, found.summary)
            for name in KEYWORD_COLUMNS:
                if words := getattr(found, name):
                    yield f"{name}: {listed(words)}"
        for delta in self.deltas:
            yield f"{delta.changed_at.isoformat()}: {delta.operation} by {inline(delta.authored_by)}"
            for name, value in delta.after.items():
                before = delta.before.get(name)
                yield (
                    f"  {name}: {_worded(before)} → {_worded(value)}"
                    if before is not None
                    else (f"  {name}: {_worded(value)}")
                )
        if self.next_cursor is not None:
            yield f"There are more changes: call again with cursor={self.next_cursor}, or with a larger max_tokens."


def _worded(value: Any) -> str:
    return (
        inline(value) if isinstance(value, str) else listed(map(str, value)) if isinstance(value, list) else str(value)
    )


def _beginning(value: Any) -> Any:
    """Return the beginning of a long text or a list, and any other value whole."""
    if isinstance(value, str) and len(value) > _BEGINNING:
        return f"{value[:_BEGINNING]}…"
    return value[:_FEW] if isinstance(value, list) else value


def _shortened(delta: Delta) -> Delta:
    """Return a change with the beginnings of its values."""
    cut = {
        side: {name: _beginning(value) for name, value in getattr(delta, side).items()} for side in ("before", "after")
    }
    return delta.model_copy(update=cut)


def memory_history(call: AgentCall, given: HistoryArguments) -> MemoryHistory:
    """Return the changes that fit, newest first, or one version."""
    budget = call.budget(given.max_tokens)
    if given.at is not None:
        version = call.do(memories.memory, given.of(memories.memory) | {"at": utc(given.at)})
        version = version.model_copy(update={"summary": budget.cut(plain(version.summary))})
        return MemoryHistory(record_id=str(version.record_id), version=version)
    record_id = call.id_of("record", given.of(memories.deltas)["record_id"])
    asked = given.of(memories.deltas) | {"record_id": record_id}
    page = call.do(memories.deltas, asked, fitting(budget, _DELTA, _shortened))
    return MemoryHistory(record_id=str(record_id), deltas=page.deltas, next_cursor=page.next_cursor)


BROWSE_GRAPH = Tool(
    "browse_graph",
    "Show a node of the tree: its summary, the nodes below and beside it, its newest records.",
    BrowseArguments,
    NodeWithContent,
    browse_graph,
    view=VIEW.uri,
)
MEMORY_HISTORY = Tool(
    "memory_history",
    "Show who changed a memory, when and how; or the memory as it was at a moment.",
    HistoryArguments,
    MemoryHistory,
    memory_history,
)
