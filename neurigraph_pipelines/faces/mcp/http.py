"""The endpoint ``/mcp`` of the API server: streamable HTTP without sessions, each request with its own key.

No request waits for another, so several processes may serve one address and a restart ends nothing. The API's
middleware stands before it.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing

from mcp.server.auth.middleware.bearer_auth import BearerAuthBackend
from mcp.server.auth.routes import build_resource_metadata_url
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from mcp.shared.auth import ProtectedResourceMetadata
from pydantic import AnyHttpUrl, ValidationError
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.requests import HTTPConnection, Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route
from starlette.types import Receive, Scope, Send

from neurigraph_pipelines.faces.mcp.authentication import KeyVerifier
from neurigraph_pipelines.faces.mcp.cancelling import Cancelling
from neurigraph_pipelines.faces.mcp.server import MemoryServer
from neurigraph_pipelines.settings import Settings
from neurigraph_pipelines.text.web_addresses import address_of, host_of, is_loopback
from neurigraph_pipelines.wiring.installation import Installation

PATH = "/mcp"
METADATA_PATH = f"/.well-known/oauth-protected-resource{PATH}"


class McpEndpoint:
    """The endpoint of the Model Context Protocol, as an ASGI application with its routes and its background work.

    Args:
        installation: A migrated installation, which the caller closes.
    """

    def __init__(self, installation: Installation) -> None:
        self._server = MemoryServer(installation)
        self._settings = installation.settings
        self._keys = BearerAuthBackend(KeyVerifier(installation))

    @property
    def routes(self) -> list[BaseRoute]:
        """The endpoint, and its metadata if tokens of an issuer are accepted."""
        routes = [Route(PATH, endpoint=self)]
        if _issuer(self._settings) is not None:
            routes.append(Route(METADATA_PATH, endpoint=self._metadata, methods=["GET"]))
        return list(routes)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Accept requests within the block, which is entered once."""
        self._server.streamable_http_app(
            stateless_http=True,
            json_response=True,
            # The checks here also know the address of the connection, and say how to allow a host.
            transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
        )
        with closing(self._server):
            self._calls = Cancelling(self.sessions.asgi_app)
            async with self.sessions.run():
                yield

    @property
    def sessions(self) -> StreamableHTTPSessionManager:
        """The server that answers requests; each request is a session of its own."""
        return self._server.session_manager

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request: its host and origin are checked, then its key, and only then is its body read.

        Raises:
            HTTPException: It is refused.
            TransientError: The issuer's key set could not be fetched.
            OperationalError: The database did not answer.
        """
        _require_allowed(scope, self._settings)
        if scope["method"] != "POST":
            detail = "this endpoint takes POST: it has no sessions and sends nothing by itself"
            raise HTTPException(405, detail, {"Allow": "POST"})
        is_one = Headers(scope=scope).getlist("authorization")[1:] == []  # a proxy may have checked another
        found = await self._keys.authenticate(HTTPConnection(scope)) if is_one else None
        if found is None:
            detail = "this call needs the header `Authorization: Bearer KEY` with an API key"
            raise HTTPException(401, detail, {"WWW-Authenticate": self._challenge(scope)})
        scope["auth"], scope["user"] = found
        await self._calls(scope, receive, send)

    def _challenge(self, scope: Scope) -> str:
        """Return what clients of the protocol read to find where a token is issued."""
        stated = 'Bearer error="invalid_token", error_description="Authentication required"'
        if _issuer(self._settings) is None:
            return stated
        return f'{stated}, resource_metadata="{build_resource_metadata_url(self._resource(scope))}"'

    def _resource(self, scope: Scope) -> AnyHttpUrl:
        base = self._settings.api.url or str(Request(scope).base_url)
        return AnyHttpUrl(base.rstrip("/") + PATH)

    async def _metadata(self, request: Request) -> Response:
        issuer = _issuer(self._settings)
        assert issuer is not None
        _require_allowed(request.scope, self._settings)
        # The issuer goes in as a text, which stays as it is: clients compare it with what the issuer says of itself.
        stated = {"authorization_servers": [issuer], "resource_name": "Neurigraph"}
        metadata = ProtectedResourceMetadata.model_validate({"resource": self._resource(request.scope), **stated})
        return Response(metadata.model_dump_json(exclude_none=True), media_type="application/json")


def _require_allowed(scope: Scope, settings: Settings) -> None:
    """Require that a request comes from where agents are.

    Raises:
        HTTPException: Its host is not allowed, or a page of another origin sends it.
    """
    headers = Headers(scope=scope)
    host, allowed = host_of(headers.get("host", "")), {name.lower() for name in settings.api.allowed_hosts}
    local = is_loopback((scope.get("server") or ("",))[0])
    if host is None or not (is_loopback(host) or host in allowed or (not allowed and not local)):
        raise HTTPException(421, "this host is not allowed: add it to NEURIGRAPH_API_ALLOWED_HOSTS")
    origin = headers.get("origin")
    if origin is not None:
        given = address_of(origin)
        if given is None or given != address_of(f"{origin.partition(':')[0]}://{headers['host']}"):
            raise HTTPException(403, "a page of another origin may not do this")


def _issuer(settings: Settings) -> str | None:
    """Return the issuer of tokens, if tokens are accepted and it is an address where clients can ask for one."""
    jwt = settings.jwt
    if jwt.issuer is None or jwt.audience is None:
        return None
    try:
        AnyHttpUrl(jwt.issuer)
    except ValidationError:
        return None
    return jwt.issuer
