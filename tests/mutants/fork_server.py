"""Forks a process for each run of tests, after it imported the installed packages once.

A run in a new process spends three seconds on imports. Modules of the project are not imported before the fork, so that
each run sees the files as they are. It runs as a script in the interpreter of the copy: a request is one line of JSON
on the standard input, an answer one on the standard output.
"""

from __future__ import annotations

import importlib
import json
import os
import resource
import select
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

_CPU_SECONDS = 120
_GRACE_SECONDS = 20.0
"""Time for fixtures to stop their servers after SIGINT."""


def main() -> int:
    """Serve requests until the input ends. Returns in each forked process too, with the exit code of its run."""
    sys.path[0] = str(Path.cwd())
    for line in sys.stdin:
        request = json.loads(line)
        started = time.monotonic()
        child = os.fork()
        if child == 0:
            return _run(request)
        code = _wait(child, request["seconds"])
        for name in request["preload"] and Path(request["preload"]).read_text().splitlines():
            with suppress(Exception):  # an optional part of a package
                importlib.import_module(name)
        print(json.dumps({"code": code, "seconds": round(time.monotonic() - started, 2)}), flush=True)
    return 0


def _run(request: dict[str, Any]) -> int:
    os.setsid()
    output = os.open(request["output"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    for number, descriptor in enumerate((os.open(os.devnull, os.O_RDONLY), output, output)):
        os.dup2(descriptor, number)
    os.environ.update(request["environment"])
    # On a busy machine, time of the processor tells an endless loop from a slow run.
    resource.setrlimit(resource.RLIMIT_CPU, (_CPU_SECONDS, resource.RLIM_INFINITY))
    code = int(pytest.main(list(request["arguments"])))
    if request["preload"]:
        _list_packages(Path(request["preload"]))
    return code


def _wait(child: int, seconds: float) -> int | None:
    """Return the exit code of a child; None if it took too long or computed for too long, and was ended."""
    descriptor = os.pidfd_open(child)
    in_time = bool(select.select([descriptor], [], [], seconds)[0])
    if not in_time:
        os.killpg(child, signal.SIGINT)
        if not select.select([descriptor], [], [], _GRACE_SECONDS)[0]:
            os.killpg(child, signal.SIGKILL)
    os.close(descriptor)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return code if in_time and code != -signal.SIGXCPU else None


def _list_packages(path: Path) -> None:
    """Write the names of all imported modules that are not of the project."""
    files = {name: getattr(module, "__file__", None) for name, module in list(sys.modules.items())}
    ours = str(Path.cwd()) + os.sep
    path.write_text("\n".join(name for name, file in files.items() if file and not file.startswith(ours)))


if __name__ == "__main__":
    sys.exit(main())
