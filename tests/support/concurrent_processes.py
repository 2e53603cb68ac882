"""Processes that start the same work at the same moment."""

from __future__ import annotations

import subprocess
import sys

from tests.conftest import ROOT


def run_side_by_side(program: str, *arguments: str, processes: int = 2) -> list[str]:
    """Run a program several times at once, all released together by a line on stdin; return their outputs."""
    started = [
        subprocess.Popen(
            [sys.executable, "-c", program, *arguments],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(processes)
    ]
    for process in started:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    written = [process.communicate(timeout=60)[0] for process in started]
    assert [process.returncode for process in started] == [0] * processes
    return written
