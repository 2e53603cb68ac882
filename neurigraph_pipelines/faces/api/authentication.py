"""Authentication of requests: API keys and tokens for users of a graph, the admin key for creating users.

It takes place before a body is read. The database decides what a caller may see, by the claims made here.
"""

from __future__ import annotations

import hmac
from typing import Annotated, Any

from fastapi import Depends, Query, Request
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from psycopg import OperationalError
from starlette.concurrency import run_in_threadpool
from starlette.types import ASGIApp, Receive, Scope, Send

from neurigraph_pipelines.access.authentication import authenticate
from neurigraph_pipelines.faces.api.keys_in_addresses import has_key
from neurigraph_pipelines.faces.api.problems import problem, problem_of
from neurigraph_pipelines.faces.api.sight import look_at_address
from neurigraph_pipelines.faces.operations.call import OPERATOR, Who
from neurigraph_pipelines.model import Claims
from neurigraph_pipelines.model.errors import ForbiddenError, NeurigraphError, UnauthenticatedError
from neurigraph_pipelines.model.spaces import MAX_TAGS
from neurigraph_pipelines.text.container_tags import checked_tags
from neurigraph_pipelines.views.spaces import ONLY_SPACES
from neurigraph_pipelines.wiring.installation import Installation

_Credentials = Annotated[
    HTTPAuthorizationCredentials | None, Depends(HTTPBearer(auto_error=False, scheme_name="API key"))
]
_AdminCredentials = Annotated[
    HTTPAuthorizationCredentials | None, Depends(HTTPBearer(auto_error=False, scheme_name="Admin key"))
]
GUARDED = ("/v1/", "/v3/", "/chat/")
"""Where the paths of operations begin that need a key."""

ADMINISTRATION = {("GET", "/v1/users"), ("POST", "/v1/users")}
"""Operations of the administrator."""

WITHOUT_KEY = {("POST", "/v1/sign-in")}
"""Operations that need no key."""

_HEADER = b"authorization"


class Authentication:
    """ASGI middleware that authenticates every call of an operation that needs a key, before its body is read.

    FastAPI reads and parses a body before its dependencies run, so a dependency would be too late.
    """

    def __init__(self, app: ASGIApp, installation: Installation) -> None:
        self._app = app
        self._installation = installation

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on with its ``caller``, or reject it."""
        if scope["type"] == "http":
            if has_key(scope["query_string"]):
                detail = (
                    "the address holds a key, and addresses are logged: send it in the header "
                    "`Authorization: Bearer KEY`, and replace this one"
                )
                await problem(400, detail)(scope, receive, send)
                return
            if scope["path"].startswith(GUARDED):
                try:
                    caller = await run_in_threadpool(_identify, self._installation, Request(scope))
                except (NeurigraphError, OperationalError) as error:
                    await problem_of(error)(scope, receive, send)
                    return
                scope.setdefault("state", {})["caller"] = caller
        await self._app(scope, receive, send)


def _identify(installation: Installation, request: Request) -> Claims | None:
    """Return the claims of the caller; None for the administrator, who may only administer, and for who signs in.

    Raises:
        UnauthenticatedError: The credentials are missing or wrong.
    """
    if (request.method, request.scope["path"]) in ADMINISTRATION:
        _require_admin_key(installation, request)
        return None
    if (request.method, request.scope["path"]) in WITHOUT_KEY:
        return None
    credential = credential_of(request)
    if credential is None:
        raise UnauthenticatedError("this call needs the header `Authorization: Bearer KEY` with an API key")
    return authenticate(installation.database, credential, installation.token_verifier)


def credential_of(request: Request) -> str | None:
    """Return the key or token of a request.

    Raises:
        UnauthenticatedError: The request has several, of which a proxy may have checked another than the first.
    """
    values = [value for name, value in request.headers.raw if name == _HEADER]
    if len(values) > 1:
        raise UnauthenticatedError("the request has several headers `Authorization`: send one")
    scheme, _, credential = (values[0] if values else b"").decode("latin-1").partition(" ")
    return credential.strip(" ") if scheme.lower() == "bearer" and credential.strip(" ") else None


# These are asynchronous because FastAPI calls a synchronous dependency in a thread, which costs more than they do.
async def _installation(request: Request) -> Installation:
    installation: Installation = request.app.state.installation
    return installation


InstallationDep = Annotated[Installation, Depends(_installation)]
"""The installation that the application serves."""


async def _claims(request: Request, _: _Credentials) -> Claims:
    caller = request.state.caller
    if not isinstance(caller, Claims):
        raise ForbiddenError("the admin key only lists and creates users: use an API key")
    return caller


_Claims = Annotated[Claims, Depends(_claims)]


def _caller_who(who: Who) -> Any:
    """Return the dependency on a caller: others get 403 before an id is looked at, whether it is hidden or absent."""

    async def caller(request: Request, installation: InstallationDep, caller: _Claims) -> Claims:
        def admit() -> None:
            who.require(installation.database, caller)
            look_at_address(request, installation, caller)

        if who in (Who.WRITER, Who.AUTHOR) or request.path_params or request.query_params:
            await run_in_threadpool(admit)
        else:
            admit()  # asks no database
        return caller

    return Depends(caller)


Caller = Annotated[Claims, _caller_who(Who.READER)]
"""Claims of the caller, from the key or token of the request, who sees what its address names; others get 404."""

Writer = Annotated[Claims, _caller_who(Who.WRITER)]
"""Claims of a caller who may write to at least one node; others get 403, whatever the address names."""

Author = Annotated[Claims, _caller_who(Who.AUTHOR)]
"""Claims of the owner of a graph, or of a member of an organization, who decides about own sources; others get 403."""

Owner = Annotated[Claims, _caller_who(Who.OWNER)]
"""Claims of the owner of a graph; others get 403, whatever the address names."""


async def _within(
    caller: Caller,
    container_tags: Annotated[list[str] | None, Query(max_length=MAX_TAGS, description=ONLY_SPACES)] = None,
) -> Claims:
    return caller.within(checked_tags(container_tags or ()))


Within = Annotated[Claims, Depends(_within)]
"""Claims of the caller, limited to the spaces that `container_tags` names."""


async def _administrator(request: Request, _: _AdminCredentials) -> Claims:
    if request.state.caller is not None:
        raise ForbiddenError("only the administrator may do this")
    return OPERATOR


Administrator = Annotated[Claims, Depends(_administrator)]
"""The claims of a caller whom the middleware has accepted as the administrator."""


def _require_admin_key(installation: Installation, request: Request) -> None:
    """Require the admin key, from every caller: a proxy on this machine lets strangers call as if they were local.

    Raises:
        UnauthenticatedError: The admin key is missing or wrong.
    """
    _require_secret(request, installation.secrets.admin_key(), "the admin key", "neurigraph admin key")


def require_metrics_token(request: Request, installation: InstallationDep) -> None:
    """Require the token for reading metrics, which opens nothing else.

    Raises:
        UnauthenticatedError: The token is missing or wrong.
    """
    _require_secret(
        request, installation.secrets.metrics_token(), "the metrics token", "neurigraph admin metrics-token"
    )


def _require_secret(request: Request, secret: str, what: str, command: str) -> None:
    credential = credential_of(request)
    if credential is None:
        raise UnauthenticatedError(
            f"this call needs the header `Authorization: Bearer KEY` with {what}, which `{command}` prints"
        )
    if not hmac.compare_digest(credential.encode("latin-1"), secret.encode("utf-8", "surrogatepass")):
        raise UnauthenticatedError(f"this is not {what}")
