"""The supervisor, with real child processes that are really killed."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from uuid import uuid4

import pytest

from neurigraph_pipelines.model.restarts import CRASH_LOOP, LONGEST_PAUSE_SECONDS, STABLE_SECONDS, Restarts
from neurigraph_pipelines.runtime.stack.marks import VARIABLE, kill_marked, marked
from neurigraph_pipelines.runtime.stack.supervisor import Part, StackError, Supervisor
from neurigraph_pipelines.settings.log_files import rotate
from tests.support.waiting import wait_until

ON_LINUX = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
SLEEPER = ("/bin/sleep", "600")


class Stack:
    """A supervisor and what it reports."""

    def __init__(self, folder: Path) -> None:
        self.mark = f"{VARIABLE}=test-{uuid4().hex}"
        self.lines: list[str] = []
        self.folder = folder
        self.supervisor = Supervisor(folder, self.mark, self.lines.append)

    def part(
        self, name: str, *command: str, answers: Callable[[], bool] = lambda: True, needs: tuple[str, ...] = ()
    ) -> Part:
        return Part(name, command or SLEEPER, {"PATH": os.defpath}, answers, needs)

    def pid(self, name: str) -> int:
        return self.supervisor.pids().get(name, 0)


@pytest.fixture
def stack(tmp_path: Path) -> Iterator[Stack]:
    made = Stack(tmp_path)
    with made.supervisor:
        yield made


def test_killed_part_is_started_again(stack: Stack) -> None:
    stack.supervisor.start(stack.part("one"), stack.part("two"))
    stack.supervisor.watch()
    one, two = stack.pid("one"), stack.pid("two")
    os.kill(one, signal.SIGKILL)
    wait_until(lambda: stack.pid("one") not in (0, one), seconds=10)
    assert stack.pid("two") == two
    assert stack.lines == ["one ended with status -9: it is started again"]


def test_part_waits_for_what_it_needs(stack: Stack) -> None:
    answers = True
    stack.supervisor.start(stack.part("base", answers=lambda: answers), stack.part("user", needs=("base",)))
    stack.supervisor.watch()
    answers = False
    os.kill(first := stack.pid("user"), signal.SIGKILL)
    wait_until(lambda: stack.lines, seconds=10)
    os.kill(before := stack.pid("base"), signal.SIGKILL)
    wait_until(lambda: stack.pid("base") not in (0, before), seconds=10)
    assert stack.pid("user") == 0
    answers = True
    wait_until(lambda: stack.pid("user") not in (0, first), seconds=10)


def test_crash_loop_is_reported_and_slows_down(stack: Stack) -> None:
    log = stack.folder / "broken.log"
    stack.supervisor.start(stack.part("broken", "/bin/sh", "-c", "echo no such luck; exec sleep 0.1"))
    stack.supervisor.watch()
    stack.supervisor.check()
    wait_until(lambda: len(stack.lines) >= CRASH_LOOP, seconds=20)
    with pytest.raises(StackError, match=r"broken ended with status.*\nno such luck$"):
        stack.supervisor.check()
    assert stack.lines[1].endswith("in 0.5 s")
    assert f"{CRASH_LOOP}th time in a row (see {log})" in stack.lines[-1]
    assert log.read_text().count("no such luck") == CRASH_LOOP, "the log is appended to"


def test_pauses_grow_to_a_limit_and_are_forgiven() -> None:
    lives = Restarts(started_at=0.0)
    pauses = [lives.died(1.0) for _ in range(12)]
    assert pauses[:5] == [0.0, 0.5, 1.0, 2.0, 4.0]
    assert pauses[-1] == LONGEST_PAUSE_SECONDS
    assert lives.loops(1.0)
    assert lives.died(STABLE_SECONDS + 1) == 0.0
    assert not lives.loops(STABLE_SECONDS + 1)


def test_part_that_does_not_start_is_an_error(stack: Stack) -> None:
    with pytest.raises(StackError, match="broken ended with status 3:\nthe reason"):
        stack.supervisor.start(stack.part("broken", "/bin/sh", "-c", "echo the reason; exit 3", answers=lambda: False))


@ON_LINUX
def test_stop_ends_descendants_in_other_sessions(stack: Stack) -> None:
    script = (
        "import subprocess as s; s.Popen(['/bin/sleep', '600'], start_new_session=True); s.run(['/bin/sleep', '600'])"
    )
    stack.supervisor.start(stack.part("parent", sys.executable, "-c", script))
    wait_until(lambda: len(marked(stack.mark)) == 3, seconds=10)
    os.kill(stack.pid("parent"), signal.SIGKILL)  # its children live on, without a parent that knows them
    stack.supervisor.stop()
    assert marked(stack.mark) == []


@ON_LINUX
def test_stop_frees_what_descendants_held(stack: Stack, tmp_path: Path) -> None:
    held = tmp_path / "lock"
    holds = (
        f"import fcntl as f, time; one = open({str(held)!r}, 'w'); f.flock(one, f.LOCK_EX); many = b'x' * 2**29;"
        f" open({str(held) + '.ready'!r}, 'w'); time.sleep(600)"  # much memory: it takes time to die
    )
    script = f"import subprocess as s; s.run([{sys.executable!r}, '-c', {holds!r}], start_new_session=True)"
    stack.supervisor.start(stack.part("parent", sys.executable, "-c", script))
    wait_until(Path(f"{held}.ready").exists, seconds=20)
    stack.supervisor.stop()
    with held.open("w") as again:
        fcntl.flock(again, fcntl.LOCK_EX | fcntl.LOCK_NB)
    assert marked(stack.mark) == []


@ON_LINUX
def test_marked_processes_get_a_grace_period(tmp_path: Path) -> None:
    mark, said = f"{VARIABLE}=test-{uuid4().hex}", tmp_path / "said"
    name, _, value = mark.partition("=")
    scripts = (
        f"trap 'echo bye > {said}; exit 0' INT; echo ready; while :; do sleep 0.05; done",
        "trap '' INT; echo ready; exec sleep 600",
    )
    with ExitStack() as open_processes:
        polite, stubborn = (
            open_processes.enter_context(
                subprocess.Popen(["/bin/sh", "-c", script], env={name: value}, stdout=subprocess.PIPE)
            )
            for script in scripts
        )
        for process in (polite, stubborn):
            assert process.stdout is not None
            assert process.stdout.readline() == b"ready\n"
        assert len(marked(mark)) >= 2
        assert kill_marked(mark, grace_seconds=1.0) >= 2
        assert polite.wait(10) == 0
        assert said.read_text() == "bye\n"
        assert stubborn.wait(10) == -signal.SIGKILL


def test_log_is_rotated_under_its_writer(tmp_path: Path) -> None:
    log = tmp_path / "one.log"
    with log.open("ab", buffering=0) as writer:
        for number in range(5):
            writer.write(b"%d" % number * 100)
            rotate(log, most_bytes=150)
    assert log.read_bytes() == b"4" * 100
    assert (tmp_path / "one.log.1").read_bytes() == b"2" * 100 + b"3" * 100
    assert (tmp_path / "one.log.2").read_bytes() == b"0" * 100 + b"1" * 100
    assert sorted(path.name for path in tmp_path.iterdir()) == ["one.log", "one.log.1", "one.log.2"]
