"""Keeps child processes running: starts dead ones again, with growing pauses, and stops all of them.

Knows processes and nothing of their work; ``processes`` says which ones Neurigraph needs.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Self

from neurigraph_pipelines.model.errors import NeurigraphError
from neurigraph_pipelines.model.restarts import Restarts
from neurigraph_pipelines.runtime.stack.marks import killed_after

START_SECONDS = 120.0
STOP_SECONDS = 30.0
_POLL_SECONDS = 0.1
_CHORE_SECONDS = 1.0


class StackError(NeurigraphError):
    """A process of the stack did not start, or does not stay alive."""


@dataclass(frozen=True, slots=True)
class Part:
    """A child process.

    Attributes:
        name: Name in messages and of its log file.
        command: The program by its full path, and its arguments.
        environment: All of its environment variables.
        answers: Whether it serves; must return quickly.
        needs: Names of the parts that must answer before it starts.
    """

    name: str
    command: Sequence[str]
    environment: Mapping[str, str]
    answers: Callable[[], bool]
    needs: tuple[str, ...] = ()


@dataclass(slots=True)
class _Child:
    part: Part
    log: Path
    process: subprocess.Popen[bytes]
    log_start: int
    lives: Restarts
    restart_at: float | None = None


@dataclass(slots=True)
class Supervisor:
    """Child processes that are kept running. A context manager; its end stops them all.

    A child runs in a session of its own, so that Ctrl-C at the terminal reaches it through ``stop``. Every descendant
    of a child has ``mark`` in its environment, by which ``stop`` finds those that outlived their parents.

    Args:
        logs: Folder with one log file for each part.
        mark: ``NAME=value``, an environment variable and its value.
        report: Takes one line about each death and each crash loop.
        chores: Called every second while the parts are watched.
    """

    logs: Path
    mark: str
    report: Callable[[str], None]
    chores: Sequence[Callable[[], object]] = ()
    _children: dict[str, _Child] = field(default_factory=dict)
    _stopping: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def start(self, *parts: Part) -> None:
        """Start parts and wait until all of them answer; ``watch`` keeps them alive afterwards.

        Raises:
            StackError: One of them ended, or does not answer in time.
        """
        for part in parts:
            self._children[part.name] = self._spawned(part)
        deadline = time.monotonic() + START_SECONDS
        for part in parts:
            while not part.answers():
                self._require_alive()
                if time.monotonic() > deadline:
                    raise StackError(f"{part.name} does not answer after {START_SECONDS:.0f} s")
                time.sleep(_POLL_SECONDS)
        self._require_alive()

    def watch(self) -> None:
        """Begin to start dead processes again."""
        self._thread = threading.Thread(target=self._watch, name="supervisor", daemon=True)
        self._thread.start()

    def check(self) -> None:
        """Check that nothing is in a crash loop.

        Raises:
            StackError: A part does not stay alive; the message holds the end of its log.
        """
        for child in list(self._children.values()):
            if child.lives.loops(time.monotonic()):
                raise StackError(_ended(child))

    def pids(self) -> dict[str, int]:
        """Return the process id of each part that runs."""
        return {name: one.process.pid for name, one in self._children.items() if one.process.poll() is None}

    def stop(self) -> None:
        """Stop all parts: by SIGINT, and after ``STOP_SECONDS`` by SIGKILL, with every descendant."""
        self._stopping.set()
        if self._thread is not None:
            self._thread.join()
        children = list(reversed(self._children.values()))
        with killed_after(self.mark):
            for child in children:
                _signal_group(child.process, signal.SIGINT)
            deadline = time.monotonic() + STOP_SECONDS
            for child in children:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    child.process.wait(max(deadline - time.monotonic(), 0.1))
        for child in children:
            _signal_group(child.process, signal.SIGKILL)  # ends what is in its group where marks cannot be read
            child.process.wait()
        self._children.clear()

    def _watch(self) -> None:
        chores_at = 0.0
        while not self._stopping.wait(_POLL_SECONDS):
            now = time.monotonic()
            for child in list(self._children.values()):
                if child.process.poll() is not None:
                    self._revive(child, now)
            if now >= chores_at:
                chores_at = now + _CHORE_SECONDS
                for chore in self.chores:
                    with contextlib.suppress(OSError):  # such as a full disk: the next second may be better
                        chore()

    def _revive(self, child: _Child, now: float) -> None:
        """Note the death of a child, and restart it once its pause is over and its dependencies answer."""
        if child.restart_at is None:
            child.restart_at = now + self._note_death(child, now)
        if now < child.restart_at or not all(self._children[name].part.answers() for name in child.part.needs):
            return
        try:
            self._children[child.part.name] = self._spawned(child.part, child.lives)
        except OSError as error:  # no process or no file can be made at the moment
            self.report(f"{child.part.name} cannot be started: {error.strerror}")
            child.restart_at = now + child.lives.died(now)

    def _note_death(self, child: _Child, now: float) -> float:
        """Report a death; return the pause before the next start."""
        pause = child.lives.died(now)
        loop = f" for the {child.lives.deaths}th time in a row (see {child.log})" if child.lives.loops(now) else ""
        again = "it is started again" + (f" in {pause:g} s" if pause else "")
        self.report(f"{child.part.name} ended with status {child.process.returncode}{loop}: {again}")
        return pause

    def _spawned(self, part: Part, lives: Restarts | None = None) -> _Child:
        lives = lives or Restarts(0.0)
        log = self.logs / f"{part.name}.log"
        with log.open("ab") as output:
            start = output.tell()
            name, _, value = self.mark.partition("=")
            process = subprocess.Popen(  # noqa: S603 - our own programs, by their full path
                part.command,
                env={**part.environment, name: value},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
        lives.started_at = time.monotonic()
        return _Child(part, log, process, start, lives)

    def _require_alive(self) -> None:
        """Raise if a part ended; before ``watch``, a death is a reason to give up."""
        for child in self._children.values():
            if child.process.poll() is not None:
                raise StackError(_ended(child))


def _ended(child: _Child) -> str:
    """Describe the death of a child, with the last lines of its log."""
    with contextlib.suppress(OSError), child.log.open("rb") as log:
        log.seek(child.log_start if child.log.stat().st_size >= child.log_start else 0)
        tail = log.read().decode(errors="replace").splitlines()[-15:]
        return "\n".join([f"{child.part.name} ended with status {child.process.poll()}:", *tail])
    return f"{child.part.name} ended with status {child.process.poll()}"


def _signal_group(process: subprocess.Popen[bytes], number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)
