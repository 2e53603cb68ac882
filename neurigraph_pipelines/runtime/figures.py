"""Figures of the installation as a data frame: stored memories and failures, by day (UTC), user or node."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import Literal
from uuid import UUID

import pandas
from psycopg import sql
from psycopg.rows import DictRow

from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.lifecycle.storage_report import Node, nodes_with_files, of_existing
from neurigraph_pipelines.model.errors import ConfigurationError
from neurigraph_pipelines.model.ports import Database, Transaction

Grain = Literal["day", "node", "user"]

_QUERIES = statements("reports")
_COUNTS = ["memories", "segments", "tokens", "facts", "failures"]
_OF_NO_NODE = ["segments", "tokens", "failures"]


def figures(
    database: Database, by: Grain, since: date | None = None, until: date | None = None, user_id: UUID | None = None
) -> pandas.DataFrame:
    """Count memories, segments and their tokens, facts, failures and stored bytes.

    Args:
        database: Read as the pipeline.
        by: The index of the frame: days, slugs of users or paths of nodes. Those without figures are
            left out.
        since: The first day (UTC).
        until: The last day.
        user_id: Only of this user.
    """
    grouping = f"by_{by}"
    period = {"since": since, "until": until, "user_id": user_id}
    with database.pipeline() as tx:
        counts = tx.execute(_QUERIES["counts"].format(grouping=sql.Identifier(grouping)), period).fetchall()
    nodes = nodes_with_files(database, user_id)

    def stored_bytes(tx: Transaction, some: Sequence[Node]) -> list[DictRow]:
        arms = [
            _QUERIES["stored_bytes_arm"].format(
                node_id=sql.Literal(str(n.node_id)), user_slug=sql.Literal(n.slug), schema=sql.Identifier(n.schema_name)
            )
            for n in some
        ]
        return tx.execute(sql.SQL(" UNION ALL ").join(arms), period).fetchall()

    sizes = pandas.DataFrame(of_existing(database, nodes, stored_bytes), columns=[grouping, "stored_bytes"])
    frame = pandas.DataFrame(counts, columns=[grouping, *_COUNTS]).set_index(grouping)
    frame = frame.join(sizes.groupby(grouping).sum(), how="outer").fillna(0).astype("int64")
    if by == "node":
        paths = {n.node_id: n.path for n in nodes}
        frame = frame[frame.index.isin(paths)].rename(index=paths).drop(columns=_OF_NO_NODE)
    return frame.rename_axis(by).sort_index()


def as_markdown(frame: pandas.DataFrame) -> str:
    """Return a frame as a table in Markdown."""
    text: str = frame.rename(index=lambda name: str(name).replace("|", "\\|")).to_markdown(intfmt=",")
    return text


def write_parquet(frame: pandas.DataFrame, path: Path) -> None:
    """Write a frame to a file, with its index as the first column.

    Raises:
        ConfigurationError: pyarrow is not installed.
    """
    try:
        frame.reset_index().to_parquet(path)
    except ImportError as error:
        raise ConfigurationError("Parquet needs pyarrow: install it by `pip install 'neurigraph[parquet]'`") from error
