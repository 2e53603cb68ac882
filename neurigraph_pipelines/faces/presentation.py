"""What callers see of domain objects: one set of field names for the HTTP API, the command line and MCP.

An object's own attributes carry no prefix (a file has ``name`` and ``state``). A reference to another object carries
that object's name (a record has ``node_path`` and ``file_state``). Times end in ``_at``. ``retrieval.query.hits``
does the same for search results. Names of columns stay inside the database.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any
from uuid import UUID

from neurigraph_pipelines.model import KEYWORD_COLUMNS
from neurigraph_pipelines.model.sources import details_view

if TYPE_CHECKING:
    from neurigraph_pipelines.graph.history import Delta
    from neurigraph_pipelines.views.graph import Edge

_RECORD = {
    **{column: name for name, column in KEYWORD_COLUMNS.items()},
    "compression_state": "file_state",
    "w": "changed_at",
}
_DELTA = {"w": "changed_at"}


def when_held(valid: str) -> str:
    """Return in words when a relation holds, as a Postgres multirange has it; nothing if it always does."""
    return {"{(,)}": "", "{}": ", denied"}.get(valid, f", holds {valid}")


def edge_in_words(edge: Edge) -> str:
    """Return an edge of a shell as one line."""
    arrow = "→" if edge.direction == "out" else "←"
    return f"{edge.relation} {arrow} {edge.node_name}{when_held(edge.valid)}"


def record(found: Mapping[str, Any]) -> dict[str, Any]:
    """Return a record, one of its earlier versions, or some of its fields."""
    shown = _renamed(found, _RECORD)
    return {**shown, "source": details_view(shown["source_kind"], shown["source"])} if "source" in shown else shown


def _with_source(found: Mapping[str, Any]) -> dict[str, Any]:
    kind, _, source_id = found["source"].partition(":")
    shown = {name: value for name, value in found.items() if name != "source"}
    return {**shown, "source_kind": kind, "source_id": UUID(source_id)}


def delta(change: Delta) -> dict[str, Any]:
    """Return one change of a record, with the changed fields under the names that the record shows."""
    return {**_renamed(asdict(change), _DELTA), "before": record(change.before), "after": record(change.after)}


def difference(record_id: UUID, changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a record that differ between two moments."""
    return {"record_id": record_id, "changes": record(changes)}


def _renamed(found: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    return {names.get(name, name): value for name, value in found.items()}
