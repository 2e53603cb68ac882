"""A graph that grows: import conversations, store them, read the outline and the records."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from neurigraph_pipelines.database.paging import MAX_PAGE
from neurigraph_pipelines.graph import navigation
from neurigraph_pipelines.graph.record_lists import RecordFilter, list_records
from neurigraph_pipelines.inbox.importing import import_file
from neurigraph_pipelines.ingestion import batch
from neurigraph_pipelines.ingestion.records import BatchResult
from neurigraph_pipelines.model import Claims, Outline
from neurigraph_pipelines.model.context import Context
from neurigraph_pipelines.wiring.installation import Installation

START = datetime(2025, 3, 3, 9, tzinfo=UTC)
Turns = Sequence[tuple[str, str]]


def tell(installation: Installation, claims: Claims, folder: Path, talks: dict[str, Turns], day: int = 0) -> None:
    """Import conversations that have ended, a day apart."""
    lines = []
    for number, (name, turns) in enumerate(talks.items(), start=day):
        at = START + timedelta(days=number)
        messages = [
            {
                "role": who,
                "content": text,
                "external_id": f"{name}-{i}",
                "occurred_at": (at + timedelta(minutes=i)).isoformat(),
            }
            for i, (who, text) in enumerate(turns)
        ]
        times = {"started_at": at.isoformat(), "ended_at": (at + timedelta(hours=1)).isoformat()}
        lines.append(json.dumps({"external_id": name, "messages": messages, **times}))
    path = folder / "talks.jsonl"
    path.write_text("\n".join(lines), encoding="utf-8")
    report = import_file(installation.acting_for(claims), path, "jsonl")
    assert not report.rejected


def store(installation: Installation, context: Context | None = None) -> list[BatchResult]:
    results = list(batch.run_due(context or installation.context, "test"))
    assert not [returned for result in results for returned in result.returned]
    return results


def outline_of(installation: Installation, claims: Claims) -> Outline:
    with installation.database.pipeline() as tx:
        return navigation.outline(tx, claims.user_id, installation.embedder.model)


def records(installation: Installation, claims: Claims, **wanted: Any) -> list[dict[str, Any]]:
    """The records that a caller sees, with their nodes, in order of message; at most 200."""
    asked = installation.listing(claims, MAX_PAGE, None)
    found = list_records(asked, RecordFilter(order="occurred_at", **wanted)).items
    return [{**dict(record), "path": record.node_path} for record in reversed(found)]
