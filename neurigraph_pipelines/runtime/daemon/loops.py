"""The two loops of the daemon that wait for work instead of for a clock: that of the sensors and that of the queue."""

from __future__ import annotations

import sys
from collections.abc import Generator
from threading import Event
from typing import Any, Self

from dagster import DagsterInstance, QueuedRunCoordinator
from dagster._core.workspace.context import IWorkspaceProcessContext
from dagster._daemon.daemon import SensorDaemon, SpanMarker
from dagster._daemon.run_coordinator.queued_run_coordinator_daemon import QueuedRunCoordinatorDaemon
from dagster._daemon.utils import DaemonErrorCapture
from dagster_shared.error import SerializableErrorInfo

from neurigraph_pipelines.defs.run_coordinator import SUBMITTED
from neurigraph_pipelines.runtime.daemon.pause import Pause

Marks = Generator[SerializableErrorInfo | SpanMarker | None]


class WokenSensors(SensorDaemon):
    """Dagster's loop of sensors, which ends its pauses when something arrives for one of them."""

    @classmethod
    def of(cls, instance: DagsterInstance) -> Self:
        """Return the daemon as an instance configures it."""
        return cls(settings=instance.get_sensor_settings())

    def core_loop(self, workspace_process_context: IWorkspaceProcessContext[Any], shutdown_event: Event) -> Marks:
        """Tick the sensors until the daemon stops; Dagster's loop waits by the ``wait`` of its event argument."""
        with Pause(shutdown_event) as pause:
            yield from super().core_loop(workspace_process_context, pause)


class PromptQueue(QueuedRunCoordinatorDaemon):
    """Dagster's queue, which is looked at as soon as a sensor has put a run into it, and else at its interval."""

    @classmethod
    def of(cls, instance: DagsterInstance) -> Self:
        """Return the daemon as an instance configures it."""
        coordinator = instance.run_coordinator
        assert isinstance(coordinator, QueuedRunCoordinator)
        return cls(interval_seconds=coordinator.dequeue_interval_seconds)

    def core_loop(self, workspace_process_context: IWorkspaceProcessContext[Any], shutdown_event: Event) -> Marks:
        """Start runs of the queue until the daemon stops."""
        while not shutdown_event.is_set():
            SUBMITTED.clear()
            yield SpanMarker.START_SPAN
            try:
                yield from self.run_iteration(workspace_process_context)
            except Exception:
                yield DaemonErrorCapture.process_exception(
                    exc_info=sys.exc_info(), logger=self._logger, log_message="the queue could not be read"
                )
            yield SpanMarker.END_SPAN
            SUBMITTED.wait(self.interval_seconds)
            yield None
