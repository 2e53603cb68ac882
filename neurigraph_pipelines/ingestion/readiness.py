"""Whether the installation reads, writes and ingests, and if not, why.

The reasons name no host, folder or secret: `/readyz` shows them to everybody. Liveness is another question, which a
process answers by answering at all.
"""

from __future__ import annotations

import asyncio
import logging
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal
from uuid import UUID

from psycopg import Error, OperationalError
from psycopg.errors import DiskFull, ReadOnlySqlTransaction

from neurigraph_pipelines.database.asking import value_of
from neurigraph_pipelines.database.migrations import require_current
from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.inbox.queue_hold import current_hold
from neurigraph_pipelines.model import Claims, TriggerType
from neurigraph_pipelines.model.context import Context
from neurigraph_pipelines.model.errors import ConfigurationError, NeurigraphError
from neurigraph_pipelines.model.ports import Database
from neurigraph_pipelines.text.newest import Newest

SENSORS = (*(f"{trigger.value}_sensor" for trigger in TriggerType), "upload_sensor")
"""Names of the sensors without which something that was handed in is not stored."""

PROBE_KEY = "readiness/probe"
_PROBE_BYTES = 65_536
_WAIT_SECONDS = 5.0
_VALID_SECONDS, _FAULTS_VALID_SECONDS = 5.0, 1.0
_NOBODY = Claims.of_user(UUID(int=0))
_QUERIES = statements("readiness")
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Fault:
    """Something that does not work, and why."""

    part: Literal["reading", "writing", "ingestion"]
    reason: str


@dataclass(frozen=True, slots=True)
class Readiness:
    """The result of a check; ready without faults. The age is that of the oldest segment that waits, if it is known."""

    faults: tuple[Fault, ...]
    queue_age_seconds: float | None


def beat(database: Database, name: str) -> None:
    """Note that something runs."""
    with database.pipeline() as tx:
        tx.execute(_QUERIES["beat"], {"name": name})


def queue_age(database: Database) -> float:
    """Return the seconds for which the oldest due segment has waited; 0 if none waits."""
    with database.pipeline() as tx:
        return value_of(float, tx.execute(_QUERIES["queue_age"]))


def lagging_users(database: Database, notice_seconds: float) -> dict[UUID, float]:
    """Return the age in seconds of each user's oldest waiting segment, of users who wait longer than the notice."""
    with database.pipeline() as tx:
        rows = tx.execute(_QUERIES["lagging_users"], {"notice_seconds": notice_seconds})
        return {row["user_id"]: row["age_seconds"] for row in rows}


def check(context: Context) -> Readiness:
    """Read, write and look at the sensors and the queue, for real."""
    reading = _reading(context.database)
    if reading is not None:
        return Readiness((Fault("reading", reading), *_writing_objects(context)), None)
    age = queue_age(context.database)
    return Readiness((*_writing(context), *_ingestion(context, age)), age)


class Checks:
    """The newest check, made again by one thread, however many ask: after five seconds, or one if it found faults."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._newest = Newest("readiness", self._check, _valid_seconds)

    async def readiness(self) -> Readiness:
        """Return the fault that the newest check found; a check that does not end in time is a fault.

        It takes no thread of those that requests wait in.
        """
        found = asyncio.wrap_future(self._newest.future())
        if (await asyncio.wait([found], timeout=_WAIT_SECONDS))[0]:
            return found.result()
        return Readiness((Fault("reading", f"the checks do not end within {_WAIT_SECONDS:.0f} s"),), None)

    def _check(self) -> Readiness:
        try:
            return check(self._context)
        except Exception as error:  # a check that cannot be made is a fault, too
            _log.exception("the readiness check failed")
            return Readiness((Fault("reading", f"the check failed ({type(error).__name__})"),), None)


def _valid_seconds(found: Readiness) -> float:
    return _FAULTS_VALID_SECONDS if found.faults else _VALID_SECONDS


def _reading(database: Database) -> str | None:
    try:
        require_current(database)
        (row,) = database.ask(_NOBODY, _QUERIES["claims_are_valid"], {})
    except ConfigurationError as error:
        _log.warning("not ready: %s", error)
        if "password authentication failed" in str(error):
            return "the database does not accept the secret of this process"
        if "cannot connect" in str(error):
            return "the database cannot be reached"
        return str(error)
    except (NeurigraphError, OperationalError) as error:
        _log.warning("not ready: %s", error)
        return "the database does not answer"
    return None if row["valid"] else "the database does not accept claims that this process signs: another secret"


def _writing(context: Context) -> Iterator[Fault]:
    try:
        beat(context.database, "readiness")
    except DiskFull:
        yield Fault("writing", "the database has no space left on its disk")
    except ReadOnlySqlTransaction:
        yield Fault("writing", "the database is read-only")
    except Error as error:
        _log.warning("not ready: %s", error)
        yield Fault("writing", "the database does not take writes")
    yield from _writing_objects(context)
    least = context.settings.readiness.free_bytes
    free = shutil.disk_usage(context.settings.home.expanduser()).free
    if free < least:
        yield Fault("writing", f"the disk of the home folder has {free / 1e6:.0f} MB left, less than {least / 1e6:.0f}")


def _writing_objects(context: Context) -> Iterator[Fault]:
    try:
        context.objects.put(PROBE_KEY, [os.urandom(_PROBE_BYTES)])
        context.objects.delete(PROBE_KEY)
    except NeurigraphError as error:
        _log.warning("not ready: %s", error)
        full = "No space left" in str(error)
        yield Fault("writing", "the object store " + ("has no space left" if full else "does not take objects"))


def _ingestion(context: Context, age: float) -> Iterator[Fault]:
    held = current_hold(context.database)
    if held is not None:
        yield Fault("ingestion", f"the queue is held since {held.held_since:%Y-%m-%d %H:%M} UTC: {held.reason}")
    longest = context.settings.readiness.sensor_seconds
    if longest:
        with context.database.pipeline() as tx:
            ages = {row["name"]: row["age_seconds"] for row in tx.execute(_QUERIES["heartbeats"])}
        silent = [name for name in SENSORS if ages.get(name, longest + 1) > longest]
        if not ages:
            yield Fault("ingestion", "no sensor has run yet: start Dagster, as `neurigraph up` does")
        elif len(silent) == len(SENSORS):
            yield Fault("ingestion", f"no sensor has run for {longest:g} s: Dagster's daemon or code server is gone")
        elif silent:
            yield Fault("ingestion", f"stopped or failing for {longest:g} s: {', '.join(silent)}")
    oldest = context.settings.readiness.queue_seconds
    if oldest and age > oldest:
        yield Fault("ingestion", f"a segment has waited {age:.0f} s to be stored, longer than {oldest:g} s")
