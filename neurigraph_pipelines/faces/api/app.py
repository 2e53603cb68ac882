"""The FastAPI application: assembles routers, middleware and error handlers for one installation.

Operations belong in the router of their subject.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from functools import cache
from typing import Protocol

from fastapi import APIRouter, FastAPI
from starlette.concurrency import run_in_threadpool
from starlette.middleware.cors import CORSMiddleware
from starlette.routing import BaseRoute

import neurigraph_pipelines
from neurigraph_pipelines.exchange.webhooks.background import delivering
from neurigraph_pipelines.faces.api import (
    accounts,
    documentation,
    exports,
    files,
    health,
    idempotency,
    mirrors,
    page,
    uploads,
)
from neurigraph_pipelines.faces.api.admission import Admission
from neurigraph_pipelines.faces.api.authentication import Authentication
from neurigraph_pipelines.faces.api.body_limit import MAX_BODY_BYTES, BodyLimit
from neurigraph_pipelines.faces.api.connection_waits import ConnectionWaits
from neurigraph_pipelines.faces.api.exact_bodies import ExactBodies
from neurigraph_pipelines.faces.api.known_parameters import OnlyKnown
from neurigraph_pipelines.faces.api.metrics import routes as metrics
from neurigraph_pipelines.faces.api.metrics.collectors import installation_registry
from neurigraph_pipelines.faces.api.metrics.process import process_measures
from neurigraph_pipelines.faces.api.metrics.requests import RequestMeasures
from neurigraph_pipelines.faces.api.operation_names import operation_name
from neurigraph_pipelines.faces.api.operations import router_of
from neurigraph_pipelines.faces.api.preconditions import changed_meanwhile
from neurigraph_pipelines.faces.api.problems import add_problem_handlers, documented, problem_definition
from neurigraph_pipelines.faces.api.v3 import chat, documents
from neurigraph_pipelines.faces.operations import subjects
from neurigraph_pipelines.inbox.source_lists import settled
from neurigraph_pipelines.inbox.waiting import Waiters
from neurigraph_pipelines.ingestion.backlog import Backlog
from neurigraph_pipelines.ingestion.readiness import Checks
from neurigraph_pipelines.model.errors import ChangedError
from neurigraph_pipelines.wiring.installation import Installation

_DESCRIPTION = f"""
Long-term memory for AI assistants: store conversations, events and files, and answer questions from them.

Every call under `/v1`, `/v3` and `/chat` needs the header `Authorization: Bearer KEY`. Errors are problem details
(RFC 9457, `application/problem+json`). Objects that do not exist and objects that the key may not see give the same
404. A request body has at most {MAX_BODY_BYTES:,} bytes, except for uploads. Times are ISO 8601; a time without a zone
is UTC.
"""


class _Application(FastAPI):
    """FastAPI, with the schema of problem details and the keys of requests in its OpenAPI document."""

    def openapi(self) -> dict[str, object]:
        is_complete = self.openapi_schema is not None
        description = super().openapi()
        if not is_complete:
            description["components"]["schemas"]["Problem"] = problem_definition()
            for path, operations in description["paths"].items():
                for method, operation in operations.items():
                    reason = idempotency.why_not(method.upper(), path)
                    if path.startswith("/v1/") and reason is None:
                        operation.setdefault("parameters", []).append(idempotency.parameter())
                        operation["responses"] |= {str(status): one for status, one in documented(409).items()}
                    elif method == "post" and reason == idempotency.CHANGES_NOTHING:
                        operation["x-changes-nothing"] = True
        return description


_BY_HAND = (
    accounts,
    exports,
    uploads,
    files,
    mirrors,
)
"""Modules with a router of operations below ``/v1`` that stream, take files, or have callers without a key."""


_GROUPS = {
    "add": "Remember a conversation, a text or a file. The first call is all that most programs need.",
    "search": "Find memories and messages.",
    "ask": "Answer a question in words.",
    "context": "Make the block of memory for a prompt.",
    "forget": "Erase memories for good.",
}
"""What people do first, in the order in which the page of operations begins."""


class Endpoint(Protocol):
    """An endpoint of another face, which the API's middleware guards too."""

    @property
    def routes(self) -> Sequence[BaseRoute]:
        """Its routes."""

    def running(self) -> AbstractAsyncContextManager[None]:
        """Return a context to be in while the application serves."""


def create_app(installation: Installation, endpoints: Sequence[Endpoint] = ()) -> FastAPI:
    """Return the application for a migrated installation. The caller closes the installation.

    Args:
        endpoints: Of other faces, to be served as well.
    """

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        await run_in_threadpool(_connect, installation)
        async with AsyncExitStack() as running:
            running.enter_context(delivering(installation.webhooks))
            for endpoint in endpoints:
                await running.enter_async_context(endpoint.running())
            yield

    app = _Application(
        title="Neurigraph",
        version=neurigraph_pipelines.__version__,
        description=_DESCRIPTION,
        openapi_tags=[{"name": name, "description": text} for name, text in _GROUPS.items()],
        lifespan=lifespan,
        redirect_slashes=False,
        docs_url=None,
        redoc_url=None,
    )
    app.state.installation = installation
    app.state.checks = Checks(installation.context)
    app.state.measures = process_measures()
    app.state.figures = installation_registry(installation.context)
    app.state.backlog = Backlog(installation.context)
    app.state.waiters = Waiters(lambda source_ids: settled(installation.database, source_ids))
    _add_middleware(app, installation)
    add_problem_handlers(app)
    app.add_exception_handler(ChangedError, changed_meanwhile)
    app.router.routes.extend(_operations().routes)
    for endpoint in endpoints:
        app.router.routes.extend(endpoint.routes)
    return app


@cache
def _operations() -> APIRouter:
    """Return the routes of all operations. No installation changes them, and FastAPI takes 0.3 s to build them."""
    version_1 = APIRouter(prefix="/v1", dependencies=[OnlyKnown], responses=documented(400, 408, 429))
    for subject in subjects():
        version_1.include_router(router_of(subject))
    for module in _BY_HAND:
        version_1.include_router(module.router)
    operations = APIRouter(generate_unique_id_function=operation_name)
    operations.include_router(version_1)
    for router in (documents.router, chat.router):
        operations.include_router(router, dependencies=[OnlyKnown], responses=documented(400, 408, 429))
    for others in (health.router, metrics.router, documentation.router, page.router):
        operations.include_router(others, dependencies=[OnlyKnown], responses=documented(400))
    return operations


def _add_middleware(app: FastAPI, installation: Installation) -> None:
    """Add the middleware that every request passes, the innermost first."""
    upload_bytes = installation.settings.uploads.max_upload_bytes + uploads.FORM_BYTES
    app.add_middleware(ExactBodies)
    app.add_middleware(idempotency.Idempotency, installation=installation)
    app.add_middleware(
        BodyLimit,
        limit=MAX_BODY_BYTES,
        larger={("POST", "/v1/files"): upload_bytes},
        smaller={("POST", "/v1/sign-in"): accounts.SIGN_IN_BYTES},
        patience=installation.settings.api.client_seconds,
    )
    app.add_middleware(Authentication, installation=installation)
    app.add_middleware(ConnectionWaits, seconds=installation.settings.database.wait_seconds)
    app.add_middleware(
        Admission,
        requests_per_minute=installation.settings.api.requests_per_minute,
        concurrent_requests=installation.settings.api.concurrent_requests,
    )
    app.add_middleware(RequestMeasures, measures=app.state.measures)
    if origins := installation.settings.api.allowed_origins:
        app.add_middleware(
            CORSMiddleware,
            allow_origins=origins,
            allow_methods=["GET", "POST", "PUT", "PATCH", "DELETE"],
            allow_headers=["Authorization", "Idempotency-Key", "If-Match", "If-None-Match", "X-Request-Id"],
            expose_headers=["ETag", "Location", "Retry-After", "X-Request-Id"],
        )


def _connect(installation: Installation) -> None:
    """Create the shared parts before the first request, since requests run in several threads at once."""
    for part in ("database", "objects", "tokens", "embedder"):
        getattr(installation, part)
    for secret in (installation.secrets.admin_key, installation.secrets.metrics_token):
        secret()  # made at the first start, so that its file can be read
