"""New ids for staged rows of a stream whose ids another user of this database has, and new keys for their objects.

A restore keeps the ids of a stream where they are free. Keys of objects are always new: they follow from the importing
user, the node, the record and this attempt, never from the export.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from uuid import UUID, uuid4

from psycopg import sql
from psycopg.rows import DictRow

from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.exchange.portability.tables import Table
from neurigraph_pipelines.lifecycle.object_keys import original_id, staging_key
from neurigraph_pipelines.model.errors import InvalidInputError
from neurigraph_pipelines.model.ports import Transaction
from neurigraph_pipelines.text.json_fields import Json, JsonObject

_QUERIES = statements("portability")
_USERS = "users"
_ID = re.compile(r"(?:[a-z_]+:)?([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})")
# Texts and JSON that hold ids. All others are remembered content, in which no id is ours to change.
_TEXTS_WITH_IDS = {
    *("subject_id", "delta_payload", "edges", "before"),
    *("authored_by", "archived_by", "observed_by", "registered_by", "ended_by", "verdict_by"),
    *("undone_by", "confirmed_by"),
}
_ID_TYPES = {"uuid", "uuid[]"}


@dataclass(slots=True)
class Identifiers:
    """The ids that change in a restore, and the keys of staged uploads.

    Attributes:
        changed: New ids by the ids in the export.
        staged: Keys in the export by the new keys of staged uploads.
    """

    changed: dict[str, str] = field(default_factory=dict)
    staged: dict[str, str] = field(default_factory=dict)

    def inverse(self) -> dict[str, str]:
        """Return the ids in the export by the new ids."""
        return {new: old for old, new in self.changed.items()}

    def replace_foreign(self, tx: Transaction, table: Table, part: str) -> None:
        """Give new ids to those rows of a table whose primary key is a row here already.

        The user of the stream is not in this database, so such a row belongs to another user.
        """
        (column,) = table.key
        taken = _QUERIES["taken_ids"].format(table=table.identifier, key=sql.Identifier(column))
        for row in tx.execute(taken, {"key": column, "part": part}):
            self.changed[str(row["id"])] = str(uuid4())

    def replace_originals(self, tx: Transaction) -> None:
        """Give the original of an upload the id that follows from its record, by which audits find its object."""
        for row in tx.execute(_QUERIES["originals"]):
            record_id, file_id = id_of(row, "record_id"), id_of(row, "file_id")
            derived = str(original_id(UUID(self.changed.get(str(record_id), str(record_id)))))
            if derived != self.changed.get(str(file_id), str(file_id)):
                self.changed[str(file_id)] = derived

    def rewrite(self, tx: Transaction, table: Table, part: str) -> None:
        """Change the ids in the staged rows of a part."""
        uploads = table.name == "uploads"
        if not (self.changed or uploads):
            return
        after = 0
        while rows := tx.execute(_QUERIES["some_lines"], {"part": part, "after": after}).fetchall():
            after = rows[-1]["number"]
            lines = [self._line(table, row["line"], self._staged_upload if uploads else dict) for row in rows]
            values = {"part": part, "numbers": [row["number"] for row in rows], "lines": lines}
            tx.execute(_QUERIES["change_lines"], values)

    def _line(self, table: Table, line: str, change: Callable[[JsonObject], JsonObject]) -> str:
        row = change(row_of(line))
        for column, kind in zip(table.columns, table.types, strict=True):
            if column in row and (kind in _ID_TYPES or column in _TEXTS_WITH_IDS):
                row[column] = _replaced(row[column], self.changed)
        return json.dumps(row)

    def _staged_upload(self, row: JsonObject) -> JsonObject:
        if row.get("staging_key") is not None:
            key = staging_key(datetime.now(UTC), uuid4())
            self.staged[key] = str(row["staging_key"])
            row["staging_key"] = key
        return row


def row_of(line: str) -> JsonObject:
    """Return the row in a line.

    Raises:
        InvalidInputError: The line is not a JSON object.
    """
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise InvalidInputError("a line of the export is not JSON: export it again") from error
    if not isinstance(row, dict):
        raise InvalidInputError("a line of the export is not a JSON object: export it again")
    return row


def id_of(row: DictRow, column: str) -> UUID:
    """Return the id in a column.

    Raises:
        InvalidInputError: It is not one.
    """
    try:
        return UUID(row[column])
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InvalidInputError(f"the export has a row whose {column} is not an id: export it again") from error


def tables_with_ids(tables: Iterable[Table]) -> Iterator[Table]:
    """Yield the tables whose rows have an id of their own: a primary key of one UUID."""
    for table in tables:
        if table.name != _USERS and len(table.key) == 1 and table.types[table.columns.index(table.key[0])] == "uuid":
            yield table


def _replaced(value: Json, changed: Mapping[str, str]) -> Json:
    """Return a value with its ids replaced. It is not deeper than ``json.loads`` accepts."""
    if isinstance(value, str):
        match = _ID.fullmatch(value.lower()) if len(value) < 100 else None
        if match is None or match[1] not in changed:
            return value
        return value[: match.start(1)] + changed[match[1]]
    if isinstance(value, list):
        return [_replaced(item, changed) for item in value]
    if isinstance(value, dict):
        return {name: _replaced(item, changed) for name, item in value.items()}
    return value
