"""Rows of exports of version 1, as they are now. ``former_passages`` reads what came before segments."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from neurigraph_pipelines.exchange.portability.identifiers import row_of
from neurigraph_pipelines.exchange.portability.stream import rows_name
from neurigraph_pipelines.text.statement_key import statement_key


def _record_index(row: dict[str, Any]) -> None:
    row["source_kind"], _, row["source_id"] = str(row.pop("source", "")).partition(":")


def _facts(row: dict[str, Any]) -> None:
    row["statement_key"] = statement_key(str(row.get("statement", "")))


def _forgotten_facts(row: dict[str, Any]) -> None:
    # The text is gone, so the key is one of no statement.
    row["statement_key"] = int.from_bytes(str(row.pop("digest", "")).encode()[:7], "big")


_CHANGES: dict[str, Callable[[dict[str, Any]], None]] = {
    rows_name("record_index"): _record_index,
    rows_name("facts"): _facts,
    rows_name("forgotten_facts"): _forgotten_facts,
}


def line_now(version: int, part: str, line: str) -> str:
    """Return a line of a part of an export of some version as the tables have it now.

    Raises:
        InvalidInputError: The line is not a JSON object.
    """
    if version > 1 or part not in _CHANGES:
        return line
    row = row_of(line)
    _CHANGES[part](row)
    return json.dumps(row)
