"""The daemon's process, as `dagster-daemon run`: ``python -m neurigraph_pipelines.runtime.daemon --workspace FILE``.

Dagster's daemon ticks every sensor every five seconds, whether something happened or not. Here two of its loops are
ours: that of the sensors and that of the queue (docs/adr/0107-the-daemon-is-woken.md). All else is Dagster's.
``tests/unit/test_dagster_internals.py`` pins the internal names used here.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

from dagster import DagsterInstance
from dagster._core.workspace.load_target import WorkspaceFileTarget
from dagster._daemon.controller import create_daemon_of_type, daemon_controller_from_instance
from dagster._daemon.daemon import DagsterDaemon
from dagster._utils.interrupts import capture_interrupts, setup_interrupt_handlers

from neurigraph_pipelines.runtime.daemon.loops import PromptQueue, WokenSensors

_OURS = {daemon.daemon_type(): daemon for daemon in (WokenSensors, PromptQueue)}


def main() -> None:
    """Run until SIGINT or SIGTERM."""
    parser = argparse.ArgumentParser(prog="python -m neurigraph_pipelines.runtime.daemon")
    parser.add_argument("--workspace", type=Path, required=True)
    target = WorkspaceFileTarget([str(parser.parse_args().workspace)])
    setup_interrupt_handlers()
    with suppress(KeyboardInterrupt), ExitStack() as opened:
        opened.enter_context(capture_interrupts())
        instance = opened.enter_context(DagsterInstance.get())
        controller = opened.enter_context(daemon_controller_from_instance(instance, target, gen_daemons=_daemons))
        controller.check_daemon_loop()


def _daemons(instance: DagsterInstance) -> Iterator[DagsterDaemon[Any]]:
    """Yield each daemon that the instance needs, two of them ours."""
    for name in instance.get_required_daemon_types():
        daemon = _OURS.get(name)
        yield create_daemon_of_type(name, instance) if daemon is None else daemon.of(instance)


if __name__ == "__main__":
    main()
