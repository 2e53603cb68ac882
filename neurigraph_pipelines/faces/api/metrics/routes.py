"""The page that Prometheus reads."""

from __future__ import annotations

from fastapi import APIRouter, Depends, Request, Response
from prometheus_client import generate_latest
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4

from neurigraph_pipelines.faces.api.authentication import require_metrics_token

router = APIRouter(tags=["health"])


@router.get("/metrics", dependencies=[Depends(require_metrics_token)], include_in_schema=False)
def metrics(request: Request) -> Response:
    """Return the metrics of this process and of the installation."""
    registries = request.app.state.measures.registry, request.app.state.figures
    return Response(b"".join(map(generate_latest, registries)), media_type=CONTENT_TYPE_PLAIN_0_0_4)
