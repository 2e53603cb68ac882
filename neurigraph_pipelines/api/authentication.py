"""Authentication of requests: API keys and tokens for users of a graph, the admin key for creating users.

The database decides what a caller may see, by the claims made here.
"""

from __future__ import annotations

import hmac
from ipaddress import ip_address
from typing import Annotated

from fastapi import Depends, Request
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from neurigraph_pipelines.access import authenticate, require_owner, require_writer
from neurigraph_pipelines.errors import ForbiddenError, UnauthenticatedError
from neurigraph_pipelines.model import Claims
from neurigraph_pipelines.wiring import Installation

_Credentials = Annotated[
    HTTPAuthorizationCredentials | None, Depends(HTTPBearer(auto_error=False, scheme_name="API key"))
]
_AdminCredentials = Annotated[
    HTTPAuthorizationCredentials | None, Depends(HTTPBearer(auto_error=False, scheme_name="Admin key"))
]
_FORWARDED = ("forwarded", "x-forwarded-for", "x-real-ip")


# Asynchronous because FastAPI calls a synchronous dependency in a thread, which costs more than this function.
async def _installation(request: Request) -> Installation:
    installation: Installation = request.app.state.installation
    return installation


InstallationDep = Annotated[Installation, Depends(_installation)]
"""The installation that the application serves."""


def _caller(installation: InstallationDep, credentials: _Credentials) -> Claims:
    if credentials is None:
        raise UnauthenticatedError("this call needs the header `Authorization: Bearer KEY` with an API key")
    return authenticate(installation.database, credentials.credentials, installation.token_verifier)


Caller = Annotated[Claims, Depends(_caller)]
"""Claims of the caller, from the key or token of the request."""


def _writer(installation: InstallationDep, caller: Caller) -> Claims:
    require_writer(installation.database, caller)
    return caller


Writer = Annotated[Claims, Depends(_writer)]
"""Claims of a caller who may write to at least one node; others get 403."""


async def _owner(caller: Caller) -> Claims:
    require_owner(caller)
    return caller


Owner = Annotated[Claims, Depends(_owner)]
"""Claims of the owner of a graph; others get 403."""


def require_administrator(request: Request, installation: InstallationDep, credentials: _AdminCredentials) -> None:
    """Require the admin key, or a caller on this machine if no admin key is set.

    Raises:
        UnauthenticatedError: The admin key is missing or wrong.
        ForbiddenError: No admin key is set, and the caller is remote or the database is not the embedded one.
    """
    settings = installation.settings
    if settings.admin_key is None:
        if settings.database.url is None and _is_local(request):
            return
        raise ForbiddenError("no admin key is set, so users cannot be created here: set NEURIGRAPH_ADMIN_KEY")
    if credentials is None:
        raise UnauthenticatedError("this call needs the header `Authorization: Bearer KEY` with the admin key")
    expected = settings.admin_key.get_secret_value().encode("utf-8", "surrogatepass")
    if not hmac.compare_digest(credentials.credentials.encode("utf-8", "surrogatepass"), expected):
        raise UnauthenticatedError("this is not the admin key")


def _is_local(request: Request) -> bool:
    """Return whether the caller runs on this machine and addresses it by a loopback name.

    A forwarded call may come from anywhere, and a web page may make its own host name resolve to this machine.
    """
    if request.client is None or any(name in request.headers for name in _FORWARDED):
        return False
    return _is_loopback(request.client.host) and _is_loopback(request.url.hostname or "")


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False
