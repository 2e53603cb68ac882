"""A stored record, functions to change and read it, and a clock that jumps."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import psycopg
from psycopg import sql

from neurigraph_pipelines.access.guards import FREE, Guard, Unchanged
from neurigraph_pipelines.graph.history import history, record_at
from neurigraph_pipelines.ingestion.revision import Revision, revise, supersede
from neurigraph_pipelines.model import Claims
from neurigraph_pipelines.model.ports import Embedder
from neurigraph_pipelines.views.memories import Delta
from neurigraph_pipelines.wiring.installation import Installation
from tests.support.memories import node_rows, rows

MICROSECOND = timedelta(microseconds=1)


class Memory:
    """One stored record of a user."""

    def __init__(self, here: Installation, embedder: Embedder, claims: Claims, record_id: UUID) -> None:
        self.here, self.embedder, self.claims, self.record_id = here, embedder, claims, record_id

    def at(self, moment: datetime | None = None) -> dict[str, Any]:
        return record_at(self.here.database, self.claims, self.record_id, moment).model_dump(mode="json")

    @property
    def deltas(self) -> list[Delta]:
        """Return the deltas, newest first."""
        return history(self.here.database, self.claims, self.record_id, limit=10_000)

    @property
    def operations(self) -> list[str]:
        return [delta.operation for delta in self.deltas]

    def revise(self, revision: Revision, expected_delta: UUID | None = None) -> Delta:
        """Revise the record; return the newest delta."""
        revise(
            self.here.acting_for(self.claims).using(embedder=self.embedder),
            self.record_id,
            revision,
            self._guard(expected_delta),
        )
        return self.deltas[0]

    def supersede(self, by: UUID | None, expected_delta: UUID | None = None) -> Delta:
        supersede(self.here.database, self.claims, self.record_id, by, self._guard(expected_delta))
        return self.deltas[0]

    def _guard(self, expected_delta: UUID | None) -> Guard:
        return FREE if expected_delta is None else Unchanged("record", self.record_id, [expected_delta.hex])

    def row(self) -> dict[str, Any]:
        """Return the stored row, read without the code under test."""
        return {**node_rows(self.here, self.place["schema_name"], _ROW, self.record_id)[0], **self.place}

    @property
    def place(self) -> dict[str, Any]:
        (place,) = rows(self.here, _PLACE, self.record_id)
        return place

    def clock_jumps(self, by: timedelta) -> None:
        """Shift all past moments, as if the server's clock had jumped ahead or been set back since."""
        past = sql.SQL(
            """UPDATE neurigraph.delta_log SET w_coordinate = w_coordinate - %(by)s WHERE record_id = %(id)s;
            UPDATE neurigraph.record_index SET created_at = created_at - %(by)s WHERE record_id = %(id)s;
            UPDATE {schema}.metadata_records SET created_at = created_at - %(by)s WHERE record_id = %(id)s"""
        ).format(schema=sql.Identifier(self.place["schema_name"]))
        with psycopg.connect(self.here.administrator_url, cursor_factory=psycopg.ClientCursor) as connection:
            connection.execute("SET session_replication_role = replica")  # append-only is what triggers see to
            connection.execute(past, {"by": by, "id": self.record_id})


_PLACE = """SELECT i.node_id, g.schema_name FROM neurigraph.record_index AS i
JOIN neurigraph.graph_index AS g USING (node_id) WHERE i.record_id = %s"""
_ROW = """SELECT title, summary, kw_entities, kw_topics, kw_dates, kw_relationships, embedding_model, superseded_by,
superseded, embedding, embedding_pending, tsv FROM {schema}.metadata_records WHERE record_id = %s"""


Remember = Callable[[str], Memory]
"""Stores a text as a memory."""
