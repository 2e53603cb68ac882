"""Tells callers who hand something in how far storing lags behind, and refuses more if the settings say so."""

from __future__ import annotations

from fastapi import Depends, Request, Response
from starlette.concurrency import run_in_threadpool

from neurigraph_pipelines.faces.api.authentication import Writer
from neurigraph_pipelines.ingestion.backlog import Backlog
from neurigraph_pipelines.model.errors import TransientError

_SHORTEST_PAUSE_SECONDS, _LONGEST_PAUSE_SECONDS = 1.0, 60.0


async def _note_lag(request: Request, response: Response, caller: Writer) -> None:
    """Set ``Neurigraph-Lag`` and ``Retry-After`` if the caller's oldest segment has waited longer than the notice.

    Raises:
        TransientError: It has waited so long that the settings refuse more.
    """
    backlog: Backlog = request.app.state.backlog
    if backlog.is_stale:
        await run_in_threadpool(backlog.refresh)
    lag = backlog.lag_seconds(caller.user_id)
    if not lag:
        return
    pause = min(max(lag / 10, _SHORTEST_PAUSE_SECONDS), _LONGEST_PAUSE_SECONDS)
    refused = request.app.state.installation.settings.readiness.lag_refuse_seconds
    if refused is not None and lag > refused:
        raise TransientError(f"what was handed in before has waited {lag:.0f} s to be stored", retry_after=pause)
    response.headers["Neurigraph-Lag"] = f"{lag:.0f}"
    response.headers["Retry-After"] = f"{pause:.0f}"


NotesLag = Depends(_note_lag)
"""A dependency of routes that hand in what is to be stored."""
