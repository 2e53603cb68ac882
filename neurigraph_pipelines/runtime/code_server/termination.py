"""The end of a run that a person terminates: its process is interrupted until the run has ended.

Dagster interrupts once. A step with a retry policy takes that for an error, so it is tried again, and the run goes on.
An interrupt that arrives between two attempts ends the run as canceled.
"""

from __future__ import annotations

import threading

from dagster._utils import send_interrupt
from dagster._utils.interrupts import check_captured_interrupt

AGAIN_SECONDS = 2.0
"""Time between two interrupts: a step that was interrupted has ended its transaction by then."""


def start_termination_thread(should_stop: threading.Event, is_done: threading.Event) -> None:
    """Interrupt the main thread once the run should stop, and again until it is done.

    Args:
        should_stop: Set when somebody terminates the run.
        is_done: Set when the run has ended.
    """
    threading.Thread(target=_interrupt, args=(should_stop, is_done), name="termination-handler", daemon=True).start()


def _interrupt(should_stop: threading.Event, is_done: threading.Event) -> None:
    should_stop.wait()
    while not is_done.is_set():
        if not check_captured_interrupt():  # else the main thread will find it
            send_interrupt()
        is_done.wait(AGAIN_SECONDS)
