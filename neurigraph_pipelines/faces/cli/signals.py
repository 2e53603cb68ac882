"""How commands end by a signal: once, in order, however many signals arrive and whether or not a terminal is left."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType


def install_handlers() -> None:
    """Let SIGINT, SIGTERM and SIGHUP run the exit handlers; a SIGHUP that nohup has set to be ignored stays so."""
    # Shells start background jobs of scripts with SIGINT ignored, which the child processes would inherit.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        # As SIGTERM, because servers of libraries know that one.
        signal.signal(signal.SIGHUP, lambda *_: os.kill(os.getpid(), signal.SIGTERM))


@contextmanager
def one_signal() -> Iterator[None]:
    """End the block by the first signal, and ignore all later ones, so that nothing interrupts its clean-up."""

    def end(number: int, _: FrameType | None) -> None:
        for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(each, signal.SIG_IGN)
        if number == signal.SIGHUP:
            _forget_terminal()
        if number == signal.SIGINT:
            raise KeyboardInterrupt
        sys.exit(128 + number)

    for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(each) is not signal.SIG_IGN:
            signal.signal(each, end)
    yield


def _forget_terminal() -> None:
    """Let output go nowhere: writing to a closed terminal would raise in the middle of the clean-up."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            os.dup2(nowhere, stream.fileno())
