"""Rows of exports of earlier versions, as they are now. ``former_passages`` reads passages from before segments."""

from __future__ import annotations

import json
from collections.abc import Callable

from neurigraph_pipelines.exchange.portability.identifiers import row_of
from neurigraph_pipelines.exchange.portability.stream import rows_name
from neurigraph_pipelines.text.statement_key import statement_key
from neurigraph_pipelines.views.scalars import WireObject


def _record_index(row: WireObject) -> None:
    row["source_kind"], _, row["source_id"] = str(row.pop("source", "")).partition(":")


def _facts(row: WireObject) -> None:
    row["statement_key"] = statement_key(str(row.get("statement", "")))


def _forgotten_facts(row: WireObject) -> None:
    # The text is gone, so the key is one of no statement.
    row["statement_key"] = int.from_bytes(str(row.pop("digest", "")).encode()[:7], "big")


def _signing_keys(row: WireObject) -> None:
    kind, _, name = str(row.pop("holder", "")).partition(":")
    row["persona_id"] = name if kind == "persona" else None
    row["peer_name"] = name if kind == "peer" else None


_CHANGES: dict[str, tuple[int, Callable[[WireObject], None]]] = {
    rows_name("record_index"): (1, _record_index),
    rows_name("facts"): (1, _facts),
    rows_name("forgotten_facts"): (1, _forgotten_facts),
    rows_name("signing_keys"): (4, _signing_keys),
}
"""The changes of rows, each with the last version of the stream that needs it."""


def line_now(version: int, part: str, line: str) -> str:
    """Return a line of a part of an export of some version as the tables have it now.

    Raises:
        InvalidInputError: The line is not a JSON object.
    """
    last, change = _CHANGES.get(part, (0, None))
    if change is None or version > last:
        return line
    row = row_of(line)
    change(row)
    return json.dumps(row)
