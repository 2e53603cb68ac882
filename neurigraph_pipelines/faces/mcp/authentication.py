"""Who calls: keys and tokens as the SDK's transports check them, and the claims that they stand for."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.mcpserver import Context
from starlette.concurrency import run_in_threadpool

from neurigraph_pipelines.faces.mcp.credentials import holder_of
from neurigraph_pipelines.model import Claims
from neurigraph_pipelines.model.errors import UnauthenticatedError
from neurigraph_pipelines.wiring.installation import Installation


class HeldToken(AccessToken):
    """A key or token that was found valid, as the claims that it stands for. Its own text is not kept."""

    holder: Claims


class KeyVerifier:
    """The SDK's verifier of bearer tokens, for our API keys and the tokens of a trusted issuer."""

    def __init__(self, installation: Installation) -> None:
        self._installation = installation

    async def verify_token(self, token: str) -> AccessToken | None:
        """Return the claims of a key or token; None if it is not valid.

        Raises:
            TransientError: The issuer's key set could not be fetched.
            OperationalError: The database did not answer.
        """
        try:
            holder = await run_in_threadpool(partial(holder_of, self._installation, token))
        except UnauthenticatedError:
            return None
        client = holder.sub if holder.key_id is None else str(holder.key_id)
        return HeldToken(token="", client_id=client, scopes=[], subject=holder.sub, holder=holder)


def caller_of(context: Context[None, Any] | None, otherwise: Callable[[], Claims] | None) -> Claims:
    """Return the claims of the caller of a request.

    Args:
        otherwise: For a transport whose requests carry no credentials.

    Raises:
        UnauthenticatedError: Nobody is known to call.
    """
    request = context.request_context.request if context is not None else None
    user = request.scope.get("user") if request is not None else None
    if isinstance(user, AuthenticatedUser) and isinstance(user.access_token, HeldToken):
        return user.access_token.holder
    if request is None and otherwise is not None:
        return otherwise()
    raise UnauthenticatedError("this call needs an API key")
