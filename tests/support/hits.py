"""Hits on runs of ingestion: signals to their processes, and Terminate in Dagster's UI."""

from __future__ import annotations

import os
import random
import signal
from collections import Counter
from contextlib import suppress
from itertools import cycle
from urllib.error import HTTPError

from neurigraph_pipelines.runtime.stack.processes import LocalStack
from tests.support.dagster_stack import is_run, started_runs, terminate_run, worker_of_run

KINDS = (signal.SIGKILL, signal.SIGINT, None, signal.SIGTERM)
"""A signal, or None for Terminate."""


class Hits:
    """Hits runs in turn with each kind; a run is hit at most once.

    Attributes:
        count: Number of hits by kind.
    """

    def __init__(self, stack: LocalStack, seed: int) -> None:
        self.count: Counter[str] = Counter()
        self.random = random.Random(seed)
        self._stack = stack
        self._kinds = cycle(KINDS)
        self._kind = next(self._kinds)
        self._hit: set[str] = set()

    def strike(self) -> bool:
        """Hit a run that is under way; return whether there was one."""
        try:
            return self._hit_one()
        except HTTPError as error:  # of Dagster's page, which may lose a connection with what is killed
            error.close()
            return False

    def _hit_one(self) -> bool:
        runs = [run for run in started_runs(self._stack, "ingestion_job") if run not in self._hit]
        if not runs or not self._strikes(run := self.random.choice(runs)):
            return False
        self._hit.add(run)
        self.count["Terminate" if self._kind is None else self._kind.name] += 1
        self._kind = next(self._kinds)
        return True

    def _strikes(self, run_id: str) -> bool:
        if self._kind is None:
            return terminate_run(self._stack, run_id)
        worker = worker_of_run(self._stack, run_id)
        with suppress(ProcessLookupError, FileNotFoundError):  # it has ended
            if worker is not None and is_run(worker):
                os.kill(worker, self._kind)
                return True
        return False
