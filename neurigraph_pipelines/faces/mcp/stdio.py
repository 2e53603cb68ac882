"""A server for one client over standard input and output: the way in which desktop clients start one.

The SDK keeps everything but the protocol off standard output. It takes long to import, so that may begin before the
database is there; and models are loaded while the client says hello.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from contextlib import closing, suppress
from importlib import import_module

from neurigraph_pipelines.access.authentication import require_remembered
from neurigraph_pipelines.exchange.organizations.callers import claims_called
from neurigraph_pipelines.faces.mcp.credentials import holder_of
from neurigraph_pipelines.graph.provisioning import list_users
from neurigraph_pipelines.model import Claims, ReceivedThrough
from neurigraph_pipelines.model.errors import ConfigurationError, ConflictError, InvalidInputError
from neurigraph_pipelines.text.exact_json import keep_exactly
from neurigraph_pipelines.wiring.directory import MAIN, lives_in
from neurigraph_pipelines.wiring.installation import Installation

_STDIN, _READ_BYTES = 0, 1 << 16
_PARTS = ("objects", "tokens", "embedder")


def import_ahead() -> None:
    """Begin to import the SDK in the background."""
    threading.Thread(target=import_module, args=("neurigraph_pipelines.faces.mcp.server",), daemon=True).start()


def serve(installation: Installation, slug: str | None) -> None:
    """Serve until the client closes standard input.

    Args:
        installation: A migrated installation; a key leads to the one in whose database its holder lives.
        slug: The user whose memory is served, if no key is set; None for the only user.

    Raises:
        ConfigurationError: Nobody is named, and there are several users or none.
        InvalidInputError: Both a key and a user are given.
        NotFoundError: There is no such user.
        UnauthenticatedError: The key is not valid.
    """
    key = installation.settings.api.key
    if key is not None:
        installation = installation.databases.of_credential(key.get_secret_value())
    caller = _caller(installation, slug)
    from neurigraph_pipelines.faces.mcp.server import MemoryServer  # slow, and not needed to find that nobody is named

    parts = _Parts(installation)
    threading.Thread(target=parts.load, daemon=True).start()

    def ready_caller() -> Claims:
        parts.load()
        return caller()

    _read_exactly()
    with closing(MemoryServer(installation, ready_caller)) as server:
        server.run()


def _read_exactly() -> None:
    """Put a pipe in the place of standard input, whose lines have nothing in them that the SDK's parser changes."""
    client = os.dup(_STDIN)
    reader, writer = os.pipe()
    os.dup2(reader, _STDIN)
    os.close(reader)

    def pass_on() -> None:
        left = b""
        with suppress(OSError), os.fdopen(writer, "wb", buffering=0) as lines:  # the server has ended
            while read := os.read(client, _READ_BYTES):
                *whole, left = (left + read).split(b"\n")
                lines.write(b"".join(keep_exactly(line) + b"\n" for line in whole))
            lines.write(keep_exactly(left))

    threading.Thread(target=pass_on, daemon=True).start()


class _Parts:
    """The parts that calls use, made once although calls run in several threads."""

    def __init__(self, installation: Installation) -> None:
        self._installation = installation
        self._lock = threading.Lock()

    def load(self) -> None:
        """Make the parts that are not made yet."""
        with self._lock:
            for part in _PARTS:
                getattr(self._installation, part)


def _caller(installation: Installation, slug: str | None) -> Callable[[], Claims]:
    """Return the function that gives a call's claims: a key is checked for each call, so that it can be revoked."""
    key = installation.settings.api.key
    if key is not None:
        if slug is not None:
            raise InvalidInputError("NEURIGRAPH_API_KEY says whose memory it is: leave out --user")
        credential = key.get_secret_value()
        holder_of(installation, credential)
        return lambda: holder_of(installation, credential)
    if slug is None:
        slug = _only_user(installation)
    claims = claims_called(installation.database, slug, ReceivedThrough.MCP)

    def checked() -> Claims:
        require_remembered(installation.database, claims.user_id)
        if not lives_in(installation.database, claims.user_id):
            raise ConflictError(f"{slug} moved to another database or was forgotten: start this server again")
        return claims

    return checked


def _only_user(installation: Installation) -> str:
    users = list_users(installation.database)
    elsewhere = sum(one.users for one in installation.databases.directory.databases() if one.name != MAIN)
    if len(users) + elsewhere > 1:
        raise ConfigurationError("there are several users: name one with --user, or set NEURIGRAPH_API_KEY")
    if elsewhere:
        raise ConfigurationError("the only user lives in another database: name it with --user")
    if not users:
        raise ConfigurationError("there is no user yet: neurigraph import creates one")
    return users[0].slug
