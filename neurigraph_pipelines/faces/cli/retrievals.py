"""Commands about the log of retrievals: ``access retrieval list`` and ``access canary``."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from neurigraph_pipelines.access.short_ids import id_of
from neurigraph_pipelines.faces.cli import layouts, output
from neurigraph_pipelines.faces.cli.session import UserSlug, argument, claims_of, moment, opened, option
from neurigraph_pipelines.ingestion import canaries
from neurigraph_pipelines.ingestion.canaries import PlantedCanary
from neurigraph_pipelines.retrieval import log

commands = typer.Typer()
canary = typer.Typer()

_WHO = {
    "user": "the owner",
    "bound": "the owner within spaces",
    "persona": "the persona",
    "third_party": "the third party",
    "member": "the member",
}


@commands.command("list")
def list_retrievals(
    user: UserSlug,
    record: Annotated[
        str | None, option("Only retrievals that returned this memory.", "--record", metavar="RECORD_ID")
    ] = None,
    since: Annotated[str | None, option("Only at this time or later.", metavar="TIME")] = None,
    limit: Annotated[int, typer.Option(min=1, max=1_000, help="Maximum number of entries, newest first.")] = 50,
) -> None:
    """List who retrieved which memories when, newest first.

    Nothing is logged unless NEURIGRAPH_RETRIEVAL_LOG_DAYS is set.
    """
    from_time = moment("--since", since)
    with opened() as installation:
        claims = claims_of(installation, user)
        record_id = None if record is None else id_of(installation.database, claims, "record", argument(record))
        found = log.list_retrievals(installation.database, claims, record_id=record_id, since=from_time, limit=limit)
        is_on = installation.settings.retrieval.retrieval_log_days > 0
    if not is_on:
        output.note("The log of retrievals is off: set NEURIGRAPH_RETRIEVAL_LOG_DAYS.")

    output.result(
        {"retrievals": [asdict(one) for one in found]},
        lambda: layouts.page(
            [
                {
                    "asked at": f"{one.asked_at:%Y-%m-%d %H:%M:%S}",
                    "operation": one.operation,
                    "by": f"{_WHO[one.role]} {one.subject_id}",
                    "memories": str(len(one.record_ids)),
                    "question": one.question or "",
                }
                for one in found
            ],
            None,
        ),
    )


@canary.command("add")
def plant_canary(
    user: UserSlug,
    text: Annotated[str | None, option("The text of the memory. Default: made-up recovery words.")] = None,
) -> None:
    """Plant a memory that nobody should ever retrieve. The first retrieval is logged as an error and fails a check.

    A search returns its best memories even if they are bad, so in a graph of a few memories honest questions find it.
    """
    with opened() as installation:
        claims = claims_of(installation, user)
        planted = canaries.plant(installation.acting_for(claims), argument(text) if text is not None else None)

    output.said(asdict(planted), f"Planted {planted.source_id}. It is watched from when it is stored.")


@canary.command("list")
def list_canaries(user: UserSlug) -> None:
    """List the canaries of a user, and who retrieved them first."""
    with opened() as installation:
        found = canaries.list_canaries(installation.database, claims_of(installation, user))

    output.result(
        {"canaries": [asdict(one) for one in found]}, lambda: layouts.page([_row(one) for one in found], None)
    )


def _row(canary: PlantedCanary) -> dict[str, object]:
    retrieved = "no"
    if canary.retrieved_at is not None and canary.role is not None:
        retrieved = f"{canary.retrieved_at:%Y-%m-%d %H:%M:%S} by {_WHO[canary.role]} {canary.subject_id}"
    return {
        "source": str(canary.source_id),
        "planted at": f"{canary.planted_at:%Y-%m-%d %H:%M}",
        "stored": "yes" if canary.record_ids else "not yet",
        "retrieved": retrieved,
    }
