"""Phase one: questions."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from fastapi import APIRouter

from neurigraph_pipelines.api import requests, responses
from neurigraph_pipelines.api.authentication import Caller, Here
from neurigraph_pipelines.api.problems import documented
from neurigraph_pipelines.retrieval import search as phase_one

router = APIRouter(tags=["retrieval"], responses=documented(401, 404, 413, 422, 503))


@router.post("/search", response_model=responses.Found, response_model_exclude_unset=True)
def search(body: requests.Search, caller: Caller, installation: Here) -> dict[str, Any]:
    """Answer a question from the metadata layer; no file is opened."""
    question = phase_one.Question(**body.model_dump())
    return asdict(
        phase_one.search(installation.database, installation.embedder, installation.settings, caller, question)
    )
