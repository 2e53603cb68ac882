"""Keys and tokens, and the claims that they stand for in a call of an agent. Nothing here needs the SDK."""

from __future__ import annotations

from neurigraph_pipelines.access.authentication import authenticate
from neurigraph_pipelines.model import Claims, ReceivedThrough
from neurigraph_pipelines.wiring.installation import Installation


def holder_of(installation: Installation, credential: str) -> Claims:
    """Return the claims that a key or token stands for.

    Raises:
        UnauthenticatedError: It is not valid.
        TransientError: The issuer's key set could not be fetched.
    """
    claims = authenticate(installation.database, credential.strip(), installation.token_verifier)
    return claims.through(ReceivedThrough.MCP)
