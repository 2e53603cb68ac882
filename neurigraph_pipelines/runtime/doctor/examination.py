"""Looks at everything in turn."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from psycopg import Error

from neurigraph_pipelines.model.errors import ConfigurationError, NeurigraphError
from neurigraph_pipelines.runtime.doctor import machine, memory
from neurigraph_pipelines.runtime.doctor.findings import Finding, error
from neurigraph_pipelines.wiring.installation import Installation

_FAILED = (NeurigraphError, Error, OSError)


def examine(installation: Installation) -> Iterator[Finding]:
    """Yield the findings of every look. Without a database, the looks that need it are left out."""
    home = installation.home
    yield from _looked("packages", machine.packages)
    yield from _looked("disk", lambda: machine.disk(home, installation.settings.readiness.free_bytes))
    yield from _looked("permissions", lambda: machine.permissions(home))
    try:
        yield from memory.LOOKS["database"](installation)
    except ConfigurationError as reason:
        yield memory.unreachable(reason)
        return
    except _FAILED as reason:
        yield _not_done("database", reason)
        return
    for subject, look in memory.LOOKS.items():
        if subject != "database":
            yield from _looked(subject, lambda look=look: look(installation))  # type: ignore[misc]


def _looked(subject: str, look: Callable[[], Iterable[Finding]]) -> Iterator[Finding]:
    """Yield the findings of a look; a look that fails is a finding, too."""
    try:
        yield from look()
    except ConfigurationError as reason:
        yield error(subject, str(reason), "change the setting or the file that the message names (docs/settings.md)")
    except _FAILED as reason:
        yield _not_done(subject, reason)


def _not_done(subject: str, reason: Exception) -> Finding:
    found = f"this could not be looked at ({type(reason).__name__}: {reason})"
    return error(subject, found, "see the other findings first, and the logs in the home folder")
