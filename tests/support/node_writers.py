"""Open transactions that write to the tables of a node and to its search segments."""

from __future__ import annotations

from contextlib import ExitStack, nullcontext
from uuid import UUID

import psycopg
from psycopg import sql
from psycopg.rows import dict_row

from neurigraph_pipelines.graph.history import authored
from neurigraph_pipelines.model import Role, Voice
from neurigraph_pipelines.text.search_segments import SearchSegment, Spoken, Words
from neurigraph_pipelines.wiring.installation import Installation

WORDS = ("rope", "long", "boat", "cello", "sing", "oil", "renam", "new", "kite")
FIRST_VECTORS = "encode(substr(vectors, 1, octet_length(vectors) / passages), 'hex')"
STATEMENTS = (
    "UPDATE {s}.metadata_records SET title = 'renamed ' || %(word)s WHERE record_id = %(record)s",
    f"UPDATE neurigraph.segments SET vectors = decode(repeat({FIRST_VECTORS}, passages), 'hex') "
    "WHERE record_id = %(record)s",
    "UPDATE neurigraph.segments SET content = %(content)s, passages = %(passages)s, words = %(words)s, "
    f"vectors = decode(repeat({FIRST_VECTORS}, %(passages)s), 'hex') WHERE record_id = %(record)s",
    "UPDATE neurigraph.segments SET vectors = NULL, model = NULL WHERE record_id = %(record)s",
    "DELETE FROM {s}.file_manifest WHERE record_id = %(record)s",
    "DELETE FROM {s}.metadata_records WHERE record_id = %(record)s",
)


def said_instead(number: int) -> SearchSegment:
    """Return a segment of one to three passages."""
    return SearchSegment.of(
        [
            Spoken(
                *(seq, seq, "Ana", f"part {seq}", f"n{number}", Role.USER, Voice.OWNER),
                *(Words(["new", WORDS[number % WORDS.index("new")]], [1, 11], 12), number, 12.0),
            )
            for seq in range(1, 2 + number % 3)
        ]
    )


class Writer:
    """An open transaction. It waits for nobody: what another has locked it leaves alone."""

    def __init__(self, here: Installation, open_: ExitStack) -> None:
        self._connection = open_.enter_context(psycopg.connect(here.administrator_url, row_factory=dict_row))
        self._connection.execute("SET ROLE neurigraph_owner")
        self._connection.execute("SET lock_timeout = '20ms'")
        self._connection.execute("SET neurigraph.erasing = 'on'")
        self.end("commit")

    def end(self, how: str) -> None:
        """End it, and begin another that has its number from the start, as one that wrote elsewhere before."""
        self._connection.commit() if how == "commit" else self._connection.rollback()
        authored(self._connection, "tests")
        self._connection.execute("SELECT pg_current_xact_id()")

    def write(self, how: str, statement: str, schema: str, record: UUID, number: int) -> None:
        query = sql.SQL(statement).format(s=sql.Identifier(schema))
        segment = said_instead(number)
        parameters = {
            "record": record,
            "word": WORDS[number % len(WORDS)],
            "content": segment.content,
            "passages": len(segment.rows),
            "words": len(segment.keys),
        }
        try:
            with self._connection.transaction(force_rollback=how == "undone") if how != "plain" else nullcontext():
                self._connection.execute(query, parameters)
        except psycopg.errors.LockNotAvailable:
            if how == "plain":
                self.end("rollback")
